/**
 * The internal API of Consentry for an MCP server in TypeScript: one call gives a tool the credential it needs, or the answer that its client must get.
 *
 * No dependencies: `fetch` and Web Crypto, so Node 22.18, Deno, Bun. What it must never do: follow a redirect (each request carries the API key), or send
 * again what could happen twice.
 */
import type * as api from './api.ts';
import { ConsentryError } from './error.ts';
import { received, type Received } from './events.ts';

export type * as api from './api.ts';
export { ConsentryError } from './error.ts';
export type { Received } from './events.ts';
export { verifyWebhook, WebhookRefused, type Post } from './webhook.ts';

/** A credential, and the connection that it is of. */
export type Grant = { credential: api.Credential; connection: api.CredentialConnection };

/** The answer to `resolve`. */
export type Resolution =
  /** Here is what the tool needs, in the order of its needs; never empty. */
  | { status: 'ready'; grants: [Grant, ...Grant[]] }
  /** The user must open a link first: hand `reply` to the MCP client. */
  | { status: 'action_required'; elicitations: api.Asked[]; reply: api.Reply }
  /** The user did not connect (only a retry is answered so): hand `reply` to the MCP client. */
  | { status: 'refused'; outcome: string; elicitations: api.Asked[]; reply: api.Reply };

/** What an MCP client answered to `elicitation/create`; `error` when it failed. */
export type Action = api.ClientAction;

export interface Options {
  /** Where the internal listener is, such as `http://127.0.0.1:8081`. */
  url: string;
  /** One of the keys of this MCP server. */
  apiKey: string;
  /** How long an answer may take that the server need not wait for, in milliseconds; 10 s when left out. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}

/** A wait on the server's side lasts so long at most, in seconds. */
const LONGEST_WAIT_S = 50;
/** How often a call is sent at most. */
const TRIES = 3;
/** A longer `Retry-After` is left to the caller, in seconds. */
const LONGEST_PAUSE_S = 5;
const FINAL = ['completed', 'declined', 'cancelled', 'expired', 'failed'];

type Call = {
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  /** Can be sent any number of times. */
  repeatable?: boolean;
  /** The server may hold the answer so long, in seconds. */
  wait?: number;
  signal?: AbortSignal | undefined;
};

/** A connection to Consentry, for the whole process. */
export class Consentry {
  readonly #options: Required<Options>;

  constructor(options: Options) {
    this.#options = { timeoutMs: 10_000, fetch: globalThis.fetch, ...options };
  }

  /** The credential, or what the MCP client must be told first. */
  async resolve(request: api.ResolveRequest, signal?: AbortSignal): Promise<Resolution> {
    const wait = request.wait_seconds ?? 0;
    const answer = await this.#json<api.Resolution>('POST', ['credentials', 'resolve'], { body: request, wait, signal });
    if ('credential' in answer) return { status: 'ready', grants: [answer] };
    if ('results' in answer) return { status: 'ready', grants: answer.results as Grant[] as [Grant, ...Grant[]] };
    const asked = answer as api.ActionRequired;
    const elicitations = asked.elicitations ?? (asked.elicitation ? [asked.elicitation] : []);
    if (asked.status === 'action_required') return { status: 'action_required', elicitations, reply: asked.reply };
    return { status: 'refused', outcome: asked.outcome ?? 'failed', elicitations, reply: asked.reply };
  }

