"""The objects of the API. Made from docs/openapi.json by scripts/generate; not to be changed by hand."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Account(TypedDict):
    """Whose account it is at the provider."""

    # The provider's stable id of it, where one is known.
    id: NotRequired[str | None]
    # What the user knows it by. Untrusted text.
    label: NotRequired[str | None]


class ActionRequired(TypedDict):
    """The user must open a link, or did not connect."""

    elicitation: NotRequired[Asked]
    elicitations: NotRequired[list[Asked]]
    # How it ended: `declined`, `cancelled`, `expired` or `failed`; with `refused` alone.
    outcome: NotRequired[str | None]
    # What to hand to the MCP client.
    reply: Reply
    # `action_required` or `refused`.
    status: str


class AllReady(TypedDict):
    """The same for `requests`, in their order."""

    results: list[OneReady]
    # `ready`.
    status: str


class Answered(TypedDict):
    """An elicitation after a call."""

    elicitation: Elicitation
    # What to hand to the MCP client, where something is.
    reply: NotRequired[Reply | None]


class Asked(TypedDict):
    """An elicitation as an answer that asks for action names it."""

    # When the link ends.
    expires_at: str
    # Its id.
    id: str
    # The provider's id.
    provider: str
    # `pending`, `authorizing`, `completed`, `declined`, `cancelled`, `expired` or `failed`.
    state: str
    # The link for the user. It grants nothing: only the user that it is for can use it.
    url: str


class AskedElicitations(TypedDict):
    """One elicitation, or with `requests` all that are needed."""

    elicitation: NotRequired[Asked]
    elicitations: NotRequired[list[Asked]]


class Client(TypedDict):
    """An MCP client, as it described itself."""

    # What the user typed into the form that asks for the code on the page; only for an MCP server with `identity = "code"`.
    code: NotRequired[str | None]
    # The capability `elicitation` that it declared, verbatim; absent or null is none.
    elicitation: NotRequired[dict[str, Any] | None]
    # The method of the call that is being answered; `tools/call` when left out.
    method: NotRequired[str | None]
    # Its name, for the pages, up to 128 characters.
    name: NotRequired[str | None]
    # A digest of the call's parameters, to which the request state of a modern round is bound.
    params_digest: NotRequired[str | None]
    # How a legacy client is asked for one connection: `request` (the default) or `error`.
    prefer: NotRequired[str | None]
    # The protocol version of the connection (legacy) or of the request (modern); taken for legacy when left out.
    protocol_version: NotRequired[str | None]
    # The caller's opaque reference, up to 256 bytes, given back in signals. Not an identity and not a session id.
    ref: NotRequired[str | None]
    # The tool, prompt or resource that it names.
    target: NotRequired[str | None]


ClientAction: TypeAlias = "Literal['accept'] | Literal['decline'] | Literal['cancel'] | Literal['error']"


class ClientResponse(TypedDict):
    """What the MCP client answered to `elicitation/create`."""

    # The answer.
    action: ClientAction
    # The client, for the words of the answer to `error`, and for the form after `accept` where the user types a code; a call of a tool when left out.
    client: NotRequired[Client | None]


class Connection(TypedDict):
    """A connection."""

    # What is connected.
    account: Account
    # When the user's consent ends at the provider; null when it does not, or nobody said.
    consent_expires_at: NotRequired[str | None]
    # When it was first made.
    created_at: str
    # When its access token ends; null when it does not, or nobody said.
    expires_at: NotRequired[str | None]
    # Moves with every new token.
    generation: int
    # Its id. One that is made after a disconnect has another.
    id: str
    # `oauth2`, `secret` for what a user has typed, or `redirect` for what they have done on a page of the MCP server's own.
    kind: str
    # When it was last handed out, to the minute; null when it was not, or the first time was within the last minute.
    last_used_at: NotRequired[str | None]
    # The provider's id.
    provider: str
    # Why it is not active, as a stable code.
    reason: NotRequired[str | None]
    # Until when new access tokens can be had without the user, unless it is renewed; null when nobody said.
    renewable_until: NotRequired[str | None]
    # What was granted.
    scopes: list[str]
    # `active`, `needs_reconnect` or `quarantined`.
    status: str
    # Whose it is.
    subject: User
    # Whether it is of the provider's test mode, as far as it shows.
    test_mode: bool
    # Whether nobody could say if what a user has typed works.
    unchecked: bool
    # When it last changed.
    updated_at: str


class Connections(TypedDict):
    """A page of connections."""

    # In the order of their ids.
    connections: list[Connection]
    # Gives the next page with the same filters; null on the last one.
    next_cursor: NotRequired[str | None]


class Created(TypedDict):
    """Elicitations that were made, or open ones used again."""

    elicitation: NotRequired[Asked]
    elicitations: NotRequired[list[Asked]]
    # What to hand to the MCP client.
    reply: Reply


Credential: TypeAlias = "TokenCredential | SecretCredential | RedirectCredential"


class CredentialConnection(TypedDict):
    """The connection that a credential is of."""

    # What is connected.
    account: Account
    # Which of the connection's tokens this is.
    generation: int
    # Its id; with `generation` what a report names.
    id: str
    # The provider's id.
    provider: str


class Elicitation(TypedDict):
    """An elicitation."""

    # The caller's reference of the client that asked.
    client_ref: NotRequired[str | None]
    # When it ended.
    closed_at: NotRequired[str | None]
    # What completed it.
    connection: NotRequired[str | None]
    # When it was made.
    created_at: str
    # When the link ends.
    expires_at: str
    # Its id.
    id: str
    # The provider's id.
    provider: str
    # Why it ended, as a stable code.
    reason: NotRequired[str | None]
    # What is asked for.
    scopes: list[str]
    # `pending`, `authorizing`, `completed`, `declined`, `cancelled`, `expired` or `failed`; the last five are final.
    state: str
    # Who is asked.
    subject: User
    # The link for the user. It grants nothing: only the user that it is for can use it.
    url: str


class Event(TypedDict):
    """The body of a signal."""

    # To what.
    data: EventData
    # When it happened, RFC 3339 in UTC.
    timestamp: str
    # What happened, such as `elicitation.completed`.
    type: str


class EventData(TypedDict):
    """What a signal is about."""

    # The caller's reference of the client that asked.
    client_ref: NotRequired[str | None]
    # The connection, where there is one.
    connection_id: NotRequired[str | None]
    # The elicitation; none when a connection changed by itself.
    elicitation_id: NotRequired[str | None]
    # What to send to the MCP client named by `client_ref`, and to no other: only when an elicitation of the legacy era was completed.
    mcp: NotRequired[Notification | None]
    # The provider's id.
    provider: str
    # Why, as a stable code.
    reason: NotRequired[str | None]
    # Counts 1, 2, 3 within one MCP server; also the event's id in the stream.
    sequence: int
    # Whose it is.
    subject: EventSubject


class EventSubject(TypedDict):
    """A user."""

    # The issuer that names them.
    issuer: str
    # Their subject there.
    sub: str


class Events(TypedDict):
    """A page of events."""

    # In the order of their sequence.
    events: list[Event]
    # What to pass as `after` for what comes next; the same as before when there was nothing.
    next: int


class FurtherToken(TypedDict):
    """A further token of the same grant, such as the user's beside a bot's."""

    # The access token.
    access_token: str
    # When it ends; null when it does not, or nobody said.
    expires_at: NotRequired[str | None]
    # What was granted with it, as the provider calls it.
    scopes: list[str]
    # How to present it, `Bearer` as a rule.
    token_type: str


class Need(TypedDict):
    """One of several providers."""

    # The provider's id.
    provider: str
    # What the tool needs of it; the provider's `scopes` when left out.
    scopes: NotRequired[list[str] | None]
    # Variables of the provider's addresses; what is left out is known already, or the user is asked.
    variables: NotRequired[dict[str, str] | None]


class Notification(TypedDict):
    """An MCP notification."""

    # `notifications/elicitation/complete`.
    method: str
    # Its parameters.
    params: dict[str, Any]


class OneReady(TypedDict):
    """One of several."""

    connection: CredentialConnection
    credential: Credential
    # The provider's id.
    provider: str


class PageResult(TypedDict):
    """What came of a visit."""

    # With `accepted`: what the user knows it by, 1 to 100 characters.
    label: NotRequired[str | None]
    # With `failed`: why, 1 to 64 of `a-z`, `0-9` and `_`, beginning with a letter.
    reason: NotRequired[str | None]
    # What came of it.
    result: PageResultKind
    # With `accepted`: what the MCP server wants to find again, by name; nothing secret. At most 32, of at most 1024 bytes.
    values: NotRequired[dict[str, str] | None]


PageResultKind: TypeAlias = "Literal['accepted'] | Literal['failed']"


class PageVisit(TypedDict):
    """For whom a visit to a page is."""

    # The caller's reference of the client that asked.
    client_ref: NotRequired[str | None]
    # The elicitation that is answered by it.
    elicitation_id: str
    # Until when.
    expires_at: str
    # The provider's id.
    provider: str
    # Where the browser is sent back to, with the `state` of the page's address.
    redirect_uri: str
    # Who is asked. Whoever is at the browser need not be the same: the code is no login.
    subject: User


class Problem(TypedDict):
    """The body (RFC 9457, section 3)."""

    # The kind as a word that stays the same.
    code: str
    # This occurrence of it.
    detail: str
    # The field or parameter, where one is to blame.
    field: NotRequired[str | None]
    # Finds this answer in the server's log.
    request_id: str
    # The HTTP status.
    status: int
    # The kind in a few words.
    title: str
    # Names the kind of problem: `urn:consentry:problem:` and the code.
    type: str


class Provider(TypedDict):
    """A provider."""

    # The most that a request may name.
    allowed_scopes: list[str]
    # The id to ask by.
    id: str
    # `oauth2`, `secret` for what a person connects by typing a key, or `redirect` for what they do on a page of the MCP server's own.
    kind: str
    # The name, for people.
    name: str
    # What is asked for when a request names no scopes.
    scopes: list[str]
    # What stands in braces in its addresses and a request may give under `variables`.
    variables: list[ProviderVariable]


class ProviderVariable(TypedDict):
    """A variable of a provider's addresses."""

    # The values to choose from; empty where anything that fits may be given.
    choices: list[str]
    # A value that would fit.
    example: NotRequired[str | None]
    # What users know it as.
    label: str
    # The name to give it by.
    name: str
    # Whether the caller must give it, because nobody else may and nothing stands for it.
    required: bool


