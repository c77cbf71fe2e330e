//! A process that dies while a code is exchanged (F27): the code is never sent twice, nothing is half connected, and the
//! person's link works again; what was stored before the death counts.

use std::collections::BTreeMap;

use consentry_fakes::{Answer, Gate};
use reqwest::Method;

use super::{
    held::Held,
    process::Process,
    proxy::{Moment, Proxy},
    rounds,
    scene::{Scene, is_connected},
};
use crate::{
    engine::Engine,
    world::{Browser, FILES, Link},
};

/// The statement that spends the `state`.
const CLAIM: &str = "UPDATE attempts SET state = 'claimed'";
/// The statement that stores the connection.
const CONNECT: &str = "INSERT INTO connections";

/// Where the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    /// The claim is durable, and nothing has been sent.
    Claimed,
    /// The provider has read the request and done nothing yet.
    Asked,
    /// The provider has spent the code, and its answer is not written.
    Redeemed,
    /// The answer is on its way or was read, and nothing of it is stored.
    Answered,
    /// The connection is durable, and the browser has heard nothing.
    Stored,
    /// At a moment of chance.
    Anytime,
}

/// What became of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// It is connected.
    Connected,
    /// It is not, and the same link led to a connection.
    Again,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_during_an_exchange_on_postgres() {
    let points =
        [Point::Claimed, Point::Asked, Point::Redeemed, Point::Answered, Point::Stored, Point::Anytime];
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    play(&scene, Some(&proxy), &points).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_during_an_exchange_on_sqlite() {
    let points = [Point::Asked, Point::Redeemed, Point::Answered, Point::Stored, Point::Anytime];
    let scene = Scene::start(Engine::Sqlite).await;
    play(&scene, None, &points).await;
    assert_eq!(scene.raw().await.texts("PRAGMA integrity_check").await, ["ok"]);
}

async fn play(scene: &Scene, proxy: Option<&Proxy>, points: &[Point]) {
    let mut ends: BTreeMap<(Point, End), usize> = BTreeMap::new();
    let mut process = scene.serves().await;
    for _ in 0..rounds(1) {
        for point in points {
            let (next, end) = round(scene, process, proxy, *point).await;
            process = next;
            *ends.entry((*point, end)).or_default() += 1;
        }
    }
    println!("{:?}: {ends:?}", scene.engine);
}

/// One trip that the process does not survive, and what the next one makes of it.
async fn round(scene: &Scene, process: Process, proxy: Option<&Proxy>, point: Point) -> (Process, End) {
    let (sub, mut browser, link) = scene.somebody(&process).await;
    browser.agrees().await.is("leaving");
    browser.leaves().await;
    browser.approves(&sub).await;
    let callback = browser.page().location().expect("the way back");
    let code = callback.query_pairs().find(|(name, _)| name == "code").expect("a code").1.into_owned();
    let sent = || scene.files.token_log().iter().filter(|one| one.code.as_deref() == Some(&code)).count();

    let mut held = hold(scene, proxy, point, &sub).await;
    let trip = tokio::spawn(async move {
        // The server dies under it.
        let _ = browser.tries(Method::GET, callback, None).await;
        browser
    });
    held.reached(scene).await;
    process.killed();
    drop(held);
    scene.is_left_alone().await;
    let mut browser = trip.await.unwrap();
    a_minute_passes(scene).await;

    let process = scene.serves().await;
    let end = judge(scene, &process, &mut browser, &sub, &link).await;
    match point {
        Point::Claimed => assert_eq!((end, sent()), (End::Again, 0)),
        Point::Asked | Point::Redeemed | Point::Answered => {
            assert_eq!((end, sent()), (End::Again, 1), "{point:?}");
        }
        Point::Stored => assert_eq!((end, sent()), (End::Connected, 1)),
        Point::Anytime => assert!(sent() <= 1),
    }
    (process, end)
}

/// The outcome, by what is told to the person and to the MCP server: one of two, and each signal once.
async fn judge(scene: &Scene, process: &Process, browser: &mut Browser, sub: &str, link: &Link) -> End {
    let api = scene.api(process);
    let state = api.elicitation(&link.id).await["state"].clone();
    browser.opens(&link.url).await;
    let end = if state == "completed" {
        browser.page().is("connected");
        End::Connected
    } else {
        // Where the callback never arrived, the trip may still be on its way.
        assert!(state == "pending" || state == "authorizing", "{state}");
        browser.page().is("ready");
        assert_eq!(api.resolves(sub, FILES).await["status"], "action_required");
        browser.connects(sub).await;
        is_connected(browser).await;
        End::Again
    };
    let ready = api.resolves(sub, FILES).await;
    assert_eq!(ready["status"], "ready", "{ready}");
    assert_eq!(scene.told(process, &link.id).await, ["elicitation.completed"]);
    let connection = ready["connection"]["id"].as_str().unwrap();
    assert_eq!(
        scene.told(process, connection).await.iter().filter(|kind| *kind == "connection.created").count(),
        1
    );
    end
}

/// A claimed attempt is given up after a minute: it has passed, for those that are there.
async fn a_minute_passes(scene: &Scene) {
    let mut raw = scene.raw().await;
    raw.run("UPDATE attempts SET claimed_at_ms = claimed_at_ms - 61000 WHERE state = 'claimed'").await;
    raw.run(
        "UPDATE elicitations SET attempt_until_ms = attempt_until_ms - 61000 WHERE state = 'authorizing'",
    )
    .await;
}

/// Keeps a trip at its point until the process is dead.
async fn hold(scene: &Scene, proxy: Option<&Proxy>, point: Point, sub: &str) -> Held {
    let gate = Gate::shut();
    match (point, proxy) {
        (Point::Asked, _) => {
            scene.files.next_token_answer(Answer::drop_connection().held(&gate));
            Held::AtProvider(gate)
        }
        (Point::Redeemed, _) => {
            scene.files.next_token_answer(Answer::genuine().held(&gate));
            Held::AtProvider(gate)
        }
        (Point::Claimed, Some(proxy)) => Held::InProxy(proxy.holds(CLAIM, Moment::Committed)),
        (Point::Answered, Some(proxy)) => Held::InProxy(proxy.holds(CONNECT, Moment::Commit)),
        (Point::Stored, Some(proxy)) => Held::InProxy(proxy.holds(CONNECT, Moment::Committed)),
        (Point::Answered, None) => {
            // The last call before it is stored asks whose account it is.
            scene.files.next_answer("/me", Answer::genuine().held(&gate));
            Held::Locked(gate, scene.raw().await)
        }
        (Point::Stored, None) => Held::Seen {
            what: "the connection is stored",
            sql: format!("SELECT COUNT(*) FROM connections WHERE sub = '{sub}'"),
            number: 1,
        },
        (Point::Anytime, _) => Held::ByChance { millis: 150 },
        (Point::Claimed, None) => unreachable!("SQLite has no wire to see a claim on"),
    }
}
