//! Every page with made-up data: for the tests, and to look at (`cargo run --example pages`).

mod connections;
mod hosted;
mod refusal;

use time::macros::datetime;

use super::*;

/// The names that the sample pages are filled with.
pub struct Names {
    server: Label,
    provider: Label,
    client: Label,
    person: Label,
    account: Label,
    other: Label,
    message: String,
    words: Label,
}

impl Names {
    /// As in life.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            server: "Example Files".into(),
            provider: "GitHub".into(),
            client: "Claude Code".into(),
            person: "alice@example.com".into(),
            account: "octocat".into(),
            other: "hubot".into(),
            message: "Connect GitHub to list your repositories.".to_owned(),
            words: "See and change your repositories".into(),
        }
    }

    /// All of them `text`.
    #[must_use]
    pub fn all(text: &str) -> Self {
        let label = || Label::new(text);
        Self {
            server: label(),
            provider: label(),
            client: label(),
            person: label(),
            account: label(),
            other: label(),
            message: text.to_owned(),
            words: label(),
        }
    }

    fn frame(&self) -> Frame {
        let person = SignedIn { label: self.person.clone(), sign_out: post("/sign-out") };
        Frame { signed_in: Some(person), ..self.nobody() }
    }

    fn nobody(&self) -> Frame {
        Frame {
            operator: "Example Inc.".into(),
            host: "connect.example.com".to_owned(),
            signed_in: None,
            reference: "0193-7f3a-9c21".to_owned(),
            help: Away::parse("https://help.example.com/"),
            privacy: Away::parse("https://example.com/privacy"),
        }
    }

    fn asked(&self) -> Asked {
        Asked {
            server: self.server.clone(),
            provider: self.provider.clone(),
            mark: self.mark(),
            page: false,
            client: Some(self.client.clone()),
        }
    }

    fn mark(&self) -> Mark {
        Mark::new("github", &self.provider)
    }

    fn of_page(&self) -> Asked {
        Asked { page: true, ..self.asked() }
    }

    fn anonymous(&self) -> Asked {
        Asked { client: None, ..self.asked() }
    }

    fn notes(&self) -> Vec<Note> {
        let link = Away::parse("https://github.com/apps/example-files");
        let first =
            format!("An owner of your organisation must have installed our app at {}.", self.provider);
        let picker = "On the next page, choose the repositories to share.";
        let first = Message::new(&first).map(|text| Note { text, link });
        first.into_iter().chain(Message::new(picker).map(|text| Note { text, link: None })).collect()
    }

    fn permissions(&self) -> Vec<Permission> {
        vec![
            Permission { words: self.words.clone(), technical: "repo".into() },
            Permission { words: "Read your profile".into(), technical: "read:user".into() },
        ]
    }

    fn field(&self, name: &str, label: &str, choices: &[&str]) -> Field {
        let choice = |value: &&str| Choice { value: (*value).to_owned(), label: (*value).into() };
        Field {
            name: name.to_owned(),
            label: label.into(),
            hint: None,
            example: choices.is_empty().then(|| "acme.example.net".into()),
            value: choices.first().map_or_else(|| self.account.to_string(), |value| (*value).to_owned()),
            required: true,
            max_length: 200,
            choices: choices.iter().map(choice).collect(),
            autocomplete: "off",
            within: Some(Within::Before(".example.net".to_owned())),
            problem: None,
        }
    }

    fn secret(&self, state: SecretState, problem: Option<FieldProblem>) -> Secret {
        let field = |name: &str, label: &str, secret: bool| SecretField {
            name: name.to_owned(),
            label: label.into(),
            hint: secret.then(|| "It begins with sk_ and is 40 characters long.".to_owned()),
            example: (!secret).then(|| "acme".into()),
            secret,
            required: true,
            max_length: 4096,
            choices: Vec::new(),
            chosen: String::new(),
            problem: problem.filter(|_| secret),
            advice: None,
        };
        let choice = |value: &str| Choice { value: value.to_owned(), label: value.into() };
        let region = SecretField {
            choices: vec![choice("Europe"), choice("United States")],
            required: false,
            hint: None,
            example: None,
            ..field("region", "Region", false)
        };
        let wrong = SecretField {
            advice: Some(
                "This is a publishable key, which cannot be used here. Copy the secret key.".to_owned(),
            ),
            ..field("key", "Second key", true)
        };
        let mut fields = vec![field("site", "Site name", false), region, field("api_key", "API key", true)];
        fields.extend((state == SecretState::Rejected).then_some(wrong));
        Secret {
            frame: self.frame(),
            asked: self.asked(),
            state,
            message: Message::new("To list your invoices."),
            replaces: (state == SecretState::Rejected)
                .then(|| Replaced { account: Some(self.account.clone()), trouble: Some(Trouble::Reported) }),
            fields,
            what: Message::new("A key can read and change everything in its workspace."),
            note: Message::new("Checking it counts as one call."),
            can_check: true,
            revealed: false,
            reveal: "/connect?elicitationId=1&reveal=1".to_owned(),
            find: Away::parse("https://provider.example/settings/keys"),
            person: Some(self.person.clone()),
            switch: Some(SWITCH.to_owned()),
            submit: post("/connect/1/secret"),
            decline: post("/connect/1/decline"),
        }
    }
}

