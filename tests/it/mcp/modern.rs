//! The modern era: rounds from the form to the link to the result, and what becomes of clients that answer otherwise.

use consentry_elicitation::{
    Capability,
    ElicitAction::{Accept, Cancel, Decline},
};
use futures_util::future::select_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::desk::{Agent, Desk, Got, SETTLED, answered, data, id_of, link, only_request, options, said};
use crate::{
    engine::Database,
    variables::templated,
    world::{FILES, NOTES, World},
};

on_both_engines! {
    nothing_is_shown_or_made_for_an_mcp_server_that_is_not_offered,
    m23_a_client_learns_what_there_is,
    m1_m5_m7_m8_m24_e34_e38_a_form_then_a_link_then_the_result,
    e21_no_and_closed_end_the_question,
    m9_m10_what_is_missing_is_asked_again_and_what_does_not_fit_ends,
    m9_m31_who_accepts_and_never_opens_is_told_in_words,
    m25_a_client_that_hangs_up_ends_the_wait,
    m28_both_eras_are_served_at_one_address,
    e7_m8_a_client_is_asked_only_as_it_declared,
    m3_m4_m5_p20_a_forged_or_foreign_state_is_refused_and_an_honest_replay_is_answered,
    e33_e40_somebody_else_who_opens_the_link_connects_nothing,
    what_is_connected_is_kept_or_connected_again,
    a_connection_is_removed_after_a_yes_and_nobody_elses,
    e43_questions_have_a_pace,
    what_only_an_mcp_server_can_say_is_left_to_it,
}

fn nothing() -> Value {
    json!({})
}

fn files() -> Value {
    json!({ "server": "files", "provider": FILES })
}

async fn m23_a_client_learns_what_there_is(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let found = claude.asks("server/discover", nothing()).await.json()["result"].take();
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["supportedVersions"], json!(["2026-07-28", "2025-11-25", "2025-06-18"]));
    assert_eq!(found["capabilities"], json!({ "tools": {} }));
    assert!(found["ttlMs"].is_u64() && found["cacheScope"] == "private", "{found}");
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "consentry");
    let listed = claude.asks("tools/list", nothing()).await.json()["result"].take();
    assert!(listed["ttlMs"].is_u64() && listed["resultType"] == "complete", "{listed}");
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["list_connections", "connect", "disconnect"]);
    for tool in listed["tools"].as_array().unwrap() {
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(
                (&tool[schema]["type"], &tool[schema]["additionalProperties"]),
                (&json!("object"), &json!(false))
            );
        }
        assert!(tool["annotations"]["readOnlyHint"].is_boolean() && tool["title"].is_string(), "{tool}");
    }
    let reply = claude.calls("list_connections", &nothing(), &nothing()).await;
    assert_eq!(data(&reply), &json!({ "connections": [] }));
}

async fn m1_m5_m7_m8_m24_e34_e38_a_form_then_a_link_then_the_result(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let form = claude.calls("connect", &nothing(), &nothing()).await;
    let (_, params) = only_request(&form);
    let places: Vec<String> = options(&params, "connection").into_iter().map(|(value, _)| value).collect();
    let both = |server: &str| [format!("{server}/{FILES}"), format!("{server}/{NOTES}")];
    assert_eq!(places, [both("files"), both("notes")].concat());

    let chosen = answered(&form, Accept, Some(json!({ "connection": places[0] })));
    let asked = claude.calls("connect", &nothing(), &chosen).await;
    let (key, params) = only_request(&asked);
    assert_eq!(key, format!("connect-{FILES}"));
    assert_eq!(params["message"], "Connect Example Files for The files tools.");
    let link = link(&params);

    let agreed = answered(&asked, Accept, None);
    let arguments = nothing();
    let mut alice = desk.world.browser();
    let waiting = claude.calls("connect", &arguments, &agreed);
    let (result, ()) = tokio::join!(waiting, desk.connects(&mut alice, "alice", &link, "octocat"));
    let connected = data(&result);
    assert_eq!((&connected["connected"], &connected["changed"]), (&json!(true), &json!(true)));
    let connection = &connected["connection"];
    assert_eq!((&connection["account"], &connection["works"]), (&json!("octocat"), &json!(true)));
    assert_eq!(connection["server"], json!({ "id": "files", "name": "The files tools" }));
    assert_eq!(connection["permissions"], json!(["files.read"]));

    let listed = claude.calls("list_connections", &nothing(), &nothing()).await;
    assert_eq!(data(&listed)["connections"][0]["id"], connection["id"]);
    let token = desk.world.api("files").resolves("alice", FILES).await["credential"]["access_token"].take();
    let token = token.as_str().unwrap().to_owned();
    for reply in [&form, &asked, &result, &listed] {
        assert!(!reply.to_string().contains(&token), "E29: {reply}");
    }
    let mut bobs = desk.client("bob", Capability::BOTH);
    let listed = bobs.calls("list_connections", &nothing(), &nothing()).await;
    assert_eq!(data(&listed), &json!({ "connections": [] }));
}

