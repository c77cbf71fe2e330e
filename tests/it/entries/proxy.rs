//! The internet, as far as the entries of the catalogue know it: an HTTP proxy, which the settings name, behind which
//! every host is the player. TLS ends here, by certificates of an authority that the settings trust.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex},
};

use http_body_util::{BodyExt, Full};
use hyper::{body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use super::{Plays, asked::Asked};

/// A running proxy; dropping it stops it.
pub(super) struct Proxy {
    pub(super) url: String,
    /// The authority's certificate.
    pub(super) authority: String,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub(super) async fn start(player: Arc<dyn Plays>) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap().pem();
        let house = Arc::new(House { issuer: Issuer::new(params, key), known: Mutex::default(), player });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&house).serve(stream));
            }
        });
        Self { url, authority, task }
    }
}

struct House {
    issuer: Issuer<'static, KeyPair>,
    known: Mutex<HashMap<String, TlsAcceptor>>,
    player: Arc<dyn Plays>,
}

impl House {
    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let Some(host) = asked_for(&mut stream).await else { return };
        if stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.is_err() {
            return;
        }
        let Ok(stream) = self.acceptor(&host).accept(stream).await else { return };
        let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
            let (player, host) = (Arc::clone(&self.player), host.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
                let url = format!("https://{host}{}", parts.uri);
                let told = player.hears(&Asked { method: parts.method, url, headers: parts.headers, body });
                if told.status == 0 {
                    return Err(io::Error::from(io::ErrorKind::ConnectionReset));
                }
                let answer = hyper::Response::builder().status(told.status).header("content-type", told.kind);
                Ok(answer.body(Full::<Bytes>::from(told.body)).unwrap())
            }
        });
        drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
    }

    fn acceptor(&self, host: &str) -> TlsAcceptor {
        let mut known = self.known.lock().unwrap();
        let made = known.entry(host.to_owned()).or_insert_with(|| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
            let certificate = params.signed_by(&key, &self.issuer).unwrap();
            let config = rustls::ServerConfig::builder_with_provider(Arc::new(
                rustls::crypto::aws_lc_rs::default_provider(),
            ));
            let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
            let key = key.serialize_der().try_into().unwrap();
            let config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
            TlsAcceptor::from(Arc::new(config))
        });
        made.clone()
    }
}

/// The host of a `CONNECT`, on the port of https.
async fn asked_for(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?;
    target.strip_suffix(":443").map(str::to_owned)
}
