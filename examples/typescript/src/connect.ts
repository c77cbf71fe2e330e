/**
 * From a tool call to the user's account: asks Consentry for a credential, and when the user has to connect first, hands its reply to the client in the
 * form that this client understands.
 *
 * What this must never do: take the client's `accept` for a connection (Consentry is asked), or send a client what it has not declared (Consentry chooses
 * from what is passed on here).
 */
import { type Action, type api, type Consentry, ConsentryError, type Grant, type Resolution } from '@consentry/client';
import {
  type CallToolResult,
  type ElicitRequestURLParams,
  type InputRequiredResult,
  type McpServer,
  ProtocolError,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { patience, prefer } from './settings.ts';

/** How long a call of the legacy era waits for the user. */
const PATIENCE_MS = patience * 1000;
/** How long Consentry holds a call that is repeated, in seconds. Clients allow a request 60 s by default. */
const HOLD_S = Math.min(45, patience);
/** How often a client that asked for progress hears that the call is still waiting. */
const PROGRESS_MS = 20_000;

const NOT_CONNECTED = 'The account is not connected. Call the tool again to try once more.';

/** What a tool needs. */
export interface Need {
  tool: string;
  /** The provider's id in Consentry's settings. */
  provider: string;
  /** In words for the user. */
  why: string;
}

type Answer = CallToolResult | InputRequiredResult;

/** A tool's way to the user's accounts. */
export class Connect {
  readonly #consentry: Consentry;
  readonly #server: McpServer;
  readonly #reference: string;

  constructor(consentry: Consentry, server: McpServer, reference: string) {
    this.#consentry = consentry;
    this.#server = server;
    this.#reference = reference;
  }

  /** Calls `use` with the credential of the user behind this call, or gives the answer that the client must get instead. */
  async with(context: ServerContext, need: Need, use: (grant: Grant) => Promise<CallToolResult>): Promise<Answer> {
    const wanted = this.#wanted(context, need);
    const { inputResponses, requestState } = context.mcpReq;
    const state = requestState<string>();
    const retry = state ? { request_state: state, input_responses: inputResponses ?? null, wait_seconds: HOLD_S } : {};
    try {
      let answer = await this.#consentry.resolve({ ...wanted, ...retry }, context.mcpReq.signal);
      if (answer.status === 'action_required' && answer.reply.kind === 'elicitation_request') {
        const instead = await this.#ask(context, answer, wanted.client as api.Client);
        if (instead) return instead;
        answer = await this.#consentry.resolve(wanted, context.mcpReq.signal);
      }
      if (answer.status !== 'ready') return handed(answer.reply);
      const [grant] = answer.grants;
      try {
        return await use(grant);
      } catch (error) {
        if (!(error instanceof Unauthorized)) throw error;
        await this.#consentry.report(grant);
        return say('The connection was refused. Call the tool again.');
      }
    } catch (error) {
      if (!(error instanceof ConsentryError)) throw error;
      console.error(error.message);
      if (error.code === 'request_state_invalid') return say('requestState is not valid for this call.');
      return say('Your account cannot be reached at the moment. Try again later.');
    }
  }

  #wanted({ mcpReq, http }: ServerContext, { tool, provider, why }: Need): api.ResolveRequest {
    // What the legacy era said once, and the modern era says with each request; there this server lives for one request alone.
    const { server } = this.#server;
    const info = server.getClientVersion();
    return {
      provider,
      message: why,
      // Consentry checks it once more, so that a fault here cannot name another user.
      subject_token: http?.authInfo?.token ?? null,
      client: {
        protocol_version: server.getNegotiatedProtocolVersion() ?? null,
        elicitation: server.getClientCapabilities()?.elicitation ?? null,
        ref: this.#reference,
        name: info?.title ?? info?.name ?? null,
        method: mcpReq.method,
        target: tool,
        prefer,
      },
    };
  }

  /** Sends `elicitation/create` within the call, and returns when the user has connected; or what to answer instead. */
  async #ask({ mcpReq }: ServerContext, asked: Extract<Resolution, { status: 'action_required' }>, client: api.Client): Promise<Answer | undefined> {
    const id = asked.elicitations[0]?.id ?? '';
    const enough = AbortSignal.any([mcpReq.signal, AbortSignal.timeout(PATIENCE_MS)]);
    const token = mcpReq._meta?.progressToken;
    let beats = 0;
    const beat = setInterval(() => {
      const params = { progressToken: token, progress: (beats += 1), message: 'Waiting for you to finish in the browser.' };
      if (token !== undefined) void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    }, PROGRESS_MS);
    try {
      const over = this.#consentry.wait(id, enough).then(
        () => 'over' as const,
        () => 'error' as const,
      );
      const params = asked.reply.body as unknown as ElicitRequestURLParams;
      const answered: Promise<Action> = mcpReq.elicitInput(params, { timeout: PATIENCE_MS, signal: enough }).then(
        ({ action }) => action,
        () => 'error' as const,
      );
      // The user may be quicker than the client's answer; and some clients answer only when all is done.
      let ended = await Promise.race([over, answered]);
      if (ended === 'accept') {
        await this.#consentry.respond(id, 'accept');
        ended = await over;
      }
      if (ended === 'over') return undefined;
      // The link stays good after an error: whoever is at the page now can finish, and the next call finds it.
      const { reply } = await this.#consentry.respond(id, ended, client);
      if (reply) return handed(reply);
      return say(ended === 'decline' ? 'The user declined. Do not ask again by yourself.' : NOT_CONNECTED);
    } finally {
      clearInterval(beat);
    }
  }
}

/** The third party answered 401. */
export class Unauthorized extends Error {}

/** Consentry's reply, in the SDK's terms. */
function handed({ kind, body }: api.Reply): Answer {
  if (kind === 'input_required') return body as unknown as InputRequiredResult;
  if (kind === 'tool_result') return body as unknown as CallToolResult;
  const { code, message, data } = body as { code: number; message: string; data?: unknown };
  throw new ProtocolError(code, message, data);
}

function say(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}
