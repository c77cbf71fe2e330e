//! The check of one token: form, type, signature, issuer, audience, times, subject, in this order, and then its scopes.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use consentry_jwt::{Algorithm, Claims, Jws, Refused};
use http::{HeaderMap, header::AUTHORIZATION};
use serde_json::Value;
use url::Url;
use zeroize::Zeroizing;

use crate::{Builder, Principal, Refusal, keys::Keys, principal};

/// Checks the bearer tokens of one server. Cloning shares the keys.
#[derive(Clone)]
pub struct Bearer(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) resource: Url,
    /// The same, byte for byte as it was given: identifiers are compared and published as they are.
    pub(crate) resource_id: String,
    pub(crate) issuer: String,
    pub(crate) name: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) supported: Vec<String>,
    pub(crate) implied: Vec<(String, Vec<String>)>,
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) leeway: Duration,
    pub(crate) subject_claim: String,
    pub(crate) only_access_tokens: bool,
    pub(crate) keys: Keys,
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Bearer")
            .field("resource", &self.0.resource_id)
            .field("issuer", &self.0.issuer)
            .field("scopes", &self.0.scopes)
            .finish_non_exhaustive()
    }
}

impl Bearer {
    /// For the server with this resource identifier (the URL of its MCP endpoint), whose tokens are issued by this
    /// authorization server.
    #[must_use]
    pub fn builder(resource: impl Into<String>, issuer: impl Into<String>) -> Builder {
        Builder::new(resource.into(), issuer.into())
    }

    /// The server's resource identifier: the `aud` of its tokens.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.0.resource_id
    }

    /// The user whose token stands in the `Authorization` header, for who has no tower service to put a layer on.
    ///
    /// # Errors
    ///
    /// [`Refusal`].
    pub async fn verify(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        self.verify_for(headers, &self.0.scopes).await
    }

    pub(crate) async fn verify_for(
        &self,
        headers: &HeaderMap,
        wanted: &[String],
    ) -> Result<Principal, Refusal> {
        let token = token(headers)?;
        let principal = self.0.principal(token).await?;
        if wanted.iter().all(|scope| principal.allows(scope)) {
            Ok(principal)
        } else {
            Err(Refusal::Scope(wanted.to_vec()))
        }
    }
}

/// RFC 6750, section 2.1. A token in the URL or in a form is not looked for (MCP forbids it).
fn token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(Refusal::Missing)?;
    if values.next().is_some() {
        return Err(Refusal::Malformed);
    }
    let text = value.to_str().map_err(|_| Refusal::Malformed)?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refusal::Missing);
    }
    let token = token.trim_matches(' ');
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if token.is_empty() || !token.bytes().all(is_token) {
        return Err(Refusal::Malformed);
    }
    Ok(token)
}

impl Inner {
    async fn principal(&self, token: &str) -> Result<Principal, Refusal> {
        let jws = Jws::parse(token, &self.algorithms)?;
        match jws.typ.as_deref() {
            Some("at+jwt") => {}
            // Many servers still write `JWT`; what tells their ID tokens apart is in the claims.
            None | Some("jwt") if !self.only_access_tokens => {}
            _ => return Err(Refusal::Invalid("of another type")),
        }
        let claims = Claims::new(self.keys.verified(&jws).await?);
        if claims.text("iss")? != Some(&self.issuer) {
            return Err(Refusal::Invalid("from another authorization server"));
        }
        if !claims.audiences()?.contains(&self.resource_id.as_str()) {
            return Err(Refusal::Invalid("meant for another server"));
        }
        let expires_at = claims.check_times(now_ms(), self.leeway)?;
        // One that went to a client must not speak for its user here.
        if claims.are_of_id_token(jws.typ.as_deref()) {
            return Err(Refusal::Invalid("of another type"));
        }
        let sub = claims.text(&self.subject_claim)?.filter(|sub| !sub.is_empty());
        let sub = sub.ok_or(Refusal::Invalid("of nobody"))?.to_owned();
        Ok(Principal::new(principal::Inner {
            issuer: self.issuer.clone(),
            sub,
            client_id: claims.text("client_id")?.or(claims.text("azp")?).map(str::to_owned),
            scopes: self.scopes_of(&claims)?,
            expires_at,
            token: Zeroizing::new(token.to_owned()),
        }))
    }

    /// `scope`, words apart by blanks (RFC 9068, section 2.2.3), or `scp` as some issuers write; and what they imply.
    fn scopes_of(&self, claims: &Claims) -> Result<Vec<String>, Refusal> {
        let mut scopes: Vec<String> = match claims.value("scope").or(claims.value("scp")) {
            None => Vec::new(),
            Some(Value::String(words)) => {
                words.split(' ').filter(|w| !w.is_empty()).map(Into::into).collect()
            }
            Some(Value::Array(words)) => {
                let words = words.iter().map(|word| word.as_str().map(str::to_owned));
                words.collect::<Option<_>>().ok_or(Refused::Malformed)?
            }
            Some(_) => return Err(Refused::Malformed.into()),
        };
        let mut at = 0;
        while at < scopes.len() {
            for (broad, narrow) in &self.implied {
                if scopes[at] == *broad {
                    let new: Vec<_> =
                        narrow.iter().filter(|scope| !scopes.contains(scope)).cloned().collect();
                    scopes.extend(new);
                }
            }
            at += 1;
        }
        Ok(scopes)
    }
}

#[expect(clippy::disallowed_methods, reason = "a library in another process has no clock of Consentry's")]
fn now_ms() -> i64 {
    // Before 1970 everything is in the future, and refused.
    let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
