//! What a resource server refused: handed out no more, made anew once, and then the person's.

use consentry::{
    connection::{Connection, ConnectionId, Status},
    elicitation::NewElicitation,
    signal::Kind,
    store::{Failing, Reported, Settled},
};

use super::{
    given::*,
    leases::{renewed, taken},
};
use crate::engine::Database;

contract! {
    a_refused_token_is_made_anew_once_and_then_the_person_is_asked,
    a_report_of_an_older_generation_changes_nothing,
    r84_a_second_report_waits_for_a_refresh,
    without_a_refresh_token_the_person_is_asked_at_once,
    one_that_has_ended_is_handed_out_until_it_is_refused,
}

async fn report(db: &Database, id: ConnectionId, generation: i64) -> Reported {
    db.store.report_refused(&files(), id, generation, "unauthorized", after(5)).await.unwrap()
}

async fn now(db: &Database, id: ConnectionId) -> Connection {
    db.store.any_connection(id).await.unwrap().unwrap()
}

async fn a_refused_token_is_made_anew_once_and_then_the_person_is_asked(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let before = db.store.signal_head(&files()).await.unwrap();
    let Reported::Refused(refused) = report(&db, mine.id, 1).await else { panic!("it is noted") };
    assert_eq!((refused.status, refused.refused_generation), (Status::Active, Some(1)));
    assert!(!refused.is_usable(after(5)) && refused.is_alive(after(5)));
    assert!(matches!(report(&db, mine.id, 1).await, Reported::Nothing), "once");
    let lease = taken(&db, &mine).await;
    let mended = db.store.commit_refresh(&lease, &renewed("2"), after(6)).await.unwrap().unwrap();
    assert_eq!((mended.generation, mended.mended_generation), (2, Some(2)));
    assert!(mended.is_usable(after(6)));
    assert_eq!(db.store.signal_head(&files()).await.unwrap(), before, "nobody is told of what mends itself");
    let Reported::Ended(ended) = report(&db, mine.id, 2).await else { panic!("it is over") };
    assert_eq!((ended.status, ended.reason.as_deref()), (Status::NeedsReconnect, Some("unauthorized")));
    assert!(!ended.is_usable(after(6)));
    assert!(matches!(report(&db, mine.id, 2).await, Reported::Nothing));
    let told = db.store.signals_after(&files(), before, 9).await.unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].kind, told[0].connection), (Kind::ConnectionNeedsReconnect, Some(mine.id)));
    assert_eq!(told[0].reason.as_deref(), Some("unauthorized"));
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(!db.store.satisfy(&asked, mine.as_grant(), NOW).await.unwrap(), "it satisfies nothing");
}

async fn a_report_of_an_older_generation_changes_nothing(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let lease = taken(&db, &mine).await;
    db.store.commit_refresh(&lease, &renewed("2"), after(4)).await.unwrap().unwrap();
    for other in [0, 1, 3, -1, i64::MAX] {
        assert!(matches!(report(&db, mine.id, other).await, Reported::Nothing), "{other}");
    }
    let elsewhere = db.store.report_refused(&notes(), mine.id, 2, "unauthorized", after(5)).await.unwrap();
    assert!(matches!(elsewhere, Reported::Nothing), "another tenant's report counts for nothing");
    let untouched = now(&db, mine.id).await;
    assert_eq!((untouched.status, untouched.refused_generation), (Status::Active, None));
    let Reported::Refused(_) = report(&db, mine.id, 2).await else {
        panic!("this generation was made unasked")
    };
}

/// R84: it is handed out no more at once; whether it ends is known when the refresh that is under way has ended.
async fn r84_a_second_report_waits_for_a_refresh(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let mend = async |generation| {
        assert!(matches!(report(&db, mine.id, generation).await, Reported::Refused(_)));
        let lease = taken(&db, &now(&db, mine.id).await).await;
        db.store.commit_refresh(&lease, &renewed("2"), after(6)).await.unwrap().unwrap()
    };
    let mended = mend(1).await;
    let lease = taken(&db, &mended).await;
    let Reported::Refused(refused) = report(&db, mine.id, 2).await else { panic!("it does not end yet") };
    assert!(refused.status == Status::Active && !refused.is_usable(after(6)));
    assert!(matches!(report(&db, mine.id, 2).await, Reported::Nothing));
    let stored = db.store.commit_refresh(&lease, &renewed("3"), after(7)).await.unwrap().unwrap();
    assert_eq!((stored.generation, stored.mended_generation), (3, Some(3)));
    assert!(stored.is_usable(after(7)), "what the refresh was given is not lost");
    // A refresh that brings nothing: whoever looks next ends it.
    let lease = taken(&db, &stored).await;
    assert!(matches!(report(&db, mine.id, 3).await, Reported::Refused(_)));
    let failing = Failing { code: "transient", next_attempt_at: None, keep_intent: false };
    assert!(db.store.fail_refresh(&lease, &failing).await.unwrap());
    let walked = db.store.walk_connections(None, 9).await.unwrap();
    assert!(walked[0].refused_again);
    assert!(db.store.end_by_clock(mine.id, 3, "unauthorized", after(8)).await.unwrap().is_some());
}

async fn without_a_refresh_token_the_person_is_asked_at_once(db: Database) {
    let asked = db.store.given_elicitation(&NewElicitation { owner: bob(), ..asked() }).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let mut new = credential("hubot", 1);
    new.refresh = None;
    let settled = db.store.settle(&settling(&claimed, new, None), after(1)).await.unwrap();
    let Settled::Done { connection, .. } = settled else { panic!("{settled:?}") };
    let Reported::Ended(ended) = report(&db, connection.id, 1).await else { panic!("nothing makes it anew") };
    assert_eq!(ended.status, Status::NeedsReconnect);
}

async fn one_that_has_ended_is_handed_out_until_it_is_refused(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let ended = db.store.end_by_clock(mine.id, 1, "refresh_expired", after(2)).await.unwrap().unwrap();
    assert!(ended.is_usable(after(3)), "the access token lives on");
    assert!(matches!(report(&db, mine.id, 1).await, Reported::Nothing));
    let refused = now(&db, mine.id).await;
    assert!(!refused.is_usable(after(3)));
    assert_eq!(refused.reason.as_deref(), Some("refresh_expired"));
}
