//! Media types in headers, as far as the listeners need them: whether a body is JSON, and what a client takes.

use http::{HeaderMap, header};

/// Whether a `Content-Type` is JSON in UTF-8 (RFC 9110, section 8.3; RFC 8259, section 8.1).
pub fn is_json(content_type: &str) -> bool {
    let (kind, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    let charset = parameters.trim().to_ascii_lowercase();
    kind.trim().eq_ignore_ascii_case("application/json")
        && ["", "charset=utf-8", "charset=\"utf-8\""].contains(&charset.as_str())
}

/// The ranges of `Accept` that are not refused by a weight of 0, in lower case (RFC 9110, section 12.5.1).
pub fn accepted(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|range| {
        let (kind, parameters) = range.split_once(';').unwrap_or((range, ""));
        let mut weights = parameters.split(';').filter_map(|parameter| parameter.trim().strip_prefix("q="));
        let is_refused = weights.any(|weight| weight.trim_end_matches(['0', '.']).is_empty());
        (!is_refused).then(|| kind.trim().to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn json_is_one_type_in_one_encoding() {
        for json in
            ["application/json", "Application/JSON ; Charset=UTF-8", "application/json;charset=\"utf-8\""]
        {
            assert!(is_json(json), "{json}");
        }
        for other in ["application/jsonp", "text/json", "application/json; charset=latin-1", ""] {
            assert!(!is_json(other), "{other}");
        }
    }

    #[test]
    fn what_has_no_weight_is_not_accepted() {
        let mut headers = HeaderMap::new();
        headers
            .insert(header::ACCEPT, HeaderValue::from_static("Text/HTML;q=0.5, */*;q=0.0, a/b;level=1;q=0"));
        headers.append(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        assert_eq!(accepted(&headers).collect::<Vec<_>>(), ["text/html", "text/event-stream"]);
    }
}
