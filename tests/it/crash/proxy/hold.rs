//! What is to be held, and the test's end of it.

use consentry::store::Store;
use tokio::sync::oneshot;

use crate::crash::process::PATIENCE;

/// Where in the life of a statement and its transaction it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crash) enum Moment {
    /// Before it is run.
    Statement,
    /// Before the commit that would make it durable.
    Commit,
    /// When it is durable, before the server hears of it.
    Committed,
}

/// A statement that will be held. Dropping it breaks the held connection, as a lost server would.
pub(in crate::crash) struct Hold {
    reached: Option<oneshot::Receiver<()>>,
    go: Option<oneshot::Sender<()>>,
}

impl Hold {
    /// Waits until it is held.
    pub(in crate::crash) async fn reached(&mut self) {
        let reached = self.reached.take().expect("waited for once");
        tokio::time::timeout(PATIENCE, reached).await.expect("the statement comes").expect("the proxy runs");
    }

    /// Lets it go on.
    pub(in crate::crash) fn goes_on(mut self) {
        // The server may have gone meanwhile.
        let _ = self.go.take().expect("let go once").send(());
    }
}

/// One hold, as the proxy has it.
pub(super) struct Held {
    part: &'static str,
    pub(super) moment: Moment,
    reached: oneshot::Sender<()>,
    go: oneshot::Receiver<()>,
}

impl Held {
    /// Tells the test, and waits for its word; none when the connection is to be broken.
    pub(super) async fn wait(self) -> Option<()> {
        self.reached.send(()).ok()?;
        self.go.await.ok()
    }
}

/// Those that no statement has met yet.
#[derive(Default)]
pub(super) struct Holds(Vec<Held>);

impl Holds {
    pub(super) fn add(&mut self, part: &'static str, moment: Moment) -> Hold {
        let (reached, is_reached) = oneshot::channel();
        let (go, goes) = oneshot::channel();
        self.0.push(Held { part, moment, reached, go: goes });
        Hold { reached: Some(is_reached), go: Some(go) }
    }

    /// The one for this text, which is then met.
    pub(super) fn take(&mut self, text: &str) -> Option<Held> {
        let index = self.0.iter().position(|held| text.contains(held.part) && !held.reached.is_closed())?;
        Some(self.0.remove(index))
    }
}

/// A part of a statement's text by which it is known, which exactly one of the program's has.
pub(super) fn of_one(part: &'static str) -> &'static str {
    let with: Vec<_> = Store::statements().into_iter().filter(|one| one.text().contains(part)).collect();
    assert_eq!(with.len(), 1, "statements with {part}");
    part
}
