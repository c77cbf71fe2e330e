//! A load of keep-alive connections that ask one after the other. Every answer must be a 200.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Requests, as bytes, and where they go.
#[derive(Clone)]
pub(crate) struct Target {
    /// `host:port`.
    pub(crate) address: String,
    /// Whole requests, sent in turn.
    pub(crate) requests: std::sync::Arc<Vec<Vec<u8>>>,
}

/// Sends `requests` in all over `connections`.
pub(crate) async fn run(target: &Target, requests: usize, connections: usize) {
    let each = requests.div_ceil(connections);
    let clients: Vec<_> = (0..connections)
        .map(|number| {
            let target = target.clone();
            tokio::spawn(async move { client(&target, number, each).await })
        })
        .collect();
    for client in clients {
        client.await.expect("a client that does not panic");
    }
}

async fn client(target: &Target, number: usize, requests: usize) {
    let mut stream = TcpStream::connect(&target.address).await.expect("a listener");
    stream.set_nodelay(true).expect("a socket");
    let mut buffer = vec![0; 64 * 1024];
    for request in target.requests.iter().cycle().skip(number * 7).take(requests) {
        stream.write_all(request).await.expect("a connection that takes requests");
        let mut read = 0;
        loop {
            let got = stream.read(&mut buffer[read..]).await.expect("an answer");
            assert!(got > 0, "the connection was closed: {}", String::from_utf8_lossy(&buffer[..read]));
            read += got;
            if is_whole(&buffer[..read]) {
                break;
            }
        }
        assert!(
            buffer.starts_with(b"HTTP/1.1 200"),
            "not a 200: {}",
            String::from_utf8_lossy(&buffer[..read.min(2_000)])
        );
    }
}

/// All our answers carry their length.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.and_then(|length| length.trim().parse().ok()).expect("a content-length");
    answer.len() >= end + 4 + length
}
