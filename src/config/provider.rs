//! What the settings know of a provider.

mod answer;
mod mcp;
mod sending;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use url::Url;

pub use self::{
    answer::{
        Answer, CallbackSignature, Capture, CaptureFrom, Choice, ChoiceOfConsent, Expected, Granted,
        Precondition, PreconditionKind, Probe, ProbeOf, Reads, SignatureStyle, Slot,
    },
    mcp::{Registration, ThirdPartyMcp},
    sending::{
        AssertionAudience, ClientKey, RefreshTokens, SecondScope, Sending, StepMethod, StepText, TokenBody,
        TokenStep,
    },
};
use super::{Blueprint, ClientAuthentication, Usage};
use crate::{elicitation::ProviderId, scope::Scopes, secret::Secret, values::Values};

/// A third party whose credential is wanted, with its preset merged in.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Its id, part of callback paths.
    pub id: ProviderId,
    /// Its name on pages.
    pub name: String,
    /// The MCP server that it is; its endpoints are found out, and its issuer too, unless that stands here.
    pub mcp: Option<ThirdPartyMcp>,
    /// For discovery, and the `iss` that is expected back; absent where the provider has none.
    pub issuer: Option<String>,
    /// Whether the provider promises `iss` in every response (RFC 9207); discovery can say so too.
    pub issuer_always_sent: bool,
    /// RFC 8414 names; discovered from the issuer when absent.
    pub authorization_endpoint: Option<Url>,
    /// Where codes are exchanged.
    pub token_endpoint: Option<Url>,
    /// RFC 7009.
    pub revocation_endpoint: Option<Url>,
    /// Its own way of revoking, in place of RFC 7009.
    pub revocation: Option<OwnRevocation>,
    /// Who the account is, as OpenID Connect says it.
    pub userinfo_endpoint: Option<Url>,
    /// Our registration there; empty in the settings of an MCP server where it is not the operator's.
    pub client_id: String,
    /// Absent for a public client.
    pub client_secret: Option<Secret>,
    /// How we prove ourselves; from metadata, else Basic with a secret and none without, when absent.
    pub client_authentication: Option<ClientAuthentication>,
    /// What it is sent otherwise than the standards have it.
    pub sending: Sending,
    /// What is asked for when the caller names nothing.
    pub scopes: Scopes,
    /// The most that a caller may ask for (R65).
    pub allowed_scopes: Scopes,
    /// What separates scopes in the authorize URL.
    pub scope_separator: char,
    /// Plain words for scopes, for the pages.
    pub scope_words: BTreeMap<String, String>,
    /// How the provider calls a scope in its answers, and how it is asked for.
    pub scope_aliases: BTreeMap<String, String>,
    /// Scopes that others come with.
    pub scope_includes: BTreeMap<String, Scopes>,
    /// Further authorize parameters; can never replace a core one (R66).
    pub authorize_params: BTreeMap<String, String>,
    /// Parameters that make the provider ask which account to use, sent on every connect.
    pub account_chooser_params: BTreeMap<String, String>,
    /// The parameter that names the account which was connected before. With `login_hint`, the default, only an
    /// address is sent in it; a provider's own takes any label.
    pub account_hint_param: String,
    /// RFC 8707 resources, sent at authorize and token requests (R67).
    pub resource: Vec<String>,
    /// Whether PKCE is used; only an explicit opt-out turns it off (R58).
    pub pkce: bool,
    /// Whether the provider answers by form_post.
    pub form_post: bool,
    /// Error codes that mean the person said no, besides `access_denied`.
    pub cancel_codes: Vec<String>,
    /// What error codes of its token endpoint mean here, before the common table is asked.
    pub error_classes: BTreeMap<String, ErrorClass>,
    /// A refresh token that is not used for this long ends.
    pub refresh_idle: Option<Duration>,
    /// The person's consent ends this long after it was given.
    pub consent_lifetime: Option<Duration>,
    /// Refreshes and revocations a second, from one process.
    pub requests_per_second: u32,
    /// Refreshes and revocations at the same time, from one process.
    pub concurrent_requests: u32,
    /// Who is this account?
    pub probe: Option<Probe>,
    /// How an MCP server uses an access token; as a header `Authorization` of its type when absent.
    pub usage: Option<Usage>,
    /// How its answers are read.
    pub reads: Reads,
    /// Where the person removes our access at the provider, for pages.
    pub manage_url: Option<Url>,
    /// The provider's documentation, for operators.
    pub docs_url: Option<Url>,
    /// What it is made of, where its addresses have variables. Its own are then filled in with samples, or with
    /// [`Provider::variables`].
    pub blueprint: Option<Arc<Blueprint>>,
    /// The variables that were filled in; none where they are samples.
    pub variables: Values,
}

