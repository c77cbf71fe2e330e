//! What a provider's addresses still need: from whom it is known, what the person typed, what the response says.
//!
//! The operator's values win, then the caller's, then what the person typed for this question, then what the connection
//! was made with. What it must never do: take a value that its own rules refuse, whoever gave it and whenever it was stored.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    app::App,
    config::{
        Blueprint, NotGiven, Provider,
        variables::{Ask, Part, Unfit, Variable},
    },
    connection::{Connection, PROVIDER_CHANGED},
    credential::client::{self, ClientError},
    elicitation::{Attempt, Elicitation, OwnedOpen, ProviderId},
    provider::{NotConcrete, ProviderError, fingerprint},
    values::Values,
};

use super::{Refusal, open::Opened};

/// Parameters of a response that are kept, and bytes of a name and a value.
const SAID_MAX: usize = 32;
const SAID_NAME_MAX: usize = 64;
const SAID_VALUE_MAX: usize = 1_024;
/// The values lead where nothing may be called.
const VARIABLE_UNFIT: &str = "variable_unfit";
/// What is not kept: it is read for itself, or it is a secret.
const READ_ALREADY: [&str; 3] = ["state", "code", "iss"];

/// What a response says beside its verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said(BTreeMap<String, String>);

impl Said {
    /// Reads what is short; the rest is as if it were not there.
    pub(super) fn read(parameters: &[(String, String)]) -> Self {
        let short = |(name, value): &&(String, String)| {
            name.len() <= SAID_NAME_MAX
                && value.len() <= SAID_VALUE_MAX
                && !READ_ALREADY.contains(&name.as_str())
        };
        Self(parameters.iter().filter(short).take(SAID_MAX).cloned().collect())
    }

    /// A parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// A field of the page.
#[derive(Clone, Debug)]
pub struct Input {
    /// The variable's name.
    pub name: String,
    /// The variable.
    pub variable: Variable,
    /// What stands there at first.
    pub value: String,
}

/// What the person is asked for.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The fields, in the order of their names.
    pub fields: Vec<Input>,
    /// Names that nobody here can give.
    pub beyond: Vec<String>,
}

/// What came of a form.
#[derive(Debug)]
pub enum Typed {
    /// Stored.
    Taken,
    /// Some values do not fit: why, by the variable's name. Nothing was stored.
    Wrong(BTreeMap<String, Unfit>),
}

/// All that the person may say: what is not known, and what they could change.
pub fn inputs(app: &App, asked: &Elicitation, connection: Option<&Connection>) -> Inputs {
    let mut inputs = Inputs::default();
    let Some(provider) = app.providers.get(&asked.provider) else { return inputs };
    let Some(blueprint) = provider.blueprint.as_deref() else { return inputs };
    let known = blueprint.known(&sources(asked, connection));
    for (name, variable) in &blueprint.variables {
        if is_the_persons(blueprint, asked, name, variable) {
            let value = known.values.get(name).unwrap_or_default().to_owned();
            inputs.fields.push(Input { name: name.clone(), variable: variable.clone(), value });
        } else if known.missing.contains(name) && variable.from_callback.is_none() {
            inputs.beyond.push(name.clone());
        }
    }
    inputs
}

/// A variable without a value that only the caller may give, where it has not: then nobody can answer the question.
pub fn unanswerable(
    app: &App,
    provider: &ProviderId,
    given: &Values,
    existing: Option<&Connection>,
) -> Option<String> {
    let provider = app.providers.get(provider)?;
    let blueprint = provider.blueprint.as_deref()?;
    let sources: Vec<&Values> = [given].into_iter().chain(existing.map(|one| &one.values)).collect();
    blueprint.known(&sources).missing.into_iter().find(|name| {
        let variable = blueprint.variables.get(name);
        variable.is_some_and(|one| one.may(Ask::Caller) && !one.may(Ask::User))
    })
}

/// Whether the page is shown before anything else: something is not known that the person can say.
pub(super) fn is_needed(app: &App, opened: &Opened) -> bool {
    let asked = opened.mine.elicitation();
    let inputs = inputs(app, asked, opened.connection.as_ref());
    inputs.fields.iter().any(|field| field.value.is_empty())
}

