//! One run: some steps, and then the reckoning.

use std::{collections::HashMap, time::Duration};

use reqwest::{Method, Url};
use serde_json::Value;

use super::scene::{PEOPLE, Scene};
use crate::world::{FILES, SERVERS, World};

/// Steps of a run.
const STEPS: usize = 70;
/// Pages on which a trip ends well.
const WELL: [&str; 3] = ["connected", "partly-connected", "account-changed"];
/// Longer than a claimed trip may still finish, and than the sweeper sleeps.
const A_WHILE: Duration = Duration::from_secs(61);

/// What a run saw.
pub(super) struct Tally {
    pub(super) redeemed: u64,
    pub(super) refused: u64,
}

/// Plays one run, and leaves the world as it was but for the time.
pub(super) async fn run(world: &World, seed: u64, heard: &mut Heard) -> Tally {
    let mut scene = Scene::new(world, seed);
    for _ in 0..STEPS {
        scene.step().await;
    }
    scene.check_states().await;
    scene.check_connections().await;
    scene.finishes_a_trip().await;
    let redeemed = scene.judge.gained.len();
    scene.owners_connect().await;
    scene.check_connections().await;
    scene.clears().await;
    scene.check_signals(heard).await;
    Tally { redeemed: redeemed.try_into().unwrap(), refused: scene.refused }
}

