//! Signing in and out, from the browser's side: the real router over a real database, and a strict authorization
//! server.

mod bench;

use std::time::Duration;

use axum::http::StatusCode;

use self::bench::{Bench, Browser};

#[tokio::test]
async fn a_person_signs_in_and_is_asked() {
    let bench = Bench::new().await;
    let link = bench.link_for("alice").await;
    let mut alice = bench.browser();
    assert_eq!(alice.get(&link).await.page(), "sign-in");
    assert!(alice.cookies().is_empty(), "nobody is known before a sign-in (R53)");
    let back = alice.sign_in(&link, "alice").await;
    assert_eq!(back, link);
    assert_eq!(alice.get(&back).await.page(), "ready");
    assert!(alice.cookie("consentry-sign-in-").is_none(), "what has arrived is not on its way any more");
    assert_eq!(alice.get(&bench.link_for("bob").await).await.page(), "wrong-account");
}

/// R44: the callback leads away from its own address, and a form's or link's redirect is 303 (R45).
#[tokio::test]
async fn r44_no_code_stays_in_the_address() {
    let bench = Bench::new().await;
    let link = bench.link_for("alice").await;
    let mut alice = bench.browser();
    let callback = alice.come_back(&link, "alice").await;
    let answer = alice.get(&callback).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(answer.location(), link);
    assert!(answer.body.is_empty());
    assert_eq!(alice.ask("HEAD", &callback, None, &[]).await.status, StatusCode::METHOD_NOT_ALLOWED);
}

/// R24: a callback that this browser has not begun, or has finished, changes nothing.
#[tokio::test]
async fn r24_an_unsolicited_or_replayed_callback_changes_nothing() {
    let bench = Bench::new().await;
    let link = bench.link_for("alice").await;
    let (mut alice, mut mallory) = (bench.browser(), bench.browser());
    let mallorys = mallory.come_back(&link, "bob").await;
    // Into a browser that knows nobody, and into one that is signed in.
    for signed_in in [false, true] {
        if signed_in {
            alice.sign_in(&link, "alice").await;
        }
        let before = alice.cookies();
        let answer = alice.get(&mallorys).await;
        assert!(answer.location().starts_with("/stopped/sign-in-failed"), "{}", answer.location());
        assert_eq!(alice.cookies(), before);
    }
    assert_eq!(alice.get(&link).await.page(), "ready");
    // Her own, once more: the cookie is gone, and the session stays as it is.
    let callback = alice.come_back(&link, "alice").await;
    alice.get(&callback).await;
    let before = alice.cookies();
    assert!(alice.get(&callback).await.location().starts_with("/stopped/sign-in-failed"));
    assert_eq!(alice.cookies(), before);
    // His is still good in his own browser.
    assert_eq!(mallory.get(&mallorys).await.location(), link);
}

/// R24: what comes back at another server's path is refused before its code is sent anywhere.
#[tokio::test]
async fn r24_another_servers_path_gets_no_code() {
    let bench = Bench::new().await;
    let link = bench.link_for("alice").await;
    let mut alice = bench.browser();
    let callback = alice.come_back(&link, "alice").await;
    let mixed_up = callback.replace("/sign-in/callback/main", "/sign-in/callback/second");
    assert!(alice.get(&mixed_up).await.location().starts_with("/stopped/sign-in-failed"));
    assert!(bench.second.token_log().is_empty() && bench.main.token_log().is_empty());
    assert_eq!(alice.get(&callback).await.location(), link, "nothing was spent");
}

/// R25: each sign-in gives a new id, and the former opens nothing, on any replica.
#[tokio::test]
async fn r25_the_session_id_changes_with_every_sign_in() {
    let bench = Bench::new().await;
    let link = bench.link_for("alice").await;
    let mut alice = bench.browser();
    alice.sign_in(&link, "alice").await;
    let former = alice.clone();
    alice.sign_in(&link, "alice").await;
    assert_ne!(alice.cookie("consentry-session"), former.cookie("consentry-session"));
    assert_eq!(alice.get(&link).await.page(), "ready");
    for replica in [&bench, &bench.replica().await] {
        let mut stolen = replica.browser_with(&former);
        assert_eq!(stolen.get(&link).await.page(), "sign-in");
    }
    // A cookie that somebody planted is nobody's session, and is not taken over.
    let mut planted = bench.browser();
    planted.set("consentry-session", &"a".repeat(43));
    planted.sign_in(&link, "alice").await;
    assert_ne!(planted.cookie("consentry-session").unwrap(), "a".repeat(43));
}

