//! The form for a key: shown by GET, answered by `POST /connect/{id}/secret`.
//!
//! Whoever posts passes the same checks as everywhere: session or code, the form's token, the comparison. Nothing that was
//! typed goes into an answer, a log or an address, and nothing of it is kept for the next post.

use axum::{
    http::{HeaderValue, header},
    response::Response,
};
use tracing::Instrument;

use crate::{
    config::SecretForm,
    connect::{self, Entered, Opened, Refusal},
    connectable::Connectable,
    elicitation::{Elicitation, OwnedOpen},
    secret_form::{Flaw, Remark, Typed, VALUE_BYTES_MAX},
};

use super::{
    connect::signed_in,
    connections::{account_label, trouble},
    here::see_other,
    here::{Here, done_path, sign_in_path},
    pages::{self, Away, Choice, FieldProblem, Label, Message, SecretField, SecretState},
    parameters::Parameters,
    segments::{Body, Segments},
};

/// Said by the button that stores what nobody could check.
const SAVE: &str = "save";
/// Said by a form whose fields are not hidden.
pub(super) const REVEAL: &str = "reveal";
/// Asks for the form though a connection is there.
pub(super) const REPLACE: &str = "replace";

/// What a page of the form says beside the form.
struct Shown<'a> {
    state: SecretState,
    revealed: bool,
    /// The field at each place, and what is wrong with it.
    problems: Vec<(usize, FieldProblem)>,
    advice: Vec<(usize, String)>,
    /// What was posted, for choices and defaults alone: they are the operator's words.
    posted: Option<&'a Parameters>,
}

/// `POST /connect/{id}/secret`.
pub(super) async fn enter(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (opened, form) = match here.posted(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    let asked = opened.mine.elicitation().clone();
    let Ok(mine) = opened.mine.clone().open(here.app.clock.now()) else {
        return see_other(&done_path(asked.id, None));
    };
    let anyway = match form.get(SAVE) {
        None => false,
        Some("unchecked") => true,
        Some(_) => return here.bad(pages::Bad::Malformed),
    };
    let Some(secret_form) = here.form_of(&asked) else { return here.not_found() };
    let page = |shown: &Shown<'_>| here.secret_page(&opened, &mine, &secret_form, shown);
    let shown = |state| Shown { posted: Some(&form), ..Shown::of(state, form.get(REVEAL) == Some("1")) };
    let typed = match Typed::read(&secret_form, |name| form.get(name)) {
        Ok(typed) => typed,
        Err(flaws) => {
            let problems = flaws.into_iter().map(|(at, flaw)| (at, problem(flaw))).collect();
            return page(&Shown { problems, ..shown(SecretState::Incomplete) });
        }
    };
    let span = tracing::error_span!("form", reference = here.reference, server = %asked.server, elicitation = %asked.id);
    match connect::enter(&here.app, &mine, typed, anyway).instrument(span).await {
        Ok(Entered::Stored) | Err(Refusal::Moved | Refusal::ProviderGone) => {
            see_other(&done_path(asked.id, None))
        }
        Ok(Entered::Rejected(remarks)) => page(&shown(SecretState::Rejected).with(remarks)),
        Ok(Entered::Unchecked { remarks, unusable: true }) => {
            page(&shown(SecretState::Unusable).with(remarks))
        }
        Ok(Entered::Unchecked { remarks, .. }) => page(&shown(SecretState::Unchecked).with(remarks)),
        Ok(Entered::Address) => {
            let hosts = secret_form.fields.iter().enumerate().filter(|(_, field)| field.in_host);
            let problems = hosts.map(|(at, _)| (at, FieldProblem::Host)).collect();
            page(&Shown { problems, ..shown(SecretState::Incomplete) })
        }
        Ok(Entered::TooMany(wait)) => {
            let seconds = wait.as_secs().saturating_add(1);
            let frame = here.frame_of(&opened.visitor);
            let mut response = here.show(&pages::TooManyRequests { frame, retry_after: seconds });
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            response
        }
        Err(refusal) => here.refuse(refusal, asked.id, Some(&opened.visitor)),
    }
}

fn problem(flaw: Flaw) -> FieldProblem {
    match flaw {
        Flaw::Missing => FieldProblem::Missing,
        Flaw::TooLong => FieldProblem::TooLong,
        Flaw::Unwritable => FieldProblem::Unwritable,
        Flaw::NotOffered => FieldProblem::NotOffered,
        Flaw::Host => FieldProblem::Host,
    }
}

impl Shown<'_> {
    fn of(state: SecretState, revealed: bool) -> Self {
        Self { state, revealed, problems: Vec::new(), advice: Vec::new(), posted: None }
    }

    fn with(mut self, remarks: Vec<(usize, Remark)>) -> Self {
        for (at, remark) in remarks {
            match remark {
                Remark::Unusual => self.problems.push((at, FieldProblem::Unusual)),
                Remark::Wrong(advice) => self.advice.push((at, advice)),
            }
        }
        self
    }
}

