//! One connection, from its handshake to its end.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{Router, body::Body, extract::ConnectInfo};
use http::{Request, Response};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tower::ServiceExt;

use super::{
    Limits, Stop,
    bare::Bare,
    patience::{Answering, Expiry, InTime, Progress, Watched},
    rest::Rest,
    tls::Tls,
};
use crate::{config::IpNetwork, web::client_ip::ClientIp};

/// An HTTP/2 client that does not answer a ping in this time is gone.
const PING: Duration = Duration::from_secs(20);
const STREAMS: u32 = 100;
/// The smallest buffer that hyper takes.
const SMALLEST_HEAD: usize = 8_192;

/// One connection to be served.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) client: Client,
    pub(super) tls: Option<Tls>,
    pub(super) limits: Limits,
    pub(super) router: Router,
    pub(super) bare: Bare,
    pub(super) stop: Stop,
}

/// Who may be behind a connection.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) peer: IpAddr,
    pub(super) trusted_proxies: Arc<[IpNetwork]>,
}

impl Connection {
    pub(super) async fn serve(mut self) {
        let Some(tls) = self.tls.take() else {
            let Self { stream, peer, client, limits, router, bare, stop, .. } = self;
            return serve(stream, peer, client, limits, (router, bare), stop).await;
        };
        let Self { stream, peer, client, limits, router, bare, stop, .. } = self;
        let handshake = tokio::time::timeout(limits.head, tls.acceptor().accept(stream));
        match stop.gently.run_until_cancelled(handshake).await {
            Some(Ok(Ok(stream))) => serve(stream, peer, client, limits, (router, bare), stop).await,
            Some(Ok(Err(error))) => tracing::debug!(%peer, error = %error.kind(), "no TLS handshake"),
            Some(Err(_)) => tracing::debug!(%peer, "the TLS handshake took too long"),
            None => {}
        }
    }
}

async fn serve<S>(
    stream: S,
    peer: SocketAddr,
    client: Client,
    limits: Limits,
    (router, bare): (Router, Bare),
    stop: Stop,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let progress = Progress::new(limits.clone());
    let builder = builder(&limits);
    let service = service_fn({
        let (progress, bare) = (progress.clone(), bare.clone());
        move |request: Request<Incoming>| {
            let in_flight = progress.request(request.version());
            let refusal = bare.refusal(&request, &limits);
            let (rest, request) = dress(request, peer, &client, limits.body);
            let answer = router.clone().oneshot(request);
            async move {
                let answer: Response<Body> = match refusal {
                    Some(refusal) => refusal,
                    None => {
                        let answer = answer.await?;
                        rest.discard().await;
                        answer
                    }
                };
                Ok::<_, Infallible>(answer.map(|body| Answering { body, _request: in_flight }))
            }
        }
    });
    let stream = TokioIo::new(Watched::new(stream, progress.clone(), bare));
    let connection = builder.serve_connection(stream, service);
    let mut connection = std::pin::pin!(connection);
    let mut expiry = Expiry::new(progress.clone());
    let mut stopping = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "connection broke");
                }
                return;
            }
            () = stop.hard.cancelled() => return,
            () = stop.gently.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            () = &mut expiry => {
                tracing::debug!(%peer, idle = progress.is_idle(), "connection cut: too slow");
                return;
            }
        }
    }
}

/// The request as the router sees it, and where what it leaves unread of the body comes back to.
fn dress(
    request: Request<Incoming>,
    peer: SocketAddr,
    client: &Client,
    span: Duration,
) -> (Rest<InTime<Incoming>>, Request<Body>) {
    let ip = ClientIp::of(client.peer, request.headers(), &client.trusted_proxies);
    let (rest, request) = Rest::of(request.map(|body| InTime::new(body, span)));
    let mut request = request.map(|body| match hyper::body::Body::is_end_stream(&body) {
        true => Body::empty(),
        false => Body::new(body),
    });
    request.extensions_mut().insert(ConnectInfo(peer));
    request.extensions_mut().insert(ip);
    (rest, request)
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // The head's limit is `patience`'s, which can tell a slow head from an idle connection.
        .header_read_timeout(None)
        .max_buf_size(limits.head_bytes.max(SMALLEST_HEAD))
        .max_headers(limits.headers);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        // What is beyond the limit is refused with the headers that every answer has; what is twice as big, without.
        .max_header_list_size(u32::try_from(limits.head_bytes.saturating_mul(2)).unwrap_or(u32::MAX))
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING);
    builder
}
