//! A process that dies while a connection is removed: it is removed or it is not, and the provider is told in the end.

use consentry_fakes::{Answer, Gate};
use reqwest::Method;

use super::{
    chance,
    process::{Process, until},
    proxy::{Moment, Proxy},
    rounds,
    scene::{Scene, User},
};
use crate::{engine::Engine, world::FILES};

/// The statement that removes it.
const REMOVE: &str = "DELETE FROM connections WHERE id";

/// Where the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// All is written, and not committed.
    Removing,
    /// It is removed, and the provider was told nothing.
    Removed,
    /// The provider has read it, and done nothing yet.
    Told,
    /// The provider has done it, and its answer is not written.
    Done,
    /// At a moment of chance.
    Anytime,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_during_a_disconnect_on_postgres() {
    let points = [Point::Removing, Point::Removed, Point::Told, Point::Done, Point::Anytime];
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    play(&scene, Some(&proxy), &points).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_during_a_disconnect_on_sqlite() {
    let scene = Scene::start(Engine::Sqlite).await;
    play(&scene, None, &[Point::Told, Point::Done, Point::Anytime]).await;
    assert_eq!(scene.raw().await.texts("PRAGMA integrity_check").await, ["ok"]);
}

async fn play(scene: &Scene, proxy: Option<&Proxy>, points: &[Point]) {
    let mut process = scene.serves().await;
    let mut twice = 0;
    for _ in 0..rounds(1) {
        for point in points {
            let (next, told) = round(scene, process, proxy, *point).await;
            process = next;
            twice += usize::from(told > 1);
        }
    }
    println!(
        "{:?}: {} rounds of {points:?}; {twice} times the provider was told twice",
        scene.engine,
        rounds(1)
    );
}

/// One disconnect that the process does not survive; how often the provider was told.
async fn round(scene: &Scene, process: Process, proxy: Option<&Proxy>, point: Point) -> (Process, usize) {
    let user = scene.user(&process).await;
    scene.files.revocations().clear();
    let gate = Gate::shut();
    let mut held = None;
    match (point, proxy) {
        (Point::Told, _) => scene.files.next_answer("/revoke", Answer::drop_connection().held(&gate)),
        (Point::Done, _) => scene.files.next_answer("/revoke", Answer::genuine().held(&gate)),
        (Point::Removing, Some(proxy)) => held = Some(proxy.holds(REMOVE, Moment::Commit)),
        (Point::Removed, Some(proxy)) => held = Some(proxy.holds(REMOVE, Moment::Committed)),
        (Point::Anytime, _) => {}
        (Point::Removing | Point::Removed, None) => unreachable!("SQLite has no wire to see it on"),
    }
    let api = scene.api(&process);
    let path = format!("/v1/connections/{}", user.connection);
    let call = {
        let path = path.clone();
        tokio::spawn(async move { api.tries(Method::DELETE, &path, None, &[]).await.is_ok() })
    };
    match (&mut held, point) {
        (Some(hold), _) => hold.reached().await,
        (None, Point::Anytime) => chance(60).await,
        (None, _) => gate.reached_by(1).await,
    }
    process.killed();
    drop(held);
    scene.is_left_alone().await;
    let answered = call.await.unwrap();
    // The dead process's claim on the revocation.
    scene
        .raw()
        .await
        .run("UPDATE revocations SET claimed_until_ms = 1 WHERE claimed_until_ms IS NOT NULL")
        .await;

    let process = scene.serves().await;
    let api = scene.api(&process);
    let is_there = api.get(&path).await.status == 200;
    match point {
        Point::Removing => assert!(is_there),
        Point::Removed | Point::Told | Point::Done => assert!(!is_there),
        Point::Anytime => assert!(!(is_there && answered), "it was said to be removed"),
    }
    if is_there {
        assert_eq!(api.resolves(&user.sub, FILES).await["status"], "ready");
        assert!(scene.files.revocations().is_empty(), "the provider is not told of what stays");
        api.delete(&path).await.expect(204);
    }
    (process, judge(scene, &user).await)
}

/// It is gone for everybody, said once, and the provider has ended it.
async fn judge(scene: &Scene, user: &User) -> usize {
    let sql = format!("SELECT state FROM revocations WHERE sub = '{}'", user.sub);
    let mut raw = scene.raw().await;
    until("the provider is told", async || (raw.texts(&sql).await == ["confirmed"]).then_some(())).await;
    let told = scene.files.revocations().entries();
    assert!(told.iter().any(|one| one.revoked), "{told:?}");
    let sql = format!("SELECT COUNT(*) FROM connections WHERE sub = '{}'", user.sub);
    assert_eq!(raw.number(&sql).await, 0);
    told.len()
}