impl Provider {
    /// A sentence for people, with what stands for its variables: what is known of them, else what they are called.
    pub fn told(&self, text: &str) -> String {
        match &self.blueprint {
            Some(blueprint) => blueprint.told(text, &self.variables),
            None => text.to_owned(),
        }
    }
}

/// What an error code of a token endpoint means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The grant is dead.
    Terminal,
    /// Our client is refused; every grant is kept.
    Operator,
    /// Our request is refused; every grant is kept.
    Configuration,
    /// Later.
    Transient,
}

/// A provider's own way of revoking. In `params` and `headers`, `{token}`, `{client_id}` and `{client_secret}` stand
/// for what they name.
#[derive(Clone, Debug)]
pub struct OwnRevocation {
    /// `POST` or `DELETE`.
    pub method: RevocationMethod,
    /// Where to, with our client id in its place.
    pub url: Url,
    /// How the parameters are written.
    pub body: RevocationBody,
    /// What is said there.
    pub params: BTreeMap<String, String>,
    /// Which token it wants.
    pub token: RevocationToken,
    /// How our client proves itself there.
    pub proof: RevocationProof,
    /// Further headers.
    pub headers: BTreeMap<String, String>,
    /// Statuses that say that the token is not known there: it is revoked.
    pub gone: Vec<u16>,
    /// What ends by it.
    pub ends: RevocationEnds,
}

/// The method of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum RevocationMethod {
    /// `POST`.
    Post,
    /// `DELETE`.
    Delete,
}

/// How a revocation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevocationBody {
    /// Form-encoded, as RFC 7009 has it.
    Form,
    /// A JSON object.
    Json,
    /// In the query of the address, with an empty body.
    Query,
    /// Nothing but the address and the headers.
    None,
}

/// How our client proves itself when it revokes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevocationProof {
    /// As at the token endpoint.
    AsForTokens,
    /// In this way.
    By(ClientAuthentication),
    /// Not at all, or by what `params` and `headers` hold.
    Nothing,
}

/// What a revocation ends. Told on the page; where it is more than the token, no other connection may share the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevocationEnds {
    /// The token, and what was made from it.
    Token,
    /// All that this person's account has given to our client.
    #[default]
    Grant,
    /// All that anybody of the same organisation or installation has given to our client.
    Account,
}

/// Which token a revocation is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevocationToken {
    /// The refresh token where there is one: what was made from it ends with it (RFC 7009, section 2.1).
    RefreshToken,
    /// The access token.
    AccessToken,
}

impl Provider {
    /// Whether a revocation needs the access token, also where there is a refresh token.
    pub fn revokes_by_access_token(&self) -> bool {
        let wanted = self.revocation.as_ref().is_some_and(|own| own.token == RevocationToken::AccessToken);
        // What stands in a refresh token's place is the access token there.
        wanted || self.sending.renewal.is_some()
    }

    /// What ends when a token is revoked.
    pub fn revocation_ends(&self) -> RevocationEnds {
        self.revocation.as_ref().map_or_else(RevocationEnds::default, |own| own.ends)
    }
}
