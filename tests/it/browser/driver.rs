//! Headless Chromium by way of chromedriver: one driver for each test, and a browser of their own for each person.
//!
//! Every wait ends after [`PATIENCE`] at the latest, and then tells what the browser shows. What it must never do: wait
//! for a fixed time, or leave a browser behind.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::{
    By, ChromiumLikeCapabilities, Cookie, DesiredCapabilities, Key, WebDriver, WebElement, WindowHandle,
    action_chain::ActionChain, extensions::query::ElementQueryable,
};
use tokio::{sync::oneshot, time::timeout};

use super::screenshot;

/// How long anything may take: far more than it needs on two busy cores.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at a page that is not there yet.
const LOOK: Duration = Duration::from_millis(20);

/// A running chromedriver. Its browsers end with it.
pub(crate) struct Browsers {
    url: String,
    driver: Child,
}

impl Drop for Browsers {
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// How a browser is set up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// Pages may not run scripts.
    pub(crate) no_scripts: bool,
    /// Any certificate is good.
    pub(crate) any_certificate: bool,
}

/// One person's browser: headless, with an empty profile of its own.
pub(crate) struct Profile {
    driver: WebDriver,
    /// After the driver, whose end closes the browser that writes here.
    _directory: TempDir,
}

impl Browsers {
    /// Starts chromedriver on a free port.
    pub(crate) async fn start() -> Self {
        #[expect(clippy::disallowed_methods, reason = "scripts/test says here where its driver is")]
        let program = std::env::var("CONSENTRY_TEST_CHROMEDRIVER").unwrap_or("chromedriver".to_owned());
        let mut driver = Command::new(&program)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} does not start: {error}; scripts/need browser"));
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let (started, port) = oneshot::channel();
        // It reads on to the end, or the driver would block when the pipe is full.
        std::thread::spawn(move || {
            let mut started = Some(started);
            for line in lines.map_while(Result::ok) {
                let port = line.split_once("started successfully on port ").map(|(_, port)| port);
                let port = port.and_then(|port| port.trim_end_matches('.').parse::<u16>().ok());
                if let Some((port, started)) = port.and_then(|port| Some((port, started.take()?))) {
                    let _ = started.send(port);
                }
            }
        });
        let port = timeout(PATIENCE, port).await.expect("chromedriver starts in time");
        let port = port.unwrap_or_else(|_| panic!("{program} ended before it was ready"));
        Self { url: format!("http://127.0.0.1:{port}"), driver }
    }

    /// A person's browser.
    pub(crate) async fn open(&self) -> Profile {
        self.open_with(Habits::default()).await
    }

    /// The same, set up otherwise.
    pub(crate) async fn open_with(&self, habits: Habits) -> Profile {
        let directory = tempfile::tempdir().unwrap();
        let mut wanted = DesiredCapabilities::chrome();
        for flag in [
            "--headless",
            // As root, and in containers without user namespaces; what is visited here is our own.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-proxy-server",
            // The browser ends when its driver does, however that ends.
            "--remote-debugging-pipe",
        ] {
            wanted.add_arg(flag).unwrap();
        }
        wanted.add_arg(&format!("--user-data-dir={}", directory.path().display())).unwrap();
        if habits.any_certificate {
            wanted.add_arg("--ignore-certificate-errors").unwrap();
        }
        if habits.no_scripts {
            let setting = json!({ "profile.managed_default_content_settings.javascript": 2 });
            wanted.add_experimental_option("prefs", setting).unwrap();
        }
        #[expect(clippy::disallowed_methods, reason = "the driver's client, not Consentry's")]
        let client = reqwest::Client::builder().no_proxy().timeout(2 * PATIENCE).build().unwrap();
        let driver = WebDriver::builder(&self.url, wanted).client(client).connect().await;
        let driver = driver.unwrap_or_else(|error| panic!("no browser: {error}"));
        driver.set_page_load_timeout(PATIENCE).await.unwrap();
        Profile { driver, _directory: directory }
    }
}

