//! One post to one receiver: signed as Standard Webhooks says, its answer judged.
//!
//! The id is the signal's over all tries, the timestamp is the try's, and the signature is over the very bytes that are
//! sent. What it must never do: follow a redirect, read what the receiver says beyond its status, log the receiver's URL
//! or a secret.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, Method, Request, StatusCode, header};
use zeroize::Zeroizing;

use crate::{
    app::App,
    config::{McpServer, Webhook},
    delivery::{Claimed, Failure},
    ladder,
    secret::{Hash, Secret},
    signal::{Signal, SignalId},
    telemetry::Delivered,
};

use super::Event;

/// A receiver by its URL, as the store keeps it.
pub fn receiver(webhook: &Webhook) -> Hash {
    Hash::of(webhook.url.as_str().as_bytes())
}

/// The value of `webhook-signature`: one signature for each secret. `None` for what is no secret of the format.
pub fn sign(
    secrets: impl IntoIterator<Item = impl AsRef<Secret>>,
    id: SignalId,
    seconds: i64,
    body: &[u8],
) -> Option<String> {
    let mut signatures = Vec::new();
    for secret in secrets {
        let encoded = secret.as_ref().expose().strip_prefix("whsec_")?;
        let key = Zeroizing::new(BASE64_STANDARD.decode(encoded).ok()?);
        let mut signing = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &key));
        signing.update(format!("{id}.{seconds}.").as_bytes());
        signing.update(body);
        signatures.push(format!("v1,{}", BASE64_STANDARD.encode(signing.sign())));
    }
    Some(signatures.join(" "))
}

fn request(webhook: &Webhook, signal: &Signal, seconds: i64) -> Option<Request<Vec<u8>>> {
    let body = serde_json::to_vec(&Event::from(signal)).ok()?;
    let secrets = std::iter::once(&webhook.secret).chain(&webhook.former_secret);
    let signature = sign(secrets, signal.id, seconds, &body)?;
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = webhook.url.as_str().parse().ok()?;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("webhook-id", HeaderValue::from_str(&signal.id.to_string()).ok()?);
    headers.insert("webhook-timestamp", HeaderValue::from(seconds));
    headers.insert("webhook-signature", HeaderValue::from_str(&signature).ok()?);
    Some(request)
}

/// What a try led to.
enum Verdict {
    Taken(u16),
    /// 410: the receiver is no more.
    Gone,
    Failed(Failure, Option<Duration>),
}

/// Posts a delivery that was claimed, and stores what became of it.
pub async fn post(app: &App, server: &McpServer, webhook: &Webhook, claimed: &Claimed) {
    let (id, server, tries) = (claimed.signal.id, &server.id, claimed.tries);
    let verdict = try_once(app, webhook, claimed).await;
    let now = app.clock.now();
    let (outcome, stored) = match verdict {
        Verdict::Taken(status) => (Delivered::Taken, app.store.delivered(id, status, now).await),
        Verdict::Gone => {
            tracing::error!(%server, webhook = %id, "a webhook receiver answered 410: nothing is posted to it any more");
            let failure = Failure { status: Some(StatusCode::GONE.as_u16()), code: "gone" };
            let stored = match app.store.disable_receiver(server, &receiver(webhook), now).await {
                Ok(()) => app.store.put_delivery_off(claimed, Some(now), failure, now).await,
                Err(error) => Err(error),
            };
            (Delivered::Gone, stored)
        }
        Verdict::Failed(failure, asked) => {
            let next = ladder::pause(tries, asked, app.random).map(|pause| now.plus(pause));
            let Failure { status, code } = failure;
            if next.is_some() {
                tracing::warn!(%server, webhook = %id, tries, status, code, "a webhook was not taken");
            } else {
                tracing::error!(%server, webhook = %id, tries, status, code, "a webhook is given up");
            }
            let outcome = if next.is_some() { Delivered::Failed } else { Delivered::Dead };
            (outcome, app.store.put_delivery_off(claimed, next, failure, now).await)
        }
    };
    app.metrics.webhook(server, outcome);
    if let Err(error) = stored {
        // The claim ends by itself, and then it is posted again under the same id.
        tracing::warn!(%server, webhook = %id, %error, "what became of a webhook could not be stored");
    }
}

async fn try_once(app: &App, webhook: &Webhook, claimed: &Claimed) -> Verdict {
    let failed = |code| Verdict::Failed(Failure { status: None, code }, None);
    let Some(request) = request(webhook, &claimed.signal, app.clock.now().seconds()) else {
        return failed("unwritable");
    };
    let answer = match app.outbound.post(request, app.settings.webhooks.timeout).await {
        Ok(answer) => answer,
        Err(error) => return failed(error.code()),
    };
    let status = answer.status.as_u16();
    match answer.status {
        StatusCode::GONE => Verdict::Gone,
        taken if taken.is_success() => Verdict::Taken(status),
        refused => {
            let code = if refused.is_redirection() { "redirect" } else { "status" };
            Verdict::Failed(Failure { status: Some(status), code }, answer.retry_after(answer.received_at))
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// The example of the specification's reference implementations.
    #[test]
    fn r113_the_signature_is_that_of_the_specification() {
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let mut signing = Vec::new();
        signing.extend_from_slice(b"00000000-0000-0000-0000-000000000001.1614265330.");
        signing.extend_from_slice(br#"{"test": 2432232314}"#);
        let key = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &signing);
        let id = SignalId(Uuid::from_u128(1));
        let signature = sign([&secret], id, 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, Some(format!("v1,{}", BASE64_STANDARD.encode(tag))));
    }

    #[test]
    fn r113_each_secret_signs() {
        let secrets = [Secret::new("whsec_YWFh"), Secret::new("whsec_YmJi")];
        let both = sign(&secrets, SignalId(Uuid::nil()), 1, b"{}").unwrap();
        let one = |secret| sign([secret], SignalId(Uuid::nil()), 1, b"{}").unwrap();
        assert_eq!(both, format!("{} {}", one(&secrets[0]), one(&secrets[1])));
        assert_eq!(sign([&Secret::new("other")], SignalId(Uuid::nil()), 1, b"{}"), None);
    }
}
