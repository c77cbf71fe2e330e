//! The signature that some providers put on a callback, with the client's secret as the key.
//!
//! It is checked over what really came, before anything of it is used; compared in constant time.

use aws_lc_rs::{constant_time, hmac};
use url::form_urlencoded;

use crate::config::{Provider, SignatureStyle};

/// Whether a callback is signed as this provider signs; true where it does not sign.
pub fn is_genuine(provider: &Provider, parameters: &[(String, String)]) -> bool {
    let Some(signature) = &provider.reads.callback_signature else { return true };
    let Some(secret) = &provider.client_secret else { return false };
    let given = parameters.iter().find(|(name, _)| *name == signature.param);
    let Some((_, given)) = given else { return false };
    let mut signed: Vec<_> = parameters.iter().filter(|(name, _)| *name != signature.param).collect();
    signed.sort();
    let expected = match signature.style {
        SignatureStyle::SortedQueryHex => {
            let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(signed).finish();
            let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
            hex(hmac::sign(&key, query.as_bytes()).as_ref())
        }
    };
    constant_time::verify_slices_are_equal(given.as_bytes(), expected.as_bytes()).is_ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::CallbackSignature, provider::tests::acme, secret::Secret};

    fn pairs(query: &str) -> Vec<(String, String)> {
        form_urlencoded::parse(query.as_bytes()).map(|(a, b)| (a.into_owned(), b.into_owned())).collect()
    }

    /// The expected values were made with `openssl dgst -sha256 -hmac`, over the text that the comment shows.
    #[test]
    fn r59_only_the_clients_secret_signs_a_callback() {
        let mut shop = acme("https://acme.example");
        shop.client_secret = Some(Secret::new("hush"));
        shop.reads.callback_signature =
            Some(CallbackSignature { param: "hmac".into(), style: SignatureStyle::SortedQueryHex });
        // code=0907a61c0c8d55e99db179b68161bc00&shop=some-shop.myshopify.com&state=0.6784241404160823&timestamp=1337178173
        let good = "code=0907a61c0c8d55e99db179b68161bc00&hmac=HMAC&shop=some-shop.myshopify.com\
                    &state=0.6784241404160823&timestamp=1337178173";
        let signed = good.replace("HMAC", PLAIN);
        assert!(is_genuine(&shop, &pairs(&signed)));
        // The order in which they come does not count.
        let mut turned = pairs(&signed);
        turned.reverse();
        assert!(is_genuine(&shop, &turned));
        for (from, to) in [
            ("some-shop", "evil-shop"),
            ("timestamp=1337178173", "timestamp=1337178174"),
            ("code=09", "code=19"),
            ("&timestamp=1337178173", ""),
            ("&state", "&extra=1&state"),
            (&PLAIN[..8], "00000000"),
            (PLAIN, ""),
            (&format!("hmac={PLAIN}&"), ""),
        ] {
            assert!(!is_genuine(&shop, &pairs(&signed.replace(from, to))), "{from} {to}");
        }
        shop.client_secret = Some(Secret::new("other"));
        assert!(!is_genuine(&shop, &pairs(&signed)));
        assert!(is_genuine(&acme("https://acme.example"), &pairs("code=a")));
    }

    const PLAIN: &str = "700e2dadb827fcc8609e9d5ce208b2e9cdaab9df07390d2cbca10d7c328fc4bf";
}