/// Stores what the person typed, if all of it fits. `get` gives a field of the form.
///
/// # Errors
/// [`Refusal::Moved`] when it was closed meanwhile, or the provider has no such fields any more; the store's.
pub async fn type_in(
    app: &App,
    mine: &OwnedOpen,
    get: impl Fn(&str) -> Option<String>,
) -> Result<Typed, Refusal> {
    let asked = mine.elicitation();
    let provider = app.offers(&asked.server, &asked.provider).ok_or(Refusal::Moved)?;
    let blueprint = provider.blueprint.as_deref().ok_or(Refusal::Moved)?;
    let (mut typed, mut wrong) = (asked.typed.clone(), BTreeMap::new());
    for (name, variable) in &blueprint.variables {
        if !is_the_persons(blueprint, asked, name, variable) {
            continue;
        }
        let text = get(name).unwrap_or_default();
        match blueprint.accept(Ask::User, name, &text) {
            Ok(value) => {
                if typed.insert(name, &value).is_err() {
                    wrong.insert(name.clone(), Unfit::Pattern);
                }
            }
            Err(NotGiven::Unfit(unfit)) => {
                wrong.insert(name.clone(), unfit);
            }
            Err(NotGiven::NotAllowed) => {}
        }
    }
    if !wrong.is_empty() {
        return Ok(Typed::Wrong(wrong));
    }
    if let Err(unfit) = is_reachable(app, asked, &typed).await {
        let name = blueprint.variables.iter().filter(|(name, it)| is_the_persons(blueprint, asked, name, it));
        let (hosts, others): (Vec<_>, Vec<_>) =
            name.partition(|(_, variable)| matches!(variable.part, Part::Host(_)));
        let of = if hosts.is_empty() { others } else { hosts };
        return Ok(Typed::Wrong(of.into_iter().map(|(name, _)| (name.clone(), unfit)).collect()));
    }
    if app.store.type_values(mine, &typed, app.clock.now()).await? {
        Ok(Typed::Taken)
    } else {
        Err(Refusal::Moved)
    }
}

/// Whether what comes of these values may be called, DNS asked as well: better told at the field than after the trip.
async fn is_reachable(app: &App, asked: &Elicitation, typed: &Values) -> Result<(), Unfit> {
    let known = app.providers.variables(&asked.provider, &[&asked.values, typed]).values;
    let provider = match app.providers.departing(&asked.provider, &[&known]) {
        Ok(provider) => provider,
        // Each value fits; what comes of it may not be called.
        Err(NotConcrete::Unfit) => return Err(Unfit::Private),
        // Not by this form.
        Err(NotConcrete::Missing(_) | NotConcrete::Unconfigured | NotConcrete::Changed) => return Ok(()),
    };
    let issuer = provider.issuer.as_deref().and_then(|issuer| url::Url::parse(issuer).ok());
    for url in [issuer, provider.token_endpoint.clone()].into_iter().flatten() {
        app.outbound.admits(&url).await.map_err(|_| Unfit::Private)?;
    }
    Ok(())
}

fn is_the_persons(blueprint: &Blueprint, asked: &Elicitation, name: &str, variable: &Variable) -> bool {
    variable.may(Ask::User) && blueprint.given.get(name).is_none() && asked.values.get(name).is_none()
}

fn sources<'a>(asked: &'a Elicitation, connection: Option<&'a Connection>) -> Vec<&'a Values> {
    [&asked.values, &asked.typed].into_iter().chain(connection.map(|one| &one.values)).collect()
}

/// The provider as far as it is known where this question leads.
pub fn leads_to(app: &App, opened: &Opened) -> Option<Arc<Provider>> {
    let asked = opened.mine.elicitation();
    let concrete = concrete(app, asked, opened.connection.as_ref());
    concrete.map(|(_, provider)| provider).ok().or_else(|| app.providers.get(&asked.provider))
}

