//! The owner types a key: read it, ask the service whether it works, store it. There is no trip and no attempt.
//!
//! Nothing is kept between two posts: what is not stored is gone when the answer is made, and is typed again.

use std::time::Duration;

use crate::{
    app::App,
    config::SecretForm,
    connection::{Account, Connection, ConnectionId, Marks, NewConnection},
    elicitation::{OwnedOpen, State},
    scope::Scopes,
    secret_form::{Checked, Found, Remark, Typed, fingerprint},
    store::Settled,
    values::Values,
};

use super::{Refusal, close, sealing::connection_place};

/// Why nobody knows, though the service has answered in time: its entry is wrong, or nobody told us how it answers.
const UNUSABLE: [&str; 6] =
    ["not_json", "outbound_garbled", "outbound_too_large", "redirect", "status", "unwritable"];
/// How often it is sealed anew when the connection moved meanwhile.
const ROUNDS: usize = 5;

/// What came of values that were typed.
#[derive(Debug)]
pub enum Entered {
    /// They are stored, and the elicitation is completed.
    Stored,
    /// The service does not take them.
    Rejected(Found<Remark>),
    /// Nobody could say whether they work, and the person has not said that they are to be stored all the same.
    Unchecked {
        /// What looks wrong about them.
        remarks: Found<Remark>,
        /// Whether the service did answer, with something that says neither.
        unusable: bool,
    },
    /// They make an address that may not be called.
    Address,
    /// Too many tries; wait so long.
    TooMany(Duration),
}

/// Checks what the owner has typed and stores it; `anyway` stores it also where nobody can say whether it works.
///
/// # Errors
/// [`Refusal::Moved`] when the elicitation was closed meanwhile, [`Refusal::ProviderGone`] when the settings do not have
/// the form any more; the store's.
pub async fn enter(app: &App, mine: &OwnedOpen, typed: Typed, anyway: bool) -> Result<Entered, Refusal> {
    let asked = mine.elicitation();
    let offered = app.may_ask(&asked.server, &asked.provider);
    let Some(form) = offered.as_ref().and_then(|one| one.secret_form()).cloned() else {
        close(app, asked, State::Failed, "provider_removed").await?;
        return Err(Refusal::ProviderGone);
    };
    let remarks = typed.remarks(&form);
    let checked = match app.secret_forms.check(&asked.owner, &form, &typed).await {
        Ok(checked) => checked,
        Err(wait) => return Ok(Entered::TooMany(wait)),
    };
    app.metrics.secret_check(&form.id, &checked);
    let account = match checked {
        Checked::Works(account) => Some(account),
        Checked::Rejected => return Ok(Entered::Rejected(remarks)),
        Checked::Address => return Ok(Entered::Address),
        // Where nothing can be checked the person has read so, and is asked again only when something looks wrong.
        Checked::Unknown(_) if anyway || (form.probe.is_none() && remarks.is_empty()) => None,
        Checked::Unknown(why) => {
            return Ok(Entered::Unchecked { remarks, unusable: UNUSABLE.contains(&why) });
        }
    };
    // Whoever hangs up now does not cut what is stored.
    let (work, mine) = (app.clone(), mine.clone());
    let stored = app.to_the_end(async move { store(&work, &mine, &form, &typed, account).await }).await;
    stored.unwrap_or(Err(Refusal::Moved)).map(|()| Entered::Stored)
}

async fn store(
    app: &App,
    mine: &OwnedOpen,
    form: &SecretForm,
    typed: &Typed,
    account: Option<Account>,
) -> Result<(), Refusal> {
    let asked = mine.elicitation();
    for _ in 0..ROUNDS {
        let existing = app.store.connection_for(&asked.server, &asked.owner, &asked.provider).await?;
        let new = seal(app, mine, form, typed, account.as_ref(), existing.as_ref());
        let over = existing.as_ref().map(|one| (one.id, one.generation));
        match app.store.settle_typed(mine, &new, over, app.clock.now()).await? {
            Settled::Done { completed, .. } => {
                app.metrics.elicitations_ended(State::Completed, completed.len());
                return Ok(());
            }
            Settled::Moved => {}
            Settled::ClosedMeanwhile | Settled::Lost => return Err(Refusal::Moved),
        }
    }
    Err(Refusal::Moved)
}

fn seal(
    app: &App,
    mine: &OwnedOpen,
    form: &SecretForm,
    typed: &Typed,
    account: Option<&Account>,
    existing: Option<&Connection>,
) -> NewConnection {
    let asked = mine.elicitation();
    let id = existing.map_or_else(|| ConnectionId(app.random.row_id(app.clock.now())), |one| one.id);
    let generation = existing.map_or(1, |one| one.generation.saturating_add(1));
    let marks = Marks {
        secret: true,
        unchecked: account.is_none(),
        test_mode: typed.is_of_test_mode(form),
        ..Marks::default()
    };
    let account = account.cloned().unwrap_or_default();
    // By its end its owner knows a key again.
    let label = account.label.or_else(|| typed.tail(form).map(|tail| format!("{TAIL_MARK}{tail}")));
    NewConnection {
        id,
        account: Account { id: account.id, label },
        granted: Scopes::default(),
        asked: Scopes::default(),
        generation,
        access: app.vault.seal(&connection_place(asked, id, "access", generation), typed.to_bytes().expose()),
        refresh: None,
        access_expires_at: None,
        refresh_expires_at: None,
        consent_expires_at: None,
        values: Values::default(),
        fingerprint: Some(fingerprint(form)),
        marks,
    }
}

/// Before the last characters of a key, where no better label is known.
pub const TAIL_MARK: char = '…';
