//! What a provider is sent otherwise: what is refused.

use super::*;

/// R66, R103: nothing that protects an exchange gets another name or value, and no secret goes where nobody said.
#[test]
fn r66_r103_what_would_replace_ours_is_refused_by_its_key() {
    let world = World::new().set("SHORT", "canary-short");
    for (section, lines, key) in [
        (
            "[[providers]]",
            "client_authentication = \"private_key_jwt\"",
            "providers[0].client_authentication",
        ),
        ("[[providers]]", "client_key = { env = \"SHORT\" }", "providers[0].client_key"),
        ("[[providers]]", "client_key_algorithm = \"HS256\"", "providers[0].client_key_algorithm"),
        ("[[providers]]", "param_names = { state = \"canary\" }", "providers[0].param_names"),
        ("[[providers]]", "param_names = { client_id = \"state\" }", "providers[0].param_names"),
        (
            "[[providers]]",
            "second_scope = { param = \"code_challenge\", prefix = \"u:\" }",
            "providers[0].second_scope.param",
        ),
        (
            "[[providers]]",
            "second_scope = { param = \"user_scope\", prefix = \"\" }",
            "providers[0].second_scope.prefix",
        ),
        (
            "[[providers]]",
            "authorize_params = { user_scope = \"canary\" }\nsecond_scope = { param = \"user_scope\", prefix = \"u:\" }",
            "providers[0].second_scope.param",
        ),
        (
            "[[providers]]",
            "token_params = { code_verifier = \"canary\" }",
            "providers[0].token_params.code_verifier",
        ),
        (
            "[[providers]]",
            "refresh_params = { grant_type = \"canary\" }",
            "providers[0].refresh_params.grant_type",
        ),
        ("[[providers]]", "token_headers = { Host = \"canary\" }", "providers[0].token_headers"),
        (
            "[[providers]]",
            "refresh_endpoint = \"http://acme.example.com/canary\"",
            "providers[0].refresh_endpoint",
        ),
        (
            "[[providers]]",
            "token_steps = [{ url = \"https://acme.example.com/x\", params = { a = \"canary\" } }]",
            "providers[0].token_steps[0].params",
        ),
        (
            "[[providers]]",
            "token_steps = [{ url = \"https://acme.example.com/x\", params = { a = \"{access_token}{canary}\" } }]",
            "providers[0].token_steps[0].params",
        ),
        (
            "[[providers]]",
            "renewal = { url = \"https://acme.example.com/x\", params = { a = \"{access_token}\" } }",
            "providers[0].renewal",
        ),
        ("[[providers]]", "reuse_grace = \"0s\"", "providers[0].reuse_grace"),
        (
            "[[providers]]",
            "revocation = { url = \"https://acme.example.com/r\", body = \"none\", field = \"canary\" }",
            "providers[0].revocation.body",
        ),
        (
            "[[providers]]",
            "revocation = { url = \"https://acme.example.com/r\", params = { user = \"{canary}\" } }",
            "providers[0].revocation.params",
        ),
        (
            "[[providers]]",
            "revocation = { url = \"https://acme.example.com/r\", bearer = true, client_authentication = \"none\" }",
            "providers[0].revocation.bearer",
        ),
        (
            "[[authorization_servers]]",
            "client_authentication = \"private_key_jwt\"",
            "authorization_servers[0].client_authentication",
        ),
    ] {
        assert_eq!(world.refused(&with(section, lines)), [key], "{section} {lines}");
    }
}

/// R66: no configured parameter replaces, repeats or smuggles in one of Consentry's own.
#[test]
fn r66_core_parameters_cannot_be_configured() {
    let world = World::new();
    for name in [
        "state",
        "STATE",
        "Redirect_Uri",
        "code_challenge",
        "state\\u0000",
        "a&redirect_uri",
        "a=b",
        "",
        "request_uri",
    ] {
        for table in ["authorize_params", "account_chooser_params"] {
            let keys = world.refused(&with("[[providers]]", &format!("{table} = {{ \"{name}\" = \"x\" }}")));
            assert!(keys[0].starts_with(&format!("providers[0].{table}")), "{name}: {keys:?}");
        }
    }
}
