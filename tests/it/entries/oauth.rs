//! One provider's whole life: connected, handed out, declined, refreshed, disconnected, refused.

use std::time::Duration;

use serde_json::Value;

use super::{Stage, fact::Fact, player::Player};
use crate::world::{Api, Browser, Link, Page, link};

/// How long is waited for what comes by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a person does at the provider.
#[derive(Clone, Copy)]
enum Does<'a> {
    Agrees,
    Declines(&'a str),
}

pub(super) async fn plays(stage: &Stage<Player>, fact: &Fact) -> Result<(), String> {
    let (api, id) = (stage.world.api("files"), fact.id.as_str());
    let mut alice = stage.world.browser();
    let first = api.asks("alice", id).await;
    goes(stage, fact, &mut alice, &first, Does::Agrees).await?;
    is(alice.page(), "connected")?;
    let ready = handed_out(stage, fact, &api).await?;
    let codes = fact.list("cancel_codes");
    for code in ["access_denied"].into_iter().chain(codes) {
        let again = anew(&api, id).await;
        goes(stage, fact, &mut alice, &again, Does::Declines(code)).await?;
        is(alice.page(), "not-connected").map_err(|error| format!("`{code}`: {error}"))?;
    }
    let refreshable = refreshed(stage, fact, &api, &ready).await?;
    disconnected(stage, fact, &api, &ready).await?;
    refused(stage, fact, &api, &mut alice, refreshable).await
}

pub(super) fn is(page: &Page, name: &str) -> Result<(), String> {
    match page.name().as_deref() {
        Some(found) if found == name => Ok(()),
        found => Err(format!("{found:?} instead of {name}: {}", page.text())),
    }
}

pub(super) async fn anew(api: &Api, id: &str) -> Link {
    let answer = api.post("/v1/elicitations", &api.question("alice", id)).await;
    link(&answer.body["elicitation"])
}

/// From a link to the outcome.
async fn goes(
    stage: &Stage<Player>,
    fact: &Fact,
    alice: &mut Browser,
    to: &Link,
    does: Does<'_>,
) -> Result<(), String> {
    alice.opens(&to.url).await;
    if alice.page().name().as_deref() == Some("sign-in") {
        alice.signs_in("alice").await;
    }
    alice.presses("/continue").await;
    is(alice.page(), "leaving")?;
    let authorize = alice.page().refresh().ok_or("the page leads nowhere")?;
    let back = match does {
        Does::Agrees => stage.player.agrees(&fact.id, &authorize)?,
        Does::Declines(code) => stage.player.declines(&fact.id, &authorize, code)?,
    };
    alice.clicks(back).await;
    if alice.page().name().as_deref() == Some("needs-input") {
        if !fact.says("choice") {
            return Err(format!("asks for {}", alice.page().text()));
        }
        alice.presses("/input").await;
    }
    Ok(())
}

/// What the MCP server gets is what the provider gave.
async fn handed_out(stage: &Stage<Player>, fact: &Fact, api: &Api) -> Result<Value, String> {
    let ready = api.resolves("alice", &fact.id).await;
    let equal = |what: &str, found: &Value, expected: Value| {
        if *found == expected { Ok(()) } else { Err(format!("{what} is {found}, expected {expected}")) }
    };
    equal("status", &ready["status"], "ready".into())?;
    let credential = &ready["credential"];
    let (access, slots) =
        stage.player.with(&fact.id, |state| (state.access.clone().unwrap_or_default(), state.slots.clone()));
    equal("access_token", &credential["access_token"], access.clone().into())?;
    equal("missing_scopes", &credential["missing_scopes"], Value::Array(Vec::new()))?;
    for (name, value) in fact.kept() {
        if fact.says(&format!("captures.{name}")) || fact.text("choice.as") == Some(&name) {
            equal(&name, &credential["values"][&name], value.into())?;
        }
    }
    for (name, (access, _)) in slots {
        equal(&name, &credential["slots"][&name]["access_token"], access.into())?;
    }
    if let Some(expected) = fact.account("id") {
        equal("account", &ready["connection"]["account"]["id"], expected.into())?;
    }
    if let Some(expected) = fact.account("label") {
        equal("label", &ready["connection"]["account"]["label"], expected.into())?;
    }
    let headers = credential["use"]["headers"].to_string() + credential["use"]["query"].to_string().as_str();
    if !headers.contains(&access) {
        return Err(format!("`use` carries no token: {}", credential["use"]));
    }
    if let Some(base) = fact.text("use.base_url") {
        let chosen = credential["values"].as_object().into_iter().flatten();
        let base = chosen.fold(base.to_owned(), |base, (name, value)| {
            base.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default())
        });
        equal("base_url", &credential["use"]["base_url"], fact.after(&base).into())?;
    }
    Ok(ready)
}

