//! Dotted paths into JSON: `data.viewer.email`, `bots.0.name`, `bots[0].name`.

use serde_json::Value;

/// What stands at `path`; none where nothing does. Total: any text is a path.
pub(super) fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split(['.', '[']).map(|step| step.strip_suffix(']').unwrap_or(step)).try_fold(value, |at, step| {
        match at {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_go_into_objects_and_lists() {
        let value =
            json!({"id": 7, "bots": [{"name": "a"}, {"name": "b"}], "data": {"viewer": {"email": "e"}}});
        for (path, expected) in [
            ("id", Some(json!(7))),
            ("data.viewer.email", Some(json!("e"))),
            ("bots.1.name", Some(json!("b"))),
            ("bots[1].name", Some(json!("b"))),
            ("bots[2].name", None),
            ("bots.-1", None),
            ("id.x", None),
            ("", None),
            ("..", None),
        ] {
            assert_eq!(find(&value, path).cloned(), expected, "{path}");
        }
        assert_eq!(find(&json!([{"a": 1}]), "0.a"), Some(&json!(1)));
    }

    proptest! {
        #[test]
        fn any_text_is_a_path(path in ".{0,40}|[a-z0-9.\\[\\]]{0,40}") {
            let _ = find(&json!({"a": [{"b": [1]}]}), &path);
        }
    }
}
