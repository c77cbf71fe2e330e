//! What a provider wants to be sent otherwise than the standards have it: names, further parameters, other places, and
//! further requests. As data, so that no provider needs code of its own.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use consentry_jwt::SigningKey;
use serde::Deserialize;
use url::Url;

use crate::scope::Scopes;

/// What is sent otherwise; everything at its default is the standards' way.
#[derive(Clone, Debug, Default)]
pub struct Sending {
    /// A second authorize parameter for scopes, those of another kind.
    pub second_scope: Option<SecondScope>,
    /// Asked for with every request, beside what is wanted; nothing that a person is told of.
    pub required_scopes: Scopes,
    /// Standard parameters that have another name there, in every request to the provider.
    pub param_names: BTreeMap<String, String>,
    /// What proves our client by a signature (RFC 7523).
    pub client_key: Option<ClientKey>,
    /// Whom that signature is for.
    pub assertion_audience: Option<AssertionAudience>,
    /// How token requests are written.
    pub token_body: TokenBody,
    /// Further parameters of the exchange of a code.
    pub token_params: BTreeMap<String, String>,
    /// Further parameters of a refresh.
    pub refresh_params: BTreeMap<String, String>,
    /// Further headers of both.
    pub token_headers: BTreeMap<String, String>,
    /// Where tokens are refreshed, where that is not the token endpoint.
    pub refresh_endpoint: Option<Url>,
    /// Requests that each make another access token of the one before, after the code is exchanged.
    pub token_steps: Vec<TokenStep>,
    /// Renews an access token by that token itself, where there is no refresh token.
    pub renewal: Option<TokenStep>,
    /// Whether a grant comes with a refresh token.
    pub refresh_token: RefreshTokens,
    /// For how long a refresh token is still taken after another one was given for it.
    pub reuse_grace: Option<Duration>,
}

/// A second parameter for scopes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondScope {
    /// Its name in the authorize URL.
    pub param: String,
    /// What a scope begins with that belongs there; it is sent without this.
    pub prefix: String,
}

/// A key that signs for our client. Cannot be printed.
#[derive(Clone)]
pub struct ClientKey {
    /// The private key.
    pub key: Arc<SigningKey>,
    /// `kid`, where the provider gave or wants one (RFC 7515, section 4.1.4).
    pub id: Option<String>,
    /// `x5t#S256`, where the provider knows keys by their certificates (RFC 7515, section 4.1.8).
    pub thumbprint: Option<String>,
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientKey")
    }
}

/// Whom a client assertion names as its audience. Always one text, so that nobody can pass it on (R88).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssertionAudience {
    /// The issuer.
    Issuer,
    /// The token endpoint, for providers that take nothing else.
    TokenEndpoint,
}

/// How a token request is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenBody {
    /// Form-encoded, as RFC 6749 has it.
    #[default]
    Form,
    /// A JSON object.
    Json,
}

/// Whether a grant comes with a refresh token. What the answer holds decides what is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefreshTokens {
    /// One that does not is refused: it would end soon, and nobody would know why.
    Always,
    /// It depends on the registration, or on what was asked for.
    #[default]
    Sometimes,
    /// The provider has none.
    Never,
}

/// A request that makes another access token of the present one.
#[derive(Clone, Debug)]
pub struct TokenStep {
    /// How.
    pub method: StepMethod,
    /// Where to.
    pub url: Url,
    /// Its parameters, in the query of a GET and the form of a POST. `{access_token}`, `{client_id}` and
    /// `{client_secret}` stand for ours.
    pub params: BTreeMap<String, String>,
}

/// A [`TokenStep`] as it is written in settings and presets.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepText {
    /// `POST` (default) or `GET`.
    #[serde(default)]
    pub method: StepMethod,
    /// Where to.
    pub url: String,
    /// See [`TokenStep::params`].
    pub params: BTreeMap<String, String>,
}

/// The method of a [`TokenStep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StepMethod {
    /// With the parameters in the query.
    Get,
    /// With the parameters in a form.
    #[default]
    Post,
}