/// Lets the access token run out: whether it was refreshed by a refresh token.
async fn refreshed(stage: &Stage<Player>, fact: &Fact, api: &Api, ready: &Value) -> Result<bool, String> {
    let look = || stage.player.with(&fact.id, |state| (state.refreshes, state.access.clone()));
    let (renews, refreshable) =
        (fact.says("renewal"), stage.player.with(&fact.id, |state| state.refresh.is_some()));
    let before = look();
    // An access token renews itself as long as it is good.
    if !runs_out(
        stage,
        &ready["credential"],
        if renews { Duration::from_secs(3_600) } else { Duration::ZERO },
    ) {
        return Ok(false);
    }
    let mut answer = resolves(fact, api).await?;
    if renews {
        let renewed = async {
            while answer["credential"]["access_token"] == ready["credential"]["access_token"] {
                answer = api.resolves("alice", &fact.id).await;
            }
        };
        let came = tokio::time::timeout(PATIENCE, renewed).await;
        came.map_err(|_| "was not renewed behind the answer".to_owned())?;
    }
    let after = look();
    if !renews && !refreshable {
        let ended = answer["status"] == "action_required" && after.0 == before.0;
        return if ended { Ok(false) } else { Err(format!("has no refresh token, and got {answer}")) };
    }
    let token = answer["credential"]["access_token"].as_str();
    if answer["status"] != "ready"
        || token != after.1.as_deref()
        || after.0 != before.0 + 1
        || after.1 == before.1
    {
        return Err(format!("{} refreshes, {answer}", after.0 - before.0));
    }
    Ok(refreshable)
}

/// An answer that does not come is a failure like others: nobody moves the clock while it is waited for.
async fn resolves(fact: &Fact, api: &Api) -> Result<Value, String> {
    let answer = tokio::time::timeout(PATIENCE, api.resolves("alice", &fact.id)).await;
    answer.map_err(|_| "there is no answer: a failure is taken for one that passes".to_owned())
}

/// Moves the clock to the end of an access token, or so much before it; false where it has none.
fn runs_out(stage: &Stage<Player>, credential: &Value, before: Duration) -> bool {
    let Some(end) = credential["expires_at"].as_str() else { return false };
    let end = time::OffsetDateTime::parse(end, &time::format_description::well_known::Rfc3339).unwrap();
    let now = i128::from(stage.world.clock.now().0);
    let left = u64::try_from(end.unix_timestamp_nanos() / 1_000_000 - now).unwrap_or(0);
    stage.world.advance(Duration::from_millis(left + 1_000).saturating_sub(before));
    true
}

/// Gone here at once, and then at the provider, where it has a way.
async fn disconnected(stage: &Stage<Player>, fact: &Fact, api: &Api, ready: &Value) -> Result<(), String> {
    let connection = ready["connection"]["id"].as_str().unwrap_or_default();
    let answer = api.delete(&format!("/v1/connections/{connection}")).await;
    if !answer.status.is_success() {
        return Err(format!("not disconnected: {}", answer.body));
    }
    let has_way = fact.says("revocation") || fact.endpoint("revocation_endpoint").is_some();
    if has_way {
        let patience = async {
            while stage.player.with(&fact.id, |state| state.revoked.is_empty() && state.faults.is_empty()) {
                tokio::task::yield_now().await;
            }
        };
        let came = tokio::time::timeout(PATIENCE, patience).await;
        came.map_err(|_| "no revocation came".to_owned())?;
    }
    Ok(())
}

/// The provider refuses as its documentation shows.
async fn refused(
    stage: &Stage<Player>,
    fact: &Fact,
    api: &Api,
    alice: &mut Browser,
    at_refresh: bool,
) -> Result<(), String> {
    let id = &fact.id;
    let again = api.asks("alice", id).await;
    if at_refresh {
        goes(stage, fact, alice, &again, Does::Agrees).await?;
        is(alice.page(), "connected")?;
        let ready = api.resolves("alice", id).await;
        if !runs_out(stage, &ready["credential"], Duration::ZERO) {
            // The recorded answer names a day, and that day is over.
            return Ok(());
        }
        stage.player.with(id, |state| state.refuses = true);
        let answer = resolves(fact, api).await?;
        if answer["status"] != "action_required" {
            return Err(format!("its refusal is not understood: {answer}"));
        }
        return Ok(());
    }
    stage.player.with(id, |state| state.refuses = true);
    goes(stage, fact, alice, &again, Does::Agrees).await?;
    if alice.page().name().as_deref() == Some("connected") {
        return Err("its refusal is taken for a success".into());
    }
    goes(stage, fact, alice, &again, Does::Agrees).await?;
    is(alice.page(), "connected")
}
