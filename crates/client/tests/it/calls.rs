//! What is sent for each call, and what is made of the answers.

use consentry_client::{
    Action, Body, Client, ConnectionQuery, ConnectionStatus, Credential, Error, McpClient, Need, Outcome,
    PageResult, Prefer, Resolution, Resolve, Secret, State, User,
};
use serde_json::{Value, json};

use crate::client;
use crate::played::{Server, json as answer, problem};

fn elicitation() -> Value {
    json!({ "id": "e-1", "url": "https://connect.example.com/connect?elicitationId=e-1", "state": "pending",
        "expires_at": "2026-11-29T12:00:00Z" })
}

fn tool_result() -> Value {
    json!({ "kind": "tool_result", "body": { "isError": true, "content": [{ "type": "text", "text": "Open it." }] } })
}

#[tokio::test]
async fn resolve_sends_what_the_contract_says() {
    let ready = json!({ "status": "ready",
        "credential": { "kind": "oauth2", "access_token": "t-1", "token_type": "Bearer",
            "expires_at": "2026-11-29T12:00:00Z", "scopes": ["repo"], "missing_scopes": ["gist"] },
        "connection": { "id": "c-1", "provider": "github", "account": { "id": "583231", "label": "octocat" },
            "generation": 4 } });
    let (server, base) = Server::playing([answer(200, &ready)]).await;
    let asking = McpClient::new("2025-11-25", "tools/call")
        .elicitation(json!({ "url": {} }))
        .reference("session-7f3a")
        .name("Claude Code")
        .target("list_repositories")
        .params_digest("sha256:00")
        .prefer(Prefer::Request);
    let wanted = Resolve::new("github", User::subject("alice"))
        .scopes(["repo"])
        .client(asking)
        .message("Connect GitHub.");
    let Resolution::Ready(grants) = client(&base).resolve(&wanted).await.unwrap() else { panic!() };
    assert_eq!(grants[0].bearer(), Some("t-1"));
    assert_eq!((grants[0].provider.as_str(), grants[0].connection.generation), ("github", 4));
    let Credential::Oauth2 { missing_scopes, .. } = &grants[0].credential else { panic!() };
    assert_eq!(missing_scopes, &["gist"]);
    assert!(!format!("{grants:?}").contains("t-1"));

    let asked = &server.asked()[0];
    assert_eq!((asked.method.as_str(), asked.uri.as_str()), ("POST", "/v1/credentials/resolve"));
    assert_eq!(asked.headers["authorization"], "Bearer key-1");
    assert_eq!(
        asked.body,
        json!({ "provider": "github", "scopes": ["repo"], "subject": { "sub": "alice" }, "message": "Connect GitHub.",
            "client": { "protocol_version": "2025-11-25", "elicitation": { "url": {} }, "ref": "session-7f3a",
                "name": "Claude Code", "method": "tools/call", "target": "list_repositories",
                "params_digest": "sha256:00", "prefer": "request" } })
    );
}

#[tokio::test]
async fn several_needs_a_token_and_a_retry_are_sent_as_such() {
    let several = json!({ "status": "action_required", "elicitations": [elicitation(), elicitation()],
        "reply": tool_result() });
    let (server, base) = Server::playing([answer(200, &several)]).await;
    let needs = [Need::new("github"), Need::new("slack").scopes(["chat:write"])];
    let wanted = Resolve::several(needs, User::Token(Secret::new("eyJ"))).retry(
        "v1.sealed",
        Some(json!({ "connect-github": { "action": "accept" } })),
        1,
    );
    assert!(!format!("{wanted:?}").contains("eyJ"));
    let Resolution::ActionRequired(needed) = client(&base).resolve(&wanted).await.unwrap() else { panic!() };
    assert_eq!(needed.elicitations.len(), 2);
    assert_eq!(
        server.asked()[0].body,
        json!({ "requests": [{ "provider": "github" }, { "provider": "slack", "scopes": ["chat:write"] }],
            "subject_token": "eyJ", "request_state": "v1.sealed", "wait_seconds": 1,
            "input_responses": { "connect-github": { "action": "accept" } } })
    );
}