const LOGO: &str = "/static/logo.0123456789abcdef.svg";
const SIGN_IN: &str = "/sign-in?elicitationId=550e8400-e29b-41d4-a716-446655440000";
const SWITCH: &str = "/sign-in?elicitationId=550e8400-e29b-41d4-a716-446655440000&switch=1";
const CONNECTIONS: &str = "/connections?server=files";

fn post(action: &str) -> Post {
    Post::new(action, "c3NyZi1zYW1wbGU")
}

fn again() -> Post {
    post("/connect/1/continue")
}

fn decline() -> Post {
    post("/connect/1/decline")
}

/// A file name for each, and the page.
#[must_use]
pub fn pages(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let mut pages = entry(names);
    pages.extend(form(names));
    pages.extend(trip(names));
    pages.extend(outcome(names));
    pages.extend(refusal::pages(names));
    pages.extend(connections::pages(names));
    pages.extend(hosted::pages(names));
    pages
}

fn entry(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let sign_in = |purpose| SignIn {
        frame: names.nobody(),
        purpose,
        authority: Some("Example ID".into()),
        sign_in: SIGN_IN.to_owned(),
        others: Vec::new(),
    };
    let code = |shown| Code {
        frame: names.nobody(),
        asked: names.anonymous(),
        shown,
        mint: post("/connect/1/code"),
        on: "/connect?elicitationId=1".to_owned(),
    };
    let before = |why| Some(Before { account: Some(names.account.clone()), why });
    let ready = |already, hint: Option<&Label>| Ready {
        frame: names.frame(),
        asked: names.asked(),
        before: None,
        message: Message::new(&names.message),
        new: names.permissions(),
        already,
        notes: Vec::new(),
        what: None,
        provider_host: "github.com".to_owned(),
        account_hint: hint.cloned(),
        settings: Vec::new(),
        change: None,
        person: Some(names.person.clone()),
        switch: Some(SWITCH.to_owned()),
        expires_at: Some(datetime!(2026-11-29 20:45 UTC)),
        agree: again(),
        decline: decline(),
    };
    let already = |keep, new| AlreadyConnected {
        frame: names.frame(),
        asked: names.asked(),
        message: Message::new(&names.message),
        account: names.account.clone(),
        new,
        already: names.permissions(),
        keep,
        person: Some(names.person.clone()),
        switch: Some(SWITCH.to_owned()),
        agree: again(),
        decline: decline(),
    };
    vec![
        ("sign-in", Box::new(sign_in(SignInFor::Connect(names.asked())))),
        ("sign-in-resume", Box::new(sign_in(SignInFor::Resume(names.asked())))),
        ("sign-in-connections", Box::new(sign_in(SignInFor::Connections(names.server.clone())))),
        ("sign-in-everything", Box::new(sign_in(SignInFor::Everything))),
        (
            "sign-in-somewhere",
            Box::new(SignIn {
                others: vec![(names.other.clone(), "/sign-in?as=other".to_owned())],
                ..sign_in(SignInFor::Everything)
            }),
        ),
        (
            "confirm-identity",
            Box::new(ConfirmIdentity {
                frame: names.nobody(),
                person: names.person.clone(),
                confirm: post("/sign-in/confirm"),
                switch: Some(SWITCH.to_owned()),
            }),
        ),
        ("code", Box::new(code(Shown::Nothing))),
        ("code-shown", Box::new(code(Shown::Code(crate::secret::Secret::new("WDJB-MJHT"))))),
        ("code-too-old", Box::new(code(Shown::TooOld))),
        ("code-closed", Box::new(Closed { frame: names.nobody() })),
        (
            "ready-by-code",
            Box::new(Ready { frame: names.nobody(), person: None, switch: None, ..ready(Vec::new(), None) }),
        ),
        ("ready", Box::new(ready(Vec::new(), None))),
        (
            "ready-logo",
            Box::new(Ready {
                asked: Asked { mark: names.mark().with_logo(Some(LOGO)), ..names.asked() },
                ..ready(Vec::new(), None)
            }),
        ),
        ("ready-notes", Box::new(Ready { notes: names.notes(), ..ready(Vec::new(), None) })),
        (
            "ready-settings",
            Box::new(Ready {
                settings: vec![
                    Setting { label: "Subdomain".into(), value: names.other.clone() },
                    Setting { label: "Environment".into(), value: "Production".into() },
                ],
                change: Some("/connect?elicitationId=1&change=input".to_owned()),
                ..ready(names.permissions(), None)
            }),
        ),
        (
            "ready-more",
            Box::new(Ready { before: before(Why::More), ..ready(names.permissions(), Some(&names.account)) }),
        ),
        (
            "ready-again",
            Box::new(Ready {
                before: before(Why::Again(Trouble::Refused)),
                new: Vec::new(),
                ..ready(names.permissions(), Some(&names.account))
            }),
        ),
        (
            "ready-stopped",
            Box::new(Ready {
                before: Some(Before { account: None, why: Why::Again(Trouble::Stopped) }),
                ..ready(names.permissions(), None)
            }),
        ),
        (
            "ready-renew",
            Box::new(Ready {
                before: before(Why::Renew),
                new: Vec::new(),
                ..ready(names.permissions(), Some(&names.account))
            }),
        ),
        ("already-connected", Box::new(already(Some(post("/connect/1/keep")), Vec::new()))),
        ("already-connected-more", Box::new(already(None, names.permissions()))),
        ("already-connected-broken", Box::new(already(None, Vec::new()))),
    ]
}

