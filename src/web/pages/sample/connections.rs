//! The pages about connections, with made-up data.

use time::macros::datetime;

use super::{CONNECTIONS, Names, post};
use crate::web::pages::{
    AllDisconnected, Away, Connection, Connections, Disconnect, DisconnectAll, Disconnected, Gone, Group,
    Happened, History, Kept, Label, Listed, Page, Parting, Revocation, Standing, Trouble,
};

pub(super) const AGAIN: &str = "/connections/disconnected?was=AAAA";

fn settings() -> Option<Away> {
    Away::parse("https://github.com/settings/applications")
}

pub(super) fn parting(names: &Names, others: Vec<Label>) -> Parting {
    Parting {
        provider: names.provider.clone(),
        called: names.account.clone(),
        server: names.server.clone(),
        others,
        ends: crate::config::RevocationEnds::Grant,
        works_until: Some(datetime!(2026-11-29 20:45 UTC)),
        kept: Kept::Grant,
        post: post("/connections/1/disconnect"),
    }
}

fn listed(names: &Names, standing: Standing, account: Option<&Label>) -> Listed {
    let limited = standing == Standing::Limited;
    Listed {
        provider: names.provider.clone(),
        mark: names.mark(),
        account: account.cloned(),
        server: names.server.clone(),
        standing,
        permissions: names.permissions(),
        missing: if limited { names.permissions() } else { Vec::new() },
        connected_at: datetime!(2026-11-02 10:00 UTC),
        last_used_at: Some(datetime!(2026-11-29 08:30 UTC)),
        refreshed_at: Some(datetime!(2026-11-29 08:00 UTC)),
        ends_at: limited.then_some(datetime!(2027-05-02 10:00 UTC)),
        unchecked: false,
        test_mode: false,
        details: "/connections/1".to_owned(),
        reconnect: Some(post("/connections/1/reconnect")),
        parting: Parting { called: account.unwrap_or(&names.provider).clone(), ..parting(names, Vec::new()) },
    }
}

fn history(names: &Names) -> Vec<History> {
    let client = || Some(names.client.clone());
    [
        (Happened::Renewed, None),
        (Happened::Partly, client()),
        (Happened::Expired, None),
        (Happened::Declined, client()),
        (Happened::Declined, None),
        (Happened::Connected, client()),
        (Happened::Connected, None),
    ]
    .map(|(what, client)| History { at: datetime!(2026-11-02 10:00 UTC), what, client })
    .to_vec()
}

pub(super) fn gone(names: &Names, revocation: Revocation) -> Gone {
    Gone {
        provider: names.provider.clone(),
        called: names.account.clone(),
        server: names.server.clone(),
        revocation,
        settings: settings(),
    }
}

