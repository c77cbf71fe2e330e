//! Listening: an address of the caller's choice, http or TLS, a port that can be shut and opened again, a stop on drop.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::connection;

/// Where a fake listens, and by which name the world calls it.
#[derive(Clone, Debug)]
pub struct Listen {
    ip: IpAddr,
    port: u16,
    host: Option<String>,
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Listen {
    /// On a free port of this address. Give each party a loopback address of its own (127.0.0.2, .3, ...): cookie jars
    /// are then apart and redirects cross-site, as in life.
    pub fn on(ip: impl Into<IpAddr>) -> Self {
        Self { ip: ip.into(), port: 0, host: None, tls: None }
    }

    /// A fixed port instead of a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The host name in `base_url()`, instead of the address.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.host = Some(name.into());
        self
    }

    /// TLS instead of plain http; `base_url()` is then `https`.
    #[must_use]
    pub fn tls(mut self, config: Arc<rustls::ServerConfig>) -> Self {
        self.tls = Some(config);
        self
    }
}

impl Default for Listen {
    fn default() -> Self {
        Self::on(Ipv4Addr::LOCALHOST)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Accepting,
    Refusing,
    Stopped,
}

/// Connections that wait to be accepted; tokio's own number.
const BACKLOG: u32 = 1_024;

/// A port that is taken, with its URL known, before the router exists.
pub(crate) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    pub(crate) base_url: String,
}

pub(crate) async fn bind(listen: Listen) -> io::Result<Bound> {
    let listener = TcpListener::bind((listen.ip, listen.port)).await?;
    let address = listener.local_addr()?;
    let scheme = if listen.tls.is_some() { "https" } else { "http" };
    let base_url = match &listen.host {
        Some(host) => format!("{scheme}://{host}:{}", address.port()),
        None => format!("{scheme}://{address}"),
    };
    Ok(Bound { listener, address, tls: listen.tls.map(TlsAcceptor::from), base_url })
}

impl Bound {
    pub(crate) fn serve(self, router: Router) -> Running {
        let phase = watch::Sender::new(Phase::Accepting);
        let (opened, is_open) = watch::channel(true);
        let port = Port { address: self.address, tls: self.tls, router, phase: phase.subscribe(), opened };
        let task = tokio::spawn(port.accept(self.listener));
        Running { base_url: self.base_url, address: self.address, phase, is_open, task }
    }
}

/// A fake's server. Dropping it stops it: nothing more is accepted, idle connections close, running ones get a second.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) base_url: String,
    pub(crate) address: SocketAddr,
    phase: watch::Sender<Phase>,
    is_open: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Running {
    /// `false`: the port is closed, so that connecting is refused, and open connections end. `true`: open again.
    /// Returns when it is so.
    ///
    /// # Errors
    /// When somebody else has the port by now.
    pub(crate) async fn accept(&self, open: bool) -> io::Result<()> {
        self.phase.send_replace(if open { Phase::Accepting } else { Phase::Refusing });
        let done = self.is_open.clone().wait_for(|is_open| *is_open == open).await.map(drop);
        done.map_err(|_| io::Error::from(io::ErrorKind::AddrInUse))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Stopped);
        if tokio::runtime::Handle::try_current().is_err() {
            self.task.abort();
        }
    }
}

/// The port without a listener: connecting is refused, and nobody else is given it meanwhile.
fn hold(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// What the accepting task works with.
struct Port {
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    router: Router,
    phase: watch::Receiver<Phase>,
    opened: watch::Sender<bool>,
}

impl Port {
    async fn accept(mut self, mut listener: TcpListener) {
        loop {
            self.opened.send_replace(true);
            self.while_accepting(&listener).await;
            drop(listener);
            let held = hold(self.address);
            self.opened.send_replace(false);
            let next = self.phase.wait_for(|now| *now != Phase::Refusing).await.map(|now| *now);
            if next.unwrap_or(Phase::Stopped) == Phase::Stopped {
                return;
            }
            listener = match held.and_then(|socket| socket.listen(BACKLOG)) {
                Ok(open) => open,
                Err(error) => {
                    tracing::warn!(address = %self.address, %error, "a fake's port could not be opened again");
                    return;
                }
            };
        }
    }

    async fn while_accepting(&mut self, listener: &TcpListener) {
        loop {
            tokio::select! {
                biased;
                changed = self.phase.changed() => {
                    if changed.is_err() || *self.phase.borrow() != Phase::Accepting {
                        return;
                    }
                }
                accepted = listener.accept() => {
                    if let Ok((stream, _)) = accepted {
                        let (tls, router) = (self.tls.clone(), self.router.clone());
                        tokio::spawn(connection::serve(stream, tls, router, self.phase.clone()));
                    }
                }
            }
        }
    }
}
