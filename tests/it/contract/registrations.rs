//! Clients that are registered here: one turn for all processes, over exactly what was seen, and refusals that add up.

use std::time::Duration;

use consentry::{
    store::{NewRegistration, RegistrationClaim, ToRegister},
    vault::Sealed,
};
use uuid::Uuid;

use super::given::*;
use crate::engine::Database;

contract! {
    one_process_registers_at_a_time,
    an_issuers_client_is_no_other_issuers,
    a_turn_that_failed_is_followed_by_a_pause,
    refusals_add_up_for_a_while,
}

const ISSUER: &str = "https://id.tools.example";
const CALLBACK: &str = "https://connect.example/callback/files/tools";

fn by(seen: i64, claim: u128) -> ToRegister<'static> {
    ToRegister {
        issuer: ISSUER,
        redirect_uri: CALLBACK,
        server: "files",
        provider: "tools",
        seen,
        id: Uuid::from_u128(claim + 100),
        claim: Uuid::from_u128(claim),
    }
}

fn client(id: &str) -> NewRegistration<'_> {
    NewRegistration {
        client_id: id,
        secret: Some(Sealed::from_bytes(b"sealed".to_vec())),
        authentication: "client_secret_basic",
        secret_expires_at: Some(after(7_200)),
        next_at: after(600),
    }
}

async fn claims(db: &Database, seen: i64, claim: u128, at: u64) -> Option<RegistrationClaim> {
    db.store.claim_registration(by(seen, claim), after(at), after(at + 60)).await.unwrap()
}

async fn one_process_registers_at_a_time(db: Database) {
    assert!(db.store.registration(ISSUER, CALLBACK).await.unwrap().is_none());
    let other = db.replica().await;
    let (one, two) = tokio::join!(
        db.store.claim_registration(by(0, 1), NOW, after(60)),
        other.claim_registration(by(0, 2), NOW, after(60)),
    );
    let claims_: Vec<RegistrationClaim> = [one.unwrap(), two.unwrap()].into_iter().flatten().collect();
    let [claim] = claims_[..] else { panic!("{claims_:?}") };
    let known = db.store.registration(ISSUER, CALLBACK).await.unwrap().unwrap();
    assert!(!known.lasts(NOW, Duration::ZERO), "there is no client yet");
    assert!(db.store.keep_registration(claim, &client("first"), NOW).await.unwrap());
    let known = db.store.registration(ISSUER, CALLBACK).await.unwrap().unwrap();
    assert_eq!((known.client_id.as_deref(), known.generation), (Some("first"), 1));
    assert_eq!((known.server.as_str(), known.provider.as_str()), ("files", "tools"));
    assert!(known.lasts(NOW, Duration::from_secs(7_199)) && !known.lasts(NOW, Duration::from_secs(7_200)));
    // Whoever had not seen it does not replace it, and whoever has seen it not before its time.
    assert!(claims(&db, 0, 3, 700).await.is_none());
    assert!(claims(&db, 1, 3, 599).await.is_none());
    let second = claims(&db, 1, 3, 600).await.unwrap();
    assert_eq!((second.id, second.generation), (claim.id, 1));
    // A turn ends, and then what it brings is too late.
    let third = claims(&db, 1, 4, 660).await.unwrap();
    assert!(!db.store.keep_registration(second, &client("late"), after(661)).await.unwrap());
    assert!(db.store.keep_registration(third, &client("third"), after(661)).await.unwrap());
    let known = db.store.registration(ISSUER, CALLBACK).await.unwrap().unwrap();
    assert_eq!((known.client_id.as_deref(), known.generation), (Some("third"), 2));
}

/// R63: what one issuer gave is found for no other, and for no other callback.
async fn an_issuers_client_is_no_other_issuers(db: Database) {
    let claim = claims(&db, 0, 1, 0).await.unwrap();
    assert!(db.store.keep_registration(claim, &client("first"), NOW).await.unwrap());
    for (issuer, callback) in [("https://id.tools.example/", CALLBACK), (ISSUER, "https://connect.example/x")]
    {
        assert!(db.store.registration(issuer, callback).await.unwrap().is_none());
    }
}

async fn a_turn_that_failed_is_followed_by_a_pause(db: Database) {
    let claim = claims(&db, 0, 1, 0).await.unwrap();
    db.store.put_registration_off(claim, after(30)).await.unwrap();
    assert!(claims(&db, 0, 2, 29).await.is_none());
    let again = claims(&db, 0, 2, 30).await.unwrap();
    // The former one has no say any more.
    db.store.put_registration_off(claim, after(999)).await.unwrap();
    assert!(db.store.keep_registration(again, &client("second"), after(31)).await.unwrap());
}

async fn refusals_add_up_for_a_while(db: Database) {
    let claim = claims(&db, 0, 1, 0).await.unwrap();
    assert!(db.store.keep_registration(claim, &client("first"), NOW).await.unwrap());
    let refuse = async |client: &str, weight, since, at| {
        let place = (ISSUER, CALLBACK);
        db.store.registration_refused(place, client, weight, after(since), after(at)).await.unwrap();
        db.store.registration(ISSUER, CALLBACK).await.unwrap().unwrap().refusals
    };
    assert_eq!(refuse("another", 2, 0, 10).await, 0);
    assert_eq!(refuse("first", 1, 0, 10).await, 1);
    assert_eq!(refuse("first", 1, 20, 30).await, 1, "the first was long ago");
    assert_eq!(refuse("first", 1, 20, 40).await, 2);
    assert!(!db.store.registration(ISSUER, CALLBACK).await.unwrap().unwrap().lasts(NOW, Duration::ZERO));
}
