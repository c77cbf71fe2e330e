//! One request of the public listener: what every page handler needs to know, in one extractor.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{Extensions, HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};

use crate::{
    app::App,
    config::McpServer,
    connect,
    elicitation::{AttemptId, Elicitation, ElicitationId, ProviderId},
    scope::Scopes,
    secret::Hash,
    store::Visitor,
};

use super::{
    cookies::{self, Cookies},
    csrf,
    pages::{self, Asked, Away, Frame, Label, Mark, Page, Permission, Post, SignedIn},
    request_id::RequestId,
};

/// The request's context.
#[derive(Clone)]
pub struct Here {
    /// The program.
    pub app: App,
    /// The request's headers.
    pub headers: HeaderMap,
    /// Our cookies.
    pub cookies: Cookies,
    /// What a person can give to the operator.
    pub reference: String,
}

impl FromRequestParts<App> for Here {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self::of(app, &parts.headers, &parts.extensions))
    }
}

impl Here {
    /// The context of a request, for the layers that have no extractor.
    pub fn of(app: &App, headers: &HeaderMap, extensions: &Extensions) -> Self {
        Self {
            app: app.clone(),
            headers: headers.clone(),
            cookies: Cookies::read(headers, &app.settings.public_url),
            reference: extensions.get::<RequestId>().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// The session cookie, as the store knows it.
    pub fn session(&self) -> Option<Hash> {
        self.cookies.session()
    }

    /// The value of an attempt's cookie.
    pub fn attempt_cookie(&self, id: AttemptId) -> Option<&str> {
        self.cookies.get(&cookies::attempt(id))
    }

    /// A form of this session.
    pub fn post(&self, action: impl Into<String>) -> Post {
        let token = self.session().map(|session| csrf::token(&self.app, &session)).unwrap_or_default();
        Post::new(action, token)
    }

    /// A form of a page of this elicitation: its token is bound to what proves the person, the session or this browser's
    /// code.
    pub fn post_of(&self, asked: &Elicitation, what: &str) -> Post {
        let token = self.form_key(asked).map(|key| csrf::token(&self.app, &key)).unwrap_or_default();
        Post::new(format!("/connect/{}/{what}", asked.id), token)
    }

    /// What the tokens of this elicitation's forms are bound to.
    pub fn form_key(&self, asked: &Elicitation) -> Option<Hash> {
        if connect::is_by_code(&self.app, asked) {
            return self.code_cookie(asked.id).map(|cookie| cookie.hash());
        }
        self.session()
    }

    /// The frame of a page that knows nobody.
    pub fn frame(&self) -> Frame {
        let operator = &self.app.settings.operator;
        Frame {
            operator: Label::new(&operator.name),
            host: self.app.settings.public_url.authority(),
            signed_in: None,
            reference: self.reference.clone(),
            help: operator.help_url.clone().and_then(Away::new),
            privacy: operator.privacy_url.clone().and_then(Away::new),
        }
    }

    /// The frame of a page that names the person at the browser (R11).
    pub fn frame_of(&self, visitor: &Visitor) -> Frame {
        let signed_in = visitor
            .subject
            .is_some()
            .then(|| SignedIn { label: person(visitor), sign_out: self.post("/sign-out") });
        Frame { signed_in, ..self.frame() }
    }

    /// Who asks for what.
    pub fn asked(&self, elicitation: &Elicitation) -> Asked {
        let server = self.app.server(&elicitation.server);
        let server = server.map_or(elicitation.server.as_str(), |server: &McpServer| &server.name);
        let provider = Label::new(&self.app.provider_name(&elicitation.provider));
        Asked {
            server: Label::new(server),
            mark: self.mark(&elicitation.provider, &provider),
            page: self.app.hosted_page(&elicitation.provider).is_some(),
            provider,
            client: elicitation.client_name.as_deref().map(Label::new),
        }
    }

    /// What stands for a provider where a picture would.
    pub fn mark(&self, id: &ProviderId, name: &Label) -> Mark {
        let logo = self.app.settings.logos.get(id);
        Mark::new(id.as_str(), name).with_logo(logo.map(|logo| logo.path.as_str()))
    }

    /// Scopes in the words of an elicitation's provider.
    pub fn permissions(&self, elicitation: &Elicitation, scopes: &Scopes) -> Vec<Permission> {
        self.words(&elicitation.provider, scopes)
    }

    /// Scopes in a provider's words.
    pub fn words(&self, provider: &ProviderId, scopes: &Scopes) -> Vec<Permission> {
        let provider = self.app.providers.get(provider);
        let words = |scope: &str| {
            let known = provider.as_ref().and_then(|provider| provider.scope_words.get(scope));
            Label::new(known.map_or(scope, String::as_str))
        };
        scopes.iter().map(|scope| Permission { words: words(scope), technical: Label::new(scope) }).collect()
    }

    /// Renders a page with its status and referrer policy.
    pub fn show(&self, page: &dyn Page) -> Response {
        match page.document() {
            Ok(document) => {
                // With `no-referrer` a browser sends `Origin: null` with a post (R43).
                let policy = if document.has_forms { "same-origin" } else { "no-referrer" };
                let headers = [
                    (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
                    (header::REFERRER_POLICY, HeaderValue::from_static(policy)),
                ];
                (document.status, headers, document.html).into_response()
            }
            Err(_) => {
                tracing::error!(page = page.name().as_str(), "a page could not be rendered");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }

    /// The page for a request that cannot be read.
    pub fn bad(&self, bad: pages::Bad) -> Response {
        self.show(&pages::BadRequest { frame: self.frame(), bad })
    }

    /// The one page for unknown and malformed ids.
    pub fn not_found(&self) -> Response {
        self.show(&pages::NotFound { frame: self.frame() })
    }
}

/// What the person at the browser is called; their subject where the authorization server says nothing else.
pub fn person(visitor: &Visitor) -> Label {
    let subject = visitor.subject.as_ref().map(|subject| subject.sub.as_str());
    Label::new(visitor.label.as_deref().or(subject).unwrap_or_default())
}

/// A redirect that the browser follows by GET (R45), to a path that was built from ids alone (R46).
pub fn see_other(path: &str) -> Response {
    match HeaderValue::try_from(path) {
        Ok(location) => (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The connect page.
pub fn connect_path(id: ElicitationId) -> String {
    format!("/connect?elicitationId={id}")
}

/// The outcome.
pub fn done_path(id: ElicitationId, attempt: Option<AttemptId>) -> String {
    match attempt {
        Some(attempt) => format!("/connect/{id}/done?attempt={attempt}"),
        None => format!("/connect/{id}/done"),
    }
}

/// The way on after a sign-in that was missing at the callback.
pub fn resume_path(id: ElicitationId, attempt: AttemptId) -> String {
    format!("/connect/{id}/resume?attempt={attempt}")
}

/// The leaving page.
pub fn leaving_path(id: ElicitationId, attempt: AttemptId) -> String {
    format!("/connect/{id}/leaving?attempt={attempt}")
}

/// Where a sign-in for an elicitation starts.
pub fn sign_in_path(id: ElicitationId, attempt: Option<AttemptId>, switch: bool) -> String {
    let attempt = attempt.map(|attempt| format!("&attempt={attempt}")).unwrap_or_default();
    let switch = if switch { "&switch=1" } else { "" };
    format!("/sign-in?elicitationId={id}{switch}{attempt}")
}
