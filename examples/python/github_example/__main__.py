"""python -m github_example"""

import asyncio
from urllib.parse import urlsplit

import uvicorn
from consentry import Consentry
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.server.transport_security import TransportSecuritySettings

from .connect import Connect
from .door import Door
from .github import register_github
from .settings import Settings

# As long as an elicitation lives, in seconds.
ELICITATION = 30 * 60


async def main() -> None:
    settings = Settings.of_environment()
    here = urlsplit(settings.resource)
    door = await Door.open(settings.issuer, settings.resource)
    auth = AuthSettings(
        issuer_url=settings.issuer,
        resource_server_url=settings.resource,
        required_scopes=[settings.scope],
        validate_token_resource=True,
    )
    # The SDK seals what Consentry has sealed once more. Processes that share a load need `keys` in common instead.
    sealed = RequestStateSecurity.ephemeral(ttl=ELICITATION)
    server = MCPServer("github-example", version="0.1.0", token_verifier=door, auth=auth, request_state_security=sealed)
    async with Consentry(settings.consentry_url, settings.consentry_api_key) as consentry:
        connect = Connect(consentry, settings.prefer, settings.patience)
        register_github(server, connect, settings.github)
        app = server.streamable_http_app(
            streamable_http_path=here.path,
            # A session outlives what its user was asked in it.
            session_idle_timeout=4 * ELICITATION,
            transport_security=TransportSecuritySettings(
                enable_dns_rebinding_protection=True,
                allowed_hosts=[here.netloc],
                allowed_origins=[f"{here.scheme}://{here.netloc}", "http://localhost:*", "http://127.0.0.1:*"],
            ),
        )
        config = uvicorn.Config(
            app, here.hostname or "127.0.0.1", here.port or 80, log_level="warning", timeout_graceful_shutdown=2
        )

        async def tell() -> None:
            async for received in consentry.events():
                await connect.tell(received.event)

        # Tells sessions that what they were asked for is done, for as long as this process lives.
        telling = asyncio.create_task(tell())
        print(f"MCP endpoint: {settings.resource}", flush=True)
        await uvicorn.Server(config).serve()
        telling.cancel()


if __name__ == "__main__":
    asyncio.run(main())
