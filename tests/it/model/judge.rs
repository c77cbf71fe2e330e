//! What is known of who did what, from outside alone, and what must never have happened.
//!
//! It believes the parties' own logs: who signed in is what the authorization server says, what was redeemed is what
//! the third parties say. Of Consentry's pages it believes nothing that it judges.
//!
//! What it allows, because nothing at these borders can tell it apart: a browser's first sign-in may be answered by
//! whoever got hold of its authorize URL, and the browser is that person's from then on; and the owner's own trip may
//! be answered with a stranger's account at the third party. SECURITY.md names both.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use consentry::{clock::Millis, secret::Hash};
use consentry_fakes::TokenRequest;

/// How long an elicitation lives by default.
const LIFE_MS: i64 = 30 * 60 * 1000;

/// An elicitation.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) server: &'static str,
    pub(super) provider: &'static str,
    pub(super) owner: &'static str,
    pub(super) at: Millis,
    /// Its owner declined it.
    pub(super) declined: bool,
    /// Its owner kept what was connected.
    pub(super) kept: bool,
}

/// A trip to a third party.
#[derive(Debug)]
pub(super) struct Trip {
    pub(super) attempt: String,
    /// Index into the elicitations.
    pub(super) asked: usize,
    /// The profile that pressed the button.
    pub(super) profile: usize,
    /// The address it led to, once its page was seen.
    pub(super) authorize: Option<String>,
    state: String,
    challenge: String,
    /// Its own browser has brought its answer back.
    pub(super) delivered: bool,
    redeemed: usize,
    /// Something has happened since that may have ended it.
    pub(super) disturbed: bool,
}

/// The account that a person connected.
#[derive(Debug)]
pub(super) struct Gained {
    pub(super) asked: usize,
    pub(super) account: String,
}

/// Everything that is known in one run.
#[derive(Debug, Default)]
pub(super) struct Judge {
    pub(super) asked: Vec<Asked>,
    pub(super) trips: Vec<Trip>,
    pub(super) gained: Vec<Gained>,
    /// Who each profile is signed in as.
    pub(super) sessions: Vec<Option<&'static str>>,
}

impl Judge {
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.asked.iter().position(|asked| asked.id == id)
    }

    fn is_owners(&self, profile: usize, asked: usize) -> bool {
        self.sessions[profile] == Some(self.asked[asked].owner)
    }

    /// A page of this elicitation that is for its owner's eyes was shown.
    pub(super) fn shown(&self, profile: usize, id: &str, page: &str) {
        let Some(asked) = self.find(id) else { panic!("a page `{page}` of an elicitation that nobody made") };
        assert!(self.is_owners(profile, asked), "`{page}` was shown to somebody else than its owner");
    }

    /// `continue` was accepted.
    pub(super) fn begun(&mut self, profile: usize, id: &str, attempt: &str) {
        let asked = self.find(id).expect("a trip of a known elicitation");
        assert!(self.is_owners(profile, asked), "somebody else than the owner began a trip");
        let trip = Trip {
            attempt: attempt.to_owned(),
            asked,
            profile,
            authorize: None,
            state: String::new(),
            challenge: String::new(),
            delivered: false,
            redeemed: 0,
            disturbed: false,
        };
        self.trips.push(trip);
    }

    /// The page that leads to the third party was shown.
    pub(super) fn leaving(&mut self, profile: usize, attempt: &str, authorize: &reqwest::Url) {
        let session = self.sessions[profile];
        let trip = self.trips.iter_mut().find(|trip| trip.attempt == attempt).expect("a trip that was begun");
        assert_eq!(trip.profile, profile, "another browser was sent on this trip");
        assert_eq!(session, Some(self.asked[trip.asked].owner), "somebody else was sent on this trip");
        let read = |name: &str| {
            let mut values = authorize.query_pairs().filter(|(found, _)| found == name);
            let value = values.next().unwrap_or_else(|| panic!("{name} in {authorize}")).1.into_owned();
            assert!(values.next().is_none(), "{name} twice in {authorize}");
            value
        };
        (trip.state, trip.challenge) = (read("state"), read("code_challenge"));
        trip.authorize = Some(authorize.to_string());
    }

    /// A browser has asked for a callback with this `state`, and was sent to `leads`. In another browser than its own
    /// it gets no further than to a refusal that says nothing: not even parked.
    pub(super) fn delivered(&mut self, profile: usize, state: &str, leads: &str) {
        let stopped = leads.starts_with("/stopped/") && leads != "/stopped/wrong-account";
        let is_anothers = |trip: &&Trip| trip.state == state && trip.profile != profile;
        assert!(
            stopped || !self.trips.iter().any(|trip| is_anothers(&trip)),
            "another browser's trip led to {leads}"
        );
        for trip in self.trips.iter_mut().filter(|trip| trip.state == state && trip.profile == profile) {
            trip.delivered = true;
        }
    }

    /// A profile's cookies, or the time, have changed.
    pub(super) fn disturb(&mut self, profile: Option<usize>) {
        for trip in self.trips.iter_mut().filter(|trip| profile.is_none_or(|profile| trip.profile == profile))
        {
            trip.disturbed = true;
        }
    }

    /// A code reached a token endpoint while `acting` made a request.
    pub(super) fn redeemed(&mut self, acting: Option<usize>, request: &TokenRequest) {
        if !request.is_code() {
            return;
        }
        let verifier = request.code_verifier.as_deref().expect("a verifier");
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Hash::of(verifier.as_bytes()).0);
        let trip = self.trips.iter_mut().find(|trip| trip.challenge == challenge);
        let trip = trip.expect("a code was redeemed for a trip that nobody went on");
        let owner = self.asked[trip.asked].owner;
        assert_eq!(acting, Some(trip.profile), "a code was redeemed without the browser that began the trip");
        assert!(trip.delivered, "a code was redeemed that its own browser has not brought back");
        assert_eq!(
            self.sessions[trip.profile],
            Some(owner),
            "a code was redeemed without its owner's session"
        );
        trip.redeemed += 1;
        assert_eq!(trip.redeemed, 1, "two codes were redeemed for one trip");
        if request.accepted {
            let approval = request.approval.as_ref().expect("an accepted code was issued");
            assert_eq!(approval.state.as_deref(), Some(&*trip.state), "another trip's code");
            self.gained.push(Gained { asked: trip.asked, account: approval.account.clone() });
        }
    }

    /// Whether this person has brought this account back for this server and provider.
    pub(super) fn has_gained(&self, asked: &Asked, account: Option<&str>) -> bool {
        self.gained.iter().any(|gained| {
            let trip = &self.asked[gained.asked];
            (trip.server, trip.provider, trip.owner) == (asked.server, asked.provider, asked.owner)
                && account.is_none_or(|account| account == gained.account)
        })
    }

    /// Whether an elicitation may be in this state.
    pub(super) fn check_state(&self, asked: &Asked, state: &str, now: Millis) {
        let is_due = match state {
            "pending" | "authorizing" => !asked.declined && asked.at.0 + LIFE_MS > now.0,
            "declined" => asked.declined,
            "completed" => asked.kept || self.has_gained(asked, None),
            "expired" => asked.at.0 + LIFE_MS <= now.0,
            _ => false,
        };
        assert!(is_due, "`{state}` is not what its owner has done: {asked:?}");
    }
}
