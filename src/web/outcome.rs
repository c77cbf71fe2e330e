//! `/connect/{id}/done`: what came of it. Safe to reload, and the same for every request that arrived.

use axum::{extract::RawQuery, response::Response};

use crate::{
    config::PreconditionKind,
    connect::{self, Opened, View, offered, tenants},
    elicitation::{Attempt, AttemptId, AttemptState, Elicitation, ElicitationId, Outcome, State},
    provider::Tenant,
};

use super::{
    here::{Here, connect_path, done_path, see_other},
    pages::{self, Bad, CancelledBy, FailedBecause, Frame, Label, NotConnectedBecause},
    parameters::Parameters,
    segments::Segments,
};

/// Characters of a label that has its id beside it: both are seen.
const LABEL_BESIDE_ID: usize = 40;

/// `GET /connect/{id}/done[?attempt=]`.
pub async fn show(here: Here, Segments(id): Segments<String>, RawQuery(query): RawQuery) -> Response {
    let Ok(id) = id.parse::<ElicitationId>() else { return here.not_found() };
    let Ok(parameters) = Parameters::query(query.as_deref()) else { return here.bad(Bad::Malformed) };
    let attempt = match parameters.get("attempt").map(str::parse::<AttemptId>) {
        Some(Err(_)) => return here.not_found(),
        Some(Ok(attempt)) => Some(attempt),
        None => None,
    };
    let visit = match here.look(id).await {
        Ok(visit) => visit,
        Err(refusal) => return here.refuse(refusal, id, None),
    };
    let visitor = visit.visitor.clone();
    let opened = match connect::open(&here.app, visit) {
        Ok(opened) => opened,
        Err(refusal) => return here.refuse(refusal, id, visitor.as_ref()),
    };
    let attempt = match attempt {
        None => None,
        Some(attempt) => match opened.attempt(&here.app, attempt).await {
            Ok(attempt) => Some(attempt),
            Err(refusal) => return here.refuse(refusal, id, Some(&opened.visitor)),
        },
    };
    here.outcome(&opened, attempt.as_ref())
}

impl Here {
    fn outcome(&self, opened: &Opened, attempt: Option<&Attempt>) -> Response {
        let asked = opened.mine.elicitation();
        match attempt.map(|attempt| (attempt, attempt.state)) {
            // The process that claimed it has died; the sweeper will say so.
            Some((attempt, AttemptState::Claimed)) if attempt.is_given_up(self.app.clock.now()) => {
                self.settled(opened, attempt, Outcome::Unreachable)
            }
            Some((attempt, AttemptState::Claimed)) => self.show(&pages::Working {
                frame: self.frame_of(&opened.visitor),
                asked: self.asked(asked),
                again: done_path(asked.id, Some(attempt.id)),
            }),
            Some((attempt, AttemptState::Offered)) => self.offered(opened, attempt),
            Some((attempt, AttemptState::Settled)) => match attempt.outcome {
                Some(outcome) => self.settled(opened, attempt, outcome),
                None => self.as_it_stands(opened),
            },
            Some((attempt, AttemptState::Live)) if self.is_awaited(opened, attempt) => {
                self.show(&pages::AwaitingResult {
                    frame: self.frame_of(&opened.visitor),
                    asked: self.asked(asked),
                    again: done_path(asked.id, Some(attempt.id)),
                    open_again: connect_path(asked.id),
                })
            }
            Some((_, AttemptState::Live)) | None => self.as_it_stands(opened),
        }
    }

    /// Whether the browser is back, and the MCP server has still to say what came of it.
    fn is_awaited(&self, opened: &Opened, attempt: &Attempt) -> bool {
        let now = self.app.clock.now();
        attempt.is_waiting(now) && opened.mine.elicitation().state(now).is_open()
    }

