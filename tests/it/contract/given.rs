//! The people, tenants and rows that the contract's tests begin with.

use std::time::Duration;

use consentry::{
    clock::Millis,
    connection::{Account, Connection, ConnectionId, Marks, NewConnection},
    elicitation::{
        Attempt, AttemptId, AttemptState, Claimed, Elicitation, ElicitationId, NewAttempt, NewElicitation,
        Outcome, Owned, OwnedOpen, ProviderId, ServerId, State,
    },
    random::Random,
    scope::Scopes,
    secret::Hash,
    signal::Kind,
    store::{Settled, Settlement, Store},
    subject::Subject,
    values::Values,
    vault::Sealed,
};
use uuid::Uuid;

/// When the tests begin: an instant without a meaning.
pub(super) const NOW: Millis = Millis(1_800_000_000_000);
/// How long an elicitation of these tests lives.
pub(super) const LIFE: Duration = Duration::from_secs(1_800);
/// How long an attempt lives.
pub(super) const ATTEMPT_LIFE: Duration = Duration::from_secs(600);

/// `seconds` after [`NOW`].
pub(super) fn after(seconds: u64) -> Millis {
    NOW.plus(Duration::from_secs(seconds))
}

pub(super) fn alice() -> Subject {
    Subject::new("https://id.example", "alice").unwrap()
}

pub(super) fn bob() -> Subject {
    Subject::new("https://id.example", "bob").unwrap()
}

/// The MCP server that most tests are about.
pub(super) fn files() -> ServerId {
    "files".parse().unwrap()
}

/// Another tenant.
pub(super) fn notes() -> ServerId {
    "notes".parse().unwrap()
}

pub(super) fn github() -> ProviderId {
    "github".parse().unwrap()
}

pub(super) fn scopes(names: &[&str]) -> Scopes {
    Scopes::new(names.iter().copied()).unwrap()
}

/// Values, by name.
pub(super) fn values(pairs: &[(&str, &str)]) -> Values {
    let mut values = Values::default();
    for (name, value) in pairs {
        values.insert(name, value).unwrap();
    }
    values
}

/// Alice is asked by `files` for GitHub, by a client of the legacy era.
pub(super) fn asked() -> NewElicitation {
    NewElicitation {
        id: ElicitationId(Random.uuid()),
        server: files(),
        owner: alice(),
        provider: github(),
        scopes: scopes(&["repo"]),
        values: Values::default(),
        typed: Values::default(),
        legacy: true,
        client_ref: "session-1".to_owned(),
        client_name: Some("Some Client".to_owned()),
        message: Some("Connect GitHub to list your repositories.".to_owned()),
        seen: None,
        expires_at: NOW.plus(LIFE),
        restart_of: None,
    }
}

/// The same, from a client that gave this reference.
pub(super) fn asked_by(client_ref: &str) -> NewElicitation {
    NewElicitation { client_ref: client_ref.to_owned(), ..asked() }
}

/// A trip to the provider, begun at `now`.
pub(super) fn trip(now: Millis) -> NewAttempt {
    NewAttempt {
        id: AttemptId(Random.row_id(now)),
        browser: Random.uuid(),
        state_hash: Random.secret().hash(),
        binding_hash: Random.secret().hash(),
        verifier: Some(Sealed::from_bytes(b"sealed verifier".to_vec())),
        expected_issuer: Some("https://github.example".to_owned()),
        issuer_required: false,
        redirect_uri: "https://connect.example/callback/files/github".to_owned(),
        scopes: scopes(&["repo"]),
        values: values(&[("subdomain", "acme")]),
        fingerprint: Some(digest("a place")),
        expires_at: now.plus(ATTEMPT_LIFE),
        page: None,
    }
}

/// A credential of `account`, sealed.
pub(super) fn credential(account: &str, generation: i64) -> NewConnection {
    NewConnection {
        id: ConnectionId(Random.row_id(NOW)),
        account: Account { id: Some(account.to_owned()), label: Some(format!("{account}-label")) },
        granted: scopes(&["repo"]),
        asked: scopes(&["repo"]),
        generation,
        access: Sealed::from_bytes(format!("sealed access {generation}").into_bytes()),
        refresh: Some(Sealed::from_bytes(format!("sealed refresh {generation}").into_bytes())),
        access_expires_at: None,
        refresh_expires_at: None,
        consent_expires_at: None,
        values: values(&[("subdomain", "acme")]),
        fingerprint: Some(digest("a place")),
        marks: Marks::default(),
    }
}

pub(super) fn digest(text: &str) -> Hash {
    Hash::of(text.as_bytes())
}

/// The proof that the owner is at the browser.
pub(super) fn owned(elicitation: &Elicitation) -> Owned {
    elicitation.clone().owned_by(&elicitation.owner).unwrap()
}

