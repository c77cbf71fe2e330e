//! The terminal: text with a little style, questions, and opening a browser.
//!
//! What it must never do: ask or open anything when nobody sits there, or let text from elsewhere steer the terminal.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal, Write},
    process::{Command, Stdio},
    sync::{Arc, Mutex, Once, PoisonError},
    thread,
};

use consentry_elicitation::Link;
use tokio::sync::oneshot;

/// Where the demo writes and asks. Cloning shares it.
#[derive(Clone)]
pub struct Console {
    out: Arc<Mutex<dyn Write + Send>>,
    /// Who waits for the next line.
    asking: Arc<Mutex<Option<oneshot::Sender<String>>>>,
    style: bool,
    person: bool,
    /// In place of a keyboard and a browser.
    played: Option<Arc<Mutex<Played>>>,
}

/// Answers that are there already, and the links that were opened.
#[derive(Default)]
struct Played {
    answers: VecDeque<String>,
    opened: Vec<String>,
}

impl Console {
    /// Of this process: styled and asking only in a terminal.
    pub fn of_process() -> Self {
        let terminal = io::stdout().is_terminal();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            out: Arc::new(Mutex::new(io::stdout())),
            asking: Arc::default(),
            style: terminal && !dumb && !plain,
            person: terminal && io::stdin().is_terminal(),
            played: None,
        }
    }

    /// Plain text into `out`, nobody to ask.
    pub fn plain(out: impl Write + Send + 'static) -> Self {
        Self {
            out: Arc::new(Mutex::new(out)),
            asking: Arc::default(),
            style: false,
            person: false,
            played: None,
        }
    }

    /// The same with somebody who gives these answers, one after the other, and then none any more. Their browser only
    /// notes what it is told to open.
    pub fn played(out: impl Write + Send + 'static, answers: &[&str]) -> Self {
        let answers = answers.iter().map(|&answer| answer.to_owned()).collect();
        let played = Arc::new(Mutex::new(Played { answers, opened: Vec::new() }));
        Self { person: true, played: Some(played), ..Self::plain(out) }
    }

    /// The links that the played browser was told to open.
    pub fn opened(&self) -> Vec<String> {
        let played = self.played.as_ref().map(|played| played.lock().unwrap_or_else(PoisonError::into_inner));
        played.map(|played| played.opened.clone()).unwrap_or_default()
    }

    /// Whether somebody sits there who can be asked.
    pub fn has_person(&self) -> bool {
        self.person
    }

    /// Writes a line (or several).
    pub fn say(&self, text: &str) {
        self.write(&format!("{text}\n"));
    }

    fn write(&self, text: &str) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader that went away is no reason to stop the servers.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// What matters most.
    pub fn strong(&self, text: &str) -> String {
        self.styled("1", text)
    }

    /// What matters less.
    pub fn faint(&self, text: &str) -> String {
        self.styled("2", text)
    }

    /// What went well.
    pub fn good(&self, text: &str) -> String {
        self.styled("1;32", text)
    }

    /// What deserves a second look.
    pub fn warning(&self, text: &str) -> String {
        self.styled("1;33", text)
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.style { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// The whole link, its host in another style, and without style underlined.
    pub fn link(&self, link: &Link) -> String {
        let (before, host, after) = link.parts();
        if self.style {
            return format!("{before}{}{after}", self.styled("1;7", host));
        }
        format!("{}\n{}{}", link.text(), " ".repeat(before.len()), "^".repeat(host.len()))
    }

    /// Asks, and gives the answer in lower case; none when nobody is there, the input has ended, or another question
    /// is asked meanwhile.
    pub async fn ask(&self, question: &str) -> Option<String> {
        self.ask_for_text(question).await.map(|answer| answer.to_lowercase())
    }

    /// The same, and gives the answer as it was typed.
    pub async fn ask_for_text(&self, question: &str) -> Option<String> {
        if !self.person {
            return None;
        }
        if let Some(played) = &self.played {
            self.write(&format!("{question}\n"));
            return played.lock().unwrap_or_else(PoisonError::into_inner).answers.pop_front();
        }
        let (answered, answer) = oneshot::channel();
        self.asking.lock().unwrap_or_else(PoisonError::into_inner).replace(answered);
        self.write(&format!("{question} "));
        self.listen();
        answer.await.ok()
    }

    /// Hands each line to the question that is open. A thread of its own, because reading cannot be interrupted: it must
    /// not hold up the end of the process.
    fn listen(&self) {
        static LISTENING: Once = Once::new();
        let asking = Arc::clone(&self.asking);
        LISTENING.call_once(|| {
            thread::spawn(move || {
                for line in io::stdin().lines().map_while(Result::ok) {
                    let open = asking.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let _ = open.map(|open| open.send(line.trim().to_owned()));
                }
            });
        });
    }

    /// Opens a link in the person's browser.
    ///
    /// # Errors
    /// When nobody is there, or the program that opens links cannot be started.
    pub fn open(&self, link: &Link) -> io::Result<()> {
        if !self.person {
            return Err(io::Error::other("there is no terminal"));
        }
        if let Some(played) = &self.played {
            played.lock().unwrap_or_else(PoisonError::into_inner).opened.push(link.text().to_owned());
            return Ok(());
        }
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(opener);
        command.arg(link.text()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(drop)
    }
}

/// Text from elsewhere without what a terminal would obey.
pub fn printable(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_stands_out_with_and_without_style() {
        let link = Link::parse("http://localhost:8080/connect?elicitationId=e-1").unwrap();
        let mut console = Console::plain(io::sink());
        assert_eq!(console.link(&link), "http://localhost:8080/connect?elicitationId=e-1\n       ^^^^^^^^^");
        console.style = true;
        assert_eq!(console.link(&link), "http://\x1b[1;7mlocalhost\x1b[0m:8080/connect?elicitationId=e-1");
    }

    #[tokio::test]
    async fn nobody_there_is_neither_asked_nor_shown_a_browser() {
        let console = Console::plain(io::sink());
        let link = Link::parse("http://localhost:8080/").unwrap();
        assert_eq!(console.ask("Open it?").await, None);
        assert!(console.open(&link).is_err());
    }

    #[test]
    fn text_from_elsewhere_cannot_steer_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\r\nc\u{9b}"), "a[2Jb\nc");
    }
}
