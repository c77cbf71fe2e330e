//! A provider's own way of revoking.
//!
//! The short ways of writing it become the long one here: what is sent is then parameters and headers, and nothing else.

use super::{Checker, reads::sample, sending::braces};
use crate::config::{ClientAuthentication, OwnRevocation, Reads, RevocationBody, RevocationProof, raw};

/// What can stand in braces in parameters and headers.
const IN_A_REVOCATION: [&str; 3] = ["token", "client_id", "client_secret"];

impl Checker<'_> {
    pub(super) fn revocation(
        &mut self,
        at: &str,
        raw: raw::Revocation,
        client_id: &str,
        reads: &Reads,
    ) -> Option<OwnRevocation> {
        // In a path a space is not a plus.
        let in_url: String = url::form_urlencoded::byte_serialize(client_id.as_bytes()).collect();
        let url = raw.url.replace("{client_id}", &in_url.replace('+', "%20"));
        let mut params = raw.params;
        for value in params.values_mut() {
            *value = value.replace("{client_id}", client_id);
        }
        for (name, value) in &params {
            self.plain_parameter(&format!("{at}.params"), name, value);
        }
        let said = !params.is_empty() || raw.bearer || raw.body == RevocationBody::None;
        let field = raw.field.or_else(|| (!said).then(|| "token".to_owned()));
        if let Some(field) = field {
            self.text(&format!("{at}.field"), &field);
            params.insert(field, "{token}".to_owned());
        }
        let known = |text: &str| braces(text).all(|name| IN_A_REVOCATION.contains(&name));
        let problem = format!("may hold {} in braces, and nothing else", IN_A_REVOCATION.join(", "));
        let kept = |name: &str| IN_A_REVOCATION.contains(&name) || sample(reads, name, false).is_some();
        self.demand(
            params.values().all(|value| braces(value).all(kept)),
            format!("{at}.params"),
            format!(
                "may hold {}, and what is captured or chosen, in braces, and nothing else",
                IN_A_REVOCATION.join(", ")
            ),
        );
        self.demand(raw.headers.values().all(|value| known(value)), format!("{at}.headers"), problem);
        let empty = raw.body != RevocationBody::None || params.is_empty();
        self.demand(empty, format!("{at}.body"), "is none, but there are params or a field");
        let mut headers = raw.headers;
        // A proof of the provider's own kind; what is no more than a text of the settings' is none of ours.
        let proof = |(name, value): (&String, &String)| {
            name.eq_ignore_ascii_case("authorization")
                && braces(value).any(|it| matches!(it, "token" | "client_secret"))
        };
        let free = headers.iter().any(proof) && !raw.bearer && raw.client_authentication.is_none();
        let advice = "a header of the provider's own holds {token} or {client_secret}, and stands in place of \
                      `client_authentication` and `bearer`: leave those out";
        self.check_headers(&format!("{at}.headers"), &headers, if free { Ok(()) } else { Err(advice) });
        let secret = params
            .values()
            .chain(headers.values())
            .flat_map(|value| braces(value))
            .any(|it| it == "client_secret");
        let authorization = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        let proven = raw.bearer || secret || authorization || raw.body == RevocationBody::None;
        let proof = match raw.client_authentication.map(ClientAuthentication::from) {
            Some(way) => RevocationProof::By(way),
            None if proven => RevocationProof::Nothing,
            None => RevocationProof::AsForTokens,
        };
        if raw.bearer {
            let none = raw.client_authentication.is_none();
            self.demand(
                none,
                format!("{at}.bearer"),
                "is the proof itself: leave `client_authentication` out",
            );
            headers.insert("authorization".to_owned(), "Bearer {token}".to_owned());
        }
        let refusals = raw.gone.iter().all(|status| (400..500).contains(status));
        self.demand(refusals, format!("{at}.gone"), "must be statuses of 400 to 499");
        Some(OwnRevocation {
            url: self.endpoint(&format!("{at}.url"), &url)?,
            method: raw.method,
            body: raw.body,
            params,
            token: raw.token,
            proof,
            headers,
            gone: raw.gone,
            ends: raw.ends,
        })
    }
}
