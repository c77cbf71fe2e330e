//! A server with the tools that the official conformance suite calls by name. What is asked, and how an answer is judged, comes from
//! `consentry_elicitation`; the transport is rmcp's, as in the demo's MCP server.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, middleware};
use consentry_elicitation::{
    Capability, ElicitRequestParams, ElicitResult, Form, FormOutcome, FormRequest, InputRequiredResult,
    InputResponses,
    form::{Answers, Boolean, Choice, Choices, Integer, Number, Text},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

type Context = RequestContext<RoleServer>;

/// The server; dropping it stops it.
pub(crate) struct Fixture {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts([address.to_string(), format!("localhost:{}", address.port())])
            .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*"]);
        let tools = Tools::default();
        let service = StreamableHttpService::new(
            move || Ok(tools.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let router = Router::new()
            .route_service("/mcp", service)
            .route_layer(middleware::map_response(consentry_rmcp::without_elicitation_id));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url: format!("http://localhost:{}/mcp", address.port()), task }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The tools, by their names in the suite.
const TOOLS: [&str; 16] = [
    "test_simple_text",
    "test_error_handling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_input_required_result_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multi_round",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_capabilities",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
];
/// Those that can do nothing without a form (M17).
const ROUNDS_BY_FORM: [&str; 6] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_streaming_elicitation",
];
const PROMPT: &str = "test_input_required_result_prompt";

#[derive(Clone, Default)]
struct Tools {
    /// The states that were given out: any other is refused.
    states: Arc<Mutex<HashSet<String>>>,
}

/// What a repeated request brings along.
struct Retry {
    state: Option<String>,
    responses: InputResponses,
}

/// One question of a round, and its form.
struct Question {
    key: &'static str,
    message: &'static str,
    form: Form,
}

impl Question {
    fn text(key: &'static str, message: &'static str, field: &str) -> Self {
        Self { key, message, form: Form::builder().required(field, Text::new()).build().unwrap() }
    }

    fn confirmation() -> Self {
        let form = Form::builder().required("ok", Boolean::new()).build().unwrap();
        Self { key: "confirm", message: "Please confirm", form }
    }

    /// The answers, once there are some that fit; what does not fit is asked again (M10), and what is not known passed over (M11).
    fn answered(&self, responses: &InputResponses) -> Option<Answers> {
        match responses.elicited(self.key)?.for_form(&self.form) {
            Ok(FormOutcome::Accepted(answers)) => Some(answers),
            _ => None,
        }
    }

    fn asked(&self) -> InputRequiredResult {
        let request = FormRequest::new(self.message, self.form.clone()).unwrap();
        InputRequiredResult::asking([(self.key.to_owned(), ElicitRequestParams::from(request))])
    }
}

impl Tools {
    /// A state that will be known again.
    fn state(&self) -> String {
        #[expect(clippy::disallowed_methods, reason = "a test's own chance")]
        let state = uuid::Uuid::new_v4().to_string();
        self.states.lock().unwrap().insert(state.clone());
        state
    }

    fn verify(&self, state: Option<&str>) -> Result<(), ErrorData> {
        let known = state.is_none_or(|state| self.states.lock().unwrap().contains(state));
        if known { Ok(()) } else { Err(ErrorData::invalid_params("requestState is not valid", None)) }
    }

    async fn called(&self, tool: &str, message: &str, retry: Retry, context: Context) -> Answer {
        let name = Question::text("user_name", "What is your name?", "name");
        let can = context.client_capabilities().unwrap_or_default();
        if ROUNDS_BY_FORM.contains(&tool) && !declared(&can).form() {
            let needed = serde_json::from_value(json!({ "elicitation": { "form": {} } })).unwrap();
            return Err(ErrorData::missing_required_client_capability(needed));
        }
        match tool {
            // The latter logs nothing, whether it is asked to or not.
            "test_simple_text" | "test_logging_tool" => said("This is a simple text response for testing."),
            "test_error_handling" => complete(
                &json!({ "resultType": "complete", "isError": true, "content": [{ "type": "text", "text": "It fails, as it should." }] }),
            ),
            "test_elicitation" => ask(&context, message, contact()).await,
            "test_elicitation_sep1034_defaults" => ask(&context, "Please check these", defaults()).await,
            "test_elicitation_sep1330_enums" => ask(&context, "Please choose", enums()).await,
            // The latter is for the suite to see that nothing else is on the stream of the answer.
            "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
                self.one(&name, None, &retry.responses, |answers| {
                    format!("Hello, {}!", answers.text("name").unwrap())
                })
            }
            "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
                self.verify(retry.state.as_deref())?;
                self.one(&Question::confirmation(), Some(self.state()), &retry.responses, |_| {
                    "state-ok".to_owned()
                })
            }
            "test_input_required_result_multi_round" => self.two(&retry),
            "test_input_required_result_sampling" => {
                more(&retry, &json!({ "capital_question": sampling() }), None)
            }
            "test_input_required_result_list_roots" => {
                more(&retry, &json!({ "client_roots": roots() }), None)
            }
            "test_input_required_result_multiple_inputs" => {
                self.verify(retry.state.as_deref())?;
                let name = serde_json::to_value(name.asked()).unwrap()["inputRequests"]["user_name"].clone();
                let all = json!({ "user_name": name, "greeting": sampling(), "client_roots": roots() });
                more(&retry, &all, Some(self.state()))
            }
            "test_input_required_result_capabilities" => {
                let mut asked = serde_json::Map::new();
                if declared(&can).form() {
                    asked = serde_json::to_value(name.asked()).unwrap()["inputRequests"]
                        .as_object()
                        .unwrap()
                        .clone();
                }
                if can.sampling.is_some() {
                    asked.insert("capital_question".to_owned(), sampling());
                }
                more(&retry, &asked.into(), None)
            }
            "test_missing_capability" => {
                let needed = serde_json::from_value(json!({ "sampling": {} })).unwrap();
                Err(ErrorData::missing_required_client_capability(needed))
            }
            _ => Err(ErrorData::invalid_params(format!("there is no tool {tool}"), None)),
        }
    }

    fn one(
        &self,
        question: &Question,
        state: Option<String>,
        responses: &InputResponses,
        done: impl Fn(&Answers) -> String,
    ) -> Answer {
        match question.answered(responses) {
            Some(answers) => said(&done(&answers)),
            None => required(&state.into_iter().fold(question.asked(), InputRequiredResult::state)),
        }
    }

    fn two(&self, retry: &Retry) -> Answer {
        self.verify(retry.state.as_deref())?;
        let first = Question::text("step1", "Step 1: What is your name?", "name");
        let second = Question::text("step2", "Step 2: What is your favorite color?", "color");
        if let Some(answers) = second.answered(&retry.responses) {
            return said(&format!("{} it is.", answers.text("color").unwrap()));
        }
        let next = if first.answered(&retry.responses).is_some() { &second } else { &first };
        required(&next.asked().state(self.state()))
    }
}

