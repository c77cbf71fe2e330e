"""The tool. Everything about connecting is one call; the rest is what the tool is for."""

import httpx2
from consentry import Grant
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations

from .connect import Connect, Unauthorized


def register_github(server: MCPServer, connect: Connect, github: str) -> None:
    @server.tool(title="List repositories", annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
    async def list_repositories(ctx: Context) -> CallToolResult | InputRequiredResult:
        """List the repositories in your GitHub account"""
        why = "Connect GitHub to list your repositories."
        return await connect.account(ctx, "list_repositories", "github", why, listed)

    async def listed(grant: Grant) -> CallToolResult:
        headers = {
            "accept": "application/vnd.github+json",
            **grant.credential["use"]["headers"],
        }
        async with httpx2.AsyncClient(timeout=15, trust_env=False) as http:
            answer = await http.get(f"{github}/user/repos?per_page=30&sort=pushed", headers=headers)
        if answer.status_code == 401:
            raise Unauthorized
        if answer.status_code != 200:
            return _text(f"GitHub answered with status {answer.status_code}.", is_error=True)
        return _text("\n".join(f"- {repository['full_name']}" for repository in answer.json()) or "There are none.")


def _text(text: str, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
