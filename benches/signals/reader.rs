//! One reader of the stream of events, no more than a socket.

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::world::API_KEY;

/// An open stream.
pub(crate) struct Reader {
    socket: BufReader<TcpStream>,
    line: String,
}

impl Reader {
    /// Opens a stream of what happens from now on, and reads its first word.
    pub(crate) async fn open(port: u16) -> Self {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).await.expect("a server");
        socket.set_nodelay(true).expect("a socket");
        let request = format!(
            "GET /v1/events HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {API_KEY}\r\n\
             accept: text/event-stream\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).await.expect("a request");
        let mut reader = Self { socket: BufReader::with_capacity(1024, socket), line: String::new() };
        while !reader.next_line().await.starts_with(": connected") {}
        reader
    }

    /// The next event's number.
    pub(crate) async fn event(&mut self) -> i64 {
        loop {
            if let Some(id) = self.next_line().await.strip_prefix("id: ") {
                return id.trim().parse().expect("a number");
            }
        }
    }

    async fn next_line(&mut self) -> &str {
        self.line.clear();
        assert_ne!(self.socket.read_line(&mut self.line).await.expect("a stream"), 0, "the stream ended");
        &self.line
    }
}