#[tokio::test]
async fn every_answer_to_resolve_is_read() {
    let secret = json!({ "status": "ready", "results": [
        { "provider": "acme", "credential": { "kind": "secret", "fields": { "api_key": "k-1" } },
          "connection": { "id": "c-1", "provider": "acme", "generation": 1 } }] });
    let needed = json!({ "status": "action_required", "elicitation": elicitation(),
        "reply": { "kind": "jsonrpc_error", "body": { "code": -32042, "message": "m", "data": { "elicitations": [] } } } });
    let refused = json!({ "status": "refused", "outcome": "declined", "elicitation": elicitation(),
        "reply": tool_result() });
    let answers = [secret, needed, refused].map(|body| answer(200, &body));
    let (_, base) = Server::playing(answers).await;
    let client = client(&base);
    let wanted = Resolve::new("acme", User::subject("alice"));

    let Resolution::Ready(grants) = client.resolve(&wanted).await.unwrap() else { panic!() };
    let Credential::Secret { fields, .. } = &grants[0].credential else { panic!() };
    assert_eq!((fields["api_key"].expose(), grants[0].bearer()), ("k-1", None));
    assert!(!format!("{grants:?}").contains("k-1"));

    let Resolution::ActionRequired(needed) = client.resolve(&wanted).await.unwrap() else { panic!() };
    let Body::JsonrpcError(error) = needed.reply.body else { panic!() };
    assert_eq!((error.code, needed.elicitations[0].state), (-32042, State::Pending));

    let Resolution::Refused(refused) = client.resolve(&wanted).await.unwrap() else { panic!() };
    assert_eq!(refused.outcome, Outcome::Declined);
}

#[tokio::test]
async fn a_visit_to_a_page_is_redeemed_and_answered() {
    let visit = json!({ "elicitation_id": "e-1", "subject": { "issuer": "https://id.example.com", "sub": "alice" },
        "provider": "checkout", "client_ref": null, "redirect_uri": "https://connect.example.com/callback/files/checkout",
        "expires_at": "2026-11-29T12:00:00Z" });
    let ready = json!({ "status": "ready", "credential": { "kind": "redirect", "values": { "order": "A-1" } },
        "connection": { "id": "c-1", "provider": "checkout", "generation": 1 } });
    let answers = [answer(200, &visit), answer(200, &elicitation()), answer(200, &ready)];
    let (server, base) = Server::playing(answers).await;
    let client = client(&base);
    let visit = client.redeem("c-1").await.unwrap();
    assert_eq!((visit.subject.sub.as_str(), visit.client_ref.as_deref()), ("alice", None));
    let back = visit.back_with_error("a b", "access_denied");
    assert_eq!(back.query(), Some("state=a+b&error=access_denied"));
    let paid = PageResult::accepted().value("order", "A-1");
    client.page_result(&visit.elicitation_id, &paid).await.unwrap();
    let wanted = Resolve::new("checkout", User::subject("alice"));
    let Resolution::Ready(grants) = client.resolve(&wanted).await.unwrap() else { panic!() };
    let Credential::Redirect { values, .. } = &grants[0].credential else { panic!() };
    assert_eq!((values["order"].as_str(), grants[0].bearer()), ("A-1", None));
    assert!(grants[0].usage().headers.is_empty());

    let [redeemed, said, _] = server.asked().try_into().unwrap();
    assert_eq!((redeemed.uri.as_str(), redeemed.body), ("/v1/hosted/redeem", json!({ "code": "c-1" })));
    assert_eq!(said.uri, "/v1/elicitations/e-1/result");
    assert_eq!(said.body, json!({ "result": "accepted", "values": { "order": "A-1" } }));
}

