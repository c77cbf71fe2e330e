"""From a tool call to the user's account: asks Consentry for a credential, and when the user has to connect first, hands its
reply to the client in the form that this client understands.

What this must never do: take the client's `accept` for a connection (Consentry is asked), or send a client what it has not
declared (Consentry chooses from what is passed on here).
"""

import asyncio
import itertools
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from consentry import ActionRequired, Consentry, ConsentryError, Grant, Ready, api
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult, TextContent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

# How long Consentry holds a call that is repeated, in seconds. Clients allow a request 60 s by default.
HOLD = 45
# How often a client that asked for progress hears that the call is still waiting, in seconds.
PROGRESS = 20
# So many sessions are remembered that were asked and not told yet.
SESSIONS = 10_000
NOT_CONNECTED = "The account is not connected. Call the tool again to try once more."

Answer: TypeAlias = CallToolResult | InputRequiredResult

log = logging.getLogger(__name__)


class Unauthorized(Exception):
    """The third party answered 401."""


class Connect:
    """The tools' way to the users' accounts."""

    def __init__(self, consentry: Consentry, prefer: str, patience: int) -> None:
        self._consentry, self._prefer, self._patience = consentry, prefer, patience
        # Names each session to Consentry; the session's id is a secret between client and server.
        self._references: dict[str, str] = {}
        self._asked: dict[str, ServerSession] = {}

    async def account(
        self, ctx: Context, tool: str, provider: str, why: str, use: Callable[[Grant], Awaitable[CallToolResult]]
    ) -> Answer:
        """Calls `use` with the credential of the user behind this call, or gives what the client must get instead."""
        wanted = self._wanted(ctx, tool, provider, why)
        retry: api.ResolveRequest = {}
        if ctx.request_state is not None:
            responses = (ctx.request_context.params or {}).get("inputResponses")
            retry = {"request_state": ctx.request_state, "input_responses": responses, "wait_seconds": min(HOLD, self._patience)}
        try:
            answer = await self._consentry.resolve({**wanted, **retry})
            if isinstance(answer, ActionRequired) and answer.reply["kind"] == "elicitation_request":
                instead = await self._ask(ctx, answer, wanted["client"])
                if instead is not None:
                    return instead
                answer = await self._consentry.resolve(wanted)
            if not isinstance(answer, Ready):
                return _handed(answer.reply)
            try:
                return await use(answer.grants[0])
            except Unauthorized:
                await self._consentry.report(answer.grants[0])
                return _say("The connection was refused. Call the tool again.")
        except ConsentryError as error:
            if error.code == "request_state_invalid":
                raise MCPError(-32602, "requestState is not valid for this call") from None
            log.error("no credential: %s", error)
            return _say("Your account cannot be reached at the moment. Try again later.")

    async def tell(self, event: api.Event) -> None:
        """Hands a notification of completion to the session that was asked, if it is one of this process, and to no other."""
        reference, mcp = event["data"].get("client_ref"), event["data"].get("mcp")
        session = self._asked.pop(reference or "", None)
        if session is not None and mcp:
            try:
                await session.send_elicit_complete(mcp["params"]["elicitationId"])
            except Exception as gone:  # The client's next call finds the connection all the same.
                log.info("a session could not be told: %s", gone)

    def _wanted(self, ctx: Context, tool: str, provider: str, why: str) -> api.ResolveRequest:
        token = get_access_token()
        assert token is not None, "the door lets nobody in without a token"
        capabilities = ctx.client_capabilities
        declared = capabilities.elicitation if capabilities else None
        info = ctx.session.client_params.client_info if ctx.session.client_params else None
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # There are no sessions; an open link is found again by the user's OAuth client.
            reference = token.client_id
        else:
            reference = self._references.setdefault((ctx.headers or {}).get("mcp-session-id", ""), str(uuid.uuid4()))
            self._asked[reference] = ctx.session
            while len(self._asked) > SESSIONS:
                self._asked.pop(next(iter(self._asked)))
        return {
            "provider": provider,
            "message": why,
            # Consentry checks it once more, so that a fault here cannot name another user.
            "subject_token": token.token,
            "client": {
                "protocol_version": ctx.protocol_version,
                "elicitation": declared.model_dump(by_alias=True, mode="json", exclude_none=True) if declared else None,
                "ref": reference,
                "name": (info.title or info.name) if info else None,
                "method": "tools/call",
                "target": tool,
                "prefer": self._prefer,
            },
        }

    async def _ask(self, ctx: Context, asked: ActionRequired, client: api.Client | None) -> Answer | None:
        """Sends `elicitation/create` within the call, and returns when the user has connected; or what to answer instead."""
        elicitation, body = asked.elicitations[0]["id"], asked.reply["body"]
        over = asyncio.create_task(self._consentry.wait(elicitation))
        answered = asyncio.create_task(ctx.elicit_url(body["message"], body["url"], body["elicitationId"]))
        beat = asyncio.create_task(_beat(ctx))
        try:
            async with asyncio.timeout(self._patience):
                # The user may be quicker than the client's answer; and some clients answer only when all is done.
                await asyncio.wait((over, answered), return_when=asyncio.FIRST_COMPLETED)
                action = "accept" if over.done() else answered.result().action
                if action == "accept":
                    await self._consentry.respond(elicitation, "accept")
                    await over
                    return None
        except (MCPError, TimeoutError) as failed:
            log.info("nobody finished: %s", failed)
            action = "error"
        finally:
            for task in (over, answered, beat):
                task.cancel()
        # The link stays good after an error: whoever is at the page now can finish, and the next call finds it.
        reply = (await self._consentry.respond(elicitation, action, client)).get("reply")
        if reply:
            return _handed(reply)
        return _say("The user declined. Do not ask again by yourself." if action == "decline" else NOT_CONNECTED)


async def _beat(ctx: Context) -> None:
    for beats in itertools.count(1):
        await asyncio.sleep(PROGRESS)
        await ctx.report_progress(beats, message="Waiting for you to finish in the browser.")


def _handed(reply: api.Reply) -> Answer:
    """Consentry's reply, in the SDK's terms."""
    body = reply["body"]
    if reply["kind"] == "input_required":
        return InputRequiredResult.model_validate(body)
    if reply["kind"] == "tool_result":
        return CallToolResult.model_validate(body)
    raise MCPError(body["code"], body["message"], body.get("data"))


def _say(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