/// A change of person counts only after a yes by POST from our own page.
#[tokio::test]
async fn another_person_is_asked_to_confirm() {
    let bench = Bench::new().await;
    let (alices, bobs) = (bench.link_for("alice").await, bench.link_for("bob").await);
    let mut browser = bench.browser();
    browser.sign_in(&alices, "alice").await;
    let question = browser.sign_in(&format!("{bobs}&switch=1"), "bob").await;
    assert!(question.starts_with("/sign-in/confirm?which="), "{question}");
    assert_eq!(browser.get(&bobs).await.page(), "wrong-account", "still alice");
    let page = browser.get(&question).await;
    assert_eq!(page.page(), "sign-in");
    assert!(page.body.contains("You are now"));
    let form = page.form("/sign-in/confirm");
    // Another's token, none, and a post from elsewhere.
    let without = form.replace("csrf=", "csrf=x");
    assert_eq!(browser.post("/sign-in/confirm", &without).await.status, StatusCode::FORBIDDEN);
    let cross = [("sec-fetch-site", "cross-site")];
    let answer = browser.ask("POST", "/sign-in/confirm", Some(&form), &cross).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(bench.browser().post("/sign-in/confirm", &form).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(browser.get(&bobs).await.page(), "wrong-account", "still alice");
    // The yes.
    let answer = browser.post("/sign-in/confirm", &form).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, bobs.clone()));
    assert_eq!(browser.get(&bobs).await.page(), "ready");
    assert_eq!(browser.get(&alices).await.page(), "wrong-account");
    assert_eq!(browser.post("/sign-in/confirm", &form).await.status, StatusCode::UNAUTHORIZED, "once");
}

