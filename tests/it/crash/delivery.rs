//! A process that dies while it posts a webhook (F34): every signal arrives, a second time at most, under the same id, and
//! signed for its own time.

use std::collections::BTreeMap;

use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use consentry_fakes::{Answer, Gate, Received};
use serde_json::json;

use super::{
    chance,
    process::{PATIENCE, Process, until},
    proxy::{Moment, Proxy},
    rounds,
    scene::Scene,
};
use crate::{engine::Engine, world::FILES};

/// The statement that takes deliveries to be posted.
const CLAIM: &str = "UPDATE deliveries SET claimed_until_ms = $5";
/// The statement that notes that the receiver has taken one.
const TAKEN: &str = "UPDATE deliveries SET state = 'delivered'";

/// Where the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    /// It is taken to be posted, and was not posted.
    Claimed,
    /// The receiver has read it, and not answered.
    Received,
    /// The receiver has answered, and that is not stored.
    Answered,
    /// That is stored.
    Stored,
    /// At a moment of chance.
    Anytime,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_during_a_delivery_on_postgres() {
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    let points = [Point::Claimed, Point::Received, Point::Answered, Point::Stored, Point::Anytime];
    play(&scene, Some(&proxy), &points).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_during_a_delivery_on_sqlite() {
    let scene = Scene::start(Engine::Sqlite).await;
    play(&scene, None, &[Point::Received, Point::Answered, Point::Anytime]).await;
    assert_eq!(scene.raw().await.texts("PRAGMA integrity_check").await, ["ok"]);
}

async fn play(scene: &Scene, proxy: Option<&Proxy>, points: &[Point]) {
    let mut process = scene.serves().await;
    let mut posts: BTreeMap<(Point, usize), usize> = BTreeMap::new();
    for _ in 0..rounds(2) {
        for point in points {
            let (next, times) = round(scene, process, proxy, *point).await;
            process = next;
            *posts.entry((*point, times)).or_default() += 1;
        }
    }
    for ((point, posted), times) in posts {
        println!("{:?} {point:?}: posted {posted} times, in {times} rounds", scene.engine);
    }
}

/// One signal whose poster is killed; how often it was posted.
async fn round(scene: &Scene, process: Process, proxy: Option<&Proxy>, point: Point) -> (Process, usize) {
    let api = scene.api(&process);
    let gate = Gate::shut();
    let mut held = match (point, proxy) {
        (Point::Received, _) | (Point::Answered, None) => {
            scene.sink.next_answer(Answer::genuine().held(&gate));
            None
        }
        (Point::Claimed, Some(proxy)) => Some(proxy.holds(CLAIM, Moment::Committed)),
        (Point::Answered, Some(proxy)) => Some(proxy.holds(TAKEN, Moment::Statement)),
        (Point::Stored, Some(proxy)) => Some(proxy.holds(TAKEN, Moment::Committed)),
        (Point::Anytime, _) => None,
        (Point::Claimed | Point::Stored, None) => {
            unreachable!("SQLite has no wire to see it on")
        }
    };
    let mut lock = None;
    let link = api.asks(&format!("nobody-{}", scene.number()), FILES).await;
    if point == Point::Claimed {
        // The pump looks every second, and finds nothing: it is held where it does.
        let mut raw = scene.raw().await;
        api.post(&format!("/v1/elicitations/{}/cancel", link.id), &json!({})).await.expect(200);
        let sql = "SELECT COUNT(*) FROM deliveries WHERE state = 'due' AND claimed_until_ms IS NOT NULL";
        let claimed = async || {
            let mut hold = held.take()?;
            hold.reached().await;
            if raw.number(sql).await == 1 {
                held = Some(hold);
                return Some(());
            }
            // The next is there before this one goes, or it is claimed between the two.
            held = proxy.map(|proxy| proxy.holds(CLAIM, Moment::Committed));
            hold.goes_on();
            None
        };
        until("it is claimed", claimed).await;
    } else {
        api.post(&format!("/v1/elicitations/{}/cancel", link.id), &json!({})).await.expect(200);
        match (&mut held, point) {
            (Some(hold), _) => hold.reached().await,
            (None, Point::Anytime) => chance(60).await,
            (None, Point::Answered) => {
                // Nobody else writes to the file while this connection holds its lock.
                gate.reached_by(1).await;
                let mut raw = scene.raw().await;
                raw.begin().await;
                gate.open();
                chance(50).await;
                lock = Some(raw);
            }
            (None, _) => gate.reached_by(1).await,
        }
    }
    process.killed();
    drop((held, lock));
    scene.is_left_alone().await;
    gate.open();
    // The dead process's claim.
    scene
        .raw()
        .await
        .run("UPDATE deliveries SET claimed_until_ms = 1 WHERE claimed_until_ms IS NOT NULL")
        .await;
    let process = scene.serves().await;
    let posted = judge(scene, &link.id).await;
    match point {
        Point::Claimed | Point::Stored => assert_eq!(posted, 1, "{point:?}"),
        Point::Received | Point::Answered => assert_eq!(posted, 2, "{point:?}"),
        Point::Anytime => assert!((1..=2).contains(&posted), "{posted}"),
    }
    (process, posted)
}

/// How often the receiver got it, in the end: always the same signal, signed anew.
async fn judge(scene: &Scene, elicitation: &str) -> usize {
    let mut raw = scene.raw().await;
    let due = "SELECT COUNT(*) FROM deliveries WHERE state = 'due'";
    until("everything is delivered", async || (raw.number(due).await == 0).then_some(())).await;
    let is_about =
        |post: &&Received| post.json().is_some_and(|body| body["data"]["elicitation_id"] == elicitation);
    let arrived = scene.sink.log().until(PATIENCE, |posts| posts.iter().any(|post| is_about(&post))).await;
    let posts: Vec<Received> = arrived.expect("it arrives").iter().filter(is_about).cloned().collect();
    for post in &posts {
        assert_eq!(post.header("webhook-id"), posts[0].header("webhook-id"));
        assert_eq!(post.body, posts[0].body);
        assert!(is_signed(post, &scene.plan.webhook_secret), "{:?}", post.headers);
    }
    let times: Vec<i64> =
        posts.iter().map(|post| post.header("webhook-timestamp").unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    posts.len()
}

/// Standard Webhooks, with one secret.
fn is_signed(post: &Received, secret: &str) -> bool {
    let part = |name: &str| post.header(name).unwrap().to_owned();
    let key = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let signed =
        [format!("{}.{}.", part("webhook-id"), part("webhook-timestamp")).as_bytes(), &post.body].concat();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &signed);
    part("webhook-signature") == format!("v1,{}", BASE64_STANDARD.encode(tag))
}
