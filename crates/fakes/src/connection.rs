//! One connection: HTTP/1.1 by hyper, and the ways of misbehaving that a handler cannot express.
//!
//! A response that carries [`Misbehave`] is never written as HTTP: the service fails, hyper lets go of the socket, and
//! what the script wants is written to it raw (or nothing at all) before it is closed.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::clock::pause;
use crate::log::lock;
use crate::serve::Phase;

/// An extension of a response: do this to the socket instead of answering.
#[derive(Clone, Debug)]
pub(crate) struct Misbehave {
    /// Written as they are, with that pause before each.
    pub(crate) pieces: Vec<(Duration, Bytes)>,
    /// Go on writing the last piece until the peer hangs up.
    pub(crate) endless: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("the script asks for no proper answer")]
struct NoAnswer;

type Answering = Pin<Box<dyn Future<Output = Result<Response, NoAnswer>> + Send>>;

pub(crate) async fn serve(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    phase: watch::Receiver<Phase>,
) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Some(tls) = tls else { return speak(stream, router, phase).await };
    let handshake = tokio::time::timeout(Duration::from_secs(10), tls.accept(stream));
    if let Ok(Ok(stream)) = handshake.await {
        speak(stream, router, phase).await;
    }
}

async fn speak<I>(stream: I, router: Router, phase: watch::Receiver<Phase>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let planned: Arc<Mutex<Option<Misbehave>>> = Arc::default();
    let service = answering(router, Arc::clone(&planned));
    let mut connection =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);

    let stopping = tokio::select! {
        _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => false,
        () = stopped(phase.clone()) => true,
    };
    if stopping {
        Pin::new(&mut connection).graceful_shutdown();
        let rest = poll_fn(|cx| connection.poll_without_shutdown(cx));
        drop(tokio::time::timeout(Duration::from_secs(1), rest).await);
    }
    let mut stream = connection.into_parts().io.into_inner();
    let plan = lock(&planned).take();
    if let Some(plan) = plan {
        tokio::select! {
            _ = write_raw(&mut stream, plan) => {}
            () = stopped(phase) => {}
        }
    }
    drop(stream.shutdown().await);
}

async fn stopped(mut phase: watch::Receiver<Phase>) {
    drop(phase.wait_for(|now| *now != Phase::Accepting).await);
}

fn answering(
    router: Router,
    planned: Arc<Mutex<Option<Misbehave>>>,
) -> impl Service<Request<Incoming>, Response = Response, Error = NoAnswer, Future = Answering> + Unpin {
    service_fn(move |request: Request<Incoming>| {
        let answer = TowerToHyperService::new(router.clone()).call(request.map(Body::new));
        let planned = Arc::clone(&planned);
        let answering: Answering = Box::pin(async move {
            let Ok(mut response) = answer.await;
            match response.extensions_mut().remove::<Misbehave>() {
                None => Ok(response),
                Some(plan) => {
                    *lock(&planned) = Some(plan);
                    Err(NoAnswer)
                }
            }
        });
        answering
    })
}

async fn write_raw(stream: &mut (impl AsyncWrite + Unpin), plan: Misbehave) -> std::io::Result<()> {
    let last = plan.pieces.last().cloned();
    for (wait, piece) in plan.pieces {
        write_piece(stream, wait, &piece).await?;
    }
    if let (true, Some((wait, piece))) = (plan.endless, last) {
        loop {
            write_piece(stream, wait, &piece).await?;
        }
    }
    Ok(())
}

async fn write_piece(
    stream: &mut (impl AsyncWrite + Unpin),
    wait: Duration,
    piece: &[u8],
) -> std::io::Result<()> {
    if !wait.is_zero() {
        pause(wait).await;
    }
    stream.write_all(piece).await?;
    stream.flush().await
}