  /** Asks although a connection may exist already, to switch the account say. With an idempotency key the call may be repeated. */
  async createElicitation(request: api.ResolveRequest, idempotencyKey?: string): Promise<{ elicitations: api.Asked[]; reply: api.Reply }> {
    const key = idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey }, repeatable: true };
    const made = await this.#json<api.Created>('POST', ['elicitations'], { body: request, ...key });
    return { elicitations: made.elicitations ?? (made.elicitation ? [made.elicitation] : []), reply: made.reply };
  }

  /** How an elicitation stands: at once when it is over, otherwise after `waitSeconds` (0 to 50) at most. */
  elicitation(id: string, waitSeconds = 0, signal?: AbortSignal): Promise<api.Elicitation> {
    const call = { query: { wait_seconds: waitSeconds || undefined }, repeatable: true, wait: waitSeconds, signal };
    return this.#json('GET', ['elicitations', id], call);
  }

  /** Waits until an elicitation is over, or `signal` says that it is enough. */
  async wait(id: string, signal?: AbortSignal): Promise<api.Elicitation> {
    for (;;) {
      const elicitation = await this.elicitation(id, LONGEST_WAIT_S, signal);
      if (FINAL.includes(elicitation.state)) return elicitation;
    }
  }

  /** Passes on what the MCP client answered. `accept` changes nothing, `decline` and `cancel` close it; after `error` there is a `reply` to hand on. */
  respond(id: string, action: Action, client?: api.Client): Promise<api.Answered> {
    return this.#json('POST', ['elicitations', id, 'response'], { body: client ? { action, client } : { action }, repeatable: true });
  }

  /** Withdraws an elicitation. */
  cancel(id: string): Promise<api.Answered> {
    return this.#json('POST', ['elicitations', id, 'cancel'], { repeatable: true });
  }

  /** Redeems the code that a browser brought to a page of this MCP server's own. Once: a second time ends the visit, so it is never sent again by itself. */
  redeem(code: string): Promise<api.PageVisit> {
    return this.#json('POST', ['hosted', 'redeem'], { body: { code } });
  }

  /** Says what came of a visit to a page. `accepted` counts once the user's browser is back; `failed` ends the elicitation. The same may be said again. */
  pageResult(id: string, result: api.PageResult): Promise<api.Elicitation> {
    return this.#json('POST', ['elicitations', id, 'result'], { body: result, repeatable: true });
  }

  /** Says that the third party answered 401 to this credential, so that it is not handed out again. Then `resolve` anew. */
  async report(grant: Grant): Promise<api.Connection> {
    const { id: connection, generation } = grant.connection;
    const body: api.Report = { connection, generation, problem: 'unauthorized' };
    return (await this.#json<api.Reported>('POST', ['credentials', 'report'], { body, repeatable: true })).connection;
  }

  /** A page of connections; pass `next_cursor` as `cursor` for the next. */
  connections(query: { issuer?: string; sub?: string; provider?: string; cursor?: string; limit?: number } = {}): Promise<api.Connections> {
    return this.#json('GET', ['connections'], { query, repeatable: true });
  }

  connection(id: string): Promise<api.Connection> {
    return this.#json('GET', ['connections', id], { repeatable: true });
  }

  /** Removes a connection; the third party is told behind the answer. */
  async deleteConnection(id: string): Promise<void> {
    await this.#send('DELETE', ['connections', id], {});
  }

  /** The providers that this MCP server may ask for. */
  async providers(): Promise<api.Provider[]> {
    return (await this.#json<api.Providers>('GET', ['providers'], { repeatable: true })).providers;
  }

  /** The events of this MCP server, from behind `after` on, or from now on; without end, until `signal` is aborted. */
  events(options: { after?: string; signal?: AbortSignal } = {}): AsyncGenerator<Received, void, void> {
    const connect = async (last: string | undefined, signal: AbortSignal): Promise<Response> => {
      const resume: Record<string, string> = last === undefined ? {} : { 'last-event-id': last };
      const response = await this.#fetch('GET', ['events'], { headers: { accept: 'text/event-stream', ...resume } }, signal);
      if (!response.ok) throw await ConsentryError.of(response);
      return response;
    };
    return received(connect, options.after, options.signal ?? new AbortController().signal);
  }

  async #json<T>(method: string, path: string[], call: Call): Promise<T> {
    const response = await this.#send(method, path, call);
    return (await response.json()) as T;
  }

  async #send(method: string, path: string[], call: Call): Promise<Response> {
    for (let tries = 1; ; tries += 1) {
      const limit = AbortSignal.timeout(this.#options.timeoutMs + (call.wait ?? 0) * 1000);
      const signal = call.signal ? AbortSignal.any([limit, call.signal]) : limit;
      let pause = 0.2 * 2 ** (tries - 1);
      try {
        const response = await this.#fetch(method, path, call, signal);
        if (response.ok) return response;
        const error = await ConsentryError.of(response);
        // With these nothing was done, and the server says when to come back.
        const invited = (error.status === 503 || error.status === 429) && error.retryAfter !== undefined && error.retryAfter <= LONGEST_PAUSE_S;
        if (tries === TRIES || !(invited || (call.repeatable && error.status >= 500 && error.retryAfter === undefined))) throw error;
        pause = error.retryAfter ?? pause;
      } catch (error) {
        if (error instanceof ConsentryError || tries === TRIES || !call.repeatable || signal.aborted) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    }
  }

  #fetch(method: string, path: string[], { query = {}, body, headers = {} }: Call, signal: AbortSignal): Promise<Response> {
    const url = new URL(`/v1/${path.map(encodeURIComponent).join('/')}`, this.#options.url);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
    const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    return this.#options.fetch(url, {
      method,
      headers: { authorization: `Bearer ${this.#options.apiKey}`, ...json, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal,
    });
  }
}