type Answer = Result<CallToolResponse, ErrorData>;

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_prompts().build();
        ServerConfig::new(can).with_server_info(Implementation::new("conformance-fixture", "1"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &str| {
            let (properties, required) = match name {
                "test_elicitation" => (json!({ "message": { "type": "string" } }), json!(["message"])),
                _ => (json!({}), json!([])),
            };
            let schema = json!({ "type": "object", "properties": properties, "required": required });
            json!({ "name": name, "description": "For the conformance suite.", "inputSchema": schema })
        };
        via_json(&json!({ "resultType": "complete", "tools": TOOLS.map(tool) }))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Answer {
        let message = request.arguments.as_ref().and_then(|given| given.get("message")).cloned();
        let retry = Retry {
            state: request.request_state.clone(),
            responses: via_json(&request.input_responses.unwrap_or_default())?,
        };
        let message = message.as_ref().and_then(Value::as_str).unwrap_or_default();
        self.called(&request.name, message, retry, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        via_json(
            &json!({ "resultType": "complete", "prompts": [{ "name": PROMPT, "description": "For the conformance suite." }] }),
        )
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != PROMPT {
            return Err(ErrorData::invalid_params("there is no such prompt", None));
        }
        let responses: InputResponses = via_json(&request.input_responses.unwrap_or_default())?;
        let question = Question::text("user_context", "What context should the prompt use?", "context");
        let Some(answers) = question.answered(&responses) else {
            return via_json::<rmcp::model::InputRequiredResult>(&question.asked()).map(Into::into);
        };
        let text = format!("In the context of {}.", answers.text("context").unwrap());
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        via_json::<GetPromptResult>(&json!({ "resultType": "complete", "messages": [message] }))
            .map(Into::into)
    }
}

/// Asks within the call (legacy era), and tells what came of it.
async fn ask(context: &Context, message: &str, form: Form) -> Answer {
    if !declared(&context.client_capabilities().unwrap_or_default()).form() {
        return complete(
            &json!({ "resultType": "complete", "isError": true, "content": [{ "type": "text", "text": "This client cannot be asked." }] }),
        );
    }
    let request = FormRequest::new(message, form.clone()).unwrap();
    let params = via_json(&ElicitRequestParams::from(request))?;
    let limit = Some(Duration::from_secs(30));
    let answer = context.peer.create_elicitation_with_timeout(params, limit).await;
    let answer: ElicitResult =
        via_json(&answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?)?;
    match answer.for_form(&form) {
        Ok(FormOutcome::Accepted(answers)) => {
            let content = serde_json::to_string(answers.values()).unwrap();
            said(&format!("Elicitation completed: action=accept, content={content}"))
        }
        Ok(_) => said("Elicitation completed: action=decline, content={}"),
        Err(error) => said(&format!("The answer does not fit: {error}")),
    }
}

fn declared(can: &ClientCapabilities) -> Capability {
    let value = serde_json::to_value(&can.elicitation).unwrap();
    Capability::declared(Some(&value)).unwrap()
}

fn contact() -> Form {
    let text = |what: &str| Text::new().description(what);
    let form = Form::builder().required("username", text("User's response"));
    form.required("email", text("User's email address")).build().unwrap()
}

fn defaults() -> Form {
    Form::builder()
        .optional("name", Text::new().default("John Doe"))
        .optional("age", Integer::new().default(30))
        .optional("score", Number::new().default(95.5))
        .optional("status", Choice::plain(["active", "inactive", "pending"]).default("active"))
        .optional("verified", Boolean::new().default(true))
        .build()
        .unwrap()
}

fn enums() -> Form {
    let plain = ["option1", "option2", "option3"];
    let titled = |word: &str| {
        [("value1", "First"), ("value2", "Second"), ("value3", "Third")]
            .map(|(v, t)| (v, format!("{t} {word}")))
    };
    Form::builder()
        .optional("untitledSingle", Choice::plain(plain))
        .optional("titledSingle", Choice::titled(titled("Option")))
        .optional(
            "legacyEnum",
            Choice::named([("opt1", "Option One"), ("opt2", "Option Two"), ("opt3", "Option Three")]),
        )
        .optional("untitledMulti", Choices::plain(plain))
        .optional("titledMulti", Choices::titled(titled("Choice")))
        .build()
        .unwrap()
}

fn sampling() -> Value {
    let text = json!({ "type": "text", "text": "What is the capital of France?" });
    let params = json!({ "messages": [{ "role": "user", "content": text }], "maxTokens": 100 });
    json!({ "method": "sampling/createMessage", "params": params })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

/// Requests of other kinds, which this crate has no types for: done when every key has an answer.
fn more(retry: &Retry, requests: &Value, state: Option<String>) -> Answer {
    let given = serde_json::to_value(&retry.responses).unwrap();
    let keys: BTreeMap<String, Value> = serde_json::from_value(requests.clone()).unwrap();
    if keys.keys().all(|key| given.get(key).is_some()) {
        return said(&format!("Thank you: {given}"));
    }
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    via_json::<rmcp::model::InputRequiredResult>(&result).map(Into::into)
}

fn required(result: &InputRequiredResult) -> Answer {
    via_json::<rmcp::model::InputRequiredResult>(result).map(Into::into)
}

fn said(text: &str) -> Answer {
    complete(&json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] }))
}

fn complete(result: &Value) -> Answer {
    via_json::<CallToolResult>(result).map(Into::into)
}

fn via_json<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, ErrorData> {
    let read = serde_json::to_value(value).and_then(serde_json::from_value);
    read.map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}