class Providers(TypedDict):
    """The providers that the caller may ask for."""

    # In the order of the MCP server's settings.
    providers: list[Provider]


class Ready(TypedDict):
    """Everything that was asked for is connected."""

    connection: CredentialConnection
    credential: Credential
    # `ready`.
    status: str


class Redeem(TypedDict):
    """The code that a browser brought."""

    # The parameter `code` of the page's address.
    code: str


class RedirectCredential(TypedDict):
    """What a user has done on a page of the MCP server's own. There is no credential: what counts is that it was done."""

    # The kind of what a user has done on a page of the MCP server's own.
    kind: Literal["redirect"]
    # What the MCP server said of it.
    values: dict[str, str]


class Reply(TypedDict):
    """How to hand an answer to the MCP client."""

    # What to hand on, unchanged.
    body: dict[str, Any]
    # The status that the HTTP answer to the client must have, where the protocol prescribes one.
    http_status: NotRequired[int | None]
    # `elicitation_request`: send `elicitation/create` with the body as its parameters. `jsonrpc_error`: answer the call with this error. `input_required` and `tool_result`: answer it with this result.
    kind: str


class Report(TypedDict):
    """What was refused."""

    # The connection's id.
    connection: str
    # Which of its tokens, as `resolve` said.
    generation: int
    # What happened.
    problem: ReportedProblem


