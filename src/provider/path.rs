//! Dotted paths into JSON: `data.viewer.email`, `bots.0.name`, `bots[0].name`; and texts made of what stands there.

use serde_json::Value;

use crate::values::Values;

/// What stands at `path`; none where nothing does, the whole for no path. Total: any text is a path.
pub(crate) fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(value);
    }
    path.split(['.', '[']).map(|step| step.strip_suffix(']').unwrap_or(step)).try_fold(value, |at, step| {
        match at {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    })
}

/// A string, or a whole number as its decimal text. What a reader could round to another's is none.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text at the first of alternative paths, as in `name|login`, that has one.
pub(super) fn text_at(value: &Value, paths: &str) -> Option<String> {
    paths.split('|').find_map(|path| find(value, path).and_then(text).filter(|text| !text.is_empty()))
}

/// What a path gives, or a text with paths or names of `values` in braces; none where any of them gives nothing.
pub(super) fn exact(value: &Value, values: &Values, template: &str) -> Option<String> {
    let (text, missing) = fill(value, values, template);
    (!missing).then_some(text)
}

/// The same for a person to read: what is missing is left out, with brackets that would then hold nothing.
pub(super) fn readable(value: &Value, values: &Values, template: &str) -> String {
    let (text, missing) = fill(value, values, template);
    if missing { text.replace("()", "").replace("[]", "").trim().to_owned() } else { text }
}

/// The alternatives of paths in `template` that give nothing; none where each gives something.
pub(super) fn missing<'a>(value: &Value, values: &Values, template: &'a str) -> Option<&'a str> {
    if !template.contains('{') {
        return text_at(value, template).is_none().then_some(template);
    }
    let named = template.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0));
    named.into_iter().find(|paths| values.get(paths).is_none() && text_at(value, paths).is_none())
}

/// As much of `path` as leads somewhere, and what stands there.
pub(super) fn deepest<'a, 'b>(value: &'a Value, path: &'b str) -> (&'b str, &'a Value) {
    let ends = path.match_indices(['.', '[']).map(|(at, _)| at).chain([path.len()]);
    let mut found = ends.filter_map(|end| Some((&path[..end], find(value, &path[..end])?)));
    let longest = found.rfind(|(found, place)| !found.is_empty() && !place.is_null());
    longest.unwrap_or(("", value))
}

fn fill(value: &Value, values: &Values, template: &str) -> (String, bool) {
    let at = |paths: &str| values.get(paths).map(str::to_owned).or_else(|| text_at(value, paths));
    if !template.contains('{') {
        return text_at(value, template).map_or_else(|| (String::new(), true), |text| (text, false));
    }
    let (mut whole, mut missing) = (String::new(), false);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((paths, after)) = after.split_once('}') else { break };
        whole.push_str(before);
        let found = at(paths);
        missing |= found.is_none();
        whole.push_str(&found.unwrap_or_default());
        rest = after;
    }
    whole.push_str(rest);
    (whole, missing)
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
            ("..", None),
        ] {
            assert_eq!(find(&value, path).cloned(), expected, "{path}");
        }
        assert_eq!(find(&json!([{"a": 1}]), "0.a"), Some(&json!(1)));
    }

    #[test]
    fn texts_are_made_of_what_stands_there() {
        let value = json!({"team": "T", "user": {"id": 7, "name": null, "login": "o"}});
        let mut values = Values::default();
        values.insert("realm", "42").unwrap();
        for (template, expected) in [
            ("team", Some("T")),
            ("user.name|user.login", Some("o")),
            ("{team}:{user.id}", Some("T:7")),
            ("{realm}", Some("42")),
            ("{team}:{user.name}", None),
            ("user.name", None),
            ("{team", Some("{team")),
        ] {
            assert_eq!(exact(&value, &values, template).as_deref(), expected, "{template}");
        }
        assert_eq!(readable(&value, &values, "{team} ({user.name})"), "T");
        assert_eq!(readable(&value, &values, "{user.name|user.login} ({team})"), "o (T)");
        assert_eq!(readable(&value, &values, "user.name"), "");
    }

    proptest! {
        #[test]
        fn any_text_is_a_path(path in ".{0,40}|[a-z0-9.\\[\\]]{0,40}") {
            let value = json!({"a": [{"b": [1]}]});
            let _ = find(&value, &path);
            let _ = readable(&value, &Values::default(), &path);
        }
    }
}
