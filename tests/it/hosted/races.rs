//! Two at the same moment, on two servers of one database.

use futures_util::future::join_all;
use serde_json::json;

use super::{PAGE, accepted, asked, at_the_page, offer, redeems, says, start};
use crate::{engine::Database, rows::rows, world::World};

on_both_engines! {
    r9_a_code_that_is_redeemed_by_many_at_once_is_redeemed_by_one,
    r9_result_and_return_at_once_complete_exactly_once,
    many_results_at_once_are_one,
    a_result_and_an_end_at_once_are_one_of_the_two,
}

const ROUNDS: usize = 12;

async fn r9_a_code_that_is_redeemed_by_many_at_once_is_redeemed_by_one(db: Database) {
    let world = start(db).await;
    let replica = world.replica_with(offer).await;
    let (one, other) = (world.api("files"), world.api_at(&replica, "files"));
    let link = one.asks("alice", PAGE).await;
    let mut alice = asked(&world, &link).await;
    let visit = alice.sets_out().await;
    let answers = join_all((0..20).map(|n| redeems(if n % 2 == 0 { &one } else { &other }, &visit))).await;
    let good = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(good, 1);
    assert!(answers.iter().all(|answer| answer.status == 200 || answer.body["code"] == "page_code_invalid"));
    // The others were a second time.
    assert_eq!(says(&one, &link, &accepted()).await.expect(409)["code"], "page_not_visited");
    alice.opens(&visit.back()).await.is("not-connected");
    replica.stops().await;
}

async fn r9_result_and_return_at_once_complete_exactly_once(db: Database) {
    let world = start(db).await;
    let replica = world.replica_with(offer).await;
    let (api, other) = (world.api("files"), world.api_at(&replica, "files"));
    let link = api.asks("alice", PAGE).await;
    let mut alice = asked(&world, &link).await;
    for round in 1..=ROUNDS {
        let link = if round == 1 { link.clone() } else { api.asks("alice", PAGE).await };
        alice.opens(&link.url).await.is("ready");
        let visit = alice.sets_out().await;
        redeems(&api, &visit).await.expect(200);
        let mut tabs = [alice.tab(), alice.tab()];
        let back = visit.back();
        let returns = join_all(tabs.iter_mut().map(|tab| async { tab.opens(&back).await.name() }));
        let result = accepted();
        let (pages, one, two) =
            tokio::join!(returns, says(&api, &link, &result), says(&other, &link, &result));
        one.expect(200);
        two.expect(200);
        for page in pages {
            assert!(matches!(page.as_deref(), Some("connected" | "awaiting-result")), "{page:?}");
        }
        alice.opens(&back).await.is("connected");
        assert_eq!(api.elicitation(&link.id).await["state"], "completed");
        let ready = api.resolves("alice", PAGE).await;
        assert_eq!((&ready["status"], &ready["connection"]["generation"]), (&json!("ready"), &json!(1)));
        let told = api.told().await;
        let of = |kind: &str| told.iter().filter(|(found, _)| found == kind).count();
        assert_eq!((of("elicitation.completed"), of("connection.created")), (round, round));
        let path = format!("/v1/connections/{}", ready["connection"]["id"].as_str().unwrap());
        assert!(api.delete(&path).await.status.is_success());
    }
    replica.stops().await;
}

async fn many_results_at_once_are_one(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    let results: Vec<_> =
        (0..10).map(|n| json!({ "result": "accepted", "values": { "order": format!("A-{n}") } })).collect();
    let answers = join_all(results.iter().map(|result| says(&api, &link, result))).await;
    let taken: Vec<usize> = (0..10).filter(|&n| answers[n].status == 200).collect();
    assert_eq!(taken.len(), 1, "{answers:?}");
    alice.opens(&visit.back()).await.is("connected");
    let order = api.resolves("alice", PAGE).await["credential"]["values"]["order"].clone();
    assert_eq!(order, json!(format!("A-{}", taken[0])));
}

async fn a_result_and_an_end_at_once_are_one_of_the_two(db: Database) {
    let world: World = start(db).await;
    let api = world.api("files");
    let mut alice = asked(&world, &api.asks("alice", PAGE).await).await;
    for _ in 0..ROUNDS {
        let link = api.asks("alice", PAGE).await;
        alice.opens(&link.url).await.is("ready");
        let visit = alice.sets_out().await;
        redeems(&api, &visit).await.expect(200);
        alice.opens(&visit.back()).await.is("awaiting-result");
        let cancel = format!("/v1/elicitations/{}/cancel", link.id);
        let (result, none) = (accepted(), json!({}));
        let (said, _) = tokio::join!(says(&api, &link, &result), api.post(&cancel, &none));
        let state = api.elicitation(&link.id).await["state"].clone();
        let kept = rows(&world.database).await["connections"].len();
        assert_eq!(kept, usize::from(state == "completed"), "{state}: {said:?}");
        if state == "completed" {
            said.expect(200);
            let held = api.resolves("alice", PAGE).await;
            let path = format!("/v1/connections/{}", held["connection"]["id"].as_str().unwrap());
            api.delete(&path).await;
        } else {
            assert_eq!(said.status, 409, "{state}");
        }
    }
}
