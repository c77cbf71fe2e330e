//! People in real browsers: headless Chromium walks the whole flow, with a profile for each person.
//!
//! Every attack is judged by the third party's own token log: no code may be presented where none may be redeemed.
//!
//! With `CONSENTRY_TEST_SCREENSHOTS=folder` every page that is seen is kept there at a phone's width, light and dark.

mod accounts;
mod attacks;
mod choices;
pub(crate) mod driver;
mod form_post;
mod forms;
mod hands;
mod happy;
mod hosted;
mod keys;
mod leaving;
mod looks;
mod own;
mod screenshot;
pub(crate) mod steps;
mod tabs;
mod tls;

use self::driver::{Browsers, Habits, Profile};
use crate::{
    engine::{Database, Engine},
    world::World,
};

/// A world, and one browser in it.
async fn world_and_browser() -> (World, Browsers, Profile) {
    world_and_browser_with(Habits::default()).await
}

/// The same with another browser.
async fn world_and_browser_with(habits: Habits) -> (World, Browsers, Profile) {
    let world = async { World::start(Database::start(Engine::Sqlite).await).await };
    let browsers = async {
        let browsers = Browsers::start().await;
        let browser = browsers.open_with(habits).await;
        (browsers, browser)
    };
    let (world, (browsers, browser)) = tokio::join!(world, browsers);
    (world, browsers, browser)
}

/// How often a code was presented at a third party, well or badly.
fn codes(world: &World) -> usize {
    let presented = [world.files.token_log(), world.notes.token_log()].concat();
    presented.iter().filter(|request| request.code.is_some()).count()
}