#[tokio::test]
async fn an_answer_that_says_two_things_or_nothing_is_unreadable_and_not_quoted() {
    let token = json!({ "kind": "oauth2", "access_token": "t-1", "token_type": 7 });
    let bodies = [
        json!({ "status": "ready" }),
        json!({ "status": "ready", "results": [] }),
        json!({ "status": "ready", "credential": token, "connection": { "id": "c", "provider": "p", "generation": 1 } }),
        json!({ "status": "action_required", "reply": tool_result() }),
        json!({ "status": "later" }),
    ];
    let count = bodies.len();
    let (_, base) = Server::playing(bodies.map(|body| answer(200, &body))).await;
    let client = client(&base);
    for _ in 0..count {
        let error = client.resolve(&Resolve::new("p", User::subject("alice"))).await.unwrap_err();
        assert!(matches!(error, Error::Unreadable(_)), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("t-1"));
    }
}

#[tokio::test]
async fn elicitations_are_made_read_answered_and_cancelled() {
    let created = json!({ "elicitation": elicitation(), "reply": tool_result() });
    let mut done = elicitation();
    done["state"] = json!("completed");
    done["subject"] = json!({ "issuer": "https://id.example.com", "sub": "alice" });
    done["connection"] = json!("c-1");
    done["closed_at"] = json!("2026-11-29T11:59:00Z");
    let answers = [
        answer(201, &created),
        answer(200, &done),
        answer(200, &json!({ "elicitation": elicitation(), "reply": tool_result() })),
        answer(204, &Value::Null),
        answer(200, &json!({})),
    ];
    let (server, base) = Server::playing(answers).await;
    let client = client(&base);

    let wanted = Resolve::new("github", User::subject("alice"));
    let created = client.create_elicitation(&wanted, Some("again-7")).await.unwrap();
    assert_eq!(created.elicitation.url.as_str(), "https://connect.example.com/connect?elicitationId=e-1");
    let done = client.elicitation("e/1?", 25).await.unwrap();
    assert!(done.state.is_final() && done.closed_at.is_some());
    assert_eq!(done.connection.as_deref(), Some("c-1"));
    assert!(client.respond("e-1", Action::Error).await.unwrap().reply.is_some());
    assert!(client.respond("e-1", Action::Accept).await.unwrap().reply.is_none());
    client.cancel("e-1").await.unwrap();

    let asked = server.asked();
    let lines: Vec<String> = asked.iter().map(|asked| format!("{} {}", asked.method, asked.uri)).collect();
    assert_eq!(
        lines,
        [
            "POST /v1/elicitations",
            "GET /v1/elicitations/e%2F1%3F?wait_seconds=25",
            "POST /v1/elicitations/e-1/response",
            "POST /v1/elicitations/e-1/response",
            "POST /v1/elicitations/e-1/cancel",
        ]
    );
    assert_eq!(asked[0].headers["idempotency-key"], "again-7");
    assert_eq!(asked[2].body, json!({ "action": "error" }));
}

#[tokio::test]
async fn several_are_made_at_once_and_a_code_is_passed_on() {
    let mut second = elicitation();
    second["id"] = json!("e-2");
    let created = json!({ "elicitations": [elicitation(), second], "reply": tool_result() });
    let needed = json!({ "status": "action_required", "elicitation": elicitation(), "reply": tool_result() });
    let answers = [
        answer(201, &created),
        answer(200, &json!({ "elicitation": elicitation(), "reply": tool_result() })),
        answer(200, &needed),
        answer(201, &json!({ "reply": tool_result() })),
    ];
    let (server, base) = Server::playing(answers).await;
    let client = client(&base);
    let several = Resolve::several([Need::new("github"), Need::new("slack")], User::subject("alice"));
    let created = client.create_elicitation(&several, None).await.unwrap();
    assert_eq!((created.elicitation.id.as_str(), created.further[0].id.as_str()), ("e-1", "e-2"));

    let asking = McpClient::new("2025-11-25", "tools/call").elicitation(json!({ "form": {}, "url": {} }));
    let answered = client.respond_as("e-1", Action::Accept, &asking).await.unwrap();
    assert!(answered.reply.is_some());
    let typed = asking.code("WDJB-MJHT");
    assert!(!format!("{typed:?}").contains("WDJB"));
    let wanted = Resolve::new("github", User::subject("alice")).client(typed).wait(1);
    client.resolve(&wanted).await.unwrap();
    assert!(matches!(client.create_elicitation(&several, None).await, Err(Error::Unreadable(_))));

    let asked = server.asked();
    let said = json!({ "protocol_version": "2025-11-25", "elicitation": { "form": {}, "url": {} },
        "method": "tools/call" });
    assert_eq!(asked[1].body, json!({ "action": "accept", "client": said }));
    assert_eq!(
        (&asked[2].body["client"]["code"], &asked[2].body["wait_seconds"]),
        (&json!("WDJB-MJHT"), &json!(1))
    );
}

