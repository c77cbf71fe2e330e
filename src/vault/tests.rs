//! The vault's promises, from outside.

use std::collections::HashSet;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::secret::Secret;

const TEXT: &str = "kq9TpbYI3iXw3a1qVJzqCzD0n6rPpG6f0dY8m1u2v5E=";

fn id(id: &str) -> KeyId {
    KeyId::new(id).unwrap()
}

fn fixed(name: &str) -> Key {
    Key::from_base64(id(name), &Secret::new(TEXT)).unwrap()
}

fn fresh(name: &str) -> (Key, Secret) {
    Key::generate(id(name), &Random)
}

fn vault() -> Vault {
    Vault::new(vec![fixed("2026-11")], Random).unwrap()
}

fn place() -> Place<'static> {
    Place {
        table: "connections",
        column: "access_token",
        row: Uuid::from_u128(7),
        server: "files",
        issuer: "https://id.example.com",
        sub: "alice",
        provider: "github",
        generation: 4,
    }
}

#[test]
fn values_of_every_size_come_back() {
    for size in [0, 1, 15, 16, 17, 4096, 65_536] {
        let plain = vec![0xa5; size];
        let sealed = vault().seal(&place(), &plain);
        assert_eq!(vault().open(&place(), &Sealed::from_bytes(sealed.into_bytes())).unwrap().expose(), plain);
        let text = vault().seal_text(Purpose::AttemptCookie, &["a"], &plain);
        assert_eq!(vault().open_text(Purpose::AttemptCookie, &["a"], &text).unwrap().expose(), plain);
    }
}

/// R99: a value moved to a cell that differs in any one respect does not open.
#[test]
fn r99_a_swap_of_any_part_of_the_place_is_refused() {
    let here = place();
    let sealed = vault().seal(&here, b"token");
    let others = [
        Place { table: "attempts", ..here },
        Place { column: "refresh_token", ..here },
        Place { row: Uuid::from_u128(8), ..here },
        Place { server: "mail", ..here },
        Place { issuer: "https://id.example.com/", ..here },
        Place { sub: "bob", ..here },
        Place { provider: "gitlab", ..here },
        Place { generation: 3, ..here },
        Place { generation: 5, ..here },
        Place { issuer: "https://id.example.coma", sub: "lice", ..here },
        Place { server: "", issuer: "fileshttps://id.example.com", ..here },
    ];
    for other in others {
        assert_eq!(vault().open(&other, &sealed).unwrap_err(), OpenError::Refused, "{other:?}");
    }
}

#[test]
fn a_cut_at_every_length_is_refused() {
    let whole = vault().seal(&place(), b"a token").into_bytes();
    for length in 0..whole.len() {
        assert!(vault().open(&place(), &Sealed::from_bytes(whole[..length].to_vec())).is_err(), "{length}");
    }
    let mut longer = whole;
    longer.push(0);
    assert!(vault().open(&place(), &Sealed::from_bytes(longer)).is_err());
    let text = vault().seal_text(Purpose::RequestState, &[], b"a state");
    for length in 0..text.len() {
        assert!(vault().open_text(Purpose::RequestState, &[], &text[..length]).is_err(), "{length}");
    }
    assert!(vault().open_text(Purpose::RequestState, &[], &format!("{text}=")).is_err());
}

proptest! {
    #[test]
    fn a_flipped_bit_is_refused(plain: Vec<u8>, at: prop::sample::Index, bit in 0..8) {
        let mut bytes = vault().seal(&place(), &plain).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(vault().open(&place(), &Sealed::from_bytes(bytes)).is_err());
    }

    /// R38: no other character anywhere in the text, unused bits of the last one included.
    #[test]
    fn r38_a_changed_character_is_refused(plain: Vec<u8>, at: prop::sample::Index, other in "[A-Za-z0-9_-]") {
        let mut text = vault().seal_text(Purpose::Csrf, &["x"], &plain);
        let at = at.index(text.len());
        prop_assume!(text[at..=at] != other);
        text.replace_range(at..=at, &other);
        prop_assert!(vault().open_text(Purpose::Csrf, &["x"], &text).is_err());
    }

    #[test]
    fn no_bytes_bring_it_down(bytes: Vec<u8>, text: String) {
        prop_assert!(vault().open(&place(), &Sealed::from_bytes(bytes)).is_err());
        prop_assert!(vault().open_text(Purpose::Csrf, &[], &text).is_err());
    }

    /// R99: places that differ never share their associated data.
    #[test]
    fn r99_associated_data_is_injective(a in any_place(), b in any_place()) {
        let (a, b) = (a.as_place(), b.as_place());
        prop_assert_eq!(a == b, a.bound(&id("k")) == b.bound(&id("k")));
    }
}