    /// Without an attempt that says more: the elicitation's own state.
    fn as_it_stands(&self, opened: &Opened) -> Response {
        match opened.view(&self.app) {
            View::Ready(mine) | View::NeedsInput(mine) | View::AlreadyConnected(mine) => {
                see_other(&connect_path(mine.elicitation().id))
            }
            View::Satisfied(mine) => self.connected(opened, mine.elicitation(), None),
            View::Ended(mine, state) => self.ended(opened, mine.elicitation(), state),
        }
    }

    fn settled(&self, opened: &Opened, attempt: &Attempt, outcome: Outcome) -> Response {
        let asked = opened.mine.elicitation();
        // What is in the log of the trip, whichever request shows the page.
        let frame = || Frame { reference: attempt.id.reference(), ..self.frame_of(&opened.visitor) };
        let now = self.app.clock.now();
        // A later attempt may have ended it well; then that is what counts.
        if asked.state(now) == State::Completed {
            return self.connected(opened, asked, Some(attempt));
        }
        let misconfigured = matches!(outcome, Outcome::Misconfigured);
        if !asked.state(now).is_open() && !misconfigured {
            return self.ended(opened, asked, asked.state(now));
        }
        let not_connected = |because| {
            self.show(&pages::NotConnected {
                frame: frame(),
                asked: self.asked(asked),
                because,
                code: attempt.detail.as_deref().map(Label::new),
                again: self.agree_post(asked),
                decline: self.decline_post(asked),
            })
        };
        match outcome {
            Outcome::Connected | Outcome::PartlyConnected => self.connected(opened, asked, Some(attempt)),
            Outcome::Denied => not_connected(NotConnectedBecause::SaidNo),
            Outcome::CodeRefused => not_connected(match attempt.detail.as_deref() {
                Some(connect::NO_REFRESH_TOKEN) => NotConnectedBecause::NothingLasting,
                Some(Outcome::TWICE) => NotConnectedBecause::Twice,
                Some(_) => NotConnectedBecause::ProviderError,
                None => NotConnectedBecause::TooLate,
            }),
            Outcome::AdminApproval => self.show(&pages::AdminApproval {
                frame: frame(),
                asked: self.asked(asked),
                approve: self.approval_page(opened),
                code: attempt.detail.as_deref().map(Label::new),
                again: self.agree_post(asked),
                decline: self.decline_post(asked),
            }),
            Outcome::Unreachable | Outcome::Unusable => self.show(&pages::ProviderUnreachable {
                frame: frame(),
                provider: Some(self.asked(asked).provider),
                unusable: outcome == Outcome::Unusable,
                again: Some(self.agree_post(asked)),
                change: self.settings(opened).1,
                decline: Some(self.decline_post(asked)),
            }),
            Outcome::Misconfigured => self.show(&pages::ProviderMisconfigured {
                frame: frame(),
                provider: Some(self.asked(asked).provider),
                ended: !asked.state(now).is_open(),
            }),
            Outcome::KeptPrevious | Outcome::ClosedMeanwhile | Outcome::Ended => self.as_it_stands(opened),
        }
    }

    /// What came back waits for the person's word: which tenant, or which account.
    fn offered(&self, opened: &Opened, attempt: &Attempt) -> Response {
        let asked = opened.mine.elicitation();
        if !asked.state(self.app.clock.now()).is_open() {
            return self.as_it_stands(opened);
        }
        match tenants(&self.app, opened, attempt) {
            Ok(tenants) if tenants.is_empty() => self.account_changed(opened, attempt),
            Ok(tenants) => self.choose_tenant(opened, attempt, &tenants),
            Err(refusal) => self.refuse(refusal, asked.id, Some(&opened.visitor)),
        }
    }

