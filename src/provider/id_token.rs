//! The claims of an ID token that came from the token endpoint itself.
//!
//! It came to us straight over TLS, so its signature need not be checked (OpenID Connect Core, section 3.1.3.7, item 6);
//! whose it is and for whom must be. What it must never do: read an ID token that came through a browser, or take one
//! for a sign-in.

use std::time::Duration;

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::{clock::Millis, provider::error::ProviderError, secret::Secret};

/// Difference between our clock and the provider's that is let pass.
const LEEWAY: Duration = Duration::from_secs(60);

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The claims, if the token is `issuer`'s, for `client_id`, and not expired.
///
/// # Errors
/// [`ProviderError::Malformed`] otherwise.
pub(super) fn claims(
    token: &Secret,
    issuer: &str,
    client_id: &str,
    now: Millis,
) -> Result<Map<String, Value>, ProviderError> {
    let claims = decode(token).ok_or(ProviderError::Malformed { what: "id_token" })?;
    let is = |claim: &str, expected: &str| claims.get(claim).and_then(Value::as_str) == Some(expected);
    if !is("iss", issuer) {
        return Err(ProviderError::Malformed { what: "id_token_iss" });
    }
    check_audience(&claims, client_id)?;
    match claims.get("exp").and_then(Value::as_i64) {
        Some(exp) if Millis::from_seconds(exp).plus(LEEWAY) > now => Ok(claims),
        _ => Err(ProviderError::Malformed { what: "id_token_exp" }),
    }
}

fn check_audience(claims: &Map<String, Value>, client_id: &str) -> Result<(), ProviderError> {
    let (for_us, for_others) = match claims.get("aud") {
        Some(Value::String(one)) => (one == client_id, false),
        Some(Value::Array(list)) => (list.iter().any(|one| one.as_str() == Some(client_id)), list.len() > 1),
        _ => (false, false),
    };
    let authorized = match claims.get("azp") {
        Some(party) => party.as_str() == Some(client_id),
        None => !for_others,
    };
    if for_us && authorized { Ok(()) } else { Err(ProviderError::Malformed { what: "id_token_aud" }) }
}

/// Whether an ID token that came with a refresh is of the same issuer and subject as before, where these are known.
///
/// Its end is not looked at: nobody is signed in with it.
///
/// # Errors
/// [`ProviderError::AccountMismatch`], and [`ProviderError::Malformed`] when it cannot be read or is not for us.
pub(super) fn same(
    token: &Secret,
    issuer: Option<&str>,
    client_id: &str,
    sub: Option<&str>,
) -> Result<(), ProviderError> {
    let claims = decode(token).ok_or(ProviderError::Malformed { what: "id_token" })?;
    let is = |claim: &str, expected: Option<&str>| {
        expected.is_none_or(|expected| claims.get(claim).and_then(Value::as_str) == Some(expected))
    };
    if !is("iss", issuer) || !is("sub", sub) {
        return Err(ProviderError::AccountMismatch);
    }
    check_audience(&claims, client_id)
}

/// A claim of an access token that came from the token endpoint, if it is a JWT. Of use where it leads to a better guess;
/// nothing may be decided by it, for what an access token holds is between its issuer and its resource server.
pub(super) fn hint(access_token: &Secret, claim: &str) -> Option<String> {
    decode(access_token)?.get(claim)?.as_str().map(str::to_owned)
}

fn decode(token: &Secret) -> Option<Map<String, Value>> {
    let mut parts = token.expose().split('.');
    let (_, payload, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    let payload = Zeroizing::new(BASE64.decode(payload).ok()?);
    serde_json::from_slice(&payload).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const NOW: Millis = Millis(1_764_417_600_000);

    fn judge(claims: &Value) -> Result<Map<String, Value>, ProviderError> {
        let token = format!("e30.{}.x", BASE64.encode(claims.to_string()));
        super::claims(&Secret::new(token), "https://acme.example", "client", NOW)
    }

    #[test]
    fn an_id_token_is_read_when_it_is_from_there_and_for_us() {
        let good =
            json!({"iss": "https://acme.example", "aud": "client", "sub": "7", "exp": NOW.seconds() + 60});
        assert_eq!(judge(&good).unwrap()["sub"], "7");
        for (claim, value, what) in [
            ("iss", json!("https://acme.example/"), "id_token_iss"),
            ("iss", json!("https://acme.example.evil"), "id_token_iss"),
            ("iss", json!(null), "id_token_iss"),
            ("aud", json!("other"), "id_token_aud"),
            ("aud", json!([]), "id_token_aud"),
            ("aud", json!(["client", "other"]), "id_token_aud"),
            ("azp", json!("other"), "id_token_aud"),
            ("exp", json!(NOW.seconds() - 60), "id_token_exp"),
            ("exp", json!("soon"), "id_token_exp"),
        ] {
            let mut bad = good.clone();
            bad[claim] = value.clone();
            assert_eq!(judge(&bad), Err(ProviderError::Malformed { what }), "{claim} {value}");
        }
        let mut shared = good;
        shared["aud"] = json!(["client", "other"]);
        shared["azp"] = json!("client");
        assert!(judge(&shared).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(token in "[ -~]{0,60}|[a-zA-Z0-9_-]{0,20}\\.[a-zA-Z0-9_-]{0,20}\\.[a-zA-Z0-9_-]{0,20}") {
            prop_assert!(super::claims(&Secret::new(token), "https://acme.example", "client", NOW).is_err());
        }
    }
}