fn form(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let input = |problem| NeedsInput {
        frame: names.frame(),
        asked: names.asked(),
        fields: vec![
            Field { problem, ..names.field("tenant", "Your address there", &[]) },
            names.field("region", "Region", &["Europe", "United States"]),
            names.field("plan", "Plan", &["A", "B", "C", "D", "E", "F", "G"]),
        ],
        submit: post("/connect/1/input"),
        decline: decline(),
    };
    vec![
        ("needs-input", Box::new(input(None))),
        ("needs-input-wrong", Box::new(input(Some(FieldProblem::Pattern)))),
        ("needs-input-host", Box::new(input(Some(FieldProblem::Host)))),
        ("needs-input-private", Box::new(input(Some(FieldProblem::Private)))),
        ("secret-form", Box::new(names.secret(SecretState::Ask, None))),
        (
            "secret-replace",
            Box::new(Secret {
                replaces: Some(Replaced { account: Some(names.account.clone()), trouble: None }),
                ..names.secret(SecretState::Ask, None)
            }),
        ),
        ("secret-unusual", Box::new(names.secret(SecretState::Unchecked, Some(FieldProblem::Unusual)))),
        ("secret-rejected", Box::new(names.secret(SecretState::Rejected, None))),
        (
            "secret-rejected-field",
            Box::new(names.secret(SecretState::Incomplete, Some(FieldProblem::Missing))),
        ),
        ("secret-unchecked", Box::new(names.secret(SecretState::Unchecked, None))),
        ("secret-unchecked-unusable", Box::new(names.secret(SecretState::Unusable, None))),
    ]
}