#[tokio::test]
async fn connections_and_providers_are_listed_removed_and_reported() {
    let connection = json!({ "id": "c-1", "provider": "github", "status": "quarantined", "reason": "r", "generation": 2,
        "subject": { "issuer": "https://id.example.com", "sub": "alice" }, "scopes": ["repo"] });
    let answers = [
        answer(200, &json!({ "connections": [connection.clone()], "next_cursor": "n" })),
        answer(200, &connection),
        answer(204, &Value::Null),
        answer(200, &json!({})),
        answer(200, &json!({ "providers": [{ "id": "github", "name": "GitHub", "scopes": ["repo"] }] })),
    ];
    let (server, base) = Server::playing(answers).await;
    let client = client(&base);

    let query = ConnectionQuery::new().issuer("https://id.example.com").user("a&b=c").limit(2);
    let page = client.connections(&query).await.unwrap();
    assert_eq!(page.next_cursor.as_deref(), Some("n"));
    assert_eq!(page.connections[0].status, ConnectionStatus::Quarantined);
    assert_eq!(client.connection("c-1").await.unwrap().reason.as_deref(), Some("r"));
    client.delete_connection("c-1").await.unwrap();
    client.report("c-1", 2).await.unwrap();
    assert_eq!(client.providers().await.unwrap()[0].name, "GitHub");

    let asked = server.asked();
    assert_eq!(asked[0].uri, "/v1/connections?issuer=https%3A%2F%2Fid.example.com&sub=a%26b%3Dc&limit=2");
    assert_eq!((asked[2].method.as_str(), asked[2].uri.as_str()), ("DELETE", "/v1/connections/c-1"));
    assert_eq!(asked[3].body, json!({ "connection": "c-1", "generation": 2, "problem": "unauthorized" }));
}

#[tokio::test]
async fn a_problem_keeps_its_code_status_and_request() {
    let (_, base) = Server::playing([problem(404, "not_found", None)]).await;
    let error = client(&base).connection("c-1").await.unwrap_err();
    assert_eq!(error.code(), Some("not_found"));
    let problem = error.problem().unwrap();
    assert_eq!((problem.status, problem.request_id.as_deref()), (404, Some("r-1")));
    assert_eq!(error.to_string(), "No (not_found, 404, request r-1)");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let mut redirect = answer(307, &Value::Null);
    redirect.headers_mut().insert("location", "/elsewhere".parse().unwrap());
    let (server, base) = Server::playing([redirect]).await;
    let error = client(&base).providers().await.unwrap_err();
    assert!(matches!(error, Error::Status { status: 307 }));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_base_with_a_path_is_kept_and_errors_do_not_name_urls() {
    let (server, base) = Server::playing([answer(200, &json!({ "providers": [] }))]).await;
    client(&format!("{base}consentry")).providers().await.unwrap();
    assert_eq!(server.asked()[0].uri, "/consentry/v1/providers");

    // Port 1 of loopback: nobody listens there.
    let error =
        client("http://127.0.0.1:1").connections(&ConnectionQuery::new().user("alice")).await.unwrap_err();
    assert!(matches!(error, Error::Transport(_)));
    assert!(!format!("{error:?}").contains("alice"));
}

#[test]
fn what_cannot_be_used_is_refused_at_once() {
    for (base, key) in [("127.0.0.1:8081", "k"), ("file:///", "k"), ("http://127.0.0.1", "k\n")] {
        assert!(matches!(Client::new(base, key), Err(Error::Setup(_))), "{base}");
    }
}
