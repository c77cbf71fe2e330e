//! The pages that say no, with made-up data.

use super::*;

pub(super) fn pages(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let wrong =
        WrongAccount { frame: names.frame(), person: names.person.clone(), switch: SWITCH.to_owned() };
    let provider = || Some(names.provider.clone());
    let mut pages: Vec<(&'static str, Box<dyn Page>)> = vec![
        ("wrong-account", Box::new(wrong)),
        ("not-found", Box::new(NotFound { frame: names.nobody() })),
        (
            "other-browser",
            Box::new(OtherBrowser {
                frame: names.nobody(),
                open_again: Some("/connect?elicitationId=1".to_owned()),
            }),
        ),
        ("other-browser-nameless", Box::new(OtherBrowser { frame: names.nobody(), open_again: None })),
        ("provider-mismatch", Box::new(ProviderMismatch { frame: names.nobody() })),
        (
            "provider-unreachable",
            Box::new(ProviderUnreachable {
                frame: names.frame(),
                provider: provider(),
                unusable: false,
                again: Some(again()),
                change: None,
                decline: Some(decline()),
            }),
        ),
        (
            "provider-unreachable-unusable",
            Box::new(ProviderUnreachable {
                frame: names.frame(),
                provider: provider(),
                unusable: true,
                again: Some(again()),
                change: None,
                decline: Some(decline()),
            }),
        ),
        (
            "provider-unreachable-typed",
            Box::new(ProviderUnreachable {
                frame: names.frame(),
                provider: provider(),
                unusable: false,
                again: Some(again()),
                change: Some("/connect?elicitationId=1&change=input".to_owned()),
                decline: Some(decline()),
            }),
        ),
        (
            "provider-unreachable-nameless",
            Box::new(ProviderUnreachable {
                frame: names.nobody(),
                provider: None,
                unusable: false,
                again: None,
                change: None,
                decline: None,
            }),
        ),
        (
            "provider-misconfigured",
            Box::new(ProviderMisconfigured { frame: names.frame(), provider: provider(), ended: false }),
        ),
        (
            "provider-misconfigured-ended",
            Box::new(ProviderMisconfigured { frame: names.frame(), provider: provider(), ended: true }),
        ),
        (
            "provider-misconfigured-nameless",
            Box::new(ProviderMisconfigured { frame: names.nobody(), provider: None, ended: false }),
        ),
        ("too-many-requests", Box::new(TooManyRequests { frame: names.nobody(), retry_after: 90 })),
        ("unavailable", Box::new(Unavailable { frame: names.nobody() })),
        ("server-error", Box::new(ServerError { frame: names.nobody() })),
        ("signed-out", Box::new(SignedOut { frame: names.nobody() })),
    ];
    for (file, trouble, again) in [
        ("sign-in-failed", SignInTrouble::SaidNo, true),
        ("sign-in-failed-wrong", SignInTrouble::WentWrong, true),
        ("sign-in-failed-late", SignInTrouble::TooLate, false),
        ("sign-in-failed-unreachable", SignInTrouble::Unreachable, true),
    ] {
        let link = |href: &str| again.then(|| href.to_owned());
        let (again, switch) = (link(SIGN_IN), link(SWITCH));
        pages.push((file, Box::new(SignInFailed { frame: names.nobody(), trouble, again, switch })));
    }
    for (file, bad) in [
        ("bad-request", Bad::Malformed),
        ("bad-request-elsewhere", Bad::FromElsewhere),
        ("bad-request-method", Bad::Method),
        ("bad-request-large", Bad::TooLarge),
        ("bad-request-slow", Bad::TooSlow),
        ("bad-request-type", Bad::MediaType),
        ("bad-request-host", Bad::Host),
    ] {
        pages.push((file, Box::new(BadRequest { frame: names.nobody(), bad })));
    }
    pages
}