/// The provider that a trip of this question begins at, with the variables that are known of it.
///
/// # Errors
/// [`Refusal::Moved`] when something is not known that the person can say: their page asks for it.
pub(super) fn concrete(
    app: &App,
    asked: &Elicitation,
    connection: Option<&Connection>,
) -> Result<(Values, Arc<Provider>), Refusal> {
    let sources = sources(asked, connection);
    let known = app.providers.variables(&asked.provider, &sources).values;
    match app.providers.departing(&asked.provider, &[&known]) {
        Ok(provider) => Ok((known, provider)),
        Err(NotConcrete::Missing(_)) if inputs(app, asked, connection).beyond.is_empty() => {
            Err(Refusal::Moved)
        }
        Err(error) => Err(refused(&error)),
    }
}

/// The provider that a trip was begun at.
///
/// # Errors
/// [`Refusal::ProviderGone`]; [`ProviderError::Misconfigured`] when it is another place by now (R63).
pub(super) fn of_attempt(
    app: &App,
    asked: &Elicitation,
    attempt: &Attempt,
) -> Result<Arc<Provider>, Refusal> {
    app.offers(&asked.server, &asked.provider).ok_or(Refusal::ProviderGone)?;
    let provider =
        app.providers.departing(&asked.provider, &[&attempt.values]).map_err(|error| refused(&error))?;
    if attempt.fingerprint.is_some_and(|begun| begun != fingerprint(&provider)) {
        return Err(ProviderError::misconfigured(PROVIDER_CHANGED).into());
    }
    Ok(provider)
}

/// The provider with what proves our client there.
///
/// # Errors
/// [`ProviderError::Misconfigured`] when that client is no more; the store's and the vault's.
pub(super) async fn armed(
    app: &App,
    asked: &Elicitation,
    provider: Arc<Provider>,
) -> Result<Arc<Provider>, Refusal> {
    match client::armed(app, &asked.server, provider).await {
        Ok(Some(provider)) => Ok(provider),
        Ok(None) => Err(ProviderError::misconfigured(PROVIDER_CHANGED).into()),
        Err(ClientError::Store(error)) => Err(error.into()),
        Err(ClientError::Open(error)) => Err(error.into()),
    }
}

/// The provider that a trip has come back from: with what its response says of itself, held against the same rules.
/// `attempt` gets its values and its place.
///
/// # Errors
/// As [`of_attempt`]; [`ProviderError::Malformed`] for a response that names no place, or one that is not the provider's.
pub(super) async fn come_back(
    app: &App,
    asked: &Elicitation,
    attempt: &mut Attempt,
    said: &Said,
) -> Result<Arc<Provider>, Refusal> {
    let departed = of_attempt(app, asked, attempt)?;
    let Some(blueprint) = &departed.blueprint else { return Ok(departed) };
    let mut told = Values::default();
    for (name, variable) in &blueprint.variables {
        let Some(parameter) = &variable.from_callback else { continue };
        let value = match said.get(parameter) {
            Some(text) => Some(variable.accept(text).map_err(|_| malformed())?),
            None => variable.default.clone(),
        };
        told.insert(name, &value.ok_or_else(malformed)?).map_err(|_| malformed())?;
    }
    if told.is_empty() {
        return Ok(departed);
    }
    let values = attempt.values.with(&told);
    let provider = app.providers.with(&asked.provider, &[&values]).map_err(|error| refused(&error))?;
    attempt.values = values;
    attempt.fingerprint = Some(fingerprint(&provider));
    if !app.store.keep_values(attempt).await? {
        return Err(Refusal::Moved);
    }
    Ok(provider)
}

fn malformed() -> Refusal {
    ProviderError::Malformed { what: "callback_value" }.into()
}

/// Whether it is for an address that may not be called: where a person typed a part of it, they can mend it.
pub fn leads_astray(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Policy) || error.detail() == Some(VARIABLE_UNFIT)
}

fn refused(error: &NotConcrete) -> Refusal {
    match error {
        NotConcrete::Unconfigured => Refusal::ProviderGone,
        NotConcrete::Missing(_) => ProviderError::misconfigured("variable_missing").into(),
        NotConcrete::Unfit => ProviderError::misconfigured(VARIABLE_UNFIT).into(),
        NotConcrete::Changed => ProviderError::misconfigured(PROVIDER_CHANGED).into(),
    }
}
