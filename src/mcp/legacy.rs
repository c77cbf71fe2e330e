//! The legacy era (up to 2025-11-25): a handshake, a session, and requests to the client while one of its own is handled.
//!
//! A session is sealed into its id ([`super::session`]). What a client answers may come to another process than the one
//! that waits, and is kept in the store until that one has heard it.

mod talk;

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use consentry_elicitation::{Capability, Client, Prefer, ProtocolVersion};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Mcp, answer,
    client::{Asker, name},
    door::Caller,
    fault::Fault,
    headers,
    message::{Answer, Request},
    modern::called,
    session::Session,
    stream::{self, Out},
    tools::{self, ToolCall},
};

const SESSION: &str = "mcp-session-id";
/// Those that are spoken, the latest first.
const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2025_06_18];
/// Of an answer of a client, in bytes; one that is longer is as if the client had failed.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Answers one request.
pub(super) async fn answer(
    mcp: &Mcp,
    caller: Caller,
    headers: &HeaderMap,
    version: Option<ProtocolVersion>,
    request: Request,
) -> Result<Response, Fault> {
    if request.method == "initialize" {
        return initialize(mcp, &caller, &request).map_err(Fault::in_a_result);
    }
    let session = session(mcp, &caller, headers, version).await?;
    answered(mcp, caller, session, request).await.map_err(Fault::in_a_result)
}

/// The handshake: agrees on a version and begins a session.
fn initialize(mcp: &Mcp, caller: &Caller, request: &Request) -> Result<Response, Fault> {
    let params = &request.params;
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let wanted =
        wanted.ok_or_else(|| Fault::invalid_params("/params/protocolVersion: is missing or no text"))?;
    let info = params.get("clientInfo").filter(|info| info.is_object());
    let info =
        info.ok_or_else(|| Fault::invalid_params("/params/clientInfo: is missing or not an object"))?;
    let elicitation = Capability::of_connection(&Value::Object(params.clone()))?;
    // Another that is not spoken here is answered with the latest that is, for the client to decide.
    let version = wanted.parse().ok().filter(|version| VERSIONS.contains(version)).unwrap_or(VERSIONS[0]);
    let session = Session::begin(mcp, version, elicitation, name(Some(info)));
    let result = json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": mcp.server_info(),
        "instructions": mcp.instructions(),
    });
    let mut response = answer::result(&request.id, &result);
    let id = HeaderValue::try_from(session.seal(mcp, &caller.subject)?).map_err(|_| Fault::internal())?;
    response.headers_mut().insert(HeaderName::from_static(SESSION), id);
    Ok(response)
}

/// The session that a request names, which must be this person's (P19).
pub(super) async fn session(
    mcp: &Mcp,
    caller: &Caller,
    headers: &HeaderMap,
    version: Option<ProtocolVersion>,
) -> Result<Session, Fault> {
    let id = headers::one(headers, SESSION)?;
    let id = id.ok_or_else(|| {
        Fault::invalid_request("The header mcp-session-id is missing; begin with `initialize`.")
    })?;
    let session = Session::open(mcp, &caller.subject, id).await?;
    if version.is_some_and(|version| version != session.version) {
        return Err(Fault::invalid_request("The header mcp-protocol-version is not what was agreed on."));
    }
    Ok(session)
}

async fn answered(mcp: &Mcp, caller: Caller, session: Session, request: Request) -> Result<Response, Fault> {
    let Request { id, method, mut params, .. } = request;
    let result = match &*method {
        "ping" => json!({}),
        "tools/list" => json!({ "tools": tools::definitions() }),
        "tools/call" => {
            let (tool, arguments) = called(&mut params)?;
            let client = Client::new(session.version, session.elicitation, method).target(tool.name());
            let asker = Asker {
                client,
                name: session.client_name.clone(),
                reference: session.reference(Prefer::Request),
                links: mcp.settings.legacy_links,
            };
            let call = ToolCall { mcp: mcp.clone(), owner: caller.subject, asker, tool, arguments };
            return begin(call, session, &id).await;
        }
        _ => return Err(Fault::method_not_found()),
    };
    Ok(answer::result(&id, &result))
}

/// Runs a call in a task of its own. It is answered as JSON when nothing had to be asked, and else by a stream.
async fn begin(call: ToolCall, session: Session, id: &super::message::Id) -> Result<Response, Fault> {
    let app = call.mcp.app.clone();
    let (out, mut coming) = mpsc::channel(8);
    let id = id.clone();
    app.tasks.spawn(async move {
        let gone = out.clone();
        let mut talk = talk::Talk::new(call, session, out.clone());
        let work = async {
            let last = match talk.hold().await {
                Ok(result) => answer::message(&id, &Value::Object(result)),
                Err(fault) => fault.for_request(id.clone()).body(),
            };
            let _ = out.send(Out::Last(last)).await;
        };
        tokio::select! {
            () = work => {}
            // Nobody reads any more: what was asked may still be answered by its link.
            () = gone.closed() => {}
        }
        talk.over().await;
    });
    match coming.recv().await {
        Some(Out::Last(message)) => Ok(axum::Json(message).into_response()),
        Some(Out::Message(message)) => Ok(stream::respond(&app, message, coming)),
        None => Err(Fault::internal()),
    }
}

/// What a client answered to a request of ours. It is taken whether somebody still waits for it or not.
pub(super) async fn hear(
    mcp: &Mcp,
    caller: &Caller,
    headers: &HeaderMap,
    version: Option<ProtocolVersion>,
    answer: &Answer,
) -> Result<Response, Fault> {
    let session = session(mcp, caller, headers, version).await?;
    let text = answer.result.as_ref().map(Value::to_string).filter(|text| text.len() <= ANSWER_BYTES_MAX);
    if let Ok(question) = answer.id.parse() {
        // JSON's `null` stands for a client that failed.
        let text = text.unwrap_or_else(|| Value::Null.to_string());
        mcp.app.store.answer_client(question, session.key, &text, mcp.app.clock.now()).await?;
    }
    Ok(answer::accepted())
}

/// The client ends its session; it is unknown from then on, at every process.
pub(super) async fn end(mcp: &Mcp, caller: &Caller, headers: &HeaderMap) -> Result<Response, Fault> {
    let session = session(mcp, caller, headers, headers::version(headers)?).await?;
    mcp.app.store.end_mcp_session(session.key, session.expires_at()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
