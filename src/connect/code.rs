//! Where nobody can sign in: a code that one browser shows, and that its person types into their MCP client.
//!
//! It runs against the direction of a sign-in: the page shows the code, and the client's user, whom the MCP server knows,
//! passes it on. Only the browser that showed it is proven then. What it must never do: show a code to a browser that did
//! not ask for one itself, or let one browser's code end another's.

use std::time::Duration;

use crate::{
    app::App,
    audit::Actor,
    config::BrowserIdentity,
    elicitation::{BrowserCode, Elicitation, ElicitationId, State},
    random::Random,
    secret::{Hash, Secret},
    store::{Mint, Proof, Typed, Visit},
    telemetry::SecurityEvent,
    vault::{Purpose, Vault},
};

use super::{Refusal, close};

/// How long a code can be typed.
const CODE_LIFE: Duration = Duration::from_mins(5);
/// Wrong codes that one MCP client may pass on for one elicitation.
const TRIES_MAX: i64 = 3;
/// Wrong codes that all MCP clients together may pass on for one elicitation.
const TOTAL_MAX: i64 = 12;
/// Why an elicitation ended whose client has passed on too many.
const TRIES_SPENT: &str = "code_tries_spent";

/// Letters that cannot be taken for each other and that make no words (RFC 8628, section 6.1).
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// 20^8 codes, about 34 bits: with three tries and five minutes that is enough (RFC 8628, section 5.1).
const LENGTH: usize = 8;
/// Another code is taken when a browser of the same elicitation shows the first.
const MINTS_MAX: usize = 3;
/// After a wrong code: how many more may be passed on, for each elicitation that it may have been for.
pub type TriesLeft = Vec<(ElicitationId, i64)>;

/// Longer than any value that we set.
const TEXT_BYTES_MAX: usize = 1024;

/// Whether the person of this elicitation is known by a code. What somebody began on a page of ours, they began signed in.
pub fn is_by_code(app: &App, asked: &Elicitation) -> bool {
    let identity = app.server(&asked.server).map(|server| server.identity);
    identity == Some(BrowserIdentity::Code) && !asked.is_own()
}

/// What a browser holds of a code: a secret that is its own, and the code that it shows. The store has digests of both.
#[derive(Debug)]
pub struct CodeCookie {
    secret: Secret,
    code: Secret,
}

impl CodeCookie {
    fn fresh(random: Random) -> Self {
        let letters: String = (0..LENGTH)
            .map(|_| usize::try_from(random.below(LETTERS.len() as u64)).unwrap_or(0))
            .map(|index| char::from(LETTERS[index]))
            .collect();
        Self { secret: random.secret(), code: Secret::new(letters) }
    }

    /// The cookie's value.
    fn seal(&self, vault: &Vault, id: ElicitationId) -> String {
        let plain = Secret::new(format!("{} {}", self.secret.expose(), self.code.expose()));
        vault.seal_text(Purpose::CodeCookie, &[&id.to_string()], plain.expose().as_bytes())
    }

    /// Opens a cookie's value for the elicitation that it was set for.
    pub fn open(vault: &Vault, id: ElicitationId, text: &str) -> Option<Self> {
        let text = Some(text).filter(|text| text.len() <= TEXT_BYTES_MAX)?;
        let plain = vault.open_text(Purpose::CodeCookie, &[&id.to_string()], text).ok()?.into_secret()?;
        let (secret, code) = plain.expose().split_once(' ')?;
        Some(Self { secret: Secret::new(secret), code: Secret::new(code) })
    }

    /// What the store knows the browser by.
    pub fn hash(&self) -> Hash {
        self.secret.hash()
    }

    /// The code as it is shown: `BCDF-GHJK`.
    pub fn shown(&self) -> Secret {
        let (first, second) = self.code.expose().split_at_checked(LENGTH / 2).unwrap_or_default();
        Secret::new(format!("{first}-{second}"))
    }
}

/// A code that was minted.
#[derive(Debug)]
pub struct Minted {
    /// The value of its cookie.
    pub cookie: String,
    /// How long the cookie is kept.
    pub life: Duration,
}