class Reported(TypedDict):
    """The connection after a report."""

    connection: Connection


ReportedProblem: TypeAlias = "Literal['unauthorized']"


Resolution: TypeAlias = "Ready | AllReady | ActionRequired"


class ResolveRequest(TypedDict):
    """What a tool needs, for whom, and on whose call."""

    # The MCP client whose call is being answered. Without it the answer is made for a legacy client that declared nothing.
    client: NotRequired[Client | None]
    # On a modern client's retry: the `inputResponses` that it sent, verbatim.
    input_responses: NotRequired[dict[str, Any] | None]
    # Why, in words for the user: plain text, up to 1000 characters.
    message: NotRequired[str | None]
    # The provider's id; or `requests`.
    provider: NotRequired[str | None]
    # On a modern client's retry: the `requestState` that it sent back, verbatim.
    request_state: NotRequired[str | None]
    # Several providers at once, up to 8, each named once; instead of `provider` and `scopes`.
    requests: NotRequired[list[Need] | None]
    # What the tool needs of it, within its `allowed_scopes`; the provider's `scopes` when left out.
    scopes: NotRequired[list[str] | None]
    # The user, whom the MCP server has verified; or `subject_token`.
    subject: NotRequired[Subject | None]
    # The user's access token for the MCP server, to be verified here; or `subject`.
    subject_token: NotRequired[str | None]
    # Variables of the provider's addresses, such as `subdomain`; what is left out is known already, or the user is asked. `GET /v1/providers` lists them.
    variables: NotRequired[dict[str, str] | None]
    # On a retry: how long the answer may be held until the outcome is known, 0 to 50 seconds.
    wait_seconds: NotRequired[int | None]


class SecretCredential(TypedDict):
    """What a user has typed: an API key, or several values."""

    # The values by the names of the form's fields; a field that was left empty is not there.
    fields: dict[str, str]
    # The kind of a credential that a user has typed.
    kind: Literal["secret"]
    # How to use them.
    use: Use


class Subject(TypedDict):
    """A user, named by a caller that has verified them."""

    # The issuer; that of the MCP server's authorization server, and may be left out.
    issuer: NotRequired[str | None]
    # The subject there, byte for byte; 1 to 255 bytes.
    sub: str


class TokenCredential(TypedDict):
    """An access token."""

    # The access token.
    access_token: str
    # When it ends; null when it does not, or nobody said.
    expires_at: NotRequired[str | None]
    # The kind of a credential that is an access token.
    kind: Literal["oauth2"]
    # What was asked for, once, and not granted.
    missing_scopes: list[str]
    # What was granted.
    scopes: list[str]
    # Further tokens of the same grant, by name; absent when there is none.
    slots: NotRequired[dict[str, Any]]
    # How to present it, `Bearer` as a rule.
    token_type: str
    # How to use it.
    use: Use
    # What is known of the account's place at the provider, such as the address of its API or its tenant; absent when there is nothing.
    values: NotRequired[dict[str, str]]


class Use(TypedDict):
    """How to use a credential: what goes into each request to the provider's API, with every value in its place."""

    # Where the API is; null where the settings do not say.
    base_url: NotRequired[str | None]
    # Headers for each request.
    headers: dict[str, str]
    # Query parameters for each request, to be encoded.
    query: dict[str, str]


class User(TypedDict):
    """A user."""

    # The issuer.
    issuer: str
    # The subject there.
    sub: str