#[derive(Clone, Debug)]
struct OwnedPlace(u128, [String; 4], i64);

impl OwnedPlace {
    fn as_place(&self) -> Place<'_> {
        let Self(row, [server, issuer, sub, provider], generation) = self;
        Place {
            row: Uuid::from_u128(*row),
            server,
            issuer,
            sub,
            provider,
            generation: *generation,
            ..place()
        }
    }
}

fn any_place() -> impl Strategy<Value = OwnedPlace> {
    (0..2_u128, prop::array::uniform4("[ab]{0,2}"), 0..2_i64)
        .prop_map(|(row, texts, age)| OwnedPlace(row, texts, age))
}

/// R38: a value made for one use is refused in every other.
#[test]
fn r38_every_purpose_refuses_every_others_values() {
    let vault = vault();
    for &made_for in Purpose::ALL {
        let text = vault.seal_text(made_for, &["ctx"], b"value");
        let tag = vault.mac(made_for, &[b"value"]);
        for &used_as in Purpose::ALL {
            let same = made_for == used_as;
            assert_eq!(
                vault.open_text(used_as, &["ctx"], &text).is_ok(),
                same,
                "{made_for:?} as {used_as:?}"
            );
            assert_eq!(vault.verify_mac(used_as, &[b"value"], &tag), same, "{made_for:?} as {used_as:?}");
        }
        let stored = Sealed::from_bytes(BASE64_URL_SAFE_NO_PAD.decode(&text).unwrap());
        assert_eq!(vault.open(&place(), &stored).unwrap_err(), OpenError::Refused);
        let travelling = BASE64_URL_SAFE_NO_PAD.encode(vault.seal(&place(), b"value").as_bytes());
        assert_eq!(vault.open_text(made_for, &[], &travelling).unwrap_err(), OpenError::Refused);
    }
}

#[test]
fn the_context_is_bound_part_by_part() {
    let text = vault().seal_text(Purpose::RequestState, &["ab", "c"], b"value");
    for other in [&["a", "bc"][..], &["ab"], &["ab", "c", ""], &["c", "ab"], &[]] {
        assert_eq!(vault().open_text(Purpose::RequestState, other, &text).unwrap_err(), OpenError::Refused);
    }
    let tag = vault().mac(Purpose::Csrf, &[b"ab", b"c"]);
    assert!(!vault().verify_mac(Purpose::Csrf, &[b"a", b"bc"], &tag));
    assert!(!vault().verify_mac(Purpose::Csrf, &[b"ab", b"c"], &tag[..16]));
    assert!(!vault().verify_mac(Purpose::Csrf, &[b"ab", b"c"], b""));
}

/// R101: replicas with the same keys in another order read each other; a missing key is told from a bad value.
#[test]
fn r101_every_key_of_the_ring_opens() {
    let (_, second) = fresh("next");
    let next = || Key::from_base64(id("next"), &second).unwrap();
    let old_first = Vault::new(vec![fixed("old"), next()], Random).unwrap();
    let new_first = Vault::new(vec![next(), fixed("old")], Random).unwrap();
    assert_eq!(old_first.current_key().as_str(), "old");
    assert_eq!(new_first.keys().map(KeyId::as_str).collect::<Vec<_>>(), ["next", "old"]);
    for (from, to) in [(&old_first, &new_first), (&new_first, &old_first)] {
        let sealed = from.seal(&place(), b"token");
        assert_eq!(sealed.key_id().as_ref(), Some(from.current_key()));
        assert_eq!(to.open(&place(), &sealed).unwrap().expose(), b"token");
        // Cookies, forms, `requestState`: whatever one replica gave out, the other takes back.
        for &purpose in Purpose::ALL {
            let text = from.seal_text(purpose, &["ctx"], b"b");
            assert_eq!(to.open_text(purpose, &["ctx"], &text).unwrap().expose(), b"b");
            assert!(to.verify_mac(purpose, &[b"form"], &from.mac(purpose, &[b"form"])));
        }
    }
    let retired = Vault::new(vec![next()], Random).unwrap();
    let sealed = old_first.seal(&place(), b"token");
    assert_eq!(retired.open(&place(), &sealed).unwrap_err(), OpenError::UnknownKey);
    assert!(!retired.verify_mac(Purpose::Csrf, &[b"form"], &old_first.mac(Purpose::Csrf, &[b"form"])));
    // Another key under the same name.
    let impostor = Vault::new(vec![fresh("old").0], Random).unwrap();
    assert_eq!(impostor.open(&place(), &sealed).unwrap_err(), OpenError::Refused);
}

