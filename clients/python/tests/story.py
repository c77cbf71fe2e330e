"""What an MCP server does with the client, once, for tests/it/clients.rs, which is the user in between. It takes and tells what
clients/typescript/tests/story.ts does."""

import asyncio
import base64
import json
import os
import sys
import threading
from collections.abc import Awaitable
from typing import Any

from consentry import ActionRequired, Consentry, ConsentryError, Ready, Refused, WebhookRefused, api, verify_webhook

given: dict[str, Any] = json.loads(sys.argv[1])
provider, sub = given["provider"], given["sub"]
client: api.Client = {
    "protocol_version": "2025-11-25",
    "elicitation": {"url": {}},
    "ref": "story",
    "method": "tools/call",
    "target": "list",
}
wanted: api.ResolveRequest = {
    "provider": provider,
    "subject": {"sub": sub},
    "client": client,
    "message": "For the story.",
}


def say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


async def problem(about: str, call: Awaitable[Any]) -> None:
    try:
        await call
    except ConsentryError as error:
        say(event="problem", about=about, status=error.status, code=error.code, message=str(error))
    else:
        raise AssertionError(f"no error: {about}")


async def stream(consentry: Consentry) -> None:
    """Everything that comes is told, and each stream is left after one event: the next goes on behind it."""
    after = "0"
    while True:
        events = consentry.events(after)
        async for received in events:
            data = received.event["data"]
            say(
                event="signal",
                id=received.id,
                type=received.event["type"],
                sequence=data["sequence"],
                mcp=data.get("mcp"),
            )
            after = received.id
            break
        await events.aclose()


async def story(consentry: Consentry) -> None:
    say(event="providers", ids=[one["id"] for one in await consentry.providers()])
    first = await consentry.resolve(wanted)
    assert isinstance(first, ActionRequired), first
    asked = first.elicitations[0]
    say(event="asked", kind=first.reply["kind"], id=asked["id"], url=asked["url"])
    accepted = await consentry.respond(asked["id"], "accept")
    say(event="accepted", state=accepted["elicitation"]["state"])
    say(event="over", state=(await consentry.wait(asked["id"]))["state"])

    ready = await consentry.resolve(wanted)
    assert isinstance(ready, Ready), ready
    grant = ready.grants[0]
    assert grant.credential["access_token"] not in repr(ready)
    say(event="ready", account=grant.connection["account"].get("label"), token=grant.credential["access_token"])
    say(event="reported", status=(await consentry.report(grant))["status"])
    several = await consentry.resolve({"requests": [{"provider": provider}], "subject": {"sub": sub}, "client": client})
    say(event="several", status="ready" if isinstance(several, Ready) else "other")

    id = grant.connection["id"]
    page = await consentry.connections(sub=sub, limit=10)
    say(
        event="connections",
        ids=[one["id"] for one in page["connections"]],
        one=(await consentry.connection(id))["id"],
    )

    (made, _), (again, _) = [await consentry.create_elicitation(wanted, "a-key") for _ in range(2)]
    made_id = made[0]["id"]
    state = (await consentry.elicitation(made_id))["state"]
    say(event="created", same=made_id == again[0]["id"], state=state)
    failed = (await consentry.respond(made_id, "error", client)).get("reply")
    say(event="failed", kind=failed and failed["kind"])
    say(event="cancelled", state=(await consentry.cancel(made_id))["elicitation"]["state"])

    # A modern client's rounds, to a no.
    modern: api.Client = {**client, "protocol_version": "2026-07-28", "ref": "modern"}
    await consentry.delete_connection(id)
    asking: api.ResolveRequest = {**wanted, "client": modern}
    round = await consentry.resolve(asking)
    assert isinstance(round, ActionRequired), round
    body = round.reply["body"]
    responses = {key: {"action": "decline"} for key in body["inputRequests"]}
    refused = await consentry.resolve(
        {**asking, "request_state": body["requestState"], "input_responses": responses, "wait_seconds": 5}
    )
    is_refused = isinstance(refused, Refused)
    say(
        event="refused",
        kind=round.reply["kind"],
        status="refused" if is_refused else "other",
        outcome=refused.outcome if isinstance(refused, Refused) else None,
    )

    await problem("scope", consentry.resolve({**wanted, "scopes": ["everything"]}))
    await problem("state", consentry.resolve({**asking, "request_state": "forged"}))
    await problem("unknown", consentry.connection("0199aa00-0000-7000-8000-000000000000"))
    async with Consentry(given["url"], "wrong") as stranger:
        await problem("key", stranger.providers())
        await problem("stream", anext(stranger.events()))

    unrelated = f"whsec_{base64.b64encode(b'an unrelated secret of our own').decode()}"
    for post in given["posts"]:
        try:
            genuine = verify_webhook([unrelated, post["secret"]], post["headers"], post["body"].encode(), post["now"])
        except WebhookRefused as refusal:
            say(event="post", refused=refusal.status)
        else:
            say(event="post", id=genuine.id, type=genuine.event["type"])
    say(event="end")


async def main() -> None:
    async with Consentry(given["url"], given["api_key"]) as consentry, asyncio.TaskGroup() as group:
        group.create_task(stream(consentry))
        group.create_task(story(consentry))


def end_with_input() -> None:
    while sys.stdin.read(4096):
        pass
    os._exit(1)


threading.Thread(target=end_with_input, daemon=True).start()
asyncio.run(main())
