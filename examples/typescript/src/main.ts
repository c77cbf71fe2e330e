/**
 * An MCP server with one tool that needs the user's GitHub account.
 *
 *   settings.ts   the environment
 *   door.ts       who is calling: the check of access tokens
 *   eras.ts       one endpoint for both revisions of the protocol
 *   connect.ts    from a call to the user's credential: the one part that knows Consentry
 *   github.ts     the tool
 */
import { createServer } from 'node:http';
import { Consentry } from '@consentry/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Door } from './door.ts';
import { Eras } from './eras.ts';
import * as settings from './settings.ts';

const consentry = new Consentry(settings.consentry);
const door = await Door.open(settings);
const eras = new Eras(consentry);

const handle = toNodeHandler({
  async fetch(request) {
    const entered = await door.enter(request);
    return entered instanceof Response ? entered : eras.serve(request, entered);
  },
});
const http = createServer((request, response) => void handle(request, response));
http.listen(Number(settings.resource.port || 80), settings.resource.hostname, () => console.log(`MCP endpoint: ${settings.resource}`));

// Tells sessions that what they were asked for is done, for as long as this process lives.
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopped.abort();
    http.close();
    http.closeAllConnections();
  });
}
for await (const { event } of consentry.events({ signal: stopped.signal })) await eras.tell(event);
