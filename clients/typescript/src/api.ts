// Made from docs/openapi.json by scripts/generate; not to be changed by hand.

/** Whose account it is at the provider. */
export interface Account {
  /** The provider's stable id of it, where one is known. */
  id?: string | null;
  /** What the user knows it by. Untrusted text. */
  label?: string | null;
}

/** The user must open a link, or did not connect. */
export interface ActionRequired {
  elicitation?: Asked;
  elicitations?: Asked[];
  /** How it ended: `declined`, `cancelled`, `expired` or `failed`; with `refused` alone. */
  outcome?: string | null;
  /** What to hand to the MCP client. */
  reply: Reply;
  /** `action_required` or `refused`. */
  status: string;
}

/** The same for `requests`, in their order. */
export interface AllReady {
  results: OneReady[];
  /** `ready`. */
  status: string;
}

/** An elicitation after a call. */
export interface Answered {
  elicitation: Elicitation;
  /** What to hand to the MCP client, where something is. */
  reply?: Reply | null;
}

/** An elicitation as an answer that asks for action names it. */
export interface Asked {
  /** When the link ends. */
  expires_at: string;
  /** Its id. */
  id: string;
  /** The provider's id. */
  provider: string;
  /** `pending`, `authorizing`, `completed`, `declined`, `cancelled`, `expired` or `failed`. */
  state: string;
  /** The link for the user. It grants nothing: only the user that it is for can use it. */
  url: string;
}

/** One elicitation, or with `requests` all that are needed. */
export interface AskedElicitations {
  elicitation?: Asked;
  elicitations?: Asked[];
}

/** An MCP client, as it described itself. */
export interface Client {
  /** What the user typed into the form that asks for the code on the page; only for an MCP server with `identity = "code"`. */
  code?: string | null;
  /** The capability `elicitation` that it declared, verbatim; absent or null is none. */
  elicitation?: Record<string, unknown> | null;
  /** The method of the call that is being answered; `tools/call` when left out. */
  method?: string | null;
  /** Its name, for the pages, up to 128 characters. */
  name?: string | null;
  /** A digest of the call's parameters, to which the request state of a modern round is bound. */
  params_digest?: string | null;
  /** How a legacy client is asked for one connection: `request` (the default) or `error`. */
  prefer?: string | null;
  /** The protocol version of the connection (legacy) or of the request (modern); taken for legacy when left out. */
  protocol_version?: string | null;
  /** The caller's opaque reference, up to 256 bytes, given back in signals. Not an identity and not a session id. */
  ref?: string | null;
  /** The tool, prompt or resource that it names. */
  target?: string | null;
}

/** An answer of an MCP client. */
export type ClientAction = 'accept' | 'decline' | 'cancel' | 'error';

/** What the MCP client answered to `elicitation/create`. */
export interface ClientResponse {
  /** The answer. */
  action: ClientAction;
  /** The client, for the words of the answer to `error`, and for the form after `accept` where the user types a code; a call of a tool when left out. */
  client?: Client | null;
}

/** A connection. */
export interface Connection {
  /** What is connected. */
  account: Account;
  /** When the user's consent ends at the provider; null when it does not, or nobody said. */
  consent_expires_at?: string | null;
  /** When it was first made. */
  created_at: string;
  /** When its access token ends; null when it does not, or nobody said. */
  expires_at?: string | null;
  /** Moves with every new token. */
  generation: number;
  /** Its id. One that is made after a disconnect has another. */
  id: string;
  /** `oauth2`, `secret` for what a user has typed, or `redirect` for what they have done on a page of the MCP server's own. */
  kind: string;
  /** When it was last handed out, to the minute; null when it was not, or the first time was within the last minute. */
  last_used_at?: string | null;
  /** The provider's id. */
  provider: string;
  /** Why it is not active, as a stable code. */
  reason?: string | null;
  /** Until when new access tokens can be had without the user, unless it is renewed; null when nobody said. */
  renewable_until?: string | null;
  /** What was granted. */
  scopes: string[];
  /** `active`, `needs_reconnect` or `quarantined`. */
  status: string;
  /** Whose it is. */
  subject: User;
  /** Whether it is of the provider's test mode, as far as it shows. */
  test_mode: boolean;
  /** Whether nobody could say if what a user has typed works. */
  unchecked: boolean;
  /** When it last changed. */
  updated_at: string;
}

/** A page of connections. */
export interface Connections {
  /** In the order of their ids. */
  connections: Connection[];
  /** Gives the next page with the same filters; null on the last one. */
  next_cursor?: string | null;
}

/** Elicitations that were made, or open ones used again. */
export interface Created {
  elicitation?: Asked;
  elicitations?: Asked[];
  /** What to hand to the MCP client. */
  reply: Reply;
}

/** A credential, handed out. */
export type Credential = TokenCredential | SecretCredential | RedirectCredential;

/** The connection that a credential is of. */
export interface CredentialConnection {
  /** What is connected. */
  account: Account;
  /** Which of the connection's tokens this is. */
  generation: number;
  /** Its id; with `generation` what a report names. */
  id: string;
  /** The provider's id. */
  provider: string;
}