    fn choose_tenant(&self, opened: &Opened, attempt: &Attempt, tenants: &[Tenant]) -> Response {
        let asked = opened.mine.elicitation();
        let account = match offered(&self.app, opened, attempt) {
            Ok(account) => account,
            Err(refusal) => return self.refuse(refusal, asked.id, Some(&opened.visitor)),
        };
        // What was chosen the last time stands there at first.
        let before = opened.connection.as_ref().map(|one| &one.values);
        let same = |one: &&Tenant| before.is_some_and(|values| values.hold(&one.values));
        let first = tenants.iter().find(same).or(tenants.first());
        self.show(&pages::ChooseTenant {
            frame: self.frame_of(&opened.visitor),
            asked: self.asked(asked),
            account: account.label.as_deref().map(Label::new),
            first: first.map(|one| one.id.clone()).unwrap_or_default(),
            tenants: tenants
                .iter()
                .map(|one| pages::Choice { value: one.id.clone(), label: Label::new(&one.label) })
                .collect(),
            submit: self.post_of(asked, "input").with("attempt", attempt.id.to_string()),
            decline: self.decline_post(asked).with("attempt", attempt.id.to_string()),
        })
    }

    fn account_changed(&self, opened: &Opened, attempt: &Attempt) -> Response {
        let asked = opened.mine.elicitation();
        let account = match offered(&self.app, opened, attempt) {
            Ok(account) => account,
            Err(refusal) => return self.refuse(refusal, asked.id, Some(&opened.visitor)),
        };
        let previous = opened.connection.as_ref();
        let label = previous.and_then(|one| one.account.label.as_deref());
        let new = account.label.as_deref().or(account.id.as_deref()).unwrap_or_default();
        let former = label.unwrap_or_default();
        // Two that read alike are told apart by what never is.
        let alike = Label::new(new) == Label::new(former);
        let with_id = |label: &str, id: Option<&str>| match id.filter(|_| alike) {
            Some(id) => format!("{} ({id})", label.chars().take(LABEL_BESIDE_ID).collect::<String>()),
            None => label.to_owned(),
        };
        let new = with_id(new, account.id.as_deref());
        let former = with_id(former, previous.and_then(|one| one.account.id.as_deref()));
        let suffices = previous.is_some_and(|one| one.covers(&asked.scopes, self.app.clock.now()));
        self.show(&pages::AccountChanged {
            frame: self.frame_of(&opened.visitor),
            asked: self.asked(asked),
            new: Label::new(&new),
            previous: Label::new(&former),
            previous_suffices: suffices,
            answer: self.post_of(asked, "account").with("seen", connect::seen(previous)),
            attempt: attempt.id.to_string(),
            decline: Some(self.decline_post(asked).with("attempt", attempt.id.to_string())),
        })
    }

    /// Where an administrator allows it, as far as the settings say.
    fn approval_page(&self, opened: &Opened) -> Option<pages::Away> {
        let provider = connect::leads_to(&self.app, opened)?;
        let admins = provider.reads.preconditions.iter().filter(|one| one.kind == PreconditionKind::Admin);
        admins.filter_map(|one| one.url.clone()).find_map(pages::Away::new)
    }

    /// The page of a final state.
    pub fn ended(&self, opened: &Opened, asked: &Elicitation, state: State) -> Response {
        let (frame, who) = (self.frame_of(&opened.visitor), self.asked(asked));
        let reason = asked.reason.as_deref();
        match state {
            State::Completed => self.connected(opened, asked, None),
            State::Declined => self.show(&pages::Declined { frame, asked: who }),
            State::Cancelled => {
                let by = CancelledBy::of(reason);
                self.show(&pages::Cancelled { frame, asked: who, by })
            }
            State::Expired => {
                let restart = Some(self.post_of(asked, "restart"));
                self.show(&pages::Expired { frame, asked: who, restart })
            }
            State::Failed => {
                let because = FailedBecause::of(reason);
                self.show(&pages::Failed { frame, asked: who, because })
            }
            // An open elicitation has no outcome yet; its question is the page.
            State::Pending | State::Authorizing => see_other(&connect_path(asked.id)),
        }
    }
}
