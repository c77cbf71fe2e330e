//! `consentry health`: is the server of this configuration alive? For a container's health check, so that the image
//! needs no other program.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{Context, output::CliError};

const PATIENCE: Duration = Duration::from_secs(3);
const ASK: &[u8] = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

pub(super) async fn run(context: &Context) -> Result<(), CliError> {
    let listen = context.settings()?.listen;
    let address = reachable(listen.internal);
    let is_plain = listen.internal_tls.is_none();
    match timeout(PATIENCE, ask(address, is_plain)).await {
        Ok(Ok(true)) => context.out.say(&json!({ "ok": true }), "alive"),
        Ok(Ok(false)) => Err(CliError::failed("it answers, but not that it is alive")),
        Ok(Err(error)) => Err(CliError::failed(format!("no answer from {address}: {}", error.kind()))),
        Err(_) => Err(CliError::failed(format!("no answer from {address} in time"))),
    }
}

async fn ask(address: SocketAddr, is_plain: bool) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    // Its certificate names another host than this one; that it accepts must do.
    if !is_plain {
        return Ok(true);
    }
    stream.write_all(ASK).await?;
    let mut answer = Vec::new();
    stream.take(512).read_to_end(&mut answer).await?;
    Ok(answer.starts_with(b"HTTP/1.1 200"))
}

/// "Every address" is an address to listen on, not to call.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