/** An elicitation. */
export interface Elicitation {
  /** The caller's reference of the client that asked. */
  client_ref?: string | null;
  /** When it ended. */
  closed_at?: string | null;
  /** What completed it. */
  connection?: string | null;
  /** When it was made. */
  created_at: string;
  /** When the link ends. */
  expires_at: string;
  /** Its id. */
  id: string;
  /** The provider's id. */
  provider: string;
  /** Why it ended, as a stable code. */
  reason?: string | null;
  /** What is asked for. */
  scopes: string[];
  /** `pending`, `authorizing`, `completed`, `declined`, `cancelled`, `expired` or `failed`; the last five are final. */
  state: string;
  /** Who is asked. */
  subject: User;
  /** The link for the user. It grants nothing: only the user that it is for can use it. */
  url: string;
}

/** The body of a signal. */
export interface Event {
  /** To what. */
  data: EventData;
  /** When it happened, RFC 3339 in UTC. */
  timestamp: string;
  /** What happened, such as `elicitation.completed`. */
  type: string;
}

/** What a signal is about. */
export interface EventData {
  /** The caller's reference of the client that asked. */
  client_ref?: string | null;
  /** The connection, where there is one. */
  connection_id?: string | null;
  /** The elicitation; none when a connection changed by itself. */
  elicitation_id?: string | null;
  /** What to send to the MCP client named by `client_ref`, and to no other: only when an elicitation of the legacy era was completed. */
  mcp?: Notification | null;
  /** The provider's id. */
  provider: string;
  /** Why, as a stable code. */
  reason?: string | null;
  /** Counts 1, 2, 3 within one MCP server; also the event's id in the stream. */
  sequence: number;
  /** Whose it is. */
  subject: EventSubject;
}

/** A user. */
export interface EventSubject {
  /** The issuer that names them. */
  issuer: string;
  /** Their subject there. */
  sub: string;
}

/** A page of events. */
export interface Events {
  /** In the order of their sequence. */
  events: Event[];
  /** What to pass as `after` for what comes next; the same as before when there was nothing. */
  next: number;
}

/** A further token of the same grant, such as the user's beside a bot's. */
export interface FurtherToken {
  /** The access token. */
  access_token: string;
  /** When it ends; null when it does not, or nobody said. */
  expires_at?: string | null;
  /** What was granted with it, as the provider calls it. */
  scopes: string[];
  /** How to present it, `Bearer` as a rule. */
  token_type: string;
}

/** One of several providers. */
export interface Need {
  /** The provider's id. */
  provider: string;
  /** What the tool needs of it; the provider's `scopes` when left out. */
  scopes?: string[] | null;
  /** Variables of the provider's addresses; what is left out is known already, or the user is asked. */
  variables?: Record<string, string> | null;
}

/** An MCP notification. */
export interface Notification {
  /** `notifications/elicitation/complete`. */
  method: string;
  /** Its parameters. */
  params: Record<string, unknown>;
}

/** One of several. */
export interface OneReady {
  connection: CredentialConnection;
  credential: Credential;
  /** The provider's id. */
  provider: string;
}

/** What came of a visit. */
export interface PageResult {
  /** With `accepted`: what the user knows it by, 1 to 100 characters. */
  label?: string | null;
  /** With `failed`: why, 1 to 64 of `a-z`, `0-9` and `_`, beginning with a letter. */
  reason?: string | null;
  /** What came of it. */
  result: PageResultKind;
  /** With `accepted`: what the MCP server wants to find again, by name; nothing secret. At most 32, of at most 1024 bytes. */
  values?: Record<string, string> | null;
}

export type PageResultKind = 'accepted' | 'failed';

/** For whom a visit to a page is. */
export interface PageVisit {
  /** The caller's reference of the client that asked. */
  client_ref?: string | null;
  /** The elicitation that is answered by it. */
  elicitation_id: string;
  /** Until when. */
  expires_at: string;
  /** The provider's id. */
  provider: string;
  /** Where the browser is sent back to, with the `state` of the page's address. */
  redirect_uri: string;
  /** Who is asked. Whoever is at the browser need not be the same: the code is no login. */
  subject: User;
}

/** The body (RFC 9457, section 3). */
export interface Problem {
  /** The kind as a word that stays the same. */
  code: string;
  /** This occurrence of it. */
  detail: string;
  /** The field or parameter, where one is to blame. */
  field?: string | null;
  /** Finds this answer in the server's log. */
  request_id: string;
  /** The HTTP status. */
  status: number;
  /** The kind in a few words. */
  title: string;
  /** Names the kind of problem: `urn:consentry:problem:` and the code. */
  type: string;
}

/** A provider. */
export interface Provider {
  /** The most that a request may name. */
  allowed_scopes: string[];
  /** The id to ask by. */
  id: string;
  /** `oauth2`, `secret` for what a person connects by typing a key, or `redirect` for what they do on a page of the MCP server's own. */
  kind: string;
  /** The name, for people. */
  name: string;
  /** What is asked for when a request names no scopes. */
  scopes: string[];
  /** What stands in braces in its addresses and a request may give under `variables`. */
  variables: ProviderVariable[];
}

