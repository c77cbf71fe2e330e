//! A disk that is full, or that fails (F40, F41): what cannot be stored is refused and not begun, what is stored is still
//! handed out, and nobody has to restart Consentry when there is room again.
//!
//! Under SQLite the faults are the kernel's: a limit on the size of files, and `strace`, which lets system calls on the
//! database's files fail. They need no disk of their own and no mount. A Postgres whose disk is full answers each write
//! with the code 53100, and so does this one, by a trigger on every table: a disk of its own would need a mount, and what
//! it does beyond that, to end because its log cannot be written, is the outage of `outage`.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use reqwest::Method;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use super::{
    load::{self, Load},
    process::{Process, until},
    restore::resolve,
    scene::{Scene, User, is_connected},
};
use crate::{contract::raw::Raw, engine::Engine, world::FILES};

/// Ends the fault.
trait Fault {
    async fn ends(self);
}

/// `break_it` makes every write of the process fail.
async fn a_disk_fails<F: Fault>(engine: Engine, break_it: impl AsyncFn(&Scene, &Process) -> F) {
    let scene = Scene::start(engine).await;
    let mut process = serves(&scene).await;
    let user = scene.user(&process).await;
    let expired = scene.user(&process).await;
    scene.expires(&expired).await;
    let (sub, mut browser, link) = scene.somebody(&process).await;
    browser.agrees().await.is("leaving");
    browser.leaves().await;
    browser.approves(&sub).await;
    let callback = browser.page().location().unwrap();

    let load = Load::on(&scene, &process, &user.sub);
    until("the load runs", async || (load.promised() > 5).then_some(())).await;
    let fault = break_it(&scene, &process).await;
    until("callers are told to come again", async || (load.refused() > 5).then_some(())).await;
    // What cannot be noted is not begun.
    let asked_before = scene.files.token_log().len();
    browser.tries(Method::GET, callback.clone(), None).await.unwrap();
    assert_eq!(scene.files.token_log().len(), asked_before, "a code was sent without its claim being stored");
    assert_eq!(
        scene.api(&process).resolves(&user.sub, FILES).await["status"],
        "ready",
        "reading needs no room"
    );
    let refused = resolve(&scene, &process, &expired).await;
    assert!(refused.status == 503 && refused.headers.contains_key("retry-after"), "{}", refused.body);
    assert_eq!(scene.refreshes_of(&expired), 0, "a refresh was sent without its intent being stored");
    fault.ends().await;
    let promised = load.promised();
    until("there is room again", async || (load.promised() > promised + 5).then_some(())).await;
    let seen = load.ends().await;
    println!("{} handed out, {} promised, {} refused", seen.handed_out, seen.promised.len(), seen.refused);
    load::judge(&scene, &process, &seen).await;
    browser.opens(callback.as_str()).await;
    is_connected(&mut browser).await;
    assert_eq!(scene.told(&process, &link.id).await, ["elicitation.completed"]);
    let renewed = scene.api(&process).resolves(&expired.sub, FILES).await;
    assert_eq!((&renewed["status"], &renewed["connection"]["generation"]), (&"ready".into(), &2.into()));
    assert_eq!((scene.refreshes_of(&expired), scene.files.reuse_kills()), (1, 0));
    assert!(process.runs());

    process.killed();
    if engine == Engine::Sqlite {
        assert_eq!(scene.raw().await.texts("PRAGMA integrity_check").await, ["ok"]);
    }
    let process = scene.serves().await;
    load::judge(&scene, &process, &seen).await;
    is_whole(&scene, &process, &user).await;
}

async fn is_whole(scene: &Scene, process: &Process, user: &User) {
    let ready = scene.api(process).resolves(&user.sub, FILES).await;
    assert_eq!(ready["connection"]["id"], user.connection.as_str());
}

/// With `SIGXFSZ` ignored, as a service manager may start it: a write beyond a limit is then an error.
async fn serves(scene: &Scene) -> Process {
    let program = scene.program(&["serve"]);
    let mut command = Command::new("/usr/bin/env");
    command.arg("--ignore-signal=XFSZ").arg(program.get_program()).args(program.get_args());
    command.current_dir(program.get_current_dir().unwrap());
    scene.serves_by(command, 0).await
}

/// No file may grow beyond what the write-ahead log has now.
struct Small(Pid);

impl Small {
    async fn from_now(scene: &Scene, process: &Process) -> Self {
        let wal = std::fs::metadata(format!("{}-wal", scene.file())).unwrap().len();
        set_size(process.pid(), Some(wal));
        Self(process.pid())
    }
}

fn set_size(pid: Pid, current: Option<u64>) {
    prlimit(Some(pid), Resource::Fsize, Rlimit { current, maximum: None }).unwrap();
}

impl Fault for Small {
    async fn ends(self) {
        set_size(self.0, None);
    }
}

/// `strace`, which lets calls of the process on the write-ahead log end in an error.
struct Traced(Child);

impl Traced {
    async fn with(scene: &Scene, process: &Process, inject: &str) -> Self {
        let (call, _) = inject.split_once(':').unwrap();
        let mut strace = Command::new("strace");
        strace.args([
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &format!("trace={call}"),
            "-e",
            &format!("inject={inject}"),
        ]);
        strace.args(["-P", &format!("{}-wal", scene.file())]);
        strace.args(["-p", &process.pid().as_raw_nonzero().to_string()]).stdin(Stdio::null());
        let child = strace.spawn().expect("strace is installed: scripts/need faults");
        let tasks = format!("/proc/{}/task", process.pid().as_raw_nonzero());
        until("strace has come", async || is_traced(Path::new(&tasks)).then_some(())).await;
        Self(child)
    }
}

/// Whether every thread has a tracer.
fn is_traced(tasks: &Path) -> bool {
    std::fs::read_dir(tasks).unwrap().all(|task| {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default();
        !status.lines().any(|line| line.split_whitespace().eq(["TracerPid:", "0"]))
    })
}

impl Fault for Traced {
    async fn ends(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).unwrap();
        self.0.wait().unwrap();
    }
}

/// Triggers that refuse every write as a full disk does, by a connection that drops them again.
struct Full(Raw);

const TABLES: &str = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' \
    AND table_name <> '_sqlx_migrations'";

impl Full {
    async fn from_now(scene: &Scene) -> Self {
        let mut raw = scene.raw().await;
        raw.run(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING \
             ERRCODE = 'disk_full', MESSAGE = 'could not extend file: No space left on device'; END $$",
        )
        .await;
        for table in raw.texts(TABLES).await {
            raw.run(&format!(
                "CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON {table} \
                 FOR EACH STATEMENT EXECUTE FUNCTION no_room()"
            ))
            .await;
        }
        Self(raw)
    }
}

impl Fault for Full {
    async fn ends(mut self) {
        self.0.run("DROP FUNCTION no_room CASCADE").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f40_a_full_disk_under_postgres() {
    a_disk_fails(Engine::Postgres, async |scene, _| Full::from_now(scene).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn files_that_may_not_grow() {
    a_disk_fails(Engine::Sqlite, Small::from_now).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk() {
    a_disk_fails(Engine::Sqlite, async |scene, process| {
        Traced::with(scene, process, "pwrite64:error=ENOSPC").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_disk_that_does_not_write() {
    a_disk_fails(Engine::Sqlite, async |scene, process| {
        Traced::with(scene, process, "pwrite64:error=EIO").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_disk_that_does_not_keep() {
    a_disk_fails(Engine::Sqlite, async |scene, process| {
        Traced::with(scene, process, "fsync,fdatasync:error=EIO").await
    })
    .await;
}