impl Here {
    /// The form of an elicitation that is answered by one.
    pub(super) fn form_of(&self, asked: &Elicitation) -> Option<std::sync::Arc<SecretForm>> {
        match self.app.may_ask(&asked.server, &asked.provider)? {
            Connectable::Secret(form) => Some(form),
            Connectable::OAuth2(_) | Connectable::Redirect(_) => None,
        }
    }

    /// The empty form.
    pub(super) fn secret_form(
        &self,
        opened: &Opened,
        mine: &OwnedOpen,
        form: &SecretForm,
        revealed: bool,
    ) -> Response {
        self.secret_page(opened, mine, form, &Shown::of(SecretState::Ask, revealed))
    }

    fn secret_page(
        &self,
        opened: &Opened,
        mine: &OwnedOpen,
        form: &SecretForm,
        shown: &Shown<'_>,
    ) -> Response {
        let asked = mine.elicitation();
        let submit = self.post_of(asked, "secret");
        let here = format!("{}&{REPLACE}=1", super::here::connect_path(asked.id));
        let now = self.app.clock.now();
        let replaces = opened
            .connection
            .as_ref()
            .map(|one| pages::Replaced { account: account_label(&one.account), trouble: trouble(one, now) });
        let fields = form.fields.iter().enumerate();
        self.show(&pages::Secret {
            frame: self.frame_of(&opened.visitor),
            asked: self.asked(asked),
            state: shown.state,
            message: asked.message.as_deref().and_then(Message::new),
            replaces,
            fields: fields.map(|(at, field)| shown.field(at, field)).collect(),
            what: form.what.as_deref().and_then(Message::new),
            note: form.probe_note.as_deref().filter(|_| form.probe.is_some()).and_then(Message::new),
            can_check: form.probe.is_some(),
            find: form.key_url.clone().and_then(Away::new),
            revealed: shown.revealed,
            reveal: if shown.revealed { here } else { format!("{here}&{REVEAL}=1") },
            person: signed_in(opened),
            switch: signed_in(opened).map(|_| sign_in_path(asked.id, None, true)),
            submit: if shown.revealed { submit.with(REVEAL, "1") } else { submit },
            decline: self.decline_post(asked),
        })
    }
}

impl Shown<'_> {
    fn field(&self, at: usize, field: &crate::config::FormField) -> SecretField {
        let posted = self.posted.and_then(|posted| posted.get(&field.name)).map(str::trim);
        let chosen = posted.or(field.default.as_deref()).unwrap_or_default();
        let offered = match field.choices.is_empty() {
            true => !field.secret && field.default.as_deref() == Some(chosen),
            false => field.choices.contains_key(chosen),
        };
        SecretField {
            name: field.name.clone(),
            label: Label::new(&field.label),
            hint: field.help.clone(),
            example: field.example.as_deref().map(Label::new),
            secret: field.secret,
            required: !field.optional,
            max_length: VALUE_BYTES_MAX,
            choices: Choice::all(&field.choices),
            chosen: if offered { chosen.to_owned() } else { String::new() },
            problem: self.problems.iter().find(|(place, _)| *place == at).map(|(_, problem)| *problem),
            advice: self.advice.iter().find(|(place, _)| *place == at).map(|(_, advice)| advice.clone()),
        }
    }
}
