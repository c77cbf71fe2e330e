//! What the command does: starts the world, says who is where, and either plays alice's MCP client or leaves the
//! servers to others.

pub mod client;

use std::{io, net::Ipv4Addr, process::ExitCode, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::timeout,
};

use crate::{
    Options, World,
    console::Console,
    mcp_client::{CallOutcome, Era, McpClient},
    who,
};

/// How long a browser has for its last page when nobody is at the terminal to say so.
const LAST_PAGE: Duration = Duration::from_secs(3);
/// Whom the terminal's client acts for.
const PERSON: &str = "alice";
const TOOL: &str = "list_files";
/// The server is a little more patient than the client, so that the demo ends with the client's own words.
const GRACE: Duration = Duration::from_secs(30);

/// Consentry, an authorization server, a third party, an MCP server and an MCP client, in one command.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "demo", version, args_conflicts_with_subcommands = true)]
pub struct Demo {
    /// Something else than the whole
    #[command(subcommand)]
    pub part: Option<Part>,
    /// Start the servers only, and say how to connect another MCP client
    #[arg(long)]
    pub no_client: bool,
    /// The protocol revision that the client in the terminal speaks: 2025-11-25 or 2026-07-28
    #[arg(long, value_enum, default_value_t, conflicts_with_all = ["no_client", "example"])]
    pub era: Era,
    /// Take five ports in a row from this one on, instead of free ones
    #[arg(long, value_name = "FIRST", value_parser = clap::value_parser!(u16).range(1..=65_531))]
    pub ports: Option<u16>,
    /// Leave room for one of `examples/` at 127.0.0.1:PORT, and say how to start it and call it
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub example: Option<u16>,
    /// How many minutes to wait for you in the browser
    #[arg(long, value_name = "MINUTES", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=25))]
    pub wait: u64,
    /// What is logged to standard error, such as `consentry=info`; by default errors, without those of a client that left
    #[arg(long, value_name = "FILTER", default_value = "error,rmcp=off")]
    pub log: String,
}

/// A part of the demo on its own.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Part {
    /// Only the MCP client in the terminal, for any MCP server
    Client(client::Call),
}

impl Demo {
    fn patience(&self) -> Duration {
        Duration::from_secs(self.wait * 60)
    }
}

/// Runs the demo to its end or to Ctrl-C. Succeeds when the tool gave its result, or when the servers were left to
/// others.
pub async fn run(demo: Demo, console: Console) -> ExitCode {
    let Ok(mut interrupted) = Interrupted::listen() else { return ExitCode::FAILURE };
    if let Some(Part::Client(call)) = &demo.part {
        return tokio::select! {
            ended = client::call(call, &console) => ended,
            () = interrupted.wait() => ExitCode::FAILURE,
        };
    }
    let patience = demo.patience() + GRACE;
    let guest = demo.example.map(|port| (Ipv4Addr::LOCALHOST, port).into());
    let options = Options { ports: demo.ports, patience, guest, ..Options::default() };
    let started = tokio::select! {
        started = World::start(options) => started,
        () = interrupted.wait() => return ExitCode::FAILURE,
    };
    let world = match started {
        Ok(world) => world,
        Err(error) => {
            console.say(&format!("{} {error}", console.warning("The demo could not start:")));
            console.say("Without --ports the demo takes ports that are free.");
            return ExitCode::FAILURE;
        }
    };
    console.say(&who::who(&world, &console));
    let ended = if demo.no_client || demo.example.is_some() {
        let how = who::example(&world, &console).unwrap_or_else(|| who::how(&world, &console));
        console.say(&how);
        interrupted.wait().await;
        // The servers were there for others; being told to stop is their ordinary end.
        ExitCode::SUCCESS
    } else {
        let ended = play(&demo, &world, &console, &mut interrupted).await;
        if ended == ExitCode::SUCCESS {
            linger(&console, &mut interrupted).await;
        }
        ended
    };
    world.stop().await;
    console.say(&console.faint("\n  Everything is stopped."));
    ended
}