/// The MCP server that the connection would be for.
async fn state_of(desk: &Desk, link: &str) -> Value {
    desk.world.api("files").elicitation(&id_of(link).to_string()).await["state"].take()
}

async fn e21_no_and_closed_end_the_question(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    for (action, state, words) in [(Decline, "declined", "declined"), (Cancel, "cancelled", "cancelled")] {
        let form = claude.calls("connect", &nothing(), &nothing()).await;
        let reply = claude.calls("connect", &nothing(), &answered(&form, action, None)).await;
        assert!(said(&reply).contains(words), "{reply}");

        let asked = claude.calls("connect", &files(), &nothing()).await;
        let link = link(&only_request(&asked).1);
        let reply = claude.calls("connect", &files(), &answered(&asked, action, None)).await;
        assert!(said(&reply).contains(words), "{reply}");
        assert_eq!(state_of(&desk, &link).await, state);
    }
}

async fn m9_m10_what_is_missing_is_asked_again_and_what_does_not_fit_ends(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let mut form = claude.calls("connect", &nothing(), &nothing()).await;
    let state = |reply: &Value| json!({ "requestState": reply["body"]["requestState"] });
    let again = claude.calls("connect", &nothing(), &state(&form)).await;
    assert_eq!(only_request(&again), only_request(&form));
    for unfit in [json!({ "connection": "files/elsewhere" }), json!({ "connection": 7 })] {
        form = claude.calls("connect", &nothing(), &answered(&form, Accept, Some(unfit))).await;
        assert_eq!(only_request(&form), only_request(&again));
    }
    let reply = claude.calls("connect", &nothing(), &answered(&form, Accept, Some(nothing()))).await;
    assert!(said(&reply).contains("cannot be used"), "{reply}");
    // What was not asked for, and answers without the state that asked, say nothing (M11).
    let unasked = json!({ "inputResponses": { "which": { "action": "decline" }, "other": 7 } });
    let form = claude.calls("connect", &nothing(), &unasked).await;
    assert_eq!(only_request(&form), only_request(&again));

    let asked = claude.calls("connect", &files(), &nothing()).await;
    let again = claude.calls("connect", &files(), &state(&asked)).await;
    assert_eq!(only_request(&again), only_request(&asked));
}

async fn m9_m31_who_accepts_and_never_opens_is_told_in_words(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let asked = claude.calls("connect", &files(), &nothing()).await;
    let link = link(&only_request(&asked).1);
    let mut retry = answered(&asked, Accept, None);
    let arguments = files();
    for _ in 0..2 {
        let waits = desk.while_a_leg_passes(claude.calls("connect", &arguments, &retry)).await;
        assert_eq!(waits["body"]["inputRequests"], json!({}), "{waits}");
        retry = json!({ "requestState": waits["body"]["requestState"] });
    }
    let told = desk.while_a_leg_passes(claude.calls("connect", &arguments, &retry)).await;
    assert!(said(&told).contains(&link), "{told}");
    assert_eq!(state_of(&desk, &link).await, "pending");
    // The link is still good, and the call finds what came of it.
    let mut alice = desk.world.browser();
    desk.connects(&mut alice, "alice", &link, "octocat").await;
    let reply = claude.calls("connect", &files(), &nothing()).await;
    assert_eq!(data(&reply)["connected"], true);
    let reply = claude.calls("connect", &files(), &retry).await;
    assert_eq!(data(&reply)["changed"], true, "the same call learns it");
}

/// A person has 16 places to wait in; hanging up makes room.
async fn m25_a_client_that_hangs_up_ends_the_wait(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let asked = claude.calls("connect", &files(), &nothing()).await;
    let mut params = json!({ "name": "connect", "arguments": files() });
    params.as_object_mut().unwrap().extend(answered(&asked, Accept, None).as_object().unwrap().clone());
    let waits = |params: Value| {
        let mut one = claude.clone();
        Box::pin(async move { one.asks("tools/call", params).await })
    };
    let (first, _, others) = select_all((0..17).map(|_| waits(params.clone()))).await;
    assert_eq!(first.status, 429, "the others wait");
    assert_eq!(others.len(), 16);
    drop(others);
    while let Ok(got) = tokio::time::timeout(SETTLED, waits(params.clone())).await {
        assert_eq!(got.status, 429, "until there is room again");
    }
}

