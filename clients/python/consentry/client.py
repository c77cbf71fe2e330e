"""The calls. What this must never do: follow a redirect or use a proxy (each request carries the API key), or send again
what could happen twice.

It runs on httpx, or on httpx2, which the `mcp` package brings along.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias
from urllib.parse import quote

try:
    import httpx2 as httpx
except ImportError:
    import httpx

from . import api

# A wait on the server's side lasts so long at most, in seconds.
LONGEST_WAIT = 50
# How often a call is sent at most.
TRIES = 3
# A longer Retry-After is left to the caller, in seconds.
LONGEST_PAUSE = 5.0
# The server says something every 15 s; after this long without a word the stream counts as dead.
SILENCE = 50.0
# The longest pause before the stream is opened again, in seconds.
LONGEST_STREAM_PAUSE = 30.0
# No event is longer, in characters.
LONGEST_EVENT = 256 * 1024
FINAL = ("completed", "declined", "cancelled", "expired", "failed")

Action: TypeAlias = Literal["accept", "decline", "cancel", "error"]


class ConsentryError(Exception):
    """Consentry refused a call, or gave an answer that is none. Decide by `code`. Holds no token and nothing of a body."""

    def __init__(self, status: int, problem: Mapping[str, Any] | None = None, retry_after: float | None = None) -> None:
        self.status = status
        # The kind of problem as a word that stays the same, such as `provider_unavailable`.
        self.code: str = (problem or {}).get("code", "unreadable")
        # The problem as the server wrote it (RFC 9457), where it did.
        self.problem = problem
        # Seconds after which to try again, where the server says so.
        self.retry_after = retry_after
        known = f"{problem.get('title')} ({self.code}, {status}, request {problem.get('request_id')})" if problem else None
        super().__init__(known or f"Consentry answered with status {status}")

    @property
    def passes(self) -> bool:
        """Whether it will pass by itself."""
        return self.status in (408, 429) or self.status >= 500

    @classmethod
    def of(cls, response: httpx.Response) -> ConsentryError:
        try:
            problem = response.json()
        except ValueError:
            problem = None
        after = response.headers.get("retry-after", "")
        known = problem if isinstance(problem, dict) and "code" in problem else None
        return cls(response.status_code, known, float(after) if after.isdecimal() else None)


@dataclass(frozen=True)
class Grant:
    """A credential, and the connection that it is of."""

    credential: api.Credential = field(repr=False)
    connection: api.CredentialConnection


@dataclass(frozen=True)
class Ready:
    """Here is what the tool needs, in the order of its needs; never empty."""

    grants: list[Grant]


@dataclass(frozen=True)
class ActionRequired:
    """The user must open a link first: hand `reply` to the MCP client."""

    elicitations: list[api.Asked]
    reply: api.Reply


@dataclass(frozen=True)
class Refused:
    """The user did not connect (only a retry is answered so): hand `reply` to the MCP client."""

    outcome: str
    elicitations: list[api.Asked]
    reply: api.Reply


Resolution: TypeAlias = Ready | ActionRequired | Refused


@dataclass(frozen=True)
class Received:
    """An event, and the id behind which a later stream can go on."""

    id: str
    event: api.Event


class Consentry:
    """A connection to Consentry, for the whole process. `timeout` is how long an answer may take, in seconds, that the
    server need not wait for."""

    def __init__(self, url: str, api_key: str, timeout: float = 10.0) -> None:
        self._timeout = timeout
        headers = {"authorization": f"Bearer {api_key}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, follow_redirects=False, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def resolve(self, request: api.ResolveRequest) -> Resolution:
        """The credential, or what the MCP client must be told first."""
        wait = request.get("wait_seconds") or 0
        answer = await self._json("POST", "credentials/resolve", body=request, wait=wait)
        if answer["status"] == "ready":
            results = answer.get("results", [answer])
            return Ready([Grant(one["credential"], one["connection"]) for one in results])
        if answer["status"] == "action_required":
            return ActionRequired(_asked(answer), answer["reply"])
        return Refused(answer.get("outcome") or "failed", _asked(answer), answer["reply"])

    async def create_elicitation(
        self, request: api.ResolveRequest, idempotency_key: str | None = None
    ) -> tuple[list[api.Asked], api.Reply]:
        """Asks although a connection may exist already, to switch the account say. With a key the call may be repeated."""
        headers = {"idempotency-key": idempotency_key} if idempotency_key else {}
        made = await self._json("POST", "elicitations", body=request, headers=headers, repeatable=bool(headers))
        return _asked(made), made["reply"]

    async def elicitation(self, id: str, wait_seconds: int = 0) -> api.Elicitation:
        """How an elicitation stands: at once when it is over, otherwise after `wait_seconds` (0 to 50) at most."""
        query = {"wait_seconds": wait_seconds} if wait_seconds else {}
        return await self._json("GET", f"elicitations/{_part(id)}", query=query, wait=wait_seconds, repeatable=True)

    async def wait(self, id: str) -> api.Elicitation:
        """Waits until an elicitation is over. End it with `asyncio.timeout` when it is enough."""
        while True:
            elicitation = await self.elicitation(id, LONGEST_WAIT)
            if elicitation["state"] in FINAL:
                return elicitation

    async def respond(self, id: str, action: Action, client: api.Client | None = None) -> api.Answered:
        """Passes on what the MCP client answered. `accept` changes nothing, `decline` and `cancel` close it; after `error` there
        is a `reply` to hand on."""
        body = {"action": action, **({"client": client} if client else {})}
        return await self._json("POST", f"elicitations/{_part(id)}/response", body=body, repeatable=True)

    async def cancel(self, id: str) -> api.Answered:
        """Withdraws an elicitation."""
        return await self._json("POST", f"elicitations/{_part(id)}/cancel", repeatable=True)

    async def redeem(self, code: str) -> api.PageVisit:
        """Redeems the code that a browser brought to a page of this MCP server's own. Once: a second time ends the visit, so
        it is never sent again by itself."""
        return await self._json("POST", "hosted/redeem", body={"code": code})

    async def page_result(self, id: str, result: api.PageResult) -> api.Elicitation:
        """Says what came of a visit to a page. `accepted` counts once the user's browser is back; `failed` ends the
        elicitation. The same may be said again."""
        return await self._json("POST", f"elicitations/{_part(id)}/result", body=result, repeatable=True)

    async def report(self, grant: Grant) -> api.Connection:
        """Says that the third party answered 401 to this credential: it is not handed out again. Then `resolve` anew."""
        connection = grant.connection
        body = {"connection": connection["id"], "generation": connection["generation"], "problem": "unauthorized"}
        return (await self._json("POST", "credentials/report", body=body, repeatable=True))["connection"]

    async def connections(self, **query: str | int) -> api.Connections:
        """A page of connections: `issuer`, `sub`, `provider`, `limit`; pass `next_cursor` as `cursor` for the next."""
        return await self._json("GET", "connections", query=query, repeatable=True)

    async def connection(self, id: str) -> api.Connection:
        return await self._json("GET", f"connections/{_part(id)}", repeatable=True)

    async def delete_connection(self, id: str) -> None:
        """Removes a connection; the third party is told behind the answer."""
        await self._send("DELETE", f"connections/{_part(id)}")

    async def providers(self) -> list[api.Provider]:
        """The providers that this MCP server may ask for."""
        return (await self._json("GET", "providers", repeatable=True))["providers"]

    async def events(self, after: str | None = None) -> AsyncGenerator[Received]:
        """The events of this MCP server, from behind `after` on, or from now on; without end. A stream that breaks is taken
        up again where it was; what trying again does not mend (a wrong key, say) is raised."""
        failures, pause = 0, 0.5
        while True:
            if failures:
                await asyncio.sleep(min(pause * 2 ** (failures - 1), LONGEST_STREAM_PAUSE))
            failures = min(failures + 1, 16)
            headers = {"accept": "text/event-stream", **({"last-event-id": after} if after is not None else {})}
            limits = httpx.Timeout(self._timeout, read=SILENCE)
            try:
                async with self._http.stream("GET", "/v1/events", headers=headers, timeout=limits) as response:
                    if response.status_code != 200:
                        await response.aread()
                        raise ConsentryError.of(response)
                    async for id, data, retry in _messages(response):
                        # Not zero: a server that ends every stream at once must not make a hot loop.
                        failures = 1
                        pause = retry or pause
                        if data is not None:
                            after = id or after
                            yield Received(after or "", json.loads(data))
            except ConsentryError as error:
                if not error.passes:
                    raise
            except httpx.TransportError:
                pass

    async def _json(self, method: str, path: str, **call: Any) -> Any:
        return (await self._send(method, path, **call)).json()

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
        wait: float = 0,
    ) -> httpx.Response:
        limit = self._timeout + wait
        tries = 0
        while True:
            tries += 1
            pause = 0.2 * 2 ** (tries - 1)
            try:
                async with asyncio.timeout(limit):
                    response = await self._http.request(
                        method, f"/v1/{path}", params=query, json=body, headers=headers, timeout=limit
                    )
            except (httpx.TransportError, TimeoutError):
                if tries == TRIES or not repeatable:
                    raise
            else:
                if response.is_success:
                    return response
                error = ConsentryError.of(response)
                after = error.retry_after
                # With these nothing was done, and the server says when to come back.
                invited = error.status in (429, 503) and after is not None and after <= LONGEST_PAUSE
                if tries == TRIES or not (invited or (repeatable and error.status >= 500 and after is None)):
                    raise error
                pause = pause if after is None else after
            await asyncio.sleep(pause)


def _part(id: str) -> str:
    return quote(id, safe="")


def _asked(answer: Mapping[str, Any]) -> list[api.Asked]:
    return answer["elicitations"] if "elicitations" in answer else [answer["elicitation"]]


async def _messages(response: httpx.Response) -> AsyncGenerator[tuple[str | None, str | None, float | None]]:
    """The messages of a stream (the format is that of HTML, "server-sent events"): id, data, and the pause in seconds."""
    id, data, retry, size = None, None, None, 0
    async for line in response.aiter_lines():
        size += len(line)
        if size > LONGEST_EVENT:
            raise ValueError("an event is too long")
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            yield id, data, retry
            id, data, retry, size = None, None, None, 0
        elif name == "id":
            id = value
        elif name == "data":
            data = value if data is None else f"{data}\n{value}"
        elif name == "retry" and value.isdecimal():
            retry = int(value[:6]) / 1000
