//! The pages around a page of the MCP server's own, with made-up data.

use time::macros::datetime;

use super::{CONNECTIONS, Names, SWITCH, again, decline, post};
use crate::web::pages::{
    Account, AlreadyConnected, Asked, AwaitingResult, Before, Connected, Disconnect, Disconnected, Failed,
    FailedBecause, Gone, Kept, Label, Message, NotConnected, NotConnectedBecause, Page, Parting, Ready,
    Revocation, Then, Why,
};

const DONE: &str = "/connect/1/done?attempt=2";

pub(super) fn pages(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let ready = |before| Ready {
        frame: names.frame(),
        asked: names.of_page(),
        before,
        message: Message::new(&names.message),
        new: Vec::new(),
        already: Vec::new(),
        settings: Vec::new(),
        change: None,
        notes: Vec::new(),
        what: Message::new("You pay for the export there, and see what it costs first."),
        provider_host: "files.example.com".to_owned(),
        account_hint: None,
        person: Some(names.person.clone()),
        switch: Some(SWITCH.to_owned()),
        expires_at: Some(datetime!(2026-11-29 20:45 UTC)),
        agree: again(),
        decline: decline(),
    };
    let before = Some(Before { account: Some(names.account.clone()), why: Why::Renew });
    let connected = |label: Option<Label>| Connected {
        frame: names.frame(),
        asked: names.of_page(),
        account: Account::Done(label),
        unchecked: false,
        test_mode: false,
        then: Then::GoBack,
        connections: Some(CONNECTIONS.to_owned()),
    };
    let parting = Parting { kept: Kept::Deed, ..super::connections::parting(names, Vec::new()) };
    vec![
        ("ready-page", Box::new(ready(None))),
        ("ready-page-again", Box::new(ready(before))),
        (
            "already-connected-page",
            Box::new(AlreadyConnected {
                frame: names.frame(),
                asked: names.of_page(),
                message: Message::new(&names.message),
                account: names.account.clone(),
                new: Vec::new(),
                already: Vec::new(),
                keep: Some(post("/connect/1/keep")),
                person: Some(names.person.clone()),
                switch: Some(SWITCH.to_owned()),
                agree: again(),
                decline: decline(),
            }),
        ),
        (
            "awaiting-result",
            Box::new(AwaitingResult {
                frame: names.frame(),
                asked: names.of_page(),
                again: DONE.to_owned(),
                open_again: "/connect?elicitationId=1".to_owned(),
            }),
        ),
        ("connected-page", Box::new(connected(Some(names.account.clone())))),
        ("connected-page-nameless", Box::new(connected(None))),
        (
            "not-connected-twice",
            Box::new(NotConnected {
                frame: names.frame(),
                asked: names.of_page(),
                because: NotConnectedBecause::Twice,
                code: None,
                again: again(),
                decline: decline(),
            }),
        ),
        (
            "failed-page",
            Box::new(Failed { frame: names.frame(), asked: names.of_page(), because: FailedBecause::Page }),
        ),
        (
            "failed-page-anonymous",
            Box::new(Failed {
                frame: names.frame(),
                asked: Asked { client: None, ..names.of_page() },
                because: FailedBecause::Page,
            }),
        ),
        (
            "disconnect-page",
            Box::new(Disconnect {
                frame: names.frame(),
                parting,
                settings: None,
                back: "/connections/1".to_owned(),
            }),
        ),
        (
            "disconnected-page",
            Box::new(Disconnected {
                frame: names.frame(),
                gone: Gone { settings: None, ..super::connections::gone(names, Revocation::Done) },
                again: super::connections::AGAIN.to_owned(),
                connections: CONNECTIONS.to_owned(),
            }),
        ),
    ]
}