pub(super) fn pages(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let mut pages: Vec<(&'static str, Box<dyn Page>)> = list(names);
    let one = |standing, account| Connection {
        frame: names.frame(),
        item: listed(names, standing, account),
        history: history(names),
        settings: settings(),
        back: CONNECTIONS.to_owned(),
    };
    let known = Some(&names.account);
    let ending = Standing::Ending(datetime!(2026-12-05 10:00 UTC));
    for (file, standing, account) in [
        ("connection", Standing::Active, known),
        ("connection-limited", Standing::Limited, known),
        ("connection-ending", ending, known),
        ("connection-nameless", Standing::Active, None),
        ("connection-refused", Standing::Broken(Trouble::Refused), known),
        ("connection-lost", Standing::Broken(Trouble::Lost), known),
        ("connection-reported", Standing::Broken(Trouble::Reported), known),
        ("connection-over", Standing::Broken(Trouble::Over), known),
        ("connection-lapsed", Standing::Broken(Trouble::Lapsed), known),
        ("connection-changed", Standing::Broken(Trouble::Changed), known),
        ("connection-ran-out", Standing::Broken(Trouble::RanOut), known),
        ("connection-other", Standing::Broken(Trouble::Other), None),
        ("connection-stopped", Standing::Broken(Trouble::Stopped), known),
    ] {
        pages.push((file, Box::new(one(standing, account))));
    }
    let mut key = one(Standing::Broken(Trouble::Reported), known);
    key.item = Listed { unchecked: true, test_mode: true, ..key.item };
    key.item.parting = Parting { kept: Kept::Key, works_until: None, ..key.item.parting };
    pages.push(("connection-key", Box::new(key)));
    let others = [Vec::new(), vec![names.other.clone()]];
    for (file, others) in ["disconnect", "disconnect-shared"].into_iter().zip(others) {
        let page = Disconnect {
            frame: names.frame(),
            parting: parting(names, others),
            settings: settings(),
            back: "/connections/1".to_owned(),
        };
        pages.push((file, Box::new(page)));
    }
    let revocations = [
        ("disconnected", Revocation::Confirmed),
        ("disconnected-pending", Revocation::Pending),
        ("disconnected-impossible", Revocation::Impossible),
        ("disconnected-typed", Revocation::Typed),
        ("disconnected-unreadable", Revocation::Unreadable),
        ("disconnected-unconfigured", Revocation::Unconfigured),
        ("disconnected-shared", Revocation::Shared),
        ("disconnected-given-up", Revocation::GivenUp),
    ];
    for (file, revocation) in revocations {
        let page = Disconnected {
            frame: names.frame(),
            gone: gone(names, revocation),
            again: AGAIN.to_owned(),
            connections: CONNECTIONS.to_owned(),
        };
        pages.push((file, Box::new(page)));
    }
    let all = revocations.map(|(_, revocation)| gone(names, revocation)).to_vec();
    for (file, failed) in [("disconnected-all", 0), ("disconnected-all-but", 2)] {
        let page = AllDisconnected {
            frame: names.frame(),
            gone: all.clone(),
            failed,
            again: AGAIN.to_owned(),
            connections: CONNECTIONS.to_owned(),
        };
        pages.push((file, Box::new(page)));
    }
    pages
}

fn list(names: &Names) -> Vec<(&'static str, Box<dyn Page>)> {
    let items = vec![
        listed(names, Standing::Active, Some(&names.account)),
        listed(names, Standing::Limited, Some(&names.other)),
        listed(names, Standing::Ending(datetime!(2026-12-05 10:00 UTC)), Some(&names.account)),
        listed(names, Standing::Broken(Trouble::Refused), Some(&names.account)),
        listed(names, Standing::Broken(Trouble::Stopped), None),
    ];
    let group = |items: &[Listed], person: Option<&Label>| Group {
        server: names.server.clone(),
        person: person.cloned(),
        listed: items.to_vec(),
    };
    let several = vec![group(&items[3..4], Some(&names.person)), group(&items[..1], Some(&names.other))];
    let all = |groups: Vec<Group>, more, elsewhere| Connections {
        frame: names.frame(),
        disconnect_all: (!groups.is_empty()).then(|| "/connections/disconnect-all".to_owned()),
        groups,
        more,
        elsewhere,
    };
    let elsewhere = vec![("Example ID".into(), "/sign-in?as=example".to_owned())];
    let everything = DisconnectAll {
        frame: names.frame(),
        listed: items.clone(),
        disconnect: post("/connections/disconnect-all").with("server", "files"),
        back: CONNECTIONS.to_owned(),
    };
    vec![
        ("connections", Box::new(all(vec![group(&items[..3], None)], false, Vec::new()))),
        ("connections-soon", Box::new(all(vec![group(&items[2..], None)], false, Vec::new()))),
        ("connections-many", Box::new(all(several, true, elsewhere.clone()))),
        ("connections-none", Box::new(all(Vec::new(), false, Vec::new()))),
        ("connections-none-here", Box::new(all(Vec::new(), false, elsewhere))),
        ("disconnect-all", Box::new(everything)),
    ]
}
