//! What the provider sees of the authorize URL.

use consentry_fakes::{Answer, Par};

use super::{CALLBACK, World};
use crate::{provider::Departure, random::Random, scope::Scopes};

/// R57, R67: a fresh challenge each time; resources at both endpoints.
#[tokio::test]
async fn r57_r67_each_departure_has_its_own_challenge() {
    let world = World::start().await.changed(|provider| {
        provider.resource = vec!["https://a.example/".into(), "https://b.example/".into()];
    });
    for _ in 0..2 {
        let trip = world.travel().await;
        world.exchange(&trip).await.unwrap();
    }
    let [first, second] = &world.fake.authorize_log()[..] else { panic!("two requests") };
    assert_ne!(first.parameter("code_challenge"), second.parameter("code_challenge"));
    assert_eq!(first.parameter("code_challenge_method"), Some("S256"));
    assert_eq!(first.parameters.iter().filter(|(name, _)| name == "resource").count(), 2);
    assert_eq!(world.fake.token_log()[0].resources, world.provider.resource);
}

/// R68: where pushed requests are demanded, the URL tells nothing; a failure does not fall back to the plain form.
#[tokio::test]
async fn r68_what_must_be_pushed_is_pushed() {
    let world = World::start().await;
    world.fake.configure(|settings| settings.par = Par::Required);
    let verifier = Random.secret();
    let scopes = Scopes::new(["files.read"]).unwrap();
    let left = world.leave(&verifier, &scopes).await;
    let names: Vec<_> = left.query_pairs().map(|(name, _)| name.into_owned()).collect();
    assert_eq!(names, ["client_id", "request_uri"]);
    let back = world.fake.approve(left.as_str(), "octocat").unwrap();
    let code = super::parameter(&back, "code");
    let tokens =
        world.providers.exchange(&world.provider, &code, &verifier, CALLBACK, &scopes).await.unwrap();
    assert_eq!(tokens.granted, scopes);

    for (answer, unreachable) in [(Answer::status(503), true), (Answer::error(400, "invalid_request"), false)]
    {
        world.fake.next_answer("/par", answer);
        let departure = Departure {
            state: &Random.secret(),
            verifier: &verifier,
            redirect_uri: CALLBACK,
            scopes: &scopes,
            account_hint: None,
        };
        let error = world.providers.departure(&world.provider, departure).await.unwrap_err();
        assert_eq!(error.is_unreachable(), unreachable);
        assert_eq!(error.is_misconfigured(), !unreachable);
    }
}
