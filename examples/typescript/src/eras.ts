/**
 * One endpoint for both revisions of the protocol: 2026-07-28, where every request stands for itself, and 2025-11-25 (and before), where a client
 * opens a session.
 *
 * What this must never do: let one user into another's session.
 */
import { randomUUID } from 'node:crypto';
import type { api, Consentry } from '@consentry/client';
import {
  type AuthInfo,
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { Connect } from './connect.ts';
import { registerGitHub } from './github.ts';

interface Session {
  transport: WebStandardStreamableHTTPServerTransport;
  server: McpServer;
  /** The subject that opened it. */
  owner: unknown;
}

export class Eras {
  readonly #consentry: Consentry;
  /** The sessions of the legacy era, by their ids; and the same by the names under which Consentry knows them. */
  readonly #sessions = new Map<string, Session>();
  readonly #byReference = new Map<string, Session>();
  readonly #modern;

  constructor(consentry: Consentry) {
    this.#consentry = consentry;
    // There are no sessions; an open link is found again by the user's OAuth client.
    this.#modern = createMcpHandler(({ authInfo }) => this.#server(authInfo?.clientId ?? ''), { legacy: 'reject' });
  }

  async serve(request: Request, authInfo: AuthInfo): Promise<Response> {
    if (!(await isLegacyRequest(request))) return this.#modern.fetch(request, { authInfo });
    const id = request.headers.get('mcp-session-id');
    if (!id) return this.#begin(request, authInfo);
    const session = this.#sessions.get(id);
    // Somebody else's is answered as one that does not exist: the client begins a new one.
    if (!session || session.owner !== authInfo.extra?.sub) return new Response('no such session', { status: 404 });
    return session.transport.handleRequest(request, { authInfo });
  }

  /** Hands a notification of completion to the session that was asked, if it is one of this process, and to no other. */
  async tell({ data: { client_ref, mcp } }: api.Event): Promise<void> {
    const session = client_ref && mcp && this.#byReference.get(client_ref);
    // The client may be gone; its next call finds the connection all the same.
    if (session) await session.server.server.notification(mcp as never).catch(() => {});
  }

  async #begin(request: Request, authInfo: AuthInfo): Promise<Response> {
    const parsedBody: unknown = await request.clone().json().catch(() => undefined);
    if (!isInitializeRequest(parsedBody)) return new Response('a session begins with initialize', { status: 400 });
    // Names the session to Consentry; the session's id is a secret between client and server.
    const reference = randomUUID();
    const server = this.#server(reference);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        const session = { transport, server, owner: authInfo.extra?.sub };
        this.#sessions.set(id, session);
        this.#byReference.set(reference, session);
      },
    });
    transport.onclose = () => {
      if (transport.sessionId) this.#sessions.delete(transport.sessionId);
      this.#byReference.delete(reference);
    };
    await server.connect(transport);
    return transport.handleRequest(request, { authInfo, parsedBody });
  }

  #server(reference: string): McpServer {
    const server = new McpServer({ name: 'github-example', version: '0.1.0' });
    registerGitHub(server, new Connect(this.#consentry, server, reference));
    return server;
  }
}