async fn m28_both_eras_are_served_at_one_address(db: Database) {
    let desk = Desk::start(db).await;
    let (mut modern, mut legacy) =
        (desk.client("alice", Capability::BOTH), desk.session("alice", Capability::BOTH).await);
    assert_eq!(modern.url, legacy.url);
    let asked = modern.calls("connect", &files(), &nothing()).await;
    let mut talk = legacy.begins_call("connect", files()).await;
    let (id, params) = talk.question().await;
    assert_ne!(link(&params), link(&only_request(&asked).1), "E30: each client has a link of its own");
    talk.answers(&id, Decline, None).await;
    said(&talk.result().await);
    // A session means nothing in a request that says all of itself.
    modern.session = Some("x".to_owned());
    let mut params = json!({ "name": "list_connections", "arguments": {} });
    params["_meta"] = modern.meta();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = modern
        .request(Method::POST)
        .header("mcp-method", "tools/call")
        .header("mcp-name", "list_connections");
    let got = Got::read(request.json(&body).send().await.unwrap()).await;
    assert_eq!(got.status, 200, "{got:?}");
    assert!(got.headers.get("mcp-session-id").is_none());
}

async fn e7_m8_a_client_is_asked_only_as_it_declared(db: Database) {
    let desk = Desk::start(db).await;
    // By a form alone: it chooses there, and reads the link.
    let mut forms = desk.client("alice", Capability::FORM);
    let form = forms.calls("connect", &nothing(), &nothing()).await;
    let chosen = answered(&form, Accept, Some(json!({ "connection": format!("files/{FILES}") })));
    let reply = forms.calls("connect", &nothing(), &chosen).await;
    assert!(said(&reply).contains("/connect?elicitationId="), "{reply}");
    // By a link alone: it is told what to choose from.
    let mut links = desk.client("alice", Capability::URL);
    let reply = links.calls("connect", &nothing(), &nothing()).await;
    assert!(said(&reply).contains(&format!("`server` \"notes\", `provider` \"{NOTES}\"")), "{reply}");
    only_request(&links.calls("connect", &files(), &nothing()).await);
    // Not at all.
    let mut none = desk.client("alice", Capability::NONE);
    assert!(said(&none.calls("connect", &nothing(), &nothing()).await).contains("connect"));
    let reply = none.calls("connect", &files(), &nothing()).await;
    let words = said(&reply);
    let link = words.lines().find(|line| line.starts_with("http")).unwrap();
    let mut alice = desk.world.browser();
    desk.connects(&mut alice, "alice", link, "octocat").await;
    let reply = none.calls("disconnect", &nothing(), &nothing()).await;
    let id = said(&reply).split('"').nth(1).unwrap().to_owned();
    let reply = none.calls("disconnect", &json!({ "connection": id }), &nothing()).await;
    assert!(said(&reply).contains("confirm"), "{reply}");
    let reply = none.calls("disconnect", &json!({ "connection": id, "confirm": true }), &nothing()).await;
    assert_eq!(data(&reply)["disconnected"], true);
}

async fn m3_m4_m5_p20_a_forged_or_foreign_state_is_refused_and_an_honest_replay_is_answered(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let asked = claude.calls("connect", &files(), &nothing()).await;
    let link = link(&only_request(&asked).1);
    let retry = answered(&asked, Decline, None);
    let refused = async |mut agent: Agent, tool: &str, arguments: Value, retry: &Value| {
        let reply = agent.calls(tool, &arguments, retry).await;
        assert_eq!((&reply["body"]["code"], &reply["http_status"]), (&json!(-32602), &json!(400)), "{reply}");
    };
    let state = retry["requestState"].as_str().unwrap();
    let flipped = if state.ends_with('A') { "Q" } else { "A" };
    for forged in
        ["", "x", &format!("{}{flipped}", &state[..state.len() - 1]), &state[1..], &"A".repeat(10_000)]
    {
        let mut changed = retry.clone();
        changed["requestState"] = forged.into();
        refused(claude.clone(), "connect", files(), &changed).await;
    }
    // Another's, another call's, another tool's.
    refused(desk.client("bob", Capability::BOTH), "connect", files(), &retry).await;
    refused(claude.clone(), "connect", json!({ "server": "notes", "provider": FILES }), &retry).await;
    refused(claude.clone(), "disconnect", nothing(), &retry).await;
    assert_eq!(state_of(&desk, &link).await, "pending", "none of them has closed it");

    for _ in 0..2 {
        let reply = claude.calls("connect", &files(), &retry).await;
        assert!(said(&reply).contains("declined"), "{reply}");
    }
    // One that is too old begins anew.
    desk.world.advance(std::time::Duration::from_secs(1_801));
    let mut later = desk.client("alice", Capability::BOTH);
    let fresh = later.calls("connect", &files(), &retry).await;
    assert_ne!(only_request(&fresh).1["url"], link);
}

