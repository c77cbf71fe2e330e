//! Between a server and Postgres: knows which statement passes, and can hold it before it is run or before its
//! outcome is told, let connections break, and be deaf.
//!
//! It reads as much of the protocol (PostgreSQL, chapter "Frontend/Backend Protocol") as that takes: the texts of simple
//! queries and of prepared statements, and whether a transaction is open.

mod hold;
mod wire;

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinHandle,
};

pub(super) use self::hold::{Hold, Moment};
use self::{hold::Holds, wire::Session};

/// A running proxy; dropping it ends it and every connection through it.
pub(super) struct Proxy {
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What its connections have in common.
pub(super) struct Shared {
    upstream: Upstream,
    holds: Mutex<Holds>,
    line: watch::Sender<Line>,
    /// Connections that there are.
    open: watch::Sender<usize>,
}

/// The state of the line. A number that grows with each cut ends the connections that saw a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    accepts: bool,
    /// Nothing passes in either direction.
    deaf: bool,
    cuts: u64,
    /// Connections are numbered as they are taken.
    taken: u64,
    /// Those up to this number hear nothing more.
    forgotten: u64,
}

/// Where the database really is: the directory of its socket.
#[derive(Clone)]
struct Upstream(String);

impl Proxy {
    /// In front of the server of this URL, which names the directory of a socket.
    pub(super) async fn before(url: &str) -> (Self, String) {
        let (host, database) = url.strip_prefix("postgres://postgres@").unwrap().split_once('/').unwrap();
        let upstream = Upstream(format!("{}/.s.PGSQL.5432", host.replace("%2F", "/")));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let line = watch::Sender::new(Line { accepts: true, deaf: false, cuts: 0, taken: 0, forgotten: 0 });
        let shared =
            Arc::new(Shared { upstream, holds: Mutex::default(), line, open: watch::Sender::new(0) });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        let through = format!("postgres://postgres@{address}/{database}?sslmode=disable");
        (Self { shared, accepting }, through)
    }

    /// Holds the next transaction that runs the program's one statement with this part, at that moment of it.
    pub(super) fn holds(&self, part: &'static str, moment: Moment) -> Hold {
        self.shared.holds.lock().unwrap().add(hold::of_one(part), moment)
    }

    /// Breaks every connection. New ones are taken.
    pub(super) fn cuts(&self) {
        self.shared.line.send_modify(|line| line.cuts += 1);
    }

    /// Breaks every connection and takes none, until [`Proxy::is_back`]. Returns when there is none.
    pub(super) async fn is_away(&self) {
        self.shared.line.send_modify(|line| *line = Line { accepts: false, cuts: line.cuts + 1, ..*line });
        drop(self.shared.open.subscribe().wait_for(|open| *open == 0).await);
    }

    /// Passes nothing on and breaks nothing, until [`Proxy::is_back`].
    pub(super) fn is_deaf(&self) {
        self.shared.line.send_modify(|line| line.deaf = true);
    }

    /// Passes nothing more on for the connections that there are, without a word to either side, and takes new ones: what a
    /// failover looks like that drops packets.
    pub(super) fn forgets(&self) {
        self.shared.line.send_modify(|line| line.forgotten = line.taken);
    }

    /// As at first.
    pub(super) fn is_back(&self) {
        self.shared.line.send_modify(|line| *line = Line { accepts: true, deaf: false, ..*line });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cuts();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else { return };
        client.set_nodelay(true).unwrap();
        shared.line.send_modify(|line| line.taken += 1);
        let line = *shared.line.borrow();
        if line.accepts {
            let shared = Arc::clone(&shared);
            shared.open.send_modify(|open| *open += 1);
            tokio::spawn(async move {
                Arc::clone(&shared).serve(client, line).await;
                shared.open.send_modify(|open| *open -= 1);
            });
        }
    }
}

impl Shared {
    /// One connection, until either side ends it or it is cut.
    async fn serve(self: Arc<Self>, client: TcpStream, then: Line) {
        let Ok(server) = UnixStream::connect(&self.upstream.0).await else { return };
        let mut line = self.line.subscribe();
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let session = Arc::new(Session::new(Arc::clone(&self), then.taken));
        let passing = async {
            tokio::select! {
                () = session.forth(from_client, to_server) => {}
                () = session.back(from_server, to_client) => {}
            }
        };
        tokio::select! {
            () = passing => {}
            _ = line.wait_for(|line| line.cuts != then.cuts) => {}
        }
    }

    /// Waits while the line is deaf for the connection of that number.
    async fn hears(&self, number: u64) {
        drop(self.line.subscribe().wait_for(|line| !line.deaf && number > line.forgotten).await);
    }
}

/// One message: its type and its body. None at the end of the stream.
async fn message(from: &mut (impl AsyncRead + Unpin)) -> Option<(u8, Vec<u8>)> {
    let kind = from.read_u8().await.ok()?;
    Some((kind, body(from).await?))
}

/// The rest of a message: a length that counts itself, and that much.
async fn body(from: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let length = from.read_u32().await.ok()?.checked_sub(4)?;
    let mut body = vec![0; usize::try_from(length).ok()?];
    from.read_exact(&mut body).await.ok()?;
    Some(body)
}

/// Passes a message on; none when the other side is gone.
async fn pass(to: &mut (impl AsyncWrite + Unpin), kind: Option<u8>, body: &[u8]) -> Option<()> {
    let mut bytes: Vec<u8> = kind.into_iter().collect();
    bytes.extend(u32::try_from(body.len() + 4).ok()?.to_be_bytes());
    bytes.extend(body);
    to.write_all(&bytes).await.ok()
}