/// The same, of one that was open at [`NOW`].
pub(super) fn owned_open(elicitation: &Elicitation) -> OwnedOpen {
    owned(elicitation).open(NOW).unwrap()
}

/// Moves that a test makes on the way to what it is about; each must succeed.
pub(super) trait Given {
    async fn given_elicitation(&self, new: &NewElicitation) -> Elicitation;
    /// The elicitation as it is now.
    async fn again(&self, elicitation: &Elicitation) -> Elicitation;
    async fn given_attempt(&self, elicitation: &Elicitation, now: Millis) -> Attempt;
    /// The same at [`NOW`], begun in this browser.
    async fn given_attempt_in(&self, elicitation: &Elicitation, browser: Uuid) -> Attempt;
    async fn given_claimed(&self, elicitation: &Elicitation, now: Millis) -> Claimed;
    async fn given_offered(&self, elicitation: &Elicitation, now: Millis) -> Attempt;
    /// Alice's connection under `files`, made by a whole trip, whose elicitation is completed.
    async fn given_connection(&self, account: &str) -> Connection;
    async fn attempt_now(&self, attempt: &Attempt) -> Attempt;
    /// The signals of an MCP server: what, and about which elicitation; their numbers are 1, 2, 3.
    async fn told(&self, server: &ServerId) -> Vec<(Kind, Option<ElicitationId>)>;
}

impl Given for Store {
    async fn given_elicitation(&self, new: &NewElicitation) -> Elicitation {
        let created = self.create(new, NOW).await.unwrap();
        assert!(created.is_new);
        assert_eq!(created.elicitation.id, new.id);
        created.elicitation
    }

    async fn again(&self, elicitation: &Elicitation) -> Elicitation {
        self.elicitation(elicitation.id).await.unwrap().unwrap()
    }

    async fn given_attempt(&self, elicitation: &Elicitation, now: Millis) -> Attempt {
        let mut new = trip(now);
        new.expires_at = new.expires_at.min(elicitation.expires_at);
        assert!(self.begin(&owned_open(elicitation), &new, now).await.unwrap());
        self.attempt(elicitation.id, new.id).await.unwrap().unwrap()
    }

    async fn given_attempt_in(&self, elicitation: &Elicitation, browser: Uuid) -> Attempt {
        let new = NewAttempt { browser, ..trip(NOW) };
        assert!(self.begin(&owned_open(elicitation), &new, NOW).await.unwrap());
        self.attempt(elicitation.id, new.id).await.unwrap().unwrap()
    }

    async fn given_claimed(&self, elicitation: &Elicitation, now: Millis) -> Claimed {
        let attempt = self.given_attempt(elicitation, now).await;
        self.claim(owned(elicitation), &attempt, now).await.unwrap().unwrap()
    }

    async fn given_offered(&self, elicitation: &Elicitation, now: Millis) -> Attempt {
        let claimed = self.given_claimed(elicitation, now).await;
        let offer = Sealed::from_bytes(b"sealed offer".to_vec());
        assert!(self.offer(&claimed.attempt, &offer, now).await.unwrap());
        self.attempt_now(&claimed.attempt).await
    }

    async fn given_connection(&self, account: &str) -> Connection {
        let elicitation = self.given_elicitation(&asked_by("")).await;
        let claimed = self.given_claimed(&elicitation, NOW).await;
        match self.settle(&settling(&claimed, credential(account, 1), None), NOW).await.unwrap() {
            Settled::Done { connection, .. } => *connection,
            other => panic!("{other:?}"),
        }
    }

    async fn attempt_now(&self, attempt: &Attempt) -> Attempt {
        self.attempt(attempt.elicitation, attempt.id).await.unwrap().unwrap()
    }

    async fn told(&self, server: &ServerId) -> Vec<(Kind, Option<ElicitationId>)> {
        let signals = self.signals_after(server, 0, 1_000).await.unwrap();
        for (at, signal) in (1..).zip(&signals) {
            assert_eq!(signal.sequence, at, "numbers have no gaps");
            assert_eq!(&signal.server, server);
        }
        signals.into_iter().map(|signal| (signal.kind, signal.elicitation)).collect()
    }
}

/// A claimed attempt's success with `connection`, compared with `over`.
pub(super) fn settling(
    claimed: &Claimed,
    connection: NewConnection,
    over: Option<(ConnectionId, i64)>,
) -> Settlement<'_> {
    Settlement {
        mine: &claimed.mine,
        attempt: &claimed.attempt,
        from: AttemptState::Claimed,
        connection,
        over,
        outcome: Outcome::Connected,
    }
}

/// What a closed elicitation's ending is told as.
pub(super) fn ending(state: State) -> Kind {
    Kind::of_end(state).unwrap()
}