/// Alice's client, from its connection to the tool's result.
async fn play(demo: &Demo, world: &World, console: &Console, interrupted: &mut Interrupted) -> ExitCode {
    introduce(demo.era, console);
    let client = match connect(demo.era, world, console).await {
        Ok(client) => client,
        Err(error) => {
            console.say(&format!("  {} {error}", console.warning("The MCP server was not reached:")));
            return ExitCode::FAILURE;
        }
    };
    console.say(&format!("\n  Calling {} ...\n", console.strong(TOOL)));
    let ended = tokio::select! {
        called = timeout(demo.patience(), client.call(TOOL, None)) => match called {
            Ok(Ok(outcome)) => tell(outcome, &client, console).await,
            Ok(Err(error)) => {
                console.say(&format!("  {} {error}", console.warning("The call got no result:")));
                ExitCode::FAILURE
            }
            Err(_) => {
                let slow = format!("Nobody finished in the browser in {} min.", demo.wait);
                console.say(&format!("\n  {} Start the demo again for a new link.", console.warning(&slow)));
                ExitCode::FAILURE
            }
        },
        () = interrupted.wait() => ExitCode::FAILURE,
    };
    client.close().await;
    ended
}

/// The browser is on its way to its last page, and its person may want to look around there.
async fn linger(console: &Console, interrupted: &mut Interrupted) {
    let enough = async {
        if console.has_person() {
            console.ask("\n  Press Enter to stop everything.").await;
        } else {
            let _ = timeout(LAST_PAGE, std::future::pending::<()>()).await;
        }
    };
    tokio::select! {
        () = enough => {}
        () = interrupted.wait() => {}
    }
}

fn introduce(era: Era, console: &Console) {
    console.say(&format!(
        "\n{} (MCP {}, showing links is declared)\n",
        console.strong("This terminal is now Alice's MCP client"),
        era.version().as_str()
    ));
    console.say("  Her access token for the MCP server: the demo asked Example ID for it directly.");
    console.say(&console.faint("  Other clients have her sign in with a browser; see --no-client."));
    console.say(
        "  In the browser you are Alice too: sign in as Alice (the link is not for Bob), and allow access as",
    );
    console.say("  octocat or as hubot, which are accounts at Example Files.");
}

async fn connect(
    era: Era,
    world: &World,
    console: &Console,
) -> Result<McpClient, Box<dyn std::error::Error>> {
    let token = world.token_for(PERSON).map_err(|refused| refused.to_string())?;
    Ok(McpClient::connect(&world.mcp_server.url(), Some(&token), Some(era), console.clone()).await?)
}

async fn tell(outcome: CallOutcome, client: &McpClient, console: &Console) -> ExitCode {
    match &outcome {
        CallOutcome::Done(text) => {
            say_result(text, console);
            if client.call(TOOL, None).await.is_ok_and(|again| again == outcome) {
                let again = "Called once more: the same result, at once and without a question.";
                console.say(&console.faint(&format!("\n  {again}")));
            }
            return ExitCode::SUCCESS;
        }
        other => say_without(other, console),
    }
    ExitCode::FAILURE
}

fn say_result(text: &str, console: &Console) {
    console.say(&format!("\n  {}\n\n{}", console.good("The tool's result"), indented(text)));
}

/// What is said of a call that gave no result.
fn say_without(outcome: &CallOutcome, console: &Console) {
    match outcome {
        CallOutcome::Done(text) => say_result(text, console),
        CallOutcome::Declined => {
            console.say("\n  You declined, so nothing was connected and there is no result.");
        }
        CallOutcome::Failed(text) => {
            let title = console.warning("The tool gave no result. The server says:");
            console.say(&format!("\n  {title}\n\n{}", indented(text)));
        }
    }
}

fn indented(text: &str) -> String {
    format!("    {}", text.replace('\n', "\n    "))
}

/// Ctrl-C, or a supervisor's request to stop.
struct Interrupted {
    ctrl_c: Signal,
    terminate: Signal,
}

impl Interrupted {
    /// From now on: until somebody listens, these signals end the process at once.
    fn listen() -> io::Result<Self> {
        Ok(Self { ctrl_c: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.ctrl_c.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