/** A variable of a provider's addresses. */
export interface ProviderVariable {
  /** The values to choose from; empty where anything that fits may be given. */
  choices: string[];
  /** A value that would fit. */
  example?: string | null;
  /** What users know it as. */
  label: string;
  /** The name to give it by. */
  name: string;
  /** Whether the caller must give it, because nobody else may and nothing stands for it. */
  required: boolean;
}

/** The providers that the caller may ask for. */
export interface Providers {
  /** In the order of the MCP server's settings. */
  providers: Provider[];
}

/** Everything that was asked for is connected. */
export interface Ready {
  connection: CredentialConnection;
  credential: Credential;
  /** `ready`. */
  status: string;
}

/** The code that a browser brought. */
export interface Redeem {
  /** The parameter `code` of the page's address. */
  code: string;
}

/** What a user has done on a page of the MCP server's own. There is no credential: what counts is that it was done. */
export interface RedirectCredential {
  /** The kind of what a user has done on a page of the MCP server's own. */
  kind: 'redirect';
  /** What the MCP server said of it. */
  values: Record<string, string>;
}

/** How to hand an answer to the MCP client. */
export interface Reply {
  /** What to hand on, unchanged. */
  body: Record<string, unknown>;
  /** The status that the HTTP answer to the client must have, where the protocol prescribes one. */
  http_status?: number | null;
  /** `elicitation_request`: send `elicitation/create` with the body as its parameters. `jsonrpc_error`: answer the call with this error. `input_required` and `tool_result`: answer it with this result. */
  kind: string;
}

/** What was refused. */
export interface Report {
  /** The connection's id. */
  connection: string;
  /** Which of its tokens, as `resolve` said. */
  generation: number;
  /** What happened. */
  problem: ReportedProblem;
}

/** The connection after a report. */
export interface Reported {
  connection: Connection;
}

/** What a resource server can do with a token. */
export type ReportedProblem = 'unauthorized';

/** One of the answers to `resolve`. */
export type Resolution = Ready | AllReady | ActionRequired;

/** What a tool needs, for whom, and on whose call. */
export interface ResolveRequest {
  /** The MCP client whose call is being answered. Without it the answer is made for a legacy client that declared nothing. */
  client?: Client | null;
  /** On a modern client's retry: the `inputResponses` that it sent, verbatim. */
  input_responses?: Record<string, unknown> | null;
  /** Why, in words for the user: plain text, up to 1000 characters. */
  message?: string | null;
  /** The provider's id; or `requests`. */
  provider?: string | null;
  /** On a modern client's retry: the `requestState` that it sent back, verbatim. */
  request_state?: string | null;
  /** Several providers at once, up to 8, each named once; instead of `provider` and `scopes`. */
  requests?: Need[] | null;
  /** What the tool needs of it, within its `allowed_scopes`; the provider's `scopes` when left out. */
  scopes?: string[] | null;
  /** The user, whom the MCP server has verified; or `subject_token`. */
  subject?: Subject | null;
  /** The user's access token for the MCP server, to be verified here; or `subject`. */
  subject_token?: string | null;
  /** Variables of the provider's addresses, such as `subdomain`; what is left out is known already, or the user is asked. `GET /v1/providers` lists them. */
  variables?: Record<string, string> | null;
  /** On a retry: how long the answer may be held until the outcome is known, 0 to 50 seconds. */
  wait_seconds?: number | null;
}

/** What a user has typed: an API key, or several values. */
export interface SecretCredential {
  /** The values by the names of the form's fields; a field that was left empty is not there. */
  fields: Record<string, string>;
  /** The kind of a credential that a user has typed. */
  kind: 'secret';
  /** How to use them. */
  use: Use;
}

/** A user, named by a caller that has verified them. */
export interface Subject {
  /** The issuer; that of the MCP server's authorization server, and may be left out. */
  issuer?: string | null;
  /** The subject there, byte for byte; 1 to 255 bytes. */
  sub: string;
}

/** An access token. */
export interface TokenCredential {
  /** The access token. */
  access_token: string;
  /** When it ends; null when it does not, or nobody said. */
  expires_at?: string | null;
  /** The kind of a credential that is an access token. */
  kind: 'oauth2';
  /** What was asked for, once, and not granted. */
  missing_scopes: string[];
  /** What was granted. */
  scopes: string[];
  /** Further tokens of the same grant, by name; absent when there is none. */
  slots?: Record<string, unknown>;
  /** How to present it, `Bearer` as a rule. */
  token_type: string;
  /** How to use it. */
  use: Use;
  /** What is known of the account's place at the provider, such as the address of its API or its tenant; absent when there is nothing. */
  values?: Record<string, string>;
}

/** How to use a credential: what goes into each request to the provider's API, with every value in its place. */
export interface Use {
  /** Where the API is; null where the settings do not say. */
  base_url?: string | null;
  /** Headers for each request. */
  headers: Record<string, string>;
  /** Query parameters for each request, to be encoded. */
  query: Record<string, string>;
}

/** A user. */
export interface User {
  /** The issuer. */
  issuer: string;
  /** The subject there. */
  sub: string;
}
