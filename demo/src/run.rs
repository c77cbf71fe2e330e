//! What the command does: starts the world, says who is where, and either plays alice's MCP client or leaves the
//! servers to others.

use std::{process::ExitCode, time::Duration};

use tokio::{signal, time::timeout};

use crate::{
    Options, World,
    console::Console,
    mcp_client::{CallOutcome, Era, McpClient},
    who,
};

/// Whom the terminal's client acts for.
const PERSON: &str = "alice";
const TOOL: &str = "list_files";
/// What the client allows beyond the server's patience, for the answers themselves.
const GRACE: Duration = Duration::from_secs(30);

/// Consentry, an authorization server, a third party, an MCP server and an MCP client, in one command.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "demo", version)]
pub struct Demo {
    /// Start the servers only, and say how to connect another MCP client
    #[arg(long)]
    pub no_client: bool,
    /// The protocol revision that the client in the terminal speaks: 2025-11-25 or 2026-07-28
    #[arg(long, value_enum, default_value_t, conflicts_with = "no_client")]
    pub era: Era,
    /// Take five ports in a row from this one on, instead of free ones
    #[arg(long, value_name = "FIRST", value_parser = clap::value_parser!(u16).range(1..=65_531))]
    pub ports: Option<u16>,
    /// How many minutes to wait for you in the browser
    #[arg(long, value_name = "MINUTES", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=25))]
    pub wait: u64,
    /// What the servers log to standard error, such as `consentry=info`
    #[arg(long, value_name = "FILTER", default_value = "error")]
    pub log: String,
}

/// Runs the demo to its end or to Ctrl-C. Succeeds when the tool gave its result, or when the servers were left to
/// others.
pub async fn run(demo: Demo, console: Console) -> ExitCode {
    let patience = Duration::from_secs(demo.wait * 60);
    let options = Options { ports: demo.ports, patience, ..Options::default() };
    let world = match World::start(options).await {
        Ok(world) => world,
        Err(error) => {
            console.say(&format!("{} {error}", console.warning("The demo could not start:")));
            console.say("Without --ports the demo takes ports that are free.");
            return ExitCode::FAILURE;
        }
    };
    console.say(&who::who(&world, &console));
    let ended = tokio::select! {
        ended = act(&demo, &world, &console, patience) => ended,
        () = interrupted() => {
            console.say("\nStopping.");
            // The servers were there for others; being told to stop is their ordinary end.
            if demo.no_client { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    };
    world.stop().await;
    ended
}

async fn act(demo: &Demo, world: &World, console: &Console, patience: Duration) -> ExitCode {
    if demo.no_client {
        console.say(&who::how(world, console));
        return std::future::pending().await;
    }
    match timeout(patience + GRACE, play(demo.era, world, console)).await {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::FAILURE,
        Ok(Err(error)) => {
            console.say(&format!("  {} {error}", console.warning("The call got no result:")));
            ExitCode::FAILURE
        }
        Err(_) => {
            console.say(&format!("  {}", console.warning(&too_long(demo.wait))));
            ExitCode::FAILURE
        }
    }
}

fn too_long(minutes: u64) -> String {
    format!("Nobody finished in the browser within {minutes} minutes. Start the demo again for a new link.")
}

/// Alice's client: whether the tool gave its result.
async fn play(era: Era, world: &World, console: &Console) -> Result<bool, Box<dyn std::error::Error>> {
    let version = era.version();
    console.say(&format!(
        "\n{} (MCP {}, showing links is declared)\n",
        console.strong("This terminal is now Alice's MCP client"),
        version.as_str()
    ));
    let token = world.token_for(PERSON).map_err(|refused| refused.to_string())?;
    console.say("  Her access token for the MCP server: the demo asked Example ID for it directly.");
    console.say(&console.faint("  Other clients have her sign in with a browser; see --no-client."));
    console.say(
        "  In the browser you are Alice too: sign in as Alice (the link is not for Bob), and allow access as",
    );
    console.say("  octocat or as hubot, which are accounts at Example Files.");
    let client = McpClient::connect(&world.mcp_server.url(), &token, era, console.clone()).await?;
    console.say(&format!("\n  Calling {} ...\n", console.strong(TOOL)));
    let outcome = client.call(TOOL).await?;
    let connected = tell(&outcome, console);
    if connected {
        let again = client.call(TOOL).await?;
        if again == outcome {
            console
                .say(&console.faint("  Called once more: the same result, at once and without a question."));
        }
    }
    client.close().await;
    Ok(connected)
}

fn tell(outcome: &CallOutcome, console: &Console) -> bool {
    match outcome {
        CallOutcome::Done(text) => {
            console.say(&format!("\n  {}\n", console.good("The tool's result")));
            console.say(&format!("    {}\n", text.replace('\n', "\n    ")));
            true
        }
        CallOutcome::Declined => {
            console.say("\n  You declined, so there is no result. Nothing was connected.");
            false
        }
        CallOutcome::Failed(text) => {
            console.say(&format!("\n  {}\n", console.warning("The tool gave no result. The server says:")));
            console.say(&format!("    {}", text.replace('\n', "\n    ")));
            false
        }
    }
}

/// Ctrl-C, or a supervisor's request to stop.
async fn interrupted() {
    let ctrl_c = async {
        if signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let told = async {
        match signal::unix::signal(signal::unix::SignalKind::terminate()) {
            Ok(mut terminate) => drop(terminate.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = ctrl_c => {}
        () = told => {}
    }
}
