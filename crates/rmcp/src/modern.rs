//! Takes `"elicitationId":""` out of what rmcp 3.11 writes in the modern era: 2026-07-28 has no such member, and rmcp's
//! type for the request cannot do without it.

use axum::{
    body::{Body, Bytes},
    http::header::CONTENT_LENGTH,
    response::Response,
};
use http_body_util::BodyExt;
use serde_json::Value;

const EMPTY_ID: &[u8] = br#""elicitationId":"""#;
/// The field of an event (WHATWG HTML, "Server-sent events"); absent where the body is the message itself.
const DATA: &str = "data:";

/// Takes the empty member out of an answer of rmcp's; for a server of its own kind, `axum::middleware::map_response` makes a
/// layer of it. [`Endpoint`](crate::Endpoint) has it.
pub async fn without_elicitation_id(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    // rmcp writes each message as one frame.
    Response::from_parts(parts, Body::new(body.map_frame(|frame| frame.map_data(mended))))
}

/// A frame without the member, where it stands in a request for input; every other one as it is.
fn mended(frame: Bytes) -> Bytes {
    if !frame.windows(EMPTY_ID.len()).any(|window| window == EMPTY_ID) {
        return frame;
    }
    let Ok(text) = std::str::from_utf8(&frame) else { return frame };
    let lines = text.split_inclusive('\n').map(|line| {
        let (field, json) = line.strip_prefix(DATA).map_or(("", line), |json| ("data: ", json));
        let end = if line.ends_with('\n') { "\n" } else { "" };
        let mended = serde_json::from_str(json).ok().and_then(without);
        mended.map_or_else(|| line.to_owned(), |message| format!("{field}{message}{end}"))
    });
    Bytes::from(lines.collect::<String>())
}

/// The message, if there was anything to take out.
fn without(mut message: Value) -> Option<Value> {
    let result = message.get_mut("result").filter(|result| result["resultType"] == "input_required")?;
    let mut found = false;
    for request in result.get_mut("inputRequests")?.as_object_mut()?.values_mut() {
        let params = request.get_mut("params").and_then(Value::as_object_mut);
        if let Some(params) = params.filter(|params| params.get("elicitationId").is_some_and(|id| id == "")) {
            // `remove` would put the last member in its place where maps keep their order.
            params.retain(|name, _| name != "elicitationId");
            found = true;
        }
    }
    found.then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(text: &str) -> String {
        String::from_utf8(mended(Bytes::copy_from_slice(text.as_bytes())).to_vec()).unwrap()
    }

    #[test]
    fn the_empty_id_goes_from_a_request_for_input_and_from_nowhere_else() {
        let params = r#"{"elicitationId":"","mode":"url","url":"http://a/"}"#;
        let round = format!(
            r#"{{"result":{{"inputRequests":{{"k":{{"params":{params}}}}},"resultType":"input_required"}}}}"#
        );
        let without = round.replace(r#""elicitationId":"","#, "");
        assert_eq!(through(&round), without);
        assert_eq!(through(&format!("id: 1\ndata: {round}\n\n")), format!("id: 1\ndata: {without}\n\n"));
        for kept in [
            round.replace(r#""""#, r#""e-1""#),
            format!(r#"{{"result":{{"structuredContent":{params}}}}}"#),
            format!(r#"{{"result":{{"resultType":"complete","structuredContent":{params}}}}}"#),
            r#"{"text":",\"elicitationId\":\"\""}"#.to_owned(),
            r#"data: {"cut": "elicitationId":"""#.to_owned(),
        ] {
            assert_eq!(through(&kept), kept);
        }
    }
}
