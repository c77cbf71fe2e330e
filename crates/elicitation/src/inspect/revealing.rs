//! What an address should not hold: credentials, because who has the address has them (E31, E33), and what it says about
//! the person (E31). Judged by names and shapes, without asking anybody.

use url::Url;

use crate::Sensitive;
use crate::form::Format;
use crate::sensitive::words;

/// Names of parameters that carry a credential and that a form would not be refused for.
const CREDENTIALS: &[&str] = &[
    "auth",
    "authorization",
    "sid",
    "session",
    "sessionid",
    "sig",
    "signature",
    "idtokenhint",
    "ticket",
    "magic",
];

/// Names of parameters that tell who somebody is.
const PERSONAL: &[&str] = &[
    "email",
    "emailaddress",
    "mail",
    "usermail",
    "useremail",
    "phone",
    "phonenumber",
    "tel",
    "mobile",
    "user",
    "username",
    "userid",
    "uid",
    "login",
    "loginhint",
    "fullname",
    "firstname",
    "lastname",
    "givenname",
    "familyname",
    "surname",
    "birthday",
    "birthdate",
    "dob",
    "address",
    "street",
    "sub",
    "passport",
];

/// How secrets of widespread services begin.
const PREFIXES: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "pk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "-----BEGIN",
    "Bearer ",
    "Basic ",
];

/// Does the address carry a credential, and does it tell about a person?
pub(super) fn of(url: &Url) -> (bool, bool) {
    let fragment = url.fragment().unwrap_or_default().as_bytes();
    let pairs = || {
        url.query_pairs().chain(url::form_urlencoded::parse(fragment)).filter(|(_, value)| !value.is_empty())
    };
    let segments = || {
        let path = url.path_segments().into_iter().flatten().chain(url.fragment());
        path.map(percent)
    };
    let values = || pairs().map(|(_, value)| value.into_owned()).chain(segments());
    let credentials =
        pairs().any(|(name, _)| is_credential(&name)) || values().any(|value| is_secret(&value));
    let personal = pairs().any(|(name, _)| PERSONAL.contains(&joined(&name).as_str()))
        || values().any(|value| Format::Email.fits(&value));
    (credentials, personal)
}

/// A path is decoded like a parameter, in which a plus would be a space.
fn percent(segment: &str) -> String {
    let plain = segment.replace('+', "%2B");
    url::form_urlencoded::parse(plain.as_bytes()).map(|(name, value)| format!("{name}{value}")).collect()
}

fn is_credential(name: &str) -> bool {
    let joined = joined(name);
    Sensitive::asked_by(name).is_some()
        || CREDENTIALS.contains(&joined.as_str())
        || joined.ends_with("signature")
        || joined.ends_with("sessionid")
}

fn joined(name: &str) -> String {
    words(name).concat()
}

fn is_secret(value: &str) -> bool {
    let long = value.len() >= 16;
    long && (PREFIXES.iter().any(|prefix| value.starts_with(prefix)) || is_jwt(value))
}

/// Three parts, the first of which begins like a JSON object in base64.
fn is_jwt(value: &str) -> bool {
    let parts: Vec<&str> = value.split('.').collect();
    let letters =
        |part: &&str| part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_=".contains(letter));
    parts.len() >= 3 && value.starts_with("eyJ") && parts.iter().all(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e31_e33_credentials_and_persons_are_seen() {
        let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln";
        for (rest, credentials, personal) in [
            ("connect?elicitationId=550e8400-e29b-41d4-a716-446655440000", false, false),
            ("authorize?client_id=x&state=y&code_challenge=z&response_type=code&scope=email", false, false),
            ("a?access_token=x", true, false),
            ("a?api_key=x", true, false),
            ("a?apikey=", false, false),
            ("a?session=x", true, false),
            ("a?JSESSIONID=x", true, false),
            ("a?X-Amz-Signature=x", true, false),
            ("a#access_token=x", true, false),
            ("a?next=ghp_0123456789abcdef", true, false),
            (&format!("a/{token}"), true, false),
            (&format!("a?x={token}"), true, false),
            ("a?email=x", false, true),
            ("a?user_id=7", false, true),
            ("a?login_hint=x", false, true),
            ("a?who=alice%40example.com", false, true),
            ("u/alice@example.com/connect", false, true),
            ("u/alice%2Bwork%40example.com", false, true),
            ("a?user=alice&token=x", true, true),
            ("a?max_tokens=3", false, false),
        ] {
            let url = Url::parse(&format!("https://connect.example.com/{rest}")).unwrap();
            assert_eq!(of(&url), (credentials, personal), "{rest}");
        }
    }
}
