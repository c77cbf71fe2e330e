//! A page of the MCP server's own, in a real browser: there with a code, back with a state.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
};

use super::{driver::Browsers, steps::CONTINUE};
use crate::{
    engine::{Database, Engine},
    hosted::{PAGE, Visit, accepted, offer_at, redeems, says},
    world::World,
};

/// The page: shows nothing but its name, and keeps the heads of what it was asked.
fn page() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.7:0").unwrap();
    let (address, heads) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
    let seen = Arc::clone(&heads);
    std::thread::spawn(move || {
        for mut visitor in listener.incoming().flatten() {
            let mut head = vec![0; 16 * 1024];
            let length = visitor.read(&mut head).unwrap_or(0);
            seen.lock().unwrap().push(String::from_utf8_lossy(&head[..length]).to_lowercase());
            let html = "<!doctype html><title>Checkout</title><main data-page=\"checkout\">Pay here</main>";
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{html}",
                html.len()
            );
            drop(visitor.write_all(answer.as_bytes()));
        }
    });
    (address, heads)
}

/// R43: the page learns from where nobody came, and our cookies stay with us.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_pays_on_a_page_and_comes_back() {
    let (address, heads) = page();
    let url = format!("http://{address}/checkout?shop=main");
    let world = async {
        let database = Database::start(Engine::Sqlite).await;
        World::start_with(database, |settings| offer_at(settings, &url)).await
    };
    let (world, browsers) = tokio::join!(world, Browsers::start());
    let alice = browsers.open().await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    alice.click(CONTINUE).await;
    alice.sees("checkout").await;
    let visit = Visit::of(&alice.url().await.parse().unwrap());
    redeems(&api, &visit).await.expect(200);
    alice.open(&visit.back()).await;
    alice.sees("awaiting-result").await;
    assert!(!alice.url().await.contains(&visit.state));
    says(&api, &link, &accepted()).await.expect(200);
    alice.click("main a.main").await;
    alice.sees("connected").await;
    assert!(alice.text().await.contains("Order A-1"));
    let heads = heads.lock().unwrap();
    let asked = heads.iter().find(|head| head.starts_with("get /checkout?shop=main&code=")).unwrap();
    assert!(!asked.contains("\r\nreferer:") && !asked.contains("\r\ncookie:"), "{asked}");
}