fn trip(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let mut pages: Vec<(&'static str, Box<dyn Page>)> = Vec::new();
    if let Some(away) = Away::parse("https://github.com/login/oauth/authorize?client_id=abc&state=def") {
        pages.push(("leaving", Box::new(Leaving { frame: names.frame(), asked: names.asked(), away })));
    }
    let again_link = "/connect/1/done?attempt=2".to_owned();
    let changed = |previous_suffices| AccountChanged {
        frame: names.frame(),
        asked: names.asked(),
        new: names.other.clone(),
        previous: names.account.clone(),
        previous_suffices,
        answer: post("/connect/1/account"),
        attempt: "2".to_owned(),
        decline: Some(decline()),
    };
    let choice = |value: &str, label: &Label| Choice { value: value.to_owned(), label: label.clone() };
    pages.push((
        "choose-tenant",
        Box::new(ChooseTenant {
            frame: names.frame(),
            asked: names.asked(),
            account: Some(names.account.clone()),
            tenants: vec![choice("1", &names.server), choice("2", &names.other), choice("3", &names.client)],
            first: "1".to_owned(),
            submit: post("/connect/1/input").with("attempt", "2"),
            decline: decline(),
        }),
    ));
    let not_connected = |because, code: Option<&str>| NotConnected {
        frame: names.frame(),
        asked: names.asked(),
        because,
        code: code.map(Label::new),
        again: again(),
        decline: decline(),
    };
    pages.push((
        "working",
        Box::new(Working { frame: names.frame(), asked: names.asked(), again: again_link }),
    ));
    pages.push(("account-changed", Box::new(changed(true))));
    pages.push(("account-changed-gone", Box::new(changed(false))));
    let code = Some("access_denied");
    for (file, because, code) in [
        ("not-connected", NotConnectedBecause::SaidNo, None),
        ("not-connected-error", NotConnectedBecause::ProviderError, code),
        ("not-connected-late", NotConnectedBecause::TooLate, None),
        ("not-connected-short", NotConnectedBecause::NothingLasting, None),
        ("not-connected-nameless", NotConnectedBecause::NoAccount, None),
    ] {
        pages.push((file, Box::new(not_connected(because, code))));
    }
    let approval = AdminApproval {
        frame: names.frame(),
        asked: names.asked(),
        approve: Away::parse("https://provider.example/admin/approve"),
        code: Some("90094".into()),
        again: again(),
        decline: decline(),
    };
    pages.push(("admin-approval", Box::new(approval)));
    pages
}

fn outcome(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let connected = |asked, account, then| Connected {
        frame: names.frame(),
        asked,
        account,
        unchecked: false,
        test_mode: false,
        then,
        connections: Some(CONNECTIONS.to_owned()),
    };
    let named = || Account::Named(names.account.clone());
    let key = Account::KeyEnding("a1b2".into());
    let next = Then::Next { provider: names.other.clone(), href: "/connect?elicitationId=2".to_owned() };
    let partly = |missing, lost| PartlyConnected {
        frame: names.frame(),
        asked: names.asked(),
        account: named(),
        missing,
        lost,
        rest: Some(again()),
        then: Then::GoBack,
        connections: Some(CONNECTIONS.to_owned()),
    };
    let mut pages: Vec<(&'static str, Box<dyn Page>)> = vec![
        ("connected", Box::new(connected(names.asked(), named(), Then::GoBack))),
        ("connected-alone", Box::new(connected(names.anonymous(), Account::Nameless, Then::AskAgain))),
        ("connected-next", Box::new(connected(names.asked(), named(), next))),
        (
            "connected-key",
            Box::new(Connected {
                unchecked: true,
                test_mode: true,
                ..connected(names.anonymous(), key, Then::GoBack)
            }),
        ),
        ("connected-own", Box::new(connected(names.anonymous(), named(), Then::Rest))),
        ("partly-connected", Box::new(partly(names.permissions(), Vec::new()))),
        ("partly-connected-less", Box::new(partly(Vec::new(), names.permissions()))),
        ("partly-connected-both", Box::new(partly(names.permissions(), names.permissions()))),
        ("declined", Box::new(Declined { frame: names.frame(), asked: names.asked() })),
        ("declined-anonymous", Box::new(Declined { frame: names.frame(), asked: names.anonymous() })),
    ];
    for (file, by) in [
        ("cancelled-client", CancelledBy::Client),
        ("cancelled", CancelledBy::Server),
        ("cancelled-disconnect", CancelledBy::Disconnect),
        ("cancelled-operator", CancelledBy::Operator),
    ] {
        pages.push((file, Box::new(Cancelled { frame: names.frame(), asked: names.asked(), by })));
    }
    for (file, asked, restart) in [
        ("expired", names.asked(), true),
        ("expired-anonymous", names.anonymous(), true),
        ("expired-for-good", names.asked(), false),
        ("expired-for-good-anonymous", names.anonymous(), false),
    ] {
        let restart = restart.then(|| post("/connect/1/restart"));
        pages.push((file, Box::new(Expired { frame: names.frame(), asked, restart })));
    }
    for (file, because) in [
        ("failed", FailedBecause::Removed),
        ("failed-refused", FailedBecause::Refused),
        ("failed-tries", FailedBecause::CodeTries),
    ] {
        pages.push((file, Box::new(Failed { frame: names.frame(), asked: names.asked(), because })));
    }
    pages
}
