//! An authorization server that says what it was told to, and remembers what it was asked.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

#[derive(Clone)]
pub(super) struct ScriptedPeer {
    address: String,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    answers: HashMap<String, (u16, String)>,
    asked: Vec<Asked>,
}

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) head: String,
    pub(super) body: String,
}

impl ScriptedPeer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let peer = Self { address, script: Arc::default() };
        let serving = peer.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let peer = serving.clone();
                tokio::spawn(async move { peer.converse(stream).await });
            }
        });
        peer
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What is answered at `path` from now on.
    pub(super) fn say(&self, path: &str, status: u16, body: &Value) {
        self.script.lock().unwrap().answers.insert(path.to_owned(), (status, body.to_string()));
    }

    pub(super) fn asked(&self, path: &str) -> Vec<Asked> {
        self.script.lock().unwrap().asked.iter().filter(|asked| asked.path == path).cloned().collect()
    }

    async fn converse(&self, mut stream: TcpStream) {
        let mut text = String::new();
        let mut buffer = [0; 4096];
        let (head, body) = loop {
            let Ok(read @ 1..) = stream.read(&mut buffer).await else { return };
            text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let lines = head.lines().filter_map(|line| line.split_once(": "));
                let length = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
                let length = length.map(|(_, length)| length.parse().unwrap()).next().unwrap_or(0_usize);
                if body.len() >= length {
                    break (head.to_owned(), body.to_owned());
                }
            }
        };
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let (status, answer) = {
            let mut script = self.script.lock().unwrap();
            script.asked.push(Asked { path: path.clone(), head, body });
            script.answers.get(&path).cloned().unwrap_or((404, "{}".to_owned()))
        };
        let head = format!(
            "HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        let _ = stream.write_all(format!("{head}{answer}").as_bytes()).await;
    }
}
