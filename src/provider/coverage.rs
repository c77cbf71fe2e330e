//! What a provider's answer about scopes comes to, and what to ask for when more is wanted.
//!
//! Providers rename scopes, and leave out those that a wider one includes. Taken by the letter, such an answer would
//! send a person around for ever: asked, given, and asked again. What it must never do: take a scope for granted that
//! no answer and no table of the configuration speaks of.

use serde_json::Value;

use crate::{
    config::{Granted, Provider},
    connection::Connection,
    provider::path,
    scope::Scopes,
};

/// What was granted, in the names that are asked for, with what comes along as far as anybody may ask for it.
pub(super) fn granted(provider: &Provider, said: &Scopes) -> Scopes {
    let named = said.iter().map(|scope| provider.scope_aliases.get(scope).map_or(scope, String::as_str));
    let mut all: Vec<&str> = named.collect();
    let mut seen = 0;
    while let Some(scope) = all.get(seen).copied() {
        seen += 1;
        let included = provider.scope_includes.get(scope).into_iter().flat_map(Scopes::iter);
        let more: Vec<&str> =
            included.filter(|one| provider.allowed_scopes.has(one) && !all.contains(one)).collect();
        all.extend(more);
    }
    // What is asked for every time is no permission, unless a caller may want it as one.
    all.retain(|scope| !provider.sending.required_scopes.has(scope) || provider.allowed_scopes.has(scope));
    // Each is a scope already, so that none is left out here.
    all.iter().fold(Scopes::default(), |all, scope| all.union(&Scopes::lenient(scope)))
}

/// What was granted, as the provider answers when it is asked; none when there is no list in it.
pub(super) fn told(provider: &Provider, asked: &Granted, answer: &Value) -> Option<Scopes> {
    let list = path::find(answer, &asked.list)?.as_array()?;
    let counts = |entry: &&Value| {
        asked.only.as_ref().is_none_or(|only| path::find(entry, &only.path) == Some(&only.equals))
    };
    let names = list.iter().filter(counts).filter_map(|entry| path::text_at(entry, &asked.scope));
    let all = names.fold(Scopes::default(), |all, name| all.union(&Scopes::lenient(&name)));
    Some(granted(provider, &all))
}

/// What was granted with a further token, in the names that are asked for: those of the second parameter have a prefix.
pub(crate) fn as_asked(provider: &Provider, of_slot: &Scopes) -> Scopes {
    let Some(second) = &provider.sending.second_scope else { return granted(provider, of_slot) };
    let prefixed = of_slot.iter().map(|scope| format!("{}{scope}", second.prefix));
    granted(provider, &Scopes::new(prefixed).unwrap_or_default())
}

/// What the authorize URL asks for: what is granted and what is wanted together, so that a step up for one tool takes
/// nothing from another. A granted scope that nobody here asked for or may ask for is the provider's own name for
/// something: it might be refused as a request, so that what was asked for is asked for again in its place.
pub(crate) fn to_ask(provider: &Provider, existing: Option<&Connection>, wanted: &Scopes) -> Scopes {
    let Some(existing) = existing else { return wanted.clone() };
    let askable = provider.allowed_scopes.union(&existing.asked);
    let strange = existing.granted.without(&askable);
    let known = existing.granted.without(&strange);
    let base = if strange.is_empty() { known } else { known.union(&existing.asked) };
    base.union(wanted)
}

/// The authorize parameters that hold scopes, each with its own: what is asked for and what has to be, by kinds. A
/// parameter without any is not sent.
pub(super) fn parameters<'a>(provider: &'a Provider, asked: &Scopes) -> Vec<(&'a str, Scopes)> {
    let sending = &provider.sending;
    let all = asked.union(&sending.required_scopes);
    let Some(second) = &sending.second_scope else { return filled([("scope", all)]) };
    let of_second: Vec<&str> = all.iter().filter_map(|scope| scope.strip_prefix(&second.prefix)).collect();
    let of_main: Vec<&str> = all.iter().filter(|scope| !scope.starts_with(&second.prefix)).collect();
    filled([
        ("scope", Scopes::lenient(&of_main.join(" "))),
        (&second.param, Scopes::lenient(&of_second.join(" "))),
    ])
}

fn filled<const N: usize>(all: [(&str, Scopes); N]) -> Vec<(&str, Scopes)> {
    all.into_iter().filter(|(_, scopes)| !scopes.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::provider::tests::acme;

    fn scopes(text: &str) -> Scopes {
        Scopes::lenient(text)
    }

    fn provider() -> Provider {
        Provider {
            allowed_scopes: scopes("email read write admin"),
            scope_aliases: BTreeMap::from([("https://acme.example/email".into(), "email".into())]),
            scope_includes: BTreeMap::from([
                ("write".into(), scopes("read hidden")),
                ("admin".into(), scopes("write")),
                ("read".into(), scopes("write")),
            ]),
            ..acme("https://acme.example")
        }
    }

    #[test]
    fn what_is_asked_for_every_time_is_no_permission() {
        let mut provider = provider();
        provider.sending.required_scopes = scopes("offline email");
        assert_eq!(granted(&provider, &scopes("read offline email")), scopes("read write email"));
    }

    #[test]
    fn an_answer_is_read_in_the_names_that_are_asked_for() {
        for (said, is) in [
            ("https://acme.example/email", "email"),
            ("read", "read write"),
            ("admin", "admin read write"),
            ("other", "other"),
            ("", ""),
        ] {
            assert_eq!(granted(&provider(), &scopes(said)), scopes(is), "{said}");
        }
    }
}
