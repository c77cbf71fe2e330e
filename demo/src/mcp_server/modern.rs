//! Takes `"elicitationId":""` out of what rmcp 3.11 writes in the modern era: 2026-07-28 has no such member, and rmcp's
//! type for the request cannot do without it.

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::header::CONTENT_LENGTH,
    middleware::Next,
    response::Response,
};
use http_body_util::BodyExt;

const FIRST_MODERN: &[u8] = b"2026-07-28";
/// With the comma behind or before it. Cannot stand in a JSON string, where the quotes would be escaped.
const EMPTY_ID: [&[u8]; 2] = [br#""elicitationId":"","#, br#","elicitationId":"""#];

/// Takes the empty member out of answers of the modern era.
pub async fn without_elicitation_id(request: Request, next: Next) -> Response {
    // Versions are dates, so that their order is the text's.
    let modern = request.headers().get("mcp-protocol-version").is_some_and(|v| v.as_bytes() >= FIRST_MODERN);
    let response = next.run(request).await;
    if !modern {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    // rmcp writes each message as one frame.
    Response::from_parts(parts, Body::new(body.map_frame(|frame| frame.map_data(strip))))
}

fn strip(bytes: Bytes) -> Bytes {
    let found = EMPTY_ID.iter().find_map(|member| {
        let at = bytes.windows(member.len()).position(|window| window == *member)?;
        Some([&bytes[..at], &bytes[at + member.len()..]].concat())
    });
    found.map_or(bytes, |rest| strip(rest.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_empty_id_goes() {
        let written =
            br#"{"mode":"url","url":"http://a/","elicitationId":""},{"x":"","elicitationId":"e-1"}"#;
        let sent = strip(Bytes::from_static(written));
        assert_eq!(&sent[..], br#"{"mode":"url","url":"http://a/"},{"x":"","elicitationId":"e-1"}"#);
        let quoted = br#"{"text":",\"elicitationId\":\"\""}"#;
        assert_eq!(&strip(Bytes::from_static(quoted))[..], quoted);
    }
}
