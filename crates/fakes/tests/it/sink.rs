//! The webhook sink.

use std::time::Duration;

use consentry_fakes::{Answer, Listen, Sink};

use crate::client::http;

#[tokio::test]
async fn it_records_and_answers_as_scripted() {
    let sink = Sink::start(Listen::on([127, 0, 0, 4])).await.unwrap();
    let send = || http().post(format!("{}/hooks/consentry", sink.base_url())).header("webhook-id", "msg_1");
    sink.next_answer(Answer::status(503));
    sink.next_answer(Answer::status(410));
    for status in [503, 410, 204] {
        assert_eq!(send().json(&serde_json::json!({ "n": status })).send().await.unwrap().status(), status);
    }
    sink.always_answer(Answer::redirect("http://127.0.0.9:1/"));
    assert_eq!(send().send().await.unwrap().status(), 302);
    sink.answer_normally();
    assert_eq!(send().send().await.unwrap().status(), 204);

    let received = sink.log().until(Duration::from_secs(5), |entries| entries.len() == 5).await.unwrap();
    assert_eq!(received[0].header("webhook-id"), Some("msg_1"));
    assert_eq!(received[0].json().unwrap()["n"], 503);
    assert_eq!((received[0].method.as_str(), received[0].path.as_str()), ("POST", "/hooks/consentry"));
    sink.log().clear();
    assert!(sink.log().is_empty());
    assert!(sink.log().until(Duration::from_millis(1), |entries| !entries.is_empty()).await.is_none());
}
