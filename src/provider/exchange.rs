//! The code for tokens (RFC 6749, section 4.1.3; RFC 7636, section 4.5).
//!
//! One request. What it must never do: send a code twice (R86), try another way of proving ourselves, follow a redirect.

use http::Request;

use crate::{
    clock::Clock,
    config::{Provider, Slot},
    outbound::Outbound,
    provider::{
        answer::{self, Answered, Reading},
        coverage,
        endpoints::Endpoints,
        failure::Failure,
        request::token_request,
        steps,
        tokens::Tokens,
    },
    scope::Scopes,
    secret::Secret,
};

/// What the browser brought back, and what its attempt remembers.
pub(super) struct Grant<'a> {
    pub(super) code: &'a Secret,
    pub(super) verifier: &'a Secret,
    pub(super) redirect_uri: &'a str,
    pub(super) asked: &'a Scopes,
}

pub(super) async fn exchange(
    provider: &Provider,
    endpoints: &Endpoints,
    grant: Grant<'_>,
    outbound: &Outbound,
    clock: &Clock,
) -> Result<Tokens, Failure> {
    let mut pairs = vec![
        ("grant_type", "authorization_code"),
        ("code", grant.code.expose()),
        ("redirect_uri", grant.redirect_uri),
    ];
    if provider.pkce {
        pairs.push(("code_verifier", grant.verifier.expose()));
    }
    pairs.extend(provider.resource.iter().map(|resource| ("resource", resource.as_str())));
    let (url, more) = (&endpoints.token, &provider.sending.token_params);
    let request = token_request(url, provider, endpoints, &pairs, more, clock.now());
    let request = request.map_err(Failure::before_sending)?;
    let tokens = ask(request, provider, None, grant.asked, outbound, clock).await?;
    let tokens = steps::after(provider, tokens, outbound, clock).await?;
    Ok(steps::renewable(provider, tokens))
}

/// Sends a token request, once, and reads what comes back: for the further token `slot`, where there is one.
pub(super) async fn ask(
    request: Request<Vec<u8>>,
    provider: &Provider,
    slot: Option<&Slot>,
    asked: &Scopes,
    outbound: &Outbound,
    clock: &Clock,
) -> Result<Tokens, Failure> {
    let answer = outbound.send(request).await.map_err(Failure::of_outbound)?;
    match Answered::of_tokens(&answer, &provider.reads.answer) {
        Answered { status: 200..=299, reading: Reading::Fields(fields), .. } => {
            let now = clock.now();
            let read = match slot {
                Some(slot) => answer::tokens_of_slot(fields, provider, slot, asked, now),
                None => answer::tokens(fields, provider, asked, now),
            };
            let unusable = |what| Failure::unusable(what).found(answer::lost(what, &answer, provider));
            let mut tokens = read.map_err(unusable)?;
            tokens.granted = coverage::granted(provider, &tokens.granted);
            for slot in tokens.slots.values() {
                tokens.granted = tokens.granted.union(&coverage::as_asked(provider, &slot.granted));
            }
            Ok(tokens)
        }
        other => {
            let failure = Failure::of_answer(provider, &other);
            Err(match failure.code {
                Some(_) => failure,
                None => failure.found(answer::unsaid(&answer, &provider.reads.answer)),
            })
        }
    }
}
