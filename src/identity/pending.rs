//! A sign-in on its way, kept nowhere but in a sealed cookie of this browser (R24).
//!
//! One random seed gives `state`, `nonce` and the PKCE verifier, so that the cookie stays small: up to four of them
//! travel with every request. The seal is bound to the authorization server, whose callback path must open it.

use aws_lc_rs::hmac;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;

use super::SignInRefusal;
use crate::{
    clock::Millis,
    elicitation::{AttemptId, ElicitationId, ServerId},
    random::Random,
    secret::{Hash, Secret},
    vault::{Purpose, Vault},
};

const VERSION: u8 = 1;
/// Longer than any value that we set.
const TEXT_BYTES_MAX: usize = 1024;

/// Where a sign-in leads back to. Only ids, so that no answer can send the browser elsewhere (R46).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The connect page, or the rest of an attempt that waits for the sign-in.
    Elicitation {
        /// What is asked.
        id: ElicitationId,
        /// What waits.
        attempt: Option<AttemptId>,
    },
    /// The person's connections.
    Connections {
        /// At this server's issuer.
        server: ServerId,
    },
    /// All that the person has connected, wherever they are signed in.
    Everything {
        /// The authorization server to sign in at, by its id.
        authority: String,
    },
}

impl Target {
    /// The path on our own origin.
    pub fn path(&self) -> String {
        match self {
            Self::Elicitation { id, attempt: None } => format!("/connect?elicitationId={id}"),
            Self::Elicitation { id, attempt: Some(attempt) } => {
                format!("/connect/{id}/resume?attempt={attempt}")
            }
            Self::Connections { server } => format!("/connections?server={server}"),
            Self::Everything { .. } => "/connections".to_owned(),
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Elicitation { id, attempt } => {
                out.push(b'e');
                out.extend_from_slice(id.0.as_bytes());
                out.extend_from_slice(attempt.map(|attempt| attempt.0).unwrap_or_default().as_bytes());
            }
            Self::Connections { server } => {
                out.push(b'c');
                out.extend_from_slice(server.as_str().as_bytes());
            }
            Self::Everything { authority } => {
                out.push(b'a');
                out.extend_from_slice(authority.as_bytes());
            }
        }
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            b'e' => {
                let (id, attempt) = rest.split_first_chunk::<16>()?;
                let attempt = Uuid::from_slice(attempt).ok()?;
                Some(Self::Elicitation {
                    id: ElicitationId(Uuid::from_bytes(*id)),
                    attempt: (!attempt.is_nil()).then_some(AttemptId(attempt)),
                })
            }
            b'c' => Some(Self::Connections { server: std::str::from_utf8(rest).ok()?.parse().ok()? }),
            b'a' => Some(Self::Everything { authority: std::str::from_utf8(rest).ok()?.to_owned() }),
            _ => None,
        }
    }
}

/// What the cookie holds.
pub(super) struct Pending {
    seed: [u8; 32],
    pub(super) begun_at: Millis,
    pub(super) browser: Uuid,
    pub(super) target: Target,
}

impl Pending {
    pub(super) fn new(random: Random, begun_at: Millis, browser: Uuid, target: Target) -> Self {
        Self { seed: random.bytes(), begun_at, browser, target }
    }

    pub(super) fn state(&self) -> Secret {
        self.derived("state")
    }

    pub(super) fn nonce(&self) -> Secret {
        self.derived("nonce")
    }

    /// 43 characters (RFC 7636, section 4.1).
    pub(super) fn verifier(&self) -> Secret {
        self.derived("verifier")
    }

