//! What Consentry signs and what the client library verifies are written twice, and agree.

use base64::{Engine, prelude::BASE64_STANDARD};
use consentry::{secret::Secret, signal::SignalId, signals::sign};
use consentry_client::webhook::{Key, Refused, TOLERANCE, verify};
use proptest::prelude::*;
use uuid::Uuid;

fn secret(bytes: &[u8]) -> String {
    format!("whsec_{}", BASE64_STANDARD.encode(bytes))
}

fn keys() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 24..=64)
}

fn tried(key: &[u8], id: &str, at: &str, signature: &str, body: &[u8], now: i64) -> Option<Refused> {
    let header = |name: &str| match name {
        "webhook-id" => Some(id),
        "webhook-timestamp" => Some(at),
        "webhook-signature" => Some(signature),
        _ => None,
    };
    verify(&[Key::new(&secret(key)).unwrap()], header, body, now).err()
}

proptest! {
    /// Z15, R113: it fits under each secret that signed, and under nothing else: no other secret, id, time or body.
    #[test]
    fn z15_what_is_signed_verifies_and_nothing_else_does(
        first in keys(),
        second in keys(),
        other in keys(),
        id_number in any::<u128>(),
        at in 0_i64..=4_000_000_000,
        skew in -TOLERANCE..=TOLERANCE,
        body in proptest::collection::vec(any::<u8>(), 0..300),
        place in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        prop_assume!(first != other && second != other);
        let secrets = [&first, &second].map(|bytes| Secret::new(secret(bytes)));
        let signed = sign(&secrets, SignalId(Uuid::from_u128(id_number)), at, &body).unwrap();
        let (id, at_text) = (Uuid::from_u128(id_number).to_string(), at.to_string());
        // No event, which is said only of what is genuine.
        let genuine = |key: &[u8]| tried(key, &id, &at_text, &signed, &body, at + skew);
        prop_assert_eq!(genuine(&first), Some(Refused::Body));
        prop_assert_eq!(genuine(&second), Some(Refused::Body));
        prop_assert_eq!(genuine(&other), Some(Refused::Signature));
        prop_assert_eq!(
            tried(&first, &id, &at_text, &signed, &body, at + TOLERANCE + 1),
            Some(Refused::Stale)
        );
        let later = (at + 1).to_string();
        prop_assert_eq!(tried(&first, &id, &later, &signed, &body, at), Some(Refused::Signature));
        let zero = format!("0{at_text}");
        prop_assert_eq!(tried(&first, &id, &zero, &signed, &body, at), Some(Refused::Signature));
        let another = Uuid::from_u128(!id_number).to_string();
        prop_assert_eq!(tried(&first, &another, &at_text, &signed, &body, at), Some(Refused::Signature));
        let mut changed = body.clone();
        if changed.is_empty() { changed.push(0) } else { changed[place.index(body.len())] ^= 1 << bit };
        prop_assert_eq!(tried(&first, &id, &at_text, &signed, &changed, at), Some(Refused::Signature));
    }

    /// Total: no header and no body makes it do more than refuse.
    #[test]
    fn any_headers_and_body_are_answered(id in ".*", at in ".{0,20}", signature in ".*", body: Vec<u8>, now: i64) {
        prop_assert!(tried(&[7; 32], &id, &at, &signature, &body, now).is_some());
    }
}
