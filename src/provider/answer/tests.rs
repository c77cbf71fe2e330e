//! R75: a table of answers as providers really give them, and what no answer may do.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    config::{Expected, Slot},
    provider::tests::acme,
};

const NOW: Millis = Millis(1_764_417_600_000);

fn read(body: &str) -> Result<Tokens, &'static str> {
    match Reading::of(body.as_bytes()) {
        Reading::Fields(fields) => {
            tokens(fields, &acme("https://acme.example"), &Scopes::new(["asked"]).unwrap(), NOW)
        }
        Reading::Error { .. } => Err("error"),
        Reading::Unreadable(what) => Err(what),
    }
}

/// A good answer with one more field, once as JSON.
fn with(name: &str, value: &Value) -> Tokens {
    let mut answer = json!({"access_token": "a-1"});
    answer[name] = value.clone();
    read(&answer.to_string()).unwrap()
}

fn seconds(at: Option<Millis>) -> Option<i64> {
    at.map(|at| (at.0 - NOW.0) / 1000)
}

#[test]
fn r75_a_life_is_read_in_every_notation() {
    let century = Some(100 * 365 * 24 * 3600);
    let cases = [
        (json!(3600), Some(3600)),
        (json!(1), Some(1)),
        (json!(3600.0), Some(3600)),
        (json!(3599.9), Some(3599)),
        (json!(3.6e3), Some(3600)),
        (json!("3600"), Some(3600)),
        (json!(" 3600 "), Some(3600)),
        (json!("3600.5"), Some(3600)),
        (json!("+3600"), Some(3600)),
        (json!(0), None),
        (json!(0.0), None),
        (json!("0"), None),
        (json!(-1), None),
        (json!("-1"), None),
        (json!(-1e300), None),
        (json!(1_000_000_000_000_i64), century),
        (json!("1000000000000"), century),
        (json!(u64::MAX), century),
        (json!(1e300), century),
        (json!("inf"), century),
        (json!("NaN"), None),
        (json!("-inf"), None),
        (json!(""), None),
        (json!("soon"), None),
        (json!("3600s"), None),
        (json!("0x10"), None),
        (json!("2026-11-29T12:00:00Z"), None),
        (json!(null), None),
        (json!(true), None),
        (json!([3600]), None),
        (json!({"seconds": 3600}), None),
    ];
    for (value, expected) in &cases {
        assert_eq!(seconds(with("expires_in", value).access_expires_at), *expected, "expires_in {value}");
        for name in REFRESH_LIVES {
            let tokens = with(name, value);
            assert_eq!(seconds(tokens.refresh_expires_at), *expected, "{name} {value}");
            assert_eq!(tokens.access_expires_at, None, "{name} {value}");
        }
    }
    assert_eq!(read(r#"{"access_token":"a"}"#).unwrap().access_expires_at, None);
    let both = read(r#"{"access_token":"a","refresh_token_expires_in":7,"refresh_expires_in":9}"#).unwrap();
    assert_eq!(seconds(both.refresh_expires_at), Some(7));
}

#[test]
fn r75_scopes_are_read_in_every_notation() {
    for (value, expected) in [
        (json!("read write"), "read write"),
        (json!("read,write"), "read write"),
        (json!("read, write"), "read write"),
        (json!(" read  write "), "read write"),
        (json!("write read write"), "read write"),
        (json!(["read", "write"]), "read write"),
        (json!(["read write", "x"]), "read write x"),
        (json!(["read,write", 7, null]), "read write"),
        (json!("repo,read:user"), "read:user repo"),
        (json!("https://a.example/auth/x.y"), "https://a.example/auth/x.y"),
        (json!("bad\"one good"), "good"),
        (json!(""), ""),
        (json!([]), ""),
        (json!(null), "asked"),
        (json!(7), "asked"),
        (json!(true), "asked"),
        (json!({"read": true}), "asked"),
    ] {
        assert_eq!(with("scope", &value).granted.to_text(), expected, "{value}");
    }
    assert_eq!(read(r#"{"access_token":"a"}"#).unwrap().granted.to_text(), "asked");
}

#[test]
fn r75_the_token_type_has_no_case() {
    for value in ["Bearer", "bearer", "BEARER", "bEaReR", ""] {
        assert_eq!(with("token_type", &json!(value)).token_type, "Bearer", "{value}");
    }
    assert_eq!(with("token_type", &json!(null)).token_type, "Bearer");
    for value in ["DPoP", "bot", "mac", "N_A", "x-y.z"] {
        assert_eq!(with("token_type", &json!(value)).token_type, value);
    }
    for bad in [
        json!(7),
        json!(["Bearer"]),
        json!({}),
        json!(true),
        json!("a b"),
        json!("a\r\nb"),
        json!("x".repeat(33)),
    ] {
        let answer = json!({"access_token": "a", "token_type": bad});
        assert_eq!(read(&answer.to_string()).err(), Some("token_type"), "{bad}");
    }
}

#[test]
fn r75_a_missing_refresh_or_id_token_is_none() {
    for name in ["refresh_token", "id_token"] {
        let of = |tokens: Tokens| if name == "id_token" { tokens.id_token } else { tokens.refresh_token };
        for none in [json!(null), json!("")] {
            assert!(of(with(name, &none)).is_none(), "{name} {none}");
        }
        assert_eq!(of(with(name, &json!("r-1"))).unwrap().expose(), "r-1");
        for bad in [
            json!(7),
            json!(false),
            json!([]),
            json!({}),
            json!("a\nb"),
            json!("é"),
            json!("x".repeat(65_537)),
        ] {
            let answer = json!({"access_token": "a", name: bad});
            assert_eq!(read(&answer.to_string()).err(), Some(name), "{name} {bad}");
        }
    }
}

#[test]
fn r75_an_access_token_is_whole_or_refused() {
    let longest = "x".repeat(65_536);
    for good in ["a", "gho_16C7e42F292c6912E7710c838347Ae178B4a", "a b", "ey.J9~+/=", longest.as_str()] {
        let body = json!({"access_token": good}).to_string();
        assert_eq!(read(&body).unwrap().access_token.expose(), good);
        let form: String =
            form_urlencoded::Serializer::new(String::new()).append_pair("access_token", good).finish();
        assert_eq!(read(&form).unwrap().access_token.expose(), good);
    }
    let too_long = "x".repeat(65_537);
    for bad in ["", "a\nb", "a\r\nX-Evil: 1", "a\0", "é", "\u{7f}", too_long.as_str()] {
        assert_eq!(read(&json!({"access_token": bad}).to_string()).err(), Some("access_token"));
    }
    for bad in [json!(null), json!(7), json!(true), json!([]), json!({}), json!(["a"])] {
        assert_eq!(read(&json!({"access_token": bad}).to_string()).err(), Some("access_token"), "{bad}");
    }
}

#[test]
fn r75_a_body_is_taken_for_what_it_is() {
    let deep =
        |levels: usize| format!(r#"{{"access_token":"a","x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let long = format!(r#"{{"access_token":"a","x":"{}"}}"#, "y".repeat(LONGEST_BODY));
    for (body, expected) in [
        (r#"{"access_token":"a","token_type":"bearer"}"#, Ok(())),
        ("\u{feff}  {\"access_token\":\"a\"}\r\n", Ok(())),
        (r#"{"access_token":"a","x":null,"y":[1,{"z":"}]"}],"account":{"id":7}}"#, Ok(())),
        (r#"{"access_token":"a","error":null}"#, Ok(())),
        (r#"{"access_token":"a","error":""}"#, Ok(())),
        (r#"{"access_token":"a","error":false,"ok":true}"#, Ok(())),
        ("access_token=a&token_type=bearer&scope=repo%2Cgist", Ok(())),
        ("access_token=a", Ok(())),
        ("scope=&access_token=a&unknown", Ok(())),
        (r#"{"error":"invalid_grant","access_token":"a"}"#, Err("error")),
        (r#"{"error":"x"}"#, Err("error")),
        (r#"{"error":{"code":190,"type":"OAuthException"}}"#, Err("error")),
        (r#"{"error":[]}"#, Err("error")),
        (r#"{"error":true}"#, Err("error")),
        (r#"{"ok":false}"#, Err("error")),
        ("error=bad_verification_code&error_description=a+b", Err("error")),
        ("{}", Err("access_token")),
        (r#"{"Access_Token":"a"}"#, Err("access_token")),
        (r#"{"data":{"access_token":"a"}}"#, Err("access_token")),
        ("access_token=", Err("access_token")),
        ("", Err("empty")),
        (" \r\n\t", Err("empty")),
        ("\u{feff}", Err("empty")),
        ("<!doctype html><title>access_token=a</title>", Err("markup")),
        ("<?xml version=\"1.0\"?><access_token>a</access_token>", Err("markup")),
        ("not found", Err("not_an_object")),
        ("null", Err("not_an_object")),
        ("[]", Err("not_an_object")),
        (r#"["access_token=a"]"#, Err("not_an_object")),
        (r#""access_token=a b""#, Err("not_an_object")),
        ("a=b&c=d", Err("not_an_object")),
        ("access_token=a&access_token=b", Err("repeated_field")),
        (r#"{"access_token":"a""#, Err("not_json")),
        (r#"{"access_token":"a"} trailing"#, Err("not_json")),
        (r#"{"access_token":"a",}"#, Err("not_json")),
        (r#"{'access_token':'a'}"#, Err("not_json")),
        (r#"{"access_token":"\ud800"}"#, Err("not_json")),
        (deep(31).as_str(), Ok(())),
        (deep(32).as_str(), Err("too_deep")),
        (deep(100_000).as_str(), Err("too_deep")),
        (long.as_str(), Err("too_long")),
    ] {
        let shown: String = body.chars().take(60).collect();
        assert_eq!(read(body).map(|_| ()), expected, "{shown}");
    }
    assert!(matches!(Reading::of(b"\xff\xfe{"), Reading::Unreadable("not_text")));
}

#[test]
fn an_errors_code_is_found_where_providers_put_it() {
    for (body, expected) in [
        (r#"{"error":"invalid_grant"}"#, Some("invalid_grant")),
        (r#"{"error":{"code":"invalid_grant"}}"#, Some("invalid_grant")),
        (r#"{"error":{"code":190,"type":"OAuthException"}}"#, Some("OAuthException")),
        (r#"{"error":{"message":"x"}}"#, None),
        (r#"{"error":7}"#, None),
        (r#"{"ok":false,"error":"invalid_code"}"#, Some("invalid_code")),
    ] {
        match Reading::of(body.as_bytes()) {
            Reading::Error { code } => assert_eq!(code.as_deref(), expected, "{body}"),
            Reading::Fields(_) | Reading::Unreadable(_) => panic!("{body}"),
        }
    }
}

/// What a provider with its own shape says, read as it says.
fn shaped(change: impl FnOnce(&mut config::Reads), body: &Value) -> Result<Tokens, String> {
    let mut provider = acme("https://acme.example");
    change(&mut provider.reads);
    match Reading::by(body.to_string().as_bytes(), &provider.reads.answer) {
        Reading::Fields(fields) => {
            tokens(fields, &provider, &Scopes::new(["asked"]).unwrap(), NOW).map_err(str::to_owned)
        }
        Reading::Error { code } => Err(code.unwrap_or_else(|| "error".into())),
        Reading::Unreadable(what) => Err(what.into()),
    }
}

/// R75: what is looked for stands where the provider has it.
#[test]
fn r75_nested_tokens_are_found_by_their_paths() {
    let nested = |reads: &mut config::Reads| {
        reads.answer.access_token = Some("access_token|authed_user.access_token".into());
        reads.answer.refresh_token = Some("authed_user.refresh".into());
        reads.answer.expires_in = Some("authed_user.life".into());
        reads.answer.scope = Some("authed_user.scopes".into());
        reads.answer.refresh_expires_in = Some("authed_user.refresh_life".into());
    };
    let body = json!({
        "authed_user": {
            "access_token": "a-1", "refresh": "r-1", "life": "60", "scopes": ["x", "y"],
            "refresh_life": 120,
        },
    });
    let read = shaped(nested, &body).unwrap();
    assert_eq!(read.access_token.expose(), "a-1");
    assert_eq!(read.refresh_token.unwrap().expose(), "r-1");
    assert_eq!(read.granted.to_text(), "x y");
    assert_eq!(seconds(read.access_expires_at), Some(60));
    assert_eq!(seconds(read.refresh_expires_at), Some(120));
    let flat = shaped(nested, &json!({"access_token": "a-2"})).unwrap();
    assert_eq!(flat.access_token.expose(), "a-2");
    assert_eq!(shaped(nested, &json!({"authed_user": {}})).unwrap_err(), "access_token");
}

/// R75: a life, an instant, or what is known of the provider, in this order.
#[test]
fn r75_an_end_is_taken_from_what_there_is() {
    let reads = |reads: &mut config::Reads| {
        reads.answer.expires_at = Some("until".into());
        reads.answer.default_life = Some(Duration::from_secs(90));
    };
    for (more, expected) in [
        (json!({"expires_in": 30, "until": "2025-11-29T12:01:00Z"}), 30),
        (json!({"until": "2025-11-29T12:01:00Z"}), 60),
        (json!({"expires_in": 0, "until": NOW.seconds() + 45}), 45),
        (json!({}), 90),
    ] {
        let mut body = json!({"access_token": "a"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let read = shaped(reads, &body).unwrap();
        assert_eq!(seconds(read.access_expires_at), Some(expected), "{more}");
    }
}

/// R76: an error inside of a success, as the provider writes it.
#[test]
fn r76_a_provider_tells_errors_in_its_own_way() {
    let ok = |reads: &mut config::Reads| {
        reads.answer.ok = Some(Expected { path: "error.code".into(), equals: json!("ok") });
        reads.answer.error = Some("error.code".into());
    };
    let good = json!({"access_token": "a", "error": {"code": "ok"}});
    assert!(shaped(ok, &good).is_ok());
    assert_eq!(shaped(ok, &json!({"error": {"code": "expired"}})).unwrap_err(), "expired");
    assert_eq!(shaped(ok, &json!({"access_token": "a"})).unwrap_err(), "error");
    let error = |reads: &mut config::Reads| reads.answer.error = Some("status".into());
    assert_eq!(shaped(error, &json!({"status": "BAD_REFRESH_TOKEN"})).unwrap_err(), "BAD_REFRESH_TOKEN");
    assert_eq!(shaped(error, &json!({"error": "invalid_grant"})).unwrap_err(), "invalid_grant");
    assert!(shaped(error, &json!({"access_token": "a"})).is_ok());
    let number = |reads: &mut config::Reads| reads.answer.error = Some("error.code".into());
    assert_eq!(
        shaped(number, &json!({"error": {"code": 190, "type": "OAuthException"}})).unwrap_err(),
        "190"
    );
}

#[test]
fn further_tokens_are_read_where_there_are_some() {
    let slots = |reads: &mut config::Reads| {
        reads.answer.scheme = Some("Bearer".into());
        let slot = Slot {
            access_token: "authed_user.access_token".into(),
            refresh_token: Some("authed_user.refresh_token".into()),
            expires_in: Some("authed_user.expires_in".into()),
            scope: Some("authed_user.scope".into()),
        };
        reads.slots.insert("user".into(), slot);
    };
    let body = json!({
        "access_token": "bot-1", "token_type": "bot", "scope": "chat:write",
        "authed_user": {"id": "U1", "access_token": "user-1", "expires_in": 43200, "scope": "search:read,files:read"},
    });
    let read = shaped(slots, &body).unwrap();
    assert_eq!((read.access_token.expose(), read.token_type.as_str()), ("bot-1", "Bearer"));
    let user = &read.slots["user"];
    assert_eq!(
        (user.access_token.expose(), user.granted.to_text().as_str()),
        ("user-1", "files:read search:read")
    );
    assert_eq!((seconds(user.access_expires_at), user.refresh_token.is_none()), (Some(43200), true));
    let without = json!({"access_token": "bot-1", "authed_user": {"id": "U1"}});
    assert!(shaped(slots, &without).unwrap().slots.is_empty());
    let broken = json!({"access_token": "bot-1", "authed_user": {"access_token": 7}});
    assert_eq!(shaped(slots, &broken).unwrap_err(), "access_token");
}

proptest! {
    #[test]
    fn r75_any_bytes_are_survived(body in any::<Vec<u8>>()) {
        if let Reading::Fields(fields) = Reading::of(&body) {
            let _ = tokens(fields, &acme("https://acme.example"), &Scopes::default(), NOW);
        }
    }

    /// What is taken is bounded, and a token is never another than what was sent.
    #[test]
    fn r75_what_is_taken_is_bounded(
        token in "[ -~]{0,40}",
        kind in proptest::option::of("\\PC{0,40}"),
        life in prop_oneof![any::<f64>().prop_map(|life| json!(life)), any::<i64>().prop_map(|life| json!(life))],
        scope in proptest::option::of("\\PC{0,60}"),
    ) {
        let answer = json!({"access_token": token, "token_type": kind, "expires_in": life, "scope": scope});
        if let Ok(tokens) = read(&answer.to_string()) {
            prop_assert_eq!(tokens.access_token.expose(), token.as_str());
            prop_assert!(!tokens.token_type.is_empty() && tokens.token_type.is_ascii());
            prop_assert!(tokens.access_expires_at.is_none_or(|at| at >= NOW && at <= NOW.plus(life::LONGEST_LIFE)));
            prop_assert!(Scopes::new(tokens.granted.to_vec()).is_ok());
        }
    }
}
