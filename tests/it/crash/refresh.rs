//! A process that dies while it refreshes (F1 to F4): whoever comes next finds out what became of the refresh token with
//! one try, and says so where it is lost. Nothing is tried for ever, and nobody is asked to connect again who need not.

use std::{collections::BTreeMap, time::Duration};

use consentry_fakes::{Answer, Gate};
use reqwest::Method;
use serde_json::Value;

use super::{
    held::Held,
    process::Process,
    proxy::{Moment, Proxy},
    rounds,
    scene::{Scene, User},
};
use crate::{engine::Engine, world::FILES};

/// The statement that takes the lease, with the mark of the intent.
pub(super) const TAKE: &str = "SET lease_token = lease_token + 1, lease_owner = $3";
/// The statement that stores new tokens.
pub(super) const STORE: &str = "SET access = $4, refresh = $5, granted = $6, access_expires_at_ms = $7";

/// Where the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    /// F1: the lease is taken, and nothing has been sent.
    Leased,
    /// The provider has read the request and done nothing yet.
    Asked,
    /// F2: the provider has rotated, and its answer is not written.
    Rotated,
    /// F3: the answer is on its way or was read, and nothing of it is stored.
    Answered,
    /// F4: the new tokens are stored, and nobody has them.
    Stored,
    /// At a moment of chance.
    Anytime,
}

/// What a provider makes of a refresh token that comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Manner {
    /// It kills everything that came from it.
    Strict,
    /// It takes it for a lost answer, for a while.
    Graceful,
}