async fn e33_e40_somebody_else_who_opens_the_link_connects_nothing(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let asked = claude.calls("connect", &files(), &nothing()).await;
    let link = link(&only_request(&asked).1);
    let mut bob = desk.world.browser();
    bob.opens(&link).await.is("sign-in");
    bob.signs_in("bob").await.is("wrong-account");
    assert_eq!(state_of(&desk, &link).await, "pending");
    assert_eq!(desk.world.redeemed(), 0);
}

async fn what_is_connected_is_kept_or_connected_again(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let mut alice = desk.world.browser();
    let asked = claude.calls("connect", &files(), &nothing()).await;
    desk.connects(&mut alice, "alice", &link(&only_request(&asked).1), "octocat").await;
    // Who names it has it; who picks it is asked.
    let stands = claude.calls("connect", &files(), &nothing()).await;
    assert_eq!((&data(&stands)["connected"], &data(&stands)["changed"]), (&json!(true), &json!(false)));
    let pick = async |claude: &mut Agent| {
        let form = claude.calls("connect", &nothing(), &nothing()).await;
        let titles = options(&only_request(&form).1, "connection");
        assert_eq!(titles[0].1, "Example Files for The files tools (octocat), connected");
        let picked = answered(&form, Accept, Some(json!({ "connection": titles[0].0 })));
        claude.calls("connect", &nothing(), &picked).await
    };
    let form = pick(&mut claude).await;
    assert_eq!(options(&only_request(&form).1, "account")[0].1, "Keep octocat");
    let kept = answered(&form, Accept, Some(json!({ "account": "keep" })));
    let reply = claude.calls("connect", &nothing(), &kept).await;
    assert_eq!(data(&reply)["changed"], false);
    let form = pick(&mut claude).await;
    let again = answered(&form, Accept, Some(json!({ "account": "again" })));
    let asked = claude.calls("connect", &nothing(), &again).await;
    let link = link(&only_request(&asked).1);
    alice.opens(&link).await.is("already-connected");
    alice.agrees().await;
    alice.leaves().await;
    alice.approves("hubot").await;
    alice.returns().await.is("account-changed");
    let mut forms = alice.page().forms().into_iter();
    let new = forms.find(|form| form.fields.contains(&("use".into(), "new".into())));
    alice.submits(new.expect("the new one can be used")).await;
    alice.follows().await.is("connected");
    let reply = claude.calls("connect", &nothing(), &answered(&asked, Accept, None)).await;
    assert_eq!(data(&reply)["connection"]["account"], "hubot");
    let named = claude
        .calls("connect", &json!({ "server": "files", "provider": FILES, "again": true }), &nothing())
        .await;
    only_request(&named);
}

async fn a_connection_is_removed_after_a_yes_and_nobody_elses(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    let mut alice = desk.world.browser();
    let asked = claude.calls("connect", &files(), &nothing()).await;
    desk.connects(&mut alice, "alice", &link(&only_request(&asked).1), "octocat").await;
    let form = claude.calls("disconnect", &nothing(), &nothing()).await;
    let id = options(&only_request(&form).1, "connection")[0].0.clone();
    let no = answered(&form, Accept, Some(json!({ "connection": id, "confirm": false })));
    assert!(said(&claude.calls("disconnect", &nothing(), &no).await).contains("nothing was removed"));
    for action in [Decline, Cancel] {
        said(&claude.calls("disconnect", &nothing(), &answered(&form, action, None)).await);
    }
    // Another's is as unknown as one that never was, to a client that asks by words as well.
    for elicitation in [Capability::BOTH, Capability::NONE] {
        let mut bobs = desk.client("bob", elicitation);
        let reply = bobs.calls("disconnect", &json!({ "connection": id, "confirm": true }), &nothing()).await;
        assert!(said(&reply).contains("no such connection"), "{reply}");
    }
    let resolved = desk.world.api("files").resolves("alice", FILES).await;
    assert_eq!(resolved["status"], "ready");

    let named = json!({ "connection": id, "confirm": true });
    let form = claude.calls("disconnect", &named, &nothing()).await;
    assert_eq!(
        only_request(&form).1["requestedSchema"]["required"],
        json!(["confirm"]),
        "a yes of the person's own"
    );
    let yes = answered(&form, Accept, Some(json!({ "confirm": true })));
    let reply = claude.calls("disconnect", &named, &yes).await;
    assert_eq!(
        (&data(&reply)["disconnected"], &data(&reply)["provider_told"]),
        (&json!(true), &json!("confirmed"))
    );
    let reply = claude.calls("disconnect", &named, &yes).await;
    assert!(said(&reply).contains("no such connection"), "a replay removes nothing: {reply}");
    assert_eq!(desk.world.api("files").resolves("alice", FILES).await["status"], "action_required");
    let told = desk.world.api("files").told().await;
    assert!(told.iter().any(|(kind, _)| kind == "connection.deleted"), "{told:?}");
    let rows = desk.world.runs(&["audit", "list"], 0).to_string();
    assert!(rows.contains("disconnected_by_user"), "{rows}");
}

