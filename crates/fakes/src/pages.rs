//! The few HTML pages of the fakes: plain, readable by a screen reader, usable without scripts, everything escaped.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, StatusCode};

use crate::oauth::FormPost;

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;margin:2rem auto;max-width:32rem;padding:0 1rem;color:#1a1a1a;background:#fff}\
button{font:inherit;padding:.6rem 1rem;margin:.25rem .5rem .25rem 0;border:1px solid #555;border-radius:.4rem;background:#f4f4f4;cursor:pointer}\
button:focus-visible,input:focus-visible{outline:3px solid #06c;outline-offset:2px}\
fieldset{border:1px solid #bbb;border-radius:.4rem;margin:1rem 0}label{display:block;padding:.2rem 0}\
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}button{color:#eee;background:#2a2a2a}}";

/// Text that is safe between tags and inside a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// A page of that party; `body` is markup whose parts are escaped already.
pub(crate) fn page(status: StatusCode, party: &str, title: &str, body: &str) -> Response {
    let (party, title) = (escape(party), escape(title));
    let html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} - {party}</title><style>{STYLE}</style></head>\n<body><header><p><strong>{party}</strong></p></header>\n\
         <main>\n<h1>{title}</h1>\n{body}\n</main></body></html>\n"
    );
    let mut response = (status, Html(html)).into_response();
    let headers = response.headers_mut();
    // No `form-action`: browsers apply it to the redirect that follows the post, which leads to the client.
    headers.insert(
        http::header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
        ),
    );
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(http::header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// A refusal that may not be sent to the client: the browser stays here.
pub(crate) fn refusal(party: &str, status: StatusCode, error: &str, description: &str) -> Response {
    let body = format!("<p data-error=\"{}\">{}</p>", escape(error), escape(description));
    page(status, party, "This request was refused", &body)
}

/// Form post response mode: a form that sends itself, with a button for browsers without scripts.
pub(crate) fn form_post(party: &str, form: &FormPost) -> Response {
    let mut body = format!("<form method=\"post\" action=\"{}\">", escape(&form.action));
    for (name, value) in &form.fields {
        body.push_str(&hidden(name, value));
    }
    body.push_str(
        "<button type=\"submit\">Continue</button></form><script>document.forms[0].submit()</script>",
    );
    page(StatusCode::OK, party, "Going back", &body)
}

pub(crate) fn hidden(name: &str, value: &str) -> String {
    format!("<input type=\"hidden\" name=\"{}\" value=\"{}\">", escape(name), escape(value))
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn markup_in_text_stays_text() {
        assert_eq!(
            escape(r#"<a href="x" onclick='y'>&"#),
            "&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;"
        );
    }
}