/// Mints a code for the browser that posted the form, in place of its own former one. A browser that is proven already, or
/// is in this very moment, keeps what it has: none.
///
/// # Errors
/// [`Refusal::NotFound`] where codes are not used; [`Refusal::Moved`] when it cannot be answered any more.
pub async fn mint(app: &App, visit: &Visit) -> Result<Option<Minted>, Refusal> {
    let now = app.clock.now();
    let asked = &visit.elicitation;
    if !is_by_code(app, asked) {
        return Err(Refusal::NotFound);
    }
    if visit.code.as_ref().is_some_and(|code| code.is_proven(now)) {
        return Ok(None);
    }
    let former = visit.code.as_ref().map(|code| &code.cookie);
    for _ in 0..MINTS_MAX {
        let cookie = CodeCookie::fresh(app.random);
        let code = BrowserCode {
            elicitation: asked.id,
            browser: app.random.row_id(now),
            cookie: cookie.hash(),
            expires_at: now.plus(CODE_LIFE).min(asked.expires_at),
            proven_at: None,
        };
        let tag = Hash(app.vault.mac(Purpose::BrowserCode, &tagged(&asked.id, &cookie.code)));
        match app.store.mint_code(&code, &tag, former, now).await? {
            Mint::Done => {
                let left = asked.expires_at.0.saturating_sub(now.0);
                let life = Duration::from_millis(u64::try_from(left).unwrap_or(0)) + after(app);
                return Ok(Some(Minted { cookie: cookie.seal(&app.vault, asked.id), life }));
            }
            Mint::Kept => return Ok(None),
            Mint::Refused => {}
        }
    }
    Err(Refusal::Moved)
}

/// How long after an elicitation's end its proven browser still sees the outcome.
fn after(app: &App) -> Duration {
    app.settings.lifetimes.session_idle
}

/// What the digest of a code is of. With its elicitation, so that equal codes of two are not equal in the store.
fn tagged<'a>(id: &'a ElicitationId, code: &'a Secret) -> [&'a [u8]; 2] {
    [id.0.as_bytes(), code.expose().as_bytes()]
}

/// Takes a code that the owner's MCP server has passed on for any of these elicitations. When it was wrong, gives the
/// tries that are left for each; one whose tries are spent ends, unless it has its browser already.
///
/// # Errors
/// The store's.
pub async fn prove(
    app: &App,
    asked: &[Elicitation],
    client_ref: &str,
    typed: &Secret,
) -> Result<TriesLeft, Refusal> {
    let now = app.clock.now();
    let code = normal(typed);
    let tags: Vec<Vec<Hash>> = asked
        .iter()
        .map(|one| {
            let parts = tagged(&one.id, &code);
            app.vault.macs(Purpose::BrowserCode, &parts).map(|(_, tag)| Hash(tag)).collect()
        })
        .collect();
    let after_ms = i64::try_from(after(app).as_millis()).unwrap_or(i64::MAX);
    let client = Hash::of(client_ref.as_bytes());
    let typed = Typed {
        elicitations: asked,
        tags: &tags,
        client,
        tries_max: TRIES_MAX,
        total_max: TOTAL_MAX,
        after_ms,
    };
    let left = match app.store.prove(typed, now).await? {
        Proof::Matched(_) => return Ok(TriesLeft::new()),
        Proof::Wrong(left) => left,
    };
    for one in asked {
        app.security_event(SecurityEvent::CodeRefused, Actor::Server, one);
    }
    for (id, left) in &left {
        let Some(one) = asked.iter().find(|one| one.id == *id && *left <= 0) else { continue };
        // What has its browser is not in need of a code, and goes on.
        if !app.store.has_proven_browser(*id, now).await? {
            close(app, one, State::Failed, TRIES_SPENT).await?;
        }
    }
    Ok(left)
}

/// A code as it was minted, whatever its person put between the letters.
fn normal(typed: &Secret) -> Secret {
    let letters = typed.expose().chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
    Secret::new(letters.flat_map(char::to_uppercase).take(LENGTH + 1).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_the_letters_does_not_matter() {
        for typed in ["BCDF-GHJK", "bcdf ghjk", " bcdfghjk\n", "b-c-d-f-g-h-j-k"] {
            assert_eq!(normal(&Secret::new(typed)).expose(), "BCDFGHJK");
        }
        assert_ne!(normal(&Secret::new("BCDFGHJKL")).expose(), "BCDFGHJK");
    }

    #[test]
    fn a_code_is_of_letters_that_cannot_be_mistaken() {
        let codes: std::collections::HashSet<String> =
            (0..1_000).map(|_| CodeCookie::fresh(Random).code.expose().to_owned()).collect();
        assert_eq!(codes.len(), 1_000);
        assert!(codes.iter().all(|code| code.len() == 8 && code.bytes().all(|it| LETTERS.contains(&it))));
        assert_eq!(CodeCookie::fresh(Random).shown().expose().len(), 9);
    }
}