#[test]
fn a_subject_has_one_digest_as_long_as_the_key_is_current() {
    let digest = vault().mac(Purpose::SubjectHash, &[b"https://id.example.com", b"alice"]);
    let grown = Vault::new(vec![fixed("renamed"), fresh("other").0], Random).unwrap();
    assert_eq!(grown.mac(Purpose::SubjectHash, &[b"https://id.example.com", b"alice"]), digest);
    assert_ne!(grown.mac(Purpose::SubjectHash, &[b"https://id.example.com", b"bob"]), digest);
}

/// R103: a ring in which an id does not name exactly one key is refused.
#[test]
fn r103_unclear_rings_are_refused() {
    assert_eq!(Vault::new(vec![], Random).unwrap_err(), KeyError::EmptyRing);
    let twice = vec![fresh("a").0, fresh("b").0, fresh("a").0];
    assert_eq!(Vault::new(twice, Random).unwrap_err(), KeyError::DuplicateId(id("a")));
    let equal = vec![fixed("a"), fresh("b").0, fixed("c")];
    assert_eq!(Vault::new(equal, Random).unwrap_err(), KeyError::EqualKeys(id("a"), id("c")));
}

/// R100: the same value is never sealed to the same bytes.
#[test]
fn r100_two_sealings_differ() {
    let vault = vault();
    let sealed: HashSet<Vec<u8>> = (0..10_000).map(|_| vault.seal(&place(), b"").into_bytes()).collect();
    let nonces: HashSet<&[u8]> = sealed.iter().map(|bytes| &bytes[9..33]).collect();
    assert_eq!((sealed.len(), nonces.len()), (10_000, 10_000));
}

#[test]
fn nothing_secret_is_printed() {
    let sealed = vault().seal(&place(), b"canary-4711");
    let shown = format!("{:?} {sealed:?} {:?}", vault(), vault().open(&place(), &sealed));
    assert_eq!(shown, r#"[KeyId("2026-11")] Sealed(60 bytes) Ok([secret])"#);
}

/// R104: the cipher gives the answers of McGrew and Viega's GCM paper, test case 16 (also NIST's).
#[test]
fn r104_aes_256_gcm_known_answer() {
    let key = hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key).unwrap());
    let nonce = Nonce::try_assume_unique_for_key(&hex("cafebabefacedbaddecaf888")).unwrap();
    let mut text = hex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525\
                        b16aedf5aa0de657ba637b39",
    );
    key.seal_in_place_append_tag(
        nonce,
        Aad::from(hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")),
        &mut text,
    )
    .unwrap();
    let expected = hex(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838\
                        c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b",
    );
    assert_eq!(text, expected);
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// What an earlier version sealed opens for ever; when this fails, rows in the field have become unreadable.
#[test]
fn values_sealed_in_version_1_still_open() {
    let stored = "AQcyMDI2LTExk2FqXGEewqcOnMiTEzNiYvZOl7W-Y1tgKpLSCHmRSOWv1rD72wf7Nztp2ruykIeA4jjgJMQLtA";
    let stored = Sealed::from_bytes(BASE64_URL_SAFE_NO_PAD.decode(stored).unwrap());
    assert_eq!(vault().open(&place(), &stored).unwrap().expose(), b"a token of 2026");
    let text = "AQcyMDI2LTExm-3UPs9f3mOIQC_feYRjFF0VEDnGyquX0xsX7k7WzuHAz5xYq34BADtsCw0_zD97yBKwEHp1Fg";
    assert_eq!(
        vault().open_text(Purpose::RequestState, &["files"], text).unwrap().expose(),
        b"a state of 2026"
    );
    let digest = hex("552d77543e70facd3b552138ec65191497f91f9e911fb7739d0ba3e3acb99a9d");
    assert!(vault().verify_mac(Purpose::SubjectHash, &[b"alice"], &digest));
}
