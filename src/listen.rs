//! Accepts connections and serves a router on them: own loop, because every wait here has a limit.
//!
//! HTTP/1.1 and HTTP/2, in the clear or by TLS. A slow head, a slow body, an idle connection and a client that does not
//! read are all cut off; there are only so many connections; and a stop ends the accepting at once and the connections
//! as they fall idle (R118). The limits are in real time, not in [`crate::clock::Clock`]'s, for the peers live in it.
//!
//! What it must never do: look at a request beyond its version, or log what a client sent.

mod bare;
mod connection;
mod patience;
mod requests;
mod rest;
#[cfg(test)]
mod tests;
mod tls;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::Router;
use http::{HeaderName, HeaderValue};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    patience::TooSlow,
    requests::observed,
    tls::{Tls, TlsError},
};
use crate::config::IpNetwork;

/// Connections that the kernel holds until they are accepted.
const BACKLOG: u32 = 1_024;
/// After a failure to accept, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Limits of a listener.
#[derive(Clone, Debug)]
pub struct Limits {
    /// For a TLS handshake, and for the head of a request from its first byte; a new connection's from its opening.
    pub head: Duration,
    /// For a whole request body, from the end of its head.
    pub body: Duration,
    /// Between two requests. Longer than a proxy in front keeps its connections, which would otherwise send into a
    /// closed one.
    pub idle: Duration,
    /// How long a client may refuse to read.
    pub write: Duration,
    /// Bytes of a head.
    pub head_bytes: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Open connections.
    pub connections: usize,
}

/// A bound socket that does not accept yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
    limits: Limits,
    trusted_proxies: Arc<[IpNetwork]>,
    bare: bare::Bare,
}

/// How a listener ends.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Nothing new is accepted; connections end when their requests are answered.
    pub gently: CancellationToken,
    /// Connections end at once.
    pub hard: CancellationToken,
}

impl Listener {
    /// Binds `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub fn bind(
        address: SocketAddr,
        tls: Option<Tls>,
        limits: Limits,
        trusted_proxies: Arc<[IpNetwork]>,
    ) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        // Inherited by what is accepted: a peer that vanished is noticed though nothing is sent to it.
        socket.set_keepalive(true)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        let (address, bare) = (socket.local_addr()?, bare::Bare::default());
        Ok(Self { address, socket, tls, limits, trusted_proxies, bare })
    }

    /// Headers for the answers to what cannot be parsed, which no router sees.
    #[must_use]
    pub fn with_headers(self, headers: &[(HeaderName, HeaderValue)]) -> Self {
        Self { bare: bare::Bare::new(headers), ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts and serves until `stop`; returns when the last connection is gone.
    pub async fn serve(self, router: Router, stop: Stop) {
        let connections = TaskTracker::new();
        let slots = Arc::new(Semaphore::new(self.limits.connections));
        loop {
            let Some(Ok(slot)) = stop.gently.run_until_cancelled(slots.clone().acquire_owned()).await else {
                break;
            };
            let Some((stream, peer)) = self.accept(&stop).await else { break };
            let connection = connection::Connection {
                stream,
                peer,
                client: self.client(peer.ip()),
                tls: self.tls.clone(),
                limits: self.limits.clone(),
                router: router.clone(),
                bare: self.bare.clone(),
                stop: stop.clone(),
            };
            connections.spawn(async move {
                connection.serve().await;
                drop(slot);
            });
        }
        drop(self.socket);
        connections.close();
        connections.wait().await;
    }

    /// The next connection; none when it is time to stop.
    async fn accept(&self, stop: &Stop) -> Option<(TcpStream, SocketAddr)> {
        loop {
            match stop.gently.run_until_cancelled(self.socket.accept()).await? {
                Ok((stream, peer)) => {
                    // Answers are small and complete; waiting to fill a segment only delays them.
                    let _ = stream.set_nodelay(true);
                    return Some((stream, peer));
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    tracing::error!(error = %error.kind(), "no connection can be accepted");
                    stop.gently.run_until_cancelled(tokio::time::sleep_until(Instant::now() + PAUSE)).await?;
                }
            }
        }
    }

    fn client(&self, peer: IpAddr) -> connection::Client {
        connection::Client { peer, trusted_proxies: self.trusted_proxies.clone() }
    }
}

/// The client gave up before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}