/// What became of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Ready,
    RotationLost,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_during_a_refresh_on_postgres() {
    let points =
        [Point::Leased, Point::Asked, Point::Rotated, Point::Answered, Point::Stored, Point::Anytime];
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    play(&scene, Some(&proxy), &points).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_during_a_refresh_on_sqlite() {
    let points = [Point::Asked, Point::Rotated, Point::Answered, Point::Stored, Point::Anytime];
    let scene = Scene::start(Engine::Sqlite).await;
    play(&scene, None, &points).await;
    assert_eq!(scene.raw().await.texts("PRAGMA integrity_check").await, ["ok"]);
}

async fn play(scene: &Scene, proxy: Option<&Proxy>, points: &[Point]) {
    let mut ends: BTreeMap<(Manner, Point, End), usize> = BTreeMap::new();
    let mut process = scene.serves().await;
    for _ in 0..rounds(1) {
        for manner in [Manner::Strict, Manner::Graceful] {
            let hour = Duration::from_secs(3600);
            let grace = if manner == Manner::Graceful { hour } else { Duration::ZERO };
            scene.files.configure(|settings| settings.rotation_grace = grace);
            for point in points {
                let (next, end) = round(scene, process, proxy, *point, manner).await;
                process = next;
                *ends.entry((manner, *point, end)).or_default() += 1;
            }
        }
    }
    for ((manner, point, end), times) in ends {
        println!("{:?} {manner:?} {point:?}: {end:?} {times} times", scene.engine);
    }
}

async fn round(
    scene: &Scene,
    process: Process,
    proxy: Option<&Proxy>,
    point: Point,
    manner: Manner,
) -> (Process, End) {
    let user = scene.user(&process).await;
    scene.expires(&user).await;
    let kills = scene.files.reuse_kills();
    let mut held = hold(scene, proxy, point, &user.sub).await;
    let (api, question) = (scene.api(&process), scene.api(&process).question(&user.sub, FILES));
    let call = tokio::spawn(async move {
        let answer = api.tries(Method::POST, "/v1/credentials/resolve", Some(&question), &[]).await;
        answer.ok().map(|answer| answer.body)
    });
    held.reached(scene).await;
    process.killed();
    drop(held);
    scene.is_left_alone().await;
    let before = call.await.unwrap();
    scene.leases_run_out().await;

    let process = scene.serves().await;
    let end = judge(scene, &process, &user, before.as_ref()).await;
    let (sent, killed) = (scene.refreshes_of(&user), scene.files.reuse_kills() - kills);
    let lost = (End::RotationLost, 2, 1);
    let recovered = (End::Ready, 2, 0);
    match (point, manner) {
        (Point::Leased | Point::Stored, _) => {
            assert_eq!((end, sent, killed), (End::Ready, 1, 0), "{point:?}");
        }
        (Point::Asked, _) => assert_eq!((end, sent, killed), recovered),
        (Point::Rotated, Manner::Strict) => assert_eq!((end, sent, killed), lost),
        (Point::Rotated, Manner::Graceful) => assert_eq!((end, sent, killed), recovered),
        // On SQLite the lock keeps it from being stored, by whatever point it is killed.
        (Point::Answered, Manner::Strict) => assert_eq!((end, sent, killed), lost),
        (Point::Answered, Manner::Graceful) => assert_eq!((end, sent, killed), recovered),
        (Point::Anytime, Manner::Strict) => {
            assert!(sent <= 2 && killed == usize::from(end == End::RotationLost));
        }
        (Point::Anytime, Manner::Graceful) => assert!(sent <= 2 && killed == 0 && end == End::Ready),
    }
    (process, end)
}

/// One of two ends, said as it is; and then the provider is left in peace.
async fn judge(scene: &Scene, process: &Process, user: &User, before: Option<&Value>) -> End {
    let api = scene.api(process);
    let answer = api.resolves(&user.sub, FILES).await;
    let shown = api.get(&format!("/v1/connections/{}", user.connection)).await.expect(200);
    let told = scene.told(process, &user.connection).await;
    let needs_reconnect = told.iter().filter(|kind| *kind == "connection.needs_reconnect").count();
    let sent = scene.refreshes_of(user);
    let again = api.resolves(&user.sub, FILES).await;
    assert_eq!(again["status"], answer["status"]);
    assert_eq!(scene.refreshes_of(user), sent, "what is known is not asked again");
    if answer["status"] == "ready" {
        assert_eq!((shown["status"].as_str(), needs_reconnect), (Some("active"), 0));
        assert_eq!(answer["connection"]["generation"], 2, "{answer}");
        if let Some(before) = before.filter(|before| before["status"] == "ready") {
            assert_eq!(before["credential"]["access_token"], answer["credential"]["access_token"]);
        }
        End::Ready
    } else {
        assert_eq!(answer["status"], "action_required", "{answer}");
        assert_eq!(
            (&shown["status"], &shown["reason"]),
            (&"needs_reconnect".into(), &"rotation_lost".into())
        );
        assert_eq!(needs_reconnect, 1);
        assert!(before.is_none(), "a token was handed out that was not stored");
        End::RotationLost
    }
}

/// Keeps a refresh at its point until the process is dead.
async fn hold(scene: &Scene, proxy: Option<&Proxy>, point: Point, sub: &str) -> Held {
    let gate = Gate::shut();
    match (point, proxy) {
        (Point::Asked, _) => {
            scene.files.next_token_answer(Answer::drop_connection().held(&gate));
            Held::AtProvider(gate)
        }
        (Point::Rotated, _) => {
            scene.files.next_token_answer(Answer::genuine().held(&gate));
            Held::AtProvider(gate)
        }
        (Point::Leased, Some(proxy)) => Held::InProxy(proxy.holds(TAKE, Moment::Committed)),
        (Point::Answered, Some(proxy)) => Held::InProxy(proxy.holds(STORE, Moment::Commit)),
        (Point::Stored, Some(proxy)) => Held::InProxy(proxy.holds(STORE, Moment::Committed)),
        (Point::Answered, None) => {
            scene.files.next_token_answer(Answer::genuine().held(&gate));
            Held::Locked(gate, scene.raw().await)
        }
        (Point::Stored, None) => Held::Seen {
            what: "new tokens are stored",
            sql: format!("SELECT generation FROM connections WHERE sub = '{sub}'"),
            number: 2,
        },
        (Point::Anytime, _) => Held::ByChance { millis: 60 },
        (Point::Leased, None) => unreachable!("SQLite has no wire to see a lease on"),
    }
}