/// The person is remembered beyond the session; an answer that waits does not wait for ever.
#[tokio::test]
async fn a_change_is_noticed_after_a_sign_out_and_its_question_runs_out() {
    let bench = Bench::new().await;
    let bobs = bench.link_for("bob").await;
    let mut browser = bench.browser();
    browser.sign_in(&bench.link_for("alice").await, "alice").await;
    browser.sign_out().await;
    let question = browser.sign_in(&bobs, "bob").await;
    let form = browser.get(&question).await.form("/sign-in/confirm");
    bench.clock.advance(Duration::from_mins(5));
    assert_eq!(browser.post("/sign-in/confirm", &form).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(browser.get(&bobs).await.page(), "sign-in");
}

/// R36: two tabs do not overwrite each other; the oldest of too many is dropped.
#[tokio::test]
async fn r36_tabs_finish_in_any_order() {
    let bench = Bench::new().await;
    let (one, other) = (bench.link_for("alice").await, bench.link_for("alice").await);
    let mut alice = bench.browser();
    let first = alice.come_back(&one, "alice").await;
    let second = alice.come_back(&other, "alice").await;
    assert_eq!(alice.get(&second).await.location(), other);
    assert_eq!(alice.get(&first).await.location(), one);
    let mut tabs = Vec::new();
    for _ in 0..6 {
        tabs.push(alice.come_back(&one, "alice").await);
        bench.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(alice.cookies().iter().filter(|(name, _)| name.starts_with("consentry-sign-in-")).count(), 4);
    let header: usize = alice.cookies().iter().map(|(name, value)| name.len() + value.len() + 3).sum();
    assert!(header < 2048, "half of 4 KiB is the attempts': {header}");
    assert!(alice.get(&tabs[0]).await.location().starts_with("/stopped/sign-in-failed?why=too-late"));
    assert_eq!(alice.get(&tabs[5]).await.location(), one);
}

/// Two sign-ins at once lose neither, neither the first ones of a browser nor later ones.
#[tokio::test]
async fn sign_ins_side_by_side_lose_neither() {
    let bench = Bench::new().await;
    let (files, notes) = (bench.link_for("alice").await, "/connections?server=notes");
    let mut alice = bench.browser();
    for _ in 0..2 {
        let first = alice.come_back(&files, "alice").await;
        let second = alice.come_back(notes, "alice").await;
        // Both leave before either has come back.
        let mut before = alice.clone();
        assert_eq!(alice.get(&first).await.location(), files);
        let answer = before.get(&second).await;
        assert_eq!(answer.location(), notes);
        alice.take(&answer);
        assert_eq!(alice.get(&files).await.page(), "ready");
        assert_eq!(alice.get(notes).await.page(), "connections");
        alice.sign_out().await;
        assert_eq!(alice.get(notes).await.page(), "sign-in");
    }
}

/// R37: signing out ends the session everywhere at once, and needs the form's token.
#[tokio::test]
async fn r37_signing_out_ends_the_session_on_every_replica() {
    let bench = Bench::new().await;
    let link = bench.link_for("alice").await;
    let mut alice = bench.browser();
    alice.sign_in(&link, "alice").await;
    let kept = alice.clone();
    assert_eq!(alice.post("/sign-out", "csrf=x").await.status, StatusCode::FORBIDDEN);
    assert_eq!(alice.get(&link).await.page(), "ready");
    let told = alice.sign_out().await;
    assert_eq!(alice.get(&told).await.page(), "signed-out");
    assert!(alice.cookie("consentry-session").is_none());
    for replica in [&bench, &bench.replica().await] {
        assert_eq!(replica.browser_with(&kept).get(&link).await.page(), "sign-in");
    }
    assert_eq!(bench.browser().post("/sign-out", "").await.location(), "/stopped/signed-out");
}

/// R37: idle for half an hour, or half a day old, by our clock; the idle stamp moves with use.
#[tokio::test]
async fn r37_a_session_ends_by_idleness_and_by_age() {
    let bench = Bench::new().await;
    let mut alice = bench.browser();
    let connections = "/connections?server=files";
    alice.sign_in(connections, "alice").await;
    for _ in 0..3 {
        bench.clock.advance(Duration::from_mins(29));
        assert_eq!(alice.get(connections).await.page(), "connections");
    }
    bench.clock.advance(Duration::from_mins(31));
    assert_eq!(alice.get(connections).await.page(), "sign-in");
    bench.the_servers_follow_the_clock();
    alice.sign_in(connections, "alice").await;
    for _ in 0..24 {
        bench.clock.advance(Duration::from_mins(29));
        assert_eq!(alice.get(connections).await.page(), "connections");
    }
    bench.clock.advance(Duration::from_mins(25));
    assert_eq!(alice.get(connections).await.page(), "sign-in");
}

/// R46, R52: targets are ids, and nothing is given twice.
#[tokio::test]
async fn r46_a_sign_in_leads_to_our_own_pages_alone() {
    let bench = Bench::new().await;
    let id = bench.link_for("alice").await.split_once('=').unwrap().1.to_owned();
    let mut alice = bench.browser();
    for (query, status) in [
        ("", StatusCode::NOT_FOUND),
        ("server=nowhere", StatusCode::NOT_FOUND),
        ("server=https://evil.example", StatusCode::NOT_FOUND),
        ("server=files&return=https://evil.example", StatusCode::SEE_OTHER),
        ("elicitationId=00000000-0000-4000-8000-000000000000", StatusCode::NOT_FOUND),
        ("elicitationId=//evil.example", StatusCode::NOT_FOUND),
        (&format!("elicitationId={}", id.to_uppercase()), StatusCode::NOT_FOUND),
        (&format!("elicitationId={id}&attempt=//evil.example"), StatusCode::NOT_FOUND),
        (&format!("elicitationId={id}&server=files"), StatusCode::NOT_FOUND),
        (&format!("elicitationId={id}&elicitationId={id}"), StatusCode::BAD_REQUEST),
    ] {
        let answer = alice.get(&format!("/sign-in?{query}")).await;
        assert_eq!(answer.status, status, "{query}");
        if status == StatusCode::SEE_OTHER {
            assert!(answer.location().starts_with(bench.main.base_url()));
        }
    }
    let callback = alice.come_back(&format!("/connect?elicitationId={id}"), "alice").await;
    for more in ["&state=x", "&code=x", "&iss=x", "&id_token=x"] {
        let answer = alice.get(&format!("{callback}{more}")).await;
        assert!(answer.location().starts_with("/stopped/sign-in-failed?why=went-wrong"), "{more}");
    }
    assert!(bench.main.token_log().is_empty());
}

/// R34: what a failure says comes from us, whatever is asked for, and the way back is offered.
#[tokio::test]
async fn r34_failures_are_told_in_fixed_words() {
    let bench = Bench::new().await;
    let link = bench.link_for("alice").await;
    let mut alice = bench.browser();
    let authorize = alice.leave(&link).await;
    let denied = bench.main.deny(&authorize).await.unwrap();
    let denied = format!("{}&error_description=%3Cscript%3Ealert(1)%3C/script%3E", bench::path_of(&denied));
    let stopped = alice.get(&denied).await.location();
    assert!(stopped.starts_with("/stopped/sign-in-failed?why=said-no&elicitationId="), "{stopped}");
    let page = alice.get(&stopped).await;
    assert_eq!((page.status, page.page()), (StatusCode::UNAUTHORIZED, "sign-in-failed"));
    assert!(page.body.contains("The sign-in was cancelled") && page.body.contains("/sign-in?elicitationId="));
    let hostile = "/stopped/sign-in-failed?why=%3Cscript%3E&elicitationId=%22%3E%3Cscript%3E&server=x";
    let page = alice.get(hostile).await;
    assert_eq!(page.page(), "sign-in-failed");
    assert!(!page.body.contains("script"));
    bench.main.always_answer("/token", consentry_fakes::Answer::status(503));
    let callback = alice.come_back(&link, "alice").await;
    assert!(alice.get(&callback).await.location().contains("why=unreachable"));
    bench.main.answer_normally("/token");
}

/// Signing in as somebody else ends what the former had under way in this browser (R25).
#[tokio::test]
async fn r25_the_formers_trips_end() {
    let bench = Bench::new().await;
    let link = bench.link_for("alice").await;
    let mut browser = bench.browser();
    browser.sign_in(&link, "alice").await;
    let id = link.split_once('=').unwrap().1;
    let form = browser.get(&link).await.form(&format!("/connect/{id}/continue"));
    let leaving = browser.post(&format!("/connect/{id}/continue"), &form).await.location();
    assert_eq!(browser.get(&leaving).await.page(), "leaving");
    let question = browser.sign_in(&bench.link_for("bob").await, "bob").await;
    let form = browser.get(&question).await.form("/sign-in/confirm");
    browser.post("/sign-in/confirm", &form).await;
    let question = browser.sign_in(&link, "alice").await;
    let form = browser.get(&question).await.form("/sign-in/confirm");
    browser.post("/sign-in/confirm", &form).await;
    assert!(browser.get(&leaving).await.location().contains("/done"), "nobody leaves on it any more");
    assert_eq!(browser.get(&link).await.page(), "ready", "the link itself works on");
}

/// R39: a browser that says nothing of where a post comes from is judged by the token alone.
#[tokio::test]
async fn r39_the_token_decides_where_the_browser_is_silent() {
    let bench = Bench::new().await;
    let mut alice: Browser = bench.browser();
    alice.sign_in("/connections?server=files", "alice").await;
    let form = alice.get("/connections?server=files").await.form("/sign-out");
    for (headers, status) in [
        (&[("origin", "https://evil.example")][..], StatusCode::FORBIDDEN),
        (&[("sec-fetch-site", "same-site")], StatusCode::FORBIDDEN),
        (&[("origin", "null")], StatusCode::FORBIDDEN),
        (&[], StatusCode::SEE_OTHER),
    ] {
        let answer = alice.ask("POST", "/sign-out", Some(&form), headers).await;
        assert_eq!(answer.status, status, "{headers:?}");
    }
}
