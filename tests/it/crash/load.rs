//! MCP servers that go on calling while something is broken, and remember every promise that they were given.

use std::sync::{Arc, Mutex};

use reqwest::Method;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{process::Process, scene::Scene};
use crate::world::{
    FILES,
    api::{Answer, Api},
};

/// Callers at the same time.
const CALLERS: usize = 8;

/// Callers at work.
pub(super) struct Load {
    stop: CancellationToken,
    callers: JoinSet<()>,
    seen: Arc<Mutex<Seen>>,
}

/// What they were told.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Elicitations that are promised to exist.
    pub(super) promised: Vec<String>,
    /// Credentials that were handed out.
    pub(super) handed_out: usize,
    /// "Not now", each with when to come again.
    pub(super) refused: usize,
    /// Anything else is a fault.
    pub(super) faults: Vec<String>,
}

impl Load {
    /// Each caller by turns gets `sub`'s credential and asks for somebody unknown.
    pub(super) fn on(scene: &Scene, process: &Process, sub: &str) -> Self {
        let (stop, seen) = (CancellationToken::new(), Arc::new(Mutex::new(Seen::default())));
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (stop, seen, api, sub) =
                (stop.clone(), Arc::clone(&seen), scene.api(process), sub.to_owned());
            callers.spawn(async move {
                let mut number = 0;
                while !stop.is_cancelled() {
                    number += 1;
                    let known = resolve(&api, &sub).await;
                    let unknown = resolve(&api, &format!("stranger-{caller}-{number}")).await;
                    let mut seen = seen.lock().unwrap();
                    seen.note(known);
                    seen.note(unknown);
                }
            });
        }
        Self { stop, callers, seen }
    }

    /// How many credentials were handed out so far.
    pub(super) fn handed_out(&self) -> usize {
        self.seen.lock().unwrap().handed_out
    }

    /// How many elicitations were promised so far.
    pub(super) fn promised(&self) -> usize {
        self.seen.lock().unwrap().promised.len()
    }

    /// How many calls were told to come again.
    pub(super) fn refused(&self) -> usize {
        self.seen.lock().unwrap().refused
    }

    /// Ends it.
    pub(super) async fn ends(mut self) -> Seen {
        self.stop.cancel();
        while let Some(ended) = self.callers.join_next().await {
            ended.unwrap();
        }
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

pub(super) async fn resolve(api: &Api, sub: &str) -> Result<Answer, reqwest::Error> {
    api.tries(Method::POST, "/v1/credentials/resolve", Some(&api.question(sub, FILES)), &[]).await
}

impl Seen {
    fn note(&mut self, answer: Result<Answer, reqwest::Error>) {
        match answer {
            Ok(answer) if answer.status == 200 && answer.body["status"] == "ready" => self.handed_out += 1,
            Ok(answer) if answer.status == 200 => {
                let id = answer.body["elicitation"]["id"].as_str();
                match id {
                    Some(id) => self.promised.push(id.to_owned()),
                    None => self.faults.push(answer.body.to_string()),
                }
            }
            Ok(answer) if answer.status == 503 && answer.headers.contains_key("retry-after") => {
                self.refused += 1;
            }
            Ok(answer) => self.faults.push(format!("{} {}", answer.status, answer.body)),
            Err(error) => self.faults.push(error.to_string()),
        }
    }
}

/// Every promise is kept, and nothing but "not now" was said meanwhile.
pub(super) async fn judge(scene: &Scene, process: &Process, seen: &Seen) {
    assert!(seen.faults.is_empty(), "{:?}", seen.faults);
    let api = scene.api(process);
    for id in &seen.promised {
        assert_eq!(api.elicitation(id).await["id"], id.as_str());
    }
}