impl Scene<'_> {
    async fn state_of(&self, asked: usize) -> String {
        let asked = &self.judge.asked[asked];
        let found = self.world.api(asked.server).elicitation(&asked.id).await;
        found["state"].as_str().unwrap().to_owned()
    }

    /// Every elicitation is in a state that its owner, or the time, has brought it to.
    async fn check_states(&self) {
        for asked in 0..self.judge.asked.len() {
            let state = self.state_of(asked).await;
            self.judge.check_state(&self.judge.asked[asked], &state, self.world.clock.now());
        }
    }

    /// What is stored for a person is what that person brought back.
    async fn check_connections(&self) {
        for asked in &self.judge.asked {
            for connection in self.connections(asked.server, asked.owner).await {
                if connection["provider"] == asked.provider {
                    let account = connection["account"]["label"].as_str();
                    assert!(self.judge.has_gained(asked, account), "{connection} for {}", asked.owner);
                }
            }
        }
    }

    async fn connections(&self, server: &str, owner: &str) -> Vec<Value> {
        let page = self.world.api(server).get(&format!("/v1/connections?sub={owner}")).await.expect(200);
        page["connections"].as_array().expect("a list").clone()
    }

    /// A trip that its own browser has not ended is still good, whatever strangers did with its address.
    async fn finishes_a_trip(&mut self) {
        for at in 0..self.judge.trips.len() {
            let trip = &self.judge.trips[at];
            let (asked, profile) = (trip.asked, trip.profile);
            let Some(authorize) = trip.authorize.clone().filter(|_| !trip.delivered && !trip.disturbed)
            else {
                continue;
            };
            if !matches!(&*self.state_of(asked).await, "pending" | "authorizing") {
                continue;
            }
            let tab = self.tabs.iter().position(|tab| tab.profile == profile).unwrap();
            let provider =
                if self.judge.asked[asked].provider == FILES { &self.world.files } else { &self.world.notes };
            let callback = provider.approve(&authorize, "hubot").expect("a good address");
            self.ends_well(tab, callback.parse().unwrap()).await;
            return;
        }
    }

    async fn ends_well(&mut self, tab: usize, callback: Url) {
        self.tell("the reckoning: this trip is still good".to_owned());
        self.opens(tab, callback).await;
        self.follows(tab).await;
        let page = self.tabs[tab].browser.page();
        let name = page.name().unwrap_or_default();
        assert!(WELL.contains(&&*name), "a stranger has spent the trip: `{name}` {}", page.text());
    }

    async fn follows(&mut self, tab: usize) {
        while let Some(next) = self.tabs[tab].browser.page().location() {
            self.goes_on(tab, next).await;
        }
    }

    /// The owner of each link that is still open connects with it, in a browser of their own.
    async fn owners_connect(&mut self) {
        for asked in 0..self.judge.asked.len() {
            if !matches!(&*self.state_of(asked).await, "pending" | "authorizing") {
                continue;
            }
            let one = &self.judge.asked[asked];
            let (owner, id) = (one.owner, one.id.clone());
            let url: Url = one.url.parse().unwrap();
            self.tell(format!("the reckoning: {owner} connects by {id}"));
            let tab = self.fresh_tab(owner);
            self.opens(tab, url).await;
            let link = self.tabs[tab].browser.page().is("sign-in").link_to("/sign-in");
            self.goes_on(tab, link).await;
            self.follows(tab).await;
            self.presses(tab, "/sign-in", Some(("person", owner))).await;
            self.presses(tab, "/continue", None).await;
            let authorize = self.tabs[tab].browser.page().is("leaving").refresh().unwrap();
            self.goes_on(tab, authorize).await;
            self.presses(tab, "/consent", Some(("account", "octocat"))).await;
            if self.tabs[tab].browser.page().name().as_deref() == Some("account-changed") {
                // The first form takes the new one.
                self.presses(tab, "/account", None).await;
            }
            self.tabs[tab].browser.page().is("connected");
            assert_eq!(self.state_of(asked).await, "completed");
        }
    }

    fn fresh_tab(&mut self, owner: &str) -> usize {
        let person = PEOPLE.iter().position(|person| *person == owner).unwrap();
        let profile = self.judge.sessions.len();
        self.judge.sessions.push(None);
        let browser = self.world.browser();
        self.tabs.push(super::scene::Tab { browser, person, profile, shows: false });
        self.tabs.len() - 1
    }

    async fn presses(&mut self, tab: usize, action_end: &str, button: Option<(&str, &str)>) {
        let mut form = self.tabs[tab].browser.page().form_to(action_end);
        if let Some((name, value)) = button {
            form = form.press(name, value);
        }
        let profile = self.tabs[tab].profile;
        self.posts(tab, form, profile).await;
        self.follows(tab).await;
    }

    /// Ends what is left, so that the next run starts with nothing.
    async fn clears(&mut self) {
        for asked in &self.judge.asked {
            let api = self.world.api(asked.server);
            let cancel = format!("/v1/elicitations/{}/cancel", asked.id);
            api.post(&cancel, &Value::Null).await;
        }
        for server in SERVERS {
            for owner in PEOPLE {
                for connection in self.connections(server, owner).await {
                    let path = format!("/v1/connections/{}", connection["id"].as_str().unwrap());
                    assert!(self.world.api(server).delete(&path).await.status.is_success());
                }
            }
        }
        self.hear_parties(None);
    }

    /// Each elicitation has ended, and each end was told once.
    async fn check_signals(&self, heard: &mut Heard) {
        loop {
            heard.listen(self.world).await;
            let twice: Vec<_> = heard.ends.iter().filter(|(_, times)| **times != 1).collect();
            assert!(twice.is_empty(), "an end was told twice: {twice:?}");
            if self.judge.asked.iter().all(|asked| heard.ends.contains_key(&asked.id)) {
                return;
            }
            // The rest has run out, and the sweeper tells it when it comes by.
            self.world.advance(A_WHILE);
            tokio::task::yield_now().await;
        }
    }
}

/// What every MCP server was told in this world.
#[derive(Default)]
pub(super) struct Heard {
    after: [i64; SERVERS.len()],
    /// How often each elicitation's end was told.
    ends: HashMap<String, usize>,
}

impl Heard {
    async fn listen(&mut self, world: &World) {
        for (server, after) in SERVERS.iter().zip(&mut self.after) {
            loop {
                let headers = [("accept", "application/json")];
                let path = format!("/v1/events?after={after}&limit=200");
                let page = world.api(server).call(Method::GET, &path, None, &headers).await.expect(200);
                let events = page["events"].as_array().expect("a page of events");
                let Some(last) = events.last() else { break };
                *after = last["data"]["sequence"].as_i64().expect("a number");
                let is_end = |event: &&Value| event["type"].as_str().unwrap().starts_with("elicitation.");
                for event in events.iter().filter(is_end) {
                    let id = event["data"]["elicitation_id"].as_str().unwrap().to_owned();
                    *self.ends.entry(id).or_default() += 1;
                }
            }
        }
    }
}