impl Profile {
    /// Goes to an address, as if it was typed.
    pub(crate) async fn open(&self, url: &str) {
        self.driver.goto(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// Waits for one of our pages, by its `data-page`.
    pub(crate) async fn sees(&self, page: &str) {
        self.find(&format!("main[data-page='{page}']")).await;
        screenshot::keep(self, page).await;
    }

    /// Waits for an element.
    pub(crate) async fn find(&self, css: &str) -> WebElement {
        match self.driver.query(By::Css(css)).wait(PATIENCE, LOOK).ignore_errors(true).first().await {
            Ok(element) => element,
            Err(error) => {
                let (url, text) = (self.url().await, self.text().await);
                panic!("{css} is not there ({error}), but this, at {url}:\n{text}")
            }
        }
    }

    /// How many elements of that kind are there now.
    pub(crate) async fn count(&self, css: &str) -> usize {
        self.driver.find_all(By::Css(css)).await.unwrap().len()
    }

    /// Waits for an element and clicks it.
    pub(crate) async fn click(&self, css: &str) {
        let element = self.find(css).await;
        element.click().await.unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    /// Everything that can be read now.
    pub(crate) async fn text(&self) -> String {
        let body = self.driver.query(By::Css("body")).nowait().first().await;
        match body {
            Ok(body) => body.text().await.unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    /// The page's HTML.
    pub(crate) async fn source(&self) -> String {
        self.driver.source().await.unwrap()
    }

    /// The page's title.
    pub(crate) async fn title(&self) -> String {
        self.driver.title().await.unwrap()
    }

    /// The address bar.
    pub(crate) async fn url(&self) -> String {
        self.driver.current_url().await.unwrap().to_string()
    }

    /// The back button.
    pub(crate) async fn back(&self) {
        self.driver.back().await.unwrap();
    }

    /// The reload button.
    pub(crate) async fn reload(&self) {
        self.driver.refresh().await.unwrap();
    }

    /// Presses a key.
    pub(crate) async fn press(&self, key: Key) {
        ActionChain::new(self.driver.handle().clone()).send_keys(key).perform().await.unwrap();
    }

    /// Presses Tab until the focus is on that element, which must come within `most` presses.
    pub(crate) async fn tab_to(&self, css: &str, most: usize) {
        self.find(css).await;
        for _ in 0..most {
            self.press(Key::Tab).await;
            let focused = self.driver.query(By::Css(format!("{css}:focus"))).nowait().exists().await;
            if focused.unwrap() {
                return;
            }
        }
        panic!("{most} times Tab, and the focus is not on {css}");
    }

    /// Opens a tab and goes there.
    pub(crate) async fn open_tab(&self) -> WindowHandle {
        let tab = self.driver.new_tab().await.unwrap();
        self.look_at(&tab).await;
        tab
    }

    /// The tab that is looked at.
    pub(crate) async fn tab(&self) -> WindowHandle {
        self.driver.window().await.unwrap()
    }

    /// Looks at another tab.
    pub(crate) async fn look_at(&self, tab: &WindowHandle) {
        self.driver.switch_to_window(tab.clone()).await.unwrap();
    }

    /// The cookies of the page that is shown.
    pub(crate) async fn cookies(&self) -> Vec<Cookie> {
        self.driver.get_all_cookies().await.unwrap()
    }

    /// Loses a cookie of the site at `url`, wherever the browser is.
    pub(crate) async fn loses_cookie(&self, url: &str, name: &str) {
        self.devtools("Network.deleteCookies", json!({ "name": name, "url": url })).await;
    }

    /// What a script in the page comes to.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.driver.execute(script, Vec::new()).await.unwrap().json().clone()
    }

    /// Every address that this tab's history keeps, the oldest first.
    pub(crate) async fn history(&self) -> Vec<String> {
        let history = self.devtools("Page.getNavigationHistory", json!({})).await;
        let entries = history["entries"].as_array().unwrap();
        entries.iter().map(|entry| entry["url"].as_str().unwrap().to_owned()).collect()
    }

    /// A command of the DevTools protocol.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.driver
            .cdp()
            .send_raw(command, parameters)
            .await
            .unwrap_or_else(|error| panic!("{command}: {error}"))
    }
}
