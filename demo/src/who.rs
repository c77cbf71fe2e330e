//! What the demo says of itself: who runs where, and how another MCP client connects.

use crate::{World, console::Console};

/// Who runs where.
pub(crate) fn who(world: &World, console: &Console) -> String {
    let World { consentry, example_id, example_files, mcp_server, .. } = world;
    let mcp_url = mcp_server.url();
    let rows = [
        ("Consentry", consentry.public_url.as_str(), "asks the user, keeps the credentials"),
        ("", &consentry.internal_url, "the same for MCP servers: the internal API"),
        ("Example ID", example_id.base_url(), "signs in alice and bob, for the MCP server's clients"),
        ("Example Files", example_files.base_url(), "the third party; accounts octocat and hubot"),
        ("MCP server", &mcp_url, "its tool list_files needs an Example Files account"),
    ];
    let width = rows.iter().map(|(_, url, _)| url.len()).max().unwrap_or(0);
    let mut text = format!("\n{}\n\n", console.strong("Consentry demo: everybody runs in this process"));
    for (name, url, what) in rows {
        let name = console.strong(&format!("{name:<14}"));
        text.push_str(&format!("  {name} {url:<width$}  {}\n", console.faint(what)));
    }
    let directory = world.directory().display();
    let ports = "Ports are free ones; --ports 9000 takes 9000 to 9004 every time.";
    text.push_str(&console.faint(&format!(
        "\n  Settings and database are in {directory} until this ends.\n  {ports} Ctrl-C stops everything."
    )));
    text
}

/// How to connect another client.
pub(crate) fn how(world: &World, console: &Console) -> String {
    let url = world.mcp_server.url();
    let title = console.strong("Connect your own MCP client");
    let command = |text: &str| console.strong(text);
    format!(
        "
{title}

  Any client that speaks streamable HTTP can use {url}
  It finds out by itself where to sign in (Example ID), registers there, and opens a browser: choose alice or bob.
  Then let it call the tool list_files.

  MCP Inspector   {inspector}
                  {choose}
  Claude Code     {claude}
                  then /mcp inside Claude Code signs you in
  Codex CLI       {codex}
                  {codex_login}

  The servers run until Ctrl-C.",
        inspector = command("npx @modelcontextprotocol/inspector"),
        choose = console.faint("there: transport Streamable HTTP, the URL above, Connect"),
        claude = command(&format!("claude mcp add --transport http example-files {url}")),
        codex = command(&format!("codex mcp add example-files --url {url}")),
        codex_login = command("codex mcp login example-files"),
    )
}

/// How to start one of `examples/` in the place that is left for it, and how to call it; none when there is no such place.
pub(crate) fn example(world: &World, console: &Console) -> Option<String> {
    let guest = world.guest.as_ref()?;
    let (resource, api_key) = (&guest.resource, &guest.api_key);
    let token = world.guest_token_for("alice").ok().flatten()?;
    let World { consentry, example_id, example_files, .. } = world;
    let variables = [
        ("RESOURCE", resource.as_str()),
        ("ISSUER", example_id.base_url()),
        ("CONSENTRY_URL", &consentry.internal_url),
        ("CONSENTRY_API_KEY", api_key),
        ("GITHUB_API", example_files.base_url()),
    ];
    let exports = variables.map(|(name, value)| format!("  export {name}={value}")).join("\n");
    let command = |text: &str| console.strong(text);
    Some(format!(
        "
{title}

  In another terminal, in the folder of one of examples/ (its README says how to install what it needs):

{exports}

  then  {typescript}
  or    {python}

  and in a third, as Alice's MCP client:

  export MCP_TOKEN={token}
  {client}

  The servers run until Ctrl-C. The token is good for an hour.",
        title = command("Start an example"),
        typescript = command("npm start"),
        python = command(".venv/bin/python -m github_example"),
        client =
            command(&format!("cargo run --release -p demo -- client {resource} --tool list_repositories")),
    ))
}