    /// RFC 7636, section 4.2.
    pub(super) fn challenge(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.verifier().hash().as_bytes())
    }

    fn derived(&self, what: &str) -> Secret {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.seed), what.as_bytes());
        Secret::new(BASE64_URL_SAFE_NO_PAD.encode(tag))
    }

    pub(super) fn seal(&self, vault: &Vault, server: &str, issuer: &str) -> String {
        let mut plain = vec![VERSION];
        plain.extend_from_slice(&self.seed);
        plain.extend_from_slice(&self.begun_at.0.to_be_bytes());
        plain.extend_from_slice(self.browser.as_bytes());
        self.target.write(&mut plain);
        vault.seal_text(Purpose::SignInCookie, &[server, issuer], &plain)
    }

    /// Opens a cookie that was sealed for this server; any other is as good as none.
    pub(super) fn open(
        vault: &Vault,
        server: &str,
        issuer: &str,
        cookie: &str,
    ) -> Result<Self, SignInRefusal> {
        if cookie.len() > TEXT_BYTES_MAX {
            return Err(SignInRefusal::NotBegunHere);
        }
        let opened = vault.open_text(Purpose::SignInCookie, &[server, issuer], cookie);
        let opened = opened.map_err(|_| SignInRefusal::NotBegunHere)?;
        Self::read(opened.expose()).ok_or(SignInRefusal::NotBegunHere)
    }

    fn read(plain: &[u8]) -> Option<Self> {
        let (&VERSION, rest) = plain.split_first()? else { return None };
        let (seed, rest) = rest.split_first_chunk::<32>()?;
        let (begun_at, rest) = rest.split_first_chunk::<8>()?;
        let (browser, target) = rest.split_first_chunk::<16>()?;
        Some(Self {
            seed: *seed,
            begun_at: Millis(i64::from_be_bytes(*begun_at)),
            browser: Uuid::from_bytes(*browser),
            target: Target::read(target)?,
        })
    }
}

/// What the cookie of a `state` is called, behind the common part of the names.
pub(super) fn cookie_key(state: &Secret) -> String {
    Hash::of(state.expose().as_bytes()).short()
}

#[cfg(test)]
mod tests {
    use super::{super::tests::vault, *};

    fn pending(target: Target) -> Pending {
        Pending::new(Random, Millis(7), Uuid::from_u128(8), target)
    }

    #[test]
    fn a_cookie_comes_back_as_it_was() {
        let vault = vault();
        let id = ElicitationId(Uuid::from_u128(9));
        let attempt = AttemptId(Uuid::from_u128(10));
        for (target, path) in [
            (Target::Elicitation { id, attempt: None }, format!("/connect?elicitationId={id}")),
            (
                Target::Elicitation { id, attempt: Some(attempt) },
                format!("/connect/{id}/resume?attempt={attempt}"),
            ),
            (
                Target::Connections { server: "files".parse().unwrap() },
                "/connections?server=files".to_owned(),
            ),
        ] {
            let made = pending(target.clone());
            let cookie = made.seal(&vault, "main", "https://id.example.com");
            assert!(cookie.len() < 260, "four of them and eight attempts' must fit in 4 KB");
            let opened = Pending::open(&vault, "main", "https://id.example.com", &cookie).unwrap();
            assert_eq!((opened.begun_at, opened.browser), (Millis(7), Uuid::from_u128(8)));
            assert_eq!(opened.target, target);
            assert_eq!(opened.state(), made.state());
            assert_eq!(opened.target.path(), path);
        }
    }

    /// R24, R38: a cookie of another server, or of anything else, begins nothing.
    #[test]
    fn r24_a_cookie_opens_only_for_its_own_server() {
        let vault = vault();
        let target = Target::Connections { server: "files".parse().unwrap() };
        let cookie = pending(target).seal(&vault, "main", "https://id.example.com");
        for (server, issuer) in
            [("other", "https://id.example.com"), ("main", "https://evil.example"), ("", "")]
        {
            assert!(Pending::open(&vault, server, issuer, &cookie).is_err());
        }
        for &purpose in Purpose::ALL.iter().filter(|purpose| **purpose != Purpose::SignInCookie) {
            let other = vault.seal_text(purpose, &["main", "https://id.example.com"], &[1; 90]);
            assert!(Pending::open(&vault, "main", "https://id.example.com", &other).is_err());
        }
    }

    /// R7, R57: three values of 256 bits that say nothing of each other.
    #[test]
    fn r57_the_derived_values_differ() {
        let one = pending(Target::Connections { server: "files".parse().unwrap() });
        let other = pending(Target::Connections { server: "files".parse().unwrap() });
        let all = [one.state(), one.nonce(), one.verifier(), other.state(), other.nonce(), other.verifier()];
        for (at, value) in all.iter().enumerate() {
            assert_eq!(value.expose().len(), 43);
            assert!(all[..at].iter().all(|earlier| earlier != value));
        }
    }
}
