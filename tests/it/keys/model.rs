//! Z21: rings, rotations, crashes and retirements in any order. What the server accepts, it can read.

use std::{pin::pin, task::Poll};

use consentry::{
    clock::Clock,
    keys,
    store::{ConnectionFilter, Store},
    subject::Subject,
    vault::{KeyId, Vault},
};
use proptest::prelude::*;

use super::seed::{self, Keys};
use crate::engine::{Database, Engine};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Drops `work` after so many polls, as a crash would end it.
pub(crate) async fn dies<F: Future>(work: F, polls: usize) {
    let mut work = pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        work.as_mut().poll(context).map(|_| ())
    })
    .await;
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A restart with this key in front; the others stay.
    Front(usize),
    /// A restart without this key.
    Without(usize),
    /// Somebody connects, or connects again.
    Connect(usize),
    Rotate,
    /// A rotation that dies after so many steps.
    Dies(usize),
    Retire(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..NAMES.len()).prop_map(Step::Front),
        3 => (0..NAMES.len()).prop_map(Step::Without),
        3 => (0..5_usize).prop_map(Step::Connect),
        1 => Just(Step::Rotate),
        2 => (1..40_usize).prop_map(Step::Dies),
        3 => (0..NAMES.len()).prop_map(Step::Retire),
    ]
}

/// A server that is restarted with other settings; what it refuses, the operator takes back.
struct Operated {
    keys: Keys,
    store: Store,
    clock: Clock,
    ring: Vec<&'static str>,
}

impl Operated {
    fn vault(&self) -> Vault {
        self.keys.ring(&self.ring)
    }

    async fn restarts_with(&mut self, ring: Vec<&'static str>) {
        if ring.is_empty() {
            return;
        }
        let entered = keys::enter(&self.store, &self.keys.ring(&ring), None, self.clock.now()).await.unwrap();
        if entered.is_ok() {
            self.ring = ring;
        }
    }

    async fn takes(&mut self, step: Step) {
        let vault = self.vault();
        let without = |name: &str| self.ring.iter().copied().filter(|one| *one != name).collect::<Vec<_>>();
        match step {
            Step::Front(key) => {
                let ring = [vec![NAMES[key]], without(NAMES[key])].concat();
                self.restarts_with(ring).await;
            }
            Step::Without(key) => {
                let ring = without(NAMES[key]);
                self.restarts_with(ring).await;
            }
            Step::Connect(user) => {
                let owner = Subject::new("https://id.example", format!("user-{user}")).unwrap();
                seed::connect(&self.store, &vault, ("files", "acme"), &owner, self.clock.now())
                    .await
                    .unwrap();
            }
            Step::Rotate => {
                assert_eq!(super::rotate(&self.store, &vault, &self.clock).await.left, []);
            }
            Step::Dies(polls) => {
                let mut ignored = |_| ();
                dies(keys::rotate(&self.store, &vault, &self.clock, None, &mut ignored), polls).await;
            }
            Step::Retire(key) => {
                let key = KeyId::new(NAMES[key]).unwrap();
                let _ = keys::retire(&self.store, &vault, &key, self.clock.now()).await.unwrap();
            }
        }
    }

    async fn reads_everything(&self) {
        let vault = self.vault();
        for connection in self.store.connections(ConnectionFilter::default(), 100).await.unwrap() {
            let sub = &connection.owner.sub;
            assert_eq!(seed::opened(&vault, &connection), seed::token(sub, connection.generation));
        }
    }
}

async fn operated(steps: &[Step]) {
    let db = Database::start(Engine::Sqlite).await;
    let (keys, clock) = (Keys::new(&NAMES), Clock::manual());
    let mut server = Operated { keys, store: db.store.clone(), clock, ring: Vec::new() };
    server.restarts_with(vec![NAMES[0]]).await;
    for step in steps {
        server.takes(*step).await;
        server.reads_everything().await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn z21_r101_what_a_server_accepts_it_can_read(steps in prop::collection::vec(any_step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(operated(&steps));
    }
}