async fn e43_questions_have_a_pace(db: Database) {
    let desk = Desk::start_with(db, |settings| settings.limits.elicitations_per_minute = 2).await;
    let mut claude = desk.client("alice", Capability::BOTH);
    for _ in 0..2 {
        only_request(&claude.calls("connect", &files(), &nothing()).await);
    }
    let reply = claude.calls("connect", &files(), &nothing()).await;
    assert!(said(&reply).contains("too many questions"), "{reply}");
    let mut bobs = desk.client("bob", Capability::BOTH);
    only_request(&bobs.calls("connect", &files(), &nothing()).await);
    desk.world.advance(std::time::Duration::from_secs(30));
    only_request(&claude.calls("connect", &files(), &nothing()).await);
}

/// Another owner's, and one whose users are known by codes: what is connected there is on the pages, and not here.
async fn nothing_is_shown_or_made_for_an_mcp_server_that_is_not_offered(db: Database) {
    let desk = Desk::start_with(db, |settings| {
        settings.mcp_servers[0].owner = Some("files-team".to_owned());
        settings.mcp_servers[1].owner = Some("notes-team".to_owned());
        settings.mcp.iter_mut().for_each(|mcp| mcp.owner = Some("files-team".to_owned()));
    })
    .await;
    let mut alice = desk.world.browser();
    for server in ["files", "notes"] {
        let link = desk.world.api(server).asks("alice", FILES).await;
        desk.connects(&mut alice, "alice", &link.url, "octocat").await;
    }
    let mut claude = desk.client("alice", Capability::NONE);
    let listed = claude.calls("list_connections", &json!({}), &json!({})).await;
    let listed = data(&listed)["connections"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["server"]["id"], "files");
    let refused = claude.calls("connect", &json!({ "server": "notes", "provider": FILES }), &json!({})).await;
    assert!(said(&refused).contains("cannot be connected here") && !said(&refused).contains("\"notes\""));
    let page = desk.world.api("notes").get("/v1/connections?sub=alice").await.expect(200);
    let hidden = page["connections"][0]["id"].clone();
    assert!(hidden.is_string(), "{page}");
    let kept =
        claude.calls("disconnect", &json!({ "connection": hidden, "confirm": true }), &json!({})).await;
    assert!(said(&kept).contains("no such connection"), "{kept}");
}

/// No link that leads nowhere: whose address it is only a caller may say, and this endpoint has none.
async fn what_only_an_mcp_server_can_say_is_left_to_it(db: Database) {
    let world = World::start_written(db, |text| {
        templated(&text, "hosts = [\"127.0.0.3\", \"127.0.0.13\"]\nask = [\"caller\"]")
            + "\n[mcp]\nenabled = true\n"
    });
    let desk = Desk::in_world(world.await);
    let mut claude = desk.client("alice", Capability::BOTH);
    let reply = claude.calls("connect", &files(), &nothing()).await;
    assert!(said(&reply).contains("Use a tool of that MCP server"), "{reply}");
    let api = desk.world.api("files");
    let mut question = api.question("alice", FILES);
    question["variables"] = json!({ "site": "127.0.0.3" });
    let asked = api.post("/v1/credentials/resolve", &question).await.expect(200);
    let url = crate::world::link(&asked["elicitation"]).url;
    desk.connects(&mut desk.world.browser(), "alice", &url, "octocat").await;
    // What the connection was made with is known from then on.
    let mut again = files();
    again["again"] = true.into();
    only_request(&claude.calls("connect", &again, &nothing()).await);
}
