"""An MCP client on the official Python SDK for the tests. What mcp-client.mjs does, with its members and events; `sdk` is not
one of them, for there is one line."""

import asyncio
import json
import os
import sys
import threading
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

KNOWN = {"url", "tool", "arguments", "token", "era", "elicitation", "action", "content", "timeout_ms", "completion_ms"}
URL_REQUIRED = -32042

given: dict[str, Any] = json.loads(sys.argv[1])
assert given.keys() <= KNOWN and {"url", "tool"} <= given.keys(), f"unknown or missing members: {given}"
action = given.get("action", "accept")
legacy = given.get("era", "legacy") == "legacy"
limit = given.get("timeout_ms", 120_000) / 1000
agreed: set[str] = set()
completed: set[str] = set()
news = asyncio.Event()


def say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def asked(via: str, params: Any) -> None:
    plain = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    say(
        event="elicitation",
        via=via,
        mode=plain.get("mode", "form"),
        url=plain.get("url"),
        elicitation_id=plain.get("elicitationId"),
        message=plain["message"],
        schema=plain.get("requestedSchema"),
    )
    if action == "accept" and plain.get("elicitationId"):
        agreed.add(plain["elicitationId"])


async def answer(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
    asked("request", params)
    if action == "error":
        return types.ErrorData(code=-32603, message="this client fails")
    is_form = isinstance(params, types.ElicitRequestFormParams)
    content = given.get("content", {}) if action == "accept" and is_form else None
    return types.ElicitResult(action=action, content=content)


async def heard(message: Any) -> None:
    if isinstance(message, types.ElicitCompleteNotification):
        say(event="complete", elicitation_id=message.params.elicitation_id)
        completed.add(message.params.elicitation_id)
        news.set()


async def all_completed() -> None:
    while agreed - completed:
        news.clear()
        await news.wait()


async def called(client: Client) -> types.CallToolResult:
    for tries in range(1, 6):
        try:
            return await client.call_tool(given["tool"], given.get("arguments", {}))
        except MCPError as error:
            if error.code != URL_REQUIRED or action != "accept" or tries == 5:
                raise
            for one in error.data["elicitations"]:
                asked("error", types.ElicitRequestURLParams.model_validate(one))
            await all_completed()
            say(event="retry")
    raise AssertionError


def declare(wanted: types.ElicitationCapability | None) -> None:
    """The SDK declares what it has a callback for; a test may want another thing declared."""
    build = ClientSession._build_capabilities

    def built(session: ClientSession, version: str) -> types.ClientCapabilities:
        return build(session, version).model_copy(update={"elicitation": wanted})

    ClientSession._build_capabilities = built  # type: ignore[method-assign]


async def run() -> None:
    headers = {"authorization": f"Bearer {given['token']}"} if "token" in given else {}
    async with httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=limit), trust_env=False) as http:
        transport = streamable_http_client(given["url"], http_client=http)
        if "elicitation" in given:
            wanted = given["elicitation"]
            declare(None if wanted is None else types.ElicitationCapability.model_validate(wanted))
        mode = "legacy" if legacy else "auto"
        async with Client(
            transport, mode=mode, elicitation_callback=answer, message_handler=heard, read_timeout_seconds=limit
        ) as client:
            info = client.server_info
            say(event="connected", protocol_version=client.protocol_version, server=info and {"name": info.name})
            result = await called(client)
            content = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in result.content]
            say(event="result", is_error=bool(result.is_error), content=content, structured=result.structured_content)
            try:
                await asyncio.wait_for(all_completed(), given.get("completion_ms", 5_000) / 1000)
            except TimeoutError:
                pass


def end_with_input() -> None:
    while sys.stdin.read(4096):
        pass
    os._exit(1)


async def main() -> int:
    threading.Thread(target=end_with_input, daemon=True).start()
    failed = 0
    try:
        async with asyncio.timeout(limit):
            await run()
    except TimeoutError:
        say(event="error", message=f"not finished within {limit} s")
        return 3
    except Exception as failure:
        failed = 1
        for error in leaves(failure):
            say(event="error", code=getattr(error, "code", None), message=str(error), data=getattr(error, "data", None))
    say(event="end", missing=sorted(agreed - completed))
    return failed


def leaves(failure: BaseException) -> list[BaseException]:
    """What is behind a group of exceptions, which is what the SDK's tasks raise."""
    if not isinstance(failure, BaseExceptionGroup):
        return [failure]
    return [leaf for one in failure.exceptions for leaf in leaves(one)]


if __name__ == "__main__":
    code = asyncio.run(main())
    sys.stdout.flush()
    os._exit(code)
