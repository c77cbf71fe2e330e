//! `[providers.variables]` and `values`: what is refused, and what comes of the rest.

use super::*;
use crate::{
    config::variables::{Ask, Part},
    values::Values,
};

fn desk(variable: &str, rest: &str) -> String {
    let (before, _) = BASE.split_once("[[providers]]").unwrap();
    format!(
        "{before}[[providers]]\nid = \"acme\"\nclient_id = \"c\"\nclient_authentication = \"none\"\n\
         authorization_endpoint = \"https://{{site}}.desk.example.com/authorize\"\n\
         token_endpoint = \"https://{{site}}.desk.example.com/token\"\n{rest}\n\
         [providers.variables.site]\nlabel = \"Your address\"\n{variable}\n"
    )
}

fn values(pairs: &[(&str, &str)]) -> Values {
    let mut values = Values::default();
    for (name, value) in pairs {
        values.insert(name, value).unwrap();
    }
    values
}

#[test]
fn a_provider_becomes_what_its_values_make_of_it() {
    let rest = "[providers.probe]\nurl = \"https://{site}.desk.example.com/me?in={site}\"\nid = \"id\"\nlabel = \"name\"";
    let settings = World::new().load(&desk("example = \"team\"", rest)).unwrap();
    let base = &settings.providers[0];
    assert_eq!(base.token_endpoint.as_ref().unwrap().as_str(), "https://team.desk.example.com/token");
    assert!(base.variables.is_empty());
    let blueprint = base.blueprint.as_deref().unwrap();
    assert_eq!(blueprint.variables["site"].part, Part::Host(".desk.example.com".to_owned()));
    let built = blueprint.build(base, &values(&[("site", "acme")])).unwrap();
    assert_eq!(built.token_endpoint.unwrap().as_str(), "https://acme.desk.example.com/token");
    assert_eq!(built.probe.unwrap().url.unwrap(), "https://acme.desk.example.com/me?in=acme");
    assert_eq!(built.variables, values(&[("site", "acme")]));
    assert_eq!(blueprint.known(&[&values(&[("site", "Acme")])]).values, values(&[("site", "acme")]));
    assert_eq!(blueprint.known(&[&values(&[("site", "a/b")])]).missing, ["site"]);
}

/// People read no braces: a value, the label of a choice, or what it is called.
#[test]
fn a_sentence_tells_what_a_variable_stands_for() {
    let rest = "picker = \"Choose a team of {site}.\"\n\
                preconditions = [{ kind = \"admin\", text = \"Ask {site} first.\", url = \"https://{site}.desk.example.com/apps\" }]";
    let settings =
        World::new().load(&desk("choices = { team = \"The Team\", other = \"The Other\" }", rest)).unwrap();
    let base = &settings.providers[0];
    assert_eq!(base.told(&base.reads.preconditions[0].text), "Ask Your address first.");
    let blueprint = base.blueprint.as_deref().unwrap();
    let built = blueprint.build(base, &values(&[("site", "other")])).unwrap();
    assert_eq!(built.told(&built.reads.preconditions[0].text), "Ask The Other first.");
    assert_eq!(built.told(built.reads.picker.as_deref().unwrap()), "Choose a team of The Other.");
    let url = built.reads.preconditions[0].url.as_ref().unwrap();
    assert_eq!(url.as_str(), "https://other.desk.example.com/apps");
}

/// The operator's value wins, and nobody else gives it then.
#[test]
fn the_operators_value_is_the_last_word() {
    let rest = "values = { site = \"https://Acme.desk.example.com/\" }";
    let settings = World::new().load(&desk("example = \"team\"", rest)).unwrap();
    let blueprint = settings.providers[0].blueprint.as_deref().unwrap();
    assert_eq!(blueprint.known(&[&values(&[("site", "other")])]).values, values(&[("site", "acme")]));
    assert_eq!(blueprint.accept(Ask::Caller, "site", "other"), Err(NotGiven::NotAllowed));
}

#[test]
fn r73_what_could_lead_anywhere_is_refused() {
    for (variable, rest, key) in [
        ("", "", "providers[0].variables.site"),
        ("example = \"a b\"", "", "providers[0].variables.site.example"),
        ("example = \"a\"\npattern = \"(\"", "", "providers[0].variables.site.pattern"),
        ("example = \"a\"\npattern = \"a)|(b\"", "", "providers[0].variables.site.pattern"),
        ("example = \"a\"\ndefault = \"canary/x\"", "", "providers[0].variables.site.default"),
        ("example = \"a\"\ndefault = \"canary.evil\"", "", "providers[0].variables.site.default"),
        ("example = \"a\"\nask = []", "", "providers[0].variables.site.ask"),
        ("example = \"a\"\nsuffixes = [\"example.com\"]", "", "providers[0].variables.site.suffixes"),
        ("example = \"a\"\nask = [\"operator\"]", "", "providers.acme.values.site"),
        ("example = \"a\"", "values = { site = \"canary.evil\" }", "providers[0].values.site"),
        ("example = \"a\"", "values = { other = \"canary\" }", "providers[0].values.other"),
        (
            "example = \"a\"",
            "revocation_endpoint = \"https://{other}.example.com/\"",
            "providers[0].revocation_endpoint",
        ),
        (
            "example = \"a\"",
            "revocation_endpoint = \"https://a.example.com:{site}/\"",
            "providers[0].revocation_endpoint",
        ),
        (
            "example = \"a\"",
            "revocation_endpoint = \"{site}://a.example.com/\"",
            "providers[0].revocation_endpoint",
        ),
        // Behind two ends no host is fixed, and so it must be bounded.
        (
            "example = \"a.example.com\"",
            "revocation_endpoint = \"https://{site}.com/\"",
            "providers[0].variables.site",
        ),
        ("example = \"a\"\nfrom_callback = \"x\"", "", "providers[0].variables.site"),
        ("example = \"a\"\nunknown = 1", "", "providers[0].variables.site.unknown"),
    ] {
        let refused = World::new().refused(&desk(variable, rest));
        assert!(refused.iter().any(|one| one == key), "{variable} {rest}: {refused:?}");
    }
    let unused = desk("example = \"a\"", "").replace("{site}.", "");
    assert_eq!(World::new().refused(&unused), ["providers[0].variables.site"]);
}

#[test]
fn a_whole_host_needs_bounds_or_the_operator() {
    let whole =
        |variable: &str, rest: &str| desk(variable, rest).replace("{site}.desk.example.com", "{site}");
    assert_eq!(
        World::new().refused(&whole("example = \"a.example.com\"", "")),
        ["providers[0].variables.site"]
    );
    for (variable, rest) in [
        ("suffixes = [\".desk.example.com\"]", ""),
        ("hosts = [\"a.example.com\", \"b.example.com\"]", ""),
        ("[providers.variables.site.choices]\n\"a.example.com\" = \"A\"", ""),
        (
            "example = \"a.example.com\"\nask = [\"operator\"]",
            "values = { site = \"desk.internal.example\" }",
        ),
    ] {
        let loaded = World::new().load(&whole(variable, rest));
        assert!(loaded.is_ok(), "{variable}: {:?}", loaded.err());
    }
}
