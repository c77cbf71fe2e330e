//! How requests are written at a server that is not quite as the RFCs have it. What is written otherwise is refused, the
//! standard's own way included; what is right goes on in the standard's way.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri, header};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::token::TokenError;
use crate::parameters::Parameters;

/// How requests are written. By default as the RFCs have it.
#[derive(Clone, Debug, Default)]
pub struct Dialect {
    /// Where the parameters of a token request stand.
    pub token_body: Written,
    /// What `client_id` is called, everywhere.
    pub client_id: Option<String>,
    /// What the exchange of a code must hold besides.
    pub token_params: Vec<(String, String)>,
    /// What a refresh must hold besides.
    pub refresh_params: Vec<(String, String)>,
    /// What the head of both must hold.
    pub token_headers: Vec<(String, String)>,
    /// Refresh tokens are taken at `/refresh` alone.
    pub refresh_elsewhere: bool,
    /// A second authorize parameter for scopes, with the prefix that this server knows them by.
    pub second_scope: Option<(String, String)>,
    /// What separates scopes in authorize requests, where it is no space.
    pub separator: Option<char>,
    /// Asked for in every authorize request, or it is refused.
    pub required_scope: Option<String>,
}

/// Where the parameters of a token request stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Written {
    /// In a form.
    #[default]
    Form,
    /// In a JSON object of texts.
    Json,
}

impl Dialect {
    /// An authorize request in the standard's way. What is missing then is missed by whoever reads it.
    pub(super) fn authorize(&self, sent: Parameters) -> Parameters {
        let plain = self.second_scope.is_none() && self.separator.is_none() && self.required_scope.is_none();
        let mut sent = self.named(sent);
        if plain {
            return sent;
        }
        let separator = self.separator.unwrap_or(' ');
        let mut scopes: Vec<String> = split(sent.get("scope"), separator);
        if let Some((name, prefix)) = &self.second_scope {
            scopes
                .extend(split(sent.get(name), separator).into_iter().map(|scope| format!("{prefix}{scope}")));
        }
        if let Some(required) = &self.required_scope
            && !scopes.contains(required)
        {
            scopes.push("a-required-scope-is-missing".to_owned());
        }
        let asked = sent.get("scope").is_some() || !scopes.is_empty();
        sent.0.retain(|(name, _)| name != "scope");
        if asked {
            sent.0.push(("scope".to_owned(), scopes.join(" ")));
        }
        sent
    }

    /// The head and the body of a token request in the standard's way.
    pub(crate) fn token_request(
        &self,
        uri: &Uri,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<(HeaderMap, Bytes), TokenError> {
        let wrong = |why: &str| TokenError::request(why);
        for (name, value) in &self.token_headers {
            let sent = headers.get(name).and_then(|value| value.to_str().ok());
            if sent != Some(value) {
                return Err(wrong("a header is missing"));
            }
        }
        if uri.query().is_some() {
            return Err(wrong("parameters of a token request do not stand in the address"));
        }
        let sent = match self.token_body {
            // What is no form the standard's reader refuses.
            Written::Form if self.is_standard() => return Ok((headers, body)),
            Written::Form => Parameters::form(&headers, &body).map_err(|error| wrong(&error.to_string()))?,
            Written::Json => from_json(&headers, &body)?,
        };
        let mut sent = self.named(sent);
        let refreshes = sent.get("grant_type") == Some("refresh_token");
        if self.refresh_elsewhere && refreshes != (uri.path() == "/refresh") {
            return Err(wrong("refresh tokens go to another endpoint than codes"));
        }
        for (name, value) in if refreshes { &self.refresh_params } else { &self.token_params } {
            if sent.get(name) != Some(value) {
                return Err(wrong("a parameter of this server's own is missing"));
            }
            sent.0.retain(|(other, _)| other != name);
        }
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(&sent.0).finish();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        Ok((headers, form.into()))
    }

    fn is_standard(&self) -> bool {
        self.client_id.is_none()
            && self.token_params.is_empty()
            && self.refresh_params.is_empty()
            && !self.refresh_elsewhere
    }

    /// With the standard's name for what has another one here; what has the standard's is not read.
    fn named(&self, mut sent: Parameters) -> Parameters {
        if let Some(own) = &self.client_id {
            sent.0.retain(|(name, _)| name != "client_id");
            for (name, _) in &mut sent.0 {
                if name == own {
                    "client_id".clone_into(name);
                }
            }
        }
        sent
    }
}

fn split(list: Option<&str>, separator: char) -> Vec<String> {
    let words = list.unwrap_or_default().split(separator);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn from_json(headers: &HeaderMap, body: &Bytes) -> Result<Parameters, TokenError> {
    let wrong = |why: &str| TokenError::request(why);
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if media != Some("application/json") {
        return Err(wrong("the body is not application/json"));
    }
    let members: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| wrong("the body is no object"))?;
    let text = |value: Value| match value {
        Value::String(text) => Ok(text),
        _ => Err(wrong("a member is no text")),
    };
    let mut pairs = Vec::new();
    for (name, value) in members {
        match value {
            Value::Array(list) => {
                for value in list {
                    pairs.push((name.clone(), text(value)?));
                }
            }
            value => pairs.push((name, text(value)?)),
        }
    }
    Ok(Parameters(pairs))
}
