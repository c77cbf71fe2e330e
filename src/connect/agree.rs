//! The person agreed: an attempt is begun, and the browser is sent to the provider.

use std::sync::Arc;

use crate::{
    app::App,
    config::Provider,
    connection::Connection,
    credential::client,
    elicitation::{Attempt, AttemptId, Elicitation, NewAttempt, OwnedOpen, State},
    provider::{Departure, fingerprint, to_ask},
    scope::Scopes,
    secret::Secret,
    values::Values,
};

use super::{
    Refusal, close,
    cookie::AttemptCookie,
    hosted,
    input::{armed, concrete, of_attempt},
    open::{Opened, View},
    sealing::attempt_place,
};

/// A begun attempt.
#[derive(Debug)]
pub struct Begun {
    /// Names it in our own URLs.
    pub id: AttemptId,
    /// The value of its cookie.
    pub cookie: String,
}

/// Begins a trip to the provider (R57, R59, R60). Asks for what is granted and wanted together, so that stepping up
/// for one tool takes nothing from another.
///
/// # Errors
/// [`Refusal::Moved`] when the elicitation was closed meanwhile; the provider's or the store's.
pub async fn begin(app: &App, mine: &OwnedOpen, opened: &Opened) -> Result<Begun, Refusal> {
    let now = app.clock.now();
    let asked = mine.elicitation();
    if app.may_visit(&asked.server, &asked.provider).is_some() {
        return hosted::begin(app, mine, opened).await;
    }
    let Some(offered) = app.offers(&asked.server, &asked.provider) else {
        // No further trip can mend it.
        close(app, asked, State::Failed, "provider_removed").await?;
        return Err(Refusal::Moved);
    };
    let (values, provider, scopes) = leads_to(app, asked, &offered, opened.connection.as_ref()).await?;
    let endpoints = app.providers.endpoints(&provider).await?;
    let id = AttemptId(app.random.row_id(now));
    let cookie = AttemptCookie::fresh(app.random);
    let (state_hash, binding_hash) = cookie.hashes();
    let verifier = app.random.secret();
    let attempt = NewAttempt {
        id,
        browser: opened.visitor.browser,
        state_hash,
        binding_hash,
        verifier: Some(app.vault.seal(&attempt_place(asked, id, "verifier"), verifier.expose().as_bytes())),
        expected_issuer: endpoints.issuer.clone(),
        issuer_required: endpoints.issuer_always_sent,
        redirect_uri: app.redirect_uri(&asked.server, &asked.provider),
        scopes,
        values,
        fingerprint: Some(fingerprint(&provider)),
        expires_at: now.plus(app.settings.lifetimes.attempt).min(asked.expires_at),
        page: None,
    };
    if !app.store.begin(mine, &attempt, now).await? {
        return Err(Refusal::Moved);
    }
    Ok(Begun { id, cookie: cookie.seal(&app.vault, id) })
}

/// Where the trip goes, with the values that are kept of it, and what it asks for.
async fn leads_to(
    app: &App,
    asked: &Elicitation,
    offered: &Provider,
    connection: Option<&Connection>,
) -> Result<(Values, Arc<Provider>, Scopes), Refusal> {
    if offered.mcp.is_none() {
        let (values, provider) = concrete(app, asked, connection)?;
        let scopes = to_ask(&provider, connection, &asked.scopes);
        return Ok((values, provider, scopes));
    }
    let client::Beginning { values, provider, scopes, always } =
        client::begin(app, &asked.server, offered).await?;
    let scopes = if asked.scopes.is_empty() && offered.scopes.is_empty() {
        // What the MCP server asks for now. It may know no more what was granted before, unless the settings still do.
        let before = connection.map(|one| one.granted.without(&one.granted.without(&offered.allowed_scopes)));
        scopes.union(&before.unwrap_or_default())
    } else {
        to_ask(&provider, connection, &asked.scopes)
    };
    Ok((values, provider, scopes.union(&always)))
}

/// The authorize URL of a live attempt, or the address of the page that it visits, for the browser that began it.
///
/// # Errors
/// [`Refusal::OtherBrowser`] without the attempt's cookie, [`Refusal::Moved`] when its `state` is spent or too old.
pub async fn leave(
    app: &App,
    opened: &Opened,
    attempt: &Attempt,
    cookie: Option<&str>,
) -> Result<url::Url, Refusal> {
    let asked = opened.mine.elicitation();
    let cookie = AttemptCookie::open(&app.vault, attempt, cookie).ok_or(Refusal::OtherBrowser)?;
    if attempt.page.is_some() {
        let page = app.may_visit(&asked.server, &asked.provider).ok_or(Refusal::ProviderGone)?;
        return hosted::leave(app, &page, attempt, &cookie);
    }
    let verifier = attempt.verifier.as_ref().filter(|_| attempt.is_live(app.clock.now()));
    let sealed = verifier.ok_or(Refusal::Moved)?;
    let verifier: Secret = app
        .vault
        .open(&attempt_place(asked, attempt.id, "verifier"), sealed)?
        .into_secret()
        .ok_or(crate::vault::OpenError::Malformed)?;
    let provider = armed(app, asked, of_attempt(app, asked, attempt)?).await?;
    let departure = Departure {
        state: &cookie.state,
        verifier: &verifier,
        redirect_uri: &attempt.redirect_uri,
        scopes: &attempt.scopes,
        account_hint: hint(app, &provider, opened, attempt),
    };
    Ok(app.providers.departure(&provider, departure).await?)
}

/// The account that was connected before, for the provider to offer; nothing for who wants another one, or goes to another
/// place. By `login_hint` it is an address or nothing, for another label might not be one (OpenID Connect Core, section
/// 3.1.2.1).
fn hint<'a>(app: &App, provider: &Provider, opened: &'a Opened, attempt: &Attempt) -> Option<&'a str> {
    // Who connects although the connection will do wants another account.
    if matches!(opened.view(app), View::AlreadyConnected(_)) {
        return None;
    }
    let here = opened.connection.as_ref().filter(|one| one.fingerprint == attempt.fingerprint)?;
    let label = here.account.label.as_deref()?;
    let fits = match provider.account_hint_param.as_str() {
        "" => false,
        "login_hint" => is_address(label),
        _ => !label.contains(char::is_whitespace),
    };
    fits.then_some(label)
}

/// A plain address of electronic mail, with nothing around it.
fn is_address(label: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+' | b'\'' | b'%')
            })
    };
    label.len() <= 254 && label.split_once('@').is_some_and(|(name, host)| plain(name) && plain(host))
}

#[cfg(test)]
mod tests {
    use super::is_address;

    #[test]
    fn only_a_plain_address_is_one() {
        for (label, expected) in [
            ("ann@example.com", true),
            ("ann.o'hara+x@mail.example.com", true),
            ("ann@example.com (Ann's shop)", false),
            ("Ann <ann@example.com>", false),
            ("ann", false),
            ("@example.com", false),
            ("ann@", false),
            ("ann@b@c", false),
        ] {
            assert_eq!(is_address(label), expected, "{label}");
        }
    }
}
