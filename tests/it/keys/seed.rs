//! Rings of keys, and rows that are really sealed.

use std::time::Duration;

use consentry::{
    clock::Millis,
    connection::{Account, Connection, ConnectionId, NewConnection},
    elicitation::{AttemptId, AttemptState, Elicitation, ElicitationId, NewAttempt, NewElicitation, Outcome},
    random::Random,
    scope::Scopes,
    secret::Secret,
    store::{Settled, Settlement, Store},
    subject::Subject,
    vault::{Key, KeyId, Place, Sealed, Vault},
};

/// Keys that many rings are made of.
pub(crate) struct Keys(Vec<(KeyId, Secret)>);

impl Keys {
    pub(crate) fn new(names: &[&str]) -> Self {
        let made = names.iter().map(|name| {
            let id = KeyId::new(*name).unwrap();
            (id.clone(), Key::generate(id, &Random).1)
        });
        Self(made.collect())
    }

    /// One more, whose base64 is known.
    pub(crate) fn with(mut self, name: &str, text: &str) -> Self {
        self.0.push((KeyId::new(name).unwrap(), Secret::new(text)));
        self
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        let (id, text) = self.0.iter().find(|key| key.0.as_str() == name).expect("a key of this test");
        Key::from_base64(id.clone(), text).unwrap()
    }

    /// A key's base64.
    pub(crate) fn text(&self, name: &str) -> String {
        let key = self.0.iter().find(|key| key.0.as_str() == name).expect("a key of this test");
        key.1.expose().to_owned()
    }

    /// A vault over these, in this order.
    pub(crate) fn ring(&self, names: &[&str]) -> Vault {
        Vault::new(names.iter().map(|name| self.key(name)).collect(), Random).unwrap()
    }
}

/// The token that a connection's row holds.
pub(crate) fn token(sub: &str, generation: i64) -> String {
    format!("canary-{sub}-{generation}")
}

fn asked(server: &str, owner: &Subject, provider: &str, now: Millis) -> NewElicitation {
    NewElicitation {
        id: ElicitationId(Random.uuid()),
        server: server.parse().unwrap(),
        owner: owner.clone(),
        provider: provider.parse().unwrap(),
        scopes: Scopes::new(["files.read"]).unwrap(),
        values: consentry::values::Values::default(),
        typed: consentry::values::Values::default(),
        legacy: true,
        client_ref: String::new(),
        client_name: None,
        message: None,
        seen: None,
        expires_at: now.plus(Duration::from_secs(1_800)),
        restart_of: None,
    }
}

fn place<'a>(
    asked: &'a Elicitation,
    table: &'static str,
    column: &'static str,
    row: uuid::Uuid,
    generation: i64,
) -> Place<'a> {
    Place {
        table,
        column,
        row,
        server: asked.server.as_str(),
        issuer: &asked.owner.issuer,
        sub: &asked.owner.sub,
        provider: asked.provider.as_str(),
        generation,
    }
}

/// A person who is asked has agreed: the elicitation, and the attempt whose verifier is sealed by `vault`.
pub(crate) async fn attempt(
    store: &Store,
    vault: &Vault,
    (server, provider): (&str, &str),
    owner: &Subject,
    now: Millis,
) -> (Elicitation, AttemptId) {
    let elicitation = store.create(&asked(server, owner, provider, now), now).await.unwrap().elicitation;
    let id = AttemptId(Random.row_id(now));
    let trip = NewAttempt {
        id,
        browser: Random.uuid(),
        state_hash: Random.secret().hash(),
        binding_hash: Random.secret().hash(),
        verifier: Some(vault.seal(&attempt_place(&elicitation, id, "verifier"), b"a verifier")),
        expected_issuer: None,
        issuer_required: false,
        redirect_uri: "http://localhost:8080/callback/files/acme".to_owned(),
        scopes: elicitation.scopes.clone(),
        values: consentry::values::Values::default(),
        fingerprint: None,
        expires_at: elicitation.expires_at,
        page: None,
    };
    let open = elicitation.clone().owned_by(owner).unwrap().open(now).unwrap();
    assert!(store.begin(&open, &trip, now).await.unwrap());
    (elicitation, id)
}

/// A cell of an attempt's row.
pub(crate) fn attempt_place<'a>(asked: &'a Elicitation, id: AttemptId, column: &'static str) -> Place<'a> {
    place(asked, "attempts", column, id.0, 0)
}

/// Connects, or connects again, with a credential sealed by `vault`. `None` when somebody else did meanwhile.
pub(crate) async fn connect(
    store: &Store,
    vault: &Vault,
    (server, provider): (&str, &str),
    owner: &Subject,
    now: Millis,
) -> Option<Connection> {
    let (elicitation, id) = attempt(store, vault, (server, provider), owner, now).await;
    let mine = elicitation.clone().owned_by(owner).unwrap();
    let attempt = store.attempt(elicitation.id, id).await.unwrap().unwrap();
    let claimed = store.claim(mine, &attempt, now).await.unwrap()?;
    let existing = store.connection_for(&elicitation.server, owner, &elicitation.provider).await.unwrap();
    let id = existing.as_ref().map_or_else(|| ConnectionId(Random.row_id(now)), |one| one.id);
    let generation = existing.as_ref().map_or(1, |one| one.generation + 1);
    let seal = |column, text: String| -> Sealed {
        vault.seal(&place(&elicitation, "connections", column, id.0, generation), text.as_bytes())
    };
    let connection = NewConnection {
        id,
        account: Account { id: Some("583231".to_owned()), label: Some("octocat".to_owned()) },
        granted: elicitation.scopes.clone(),
        asked: elicitation.scopes.clone(),
        generation,
        access: seal("access", format!("Bearer\n{}", token(&owner.sub, generation))),
        refresh: Some(seal("refresh", "a refresh token".to_owned())),
        access_expires_at: None,
        refresh_expires_at: None,
        consent_expires_at: None,
        values: consentry::values::Values::default(),
        fingerprint: None,
        marks: consentry::connection::Marks::default(),
    };
    let settlement = Settlement {
        mine: &claimed.mine,
        attempt: &claimed.attempt,
        from: AttemptState::Claimed,
        connection,
        over: existing.map(|one| (one.id, one.generation)),
        outcome: Outcome::Connected,
    };
    match store.settle(&settlement, now).await.unwrap() {
        Settled::Done { connection, .. } => Some(*connection),
        _ => None,
    }
}

/// What a connection's row holds, opened by `vault`.
pub(crate) fn opened(vault: &Vault, connection: &Connection) -> String {
    let plain = vault.open(&connection.place("access"), &connection.access).expect("it opens");
    let refresh = connection.refresh.as_ref().expect("a refresh token");
    assert_eq!(
        vault.open(&connection.place("refresh"), refresh).expect("it opens").expose(),
        b"a refresh token"
    );
    let text = String::from_utf8(plain.expose().to_vec()).unwrap();
    text.strip_prefix("Bearer\n").unwrap().to_owned()
}
