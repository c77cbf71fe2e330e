//! Words in braces that stand for ours in what a provider is sent: `{access_token}`, `{client_id}`.
//!
//! In one go: what is put in is never searched for further braces. What is not known stays as it is.

use zeroize::Zeroizing;

/// `template` with each `{name}` of `values` in its place.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> Zeroizing<String> {
    let mut filled = Zeroizing::new(String::with_capacity(template.len()));
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let known = after.split_once('}').and_then(|(name, after)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((value, after))
        });
        match known {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn what_is_known_is_filled_in_once() {
        let values = [("a", "{b}"), ("b", "x")];
        for (template, filled) in [
            ("{a}", "{b}"),
            ("-{a}-{b}-{c}-", "-{b}-x-{c}-"),
            ("{{a}}", "{{b}}"),
            ("{a", "{a"),
            ("}{", "}{"),
            ("", ""),
        ] {
            assert_eq!(*fill(template, &values), filled, "{template}");
        }
    }
}
