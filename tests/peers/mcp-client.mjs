// An MCP client on the official TypeScript SDK (1.x, so of the 2025-11-25 era) for the tests: calls one tool over streamable HTTP, agrees to
// open the links it is handed, and tells everything that happens. It opens no browser: the test does, with the link that is told here.
//
//   node mcp-client.mjs '{"url": "http://127.0.0.4:4000/mcp", "token": "...", "tool": "list_files"}'
//
//   url              the MCP endpoint (required)
//   tool             the tool to call (required), with `arguments` ({})
//   token            sent as the bearer token when given
//   elicitation      the capability that is declared ({"form": {}, "url": {}}; null declares none)
//   action           the answer to an elicitation: "accept", "decline" or "cancel" ("accept")
//   timeout_ms       the limit for everything together (120000)
//   completion_ms    how long a completion that has not come is waited for after the result (5000)
//
// Standard output has one JSON object a line:
//
//   {"event": "connected", "protocol_version", "server"}
//   {"event": "elicitation", "via": "request" | "error", "mode", "url", "elicitation_id", "message"}
//   {"event": "complete", "elicitation_id"}
//   {"event": "retry"}                               the call is made again, after the completion of what an error asked for
//   {"event": "result", "is_error", "content", "structured"}
//   {"event": "error", "code", "message", "data"}    the call failed; or something else did, then without a code
//   {"event": "end", "missing"}                      the last line: ids whose completion never came
//
// Exit code 0 when a result was told, 1 after an error, 3 when the time was over. It ends at once when its standard input closes.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitationCompleteNotificationSchema, ElicitRequestSchema, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';

const given = JSON.parse(process.argv[2] ?? '{}');
const known = ['url', 'tool', 'arguments', 'token', 'elicitation', 'action', 'timeout_ms', 'completion_ms'];
for (const name of Object.keys(given)) if (!known.includes(name)) throw new Error(`unknown member: ${name}`);
if (!given.url || !given.tool) throw new Error('url and tool are required');

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const limit = given.timeout_ms ?? 120_000;
process.stdin.resume().on('end', () => process.exit(1)).on('error', () => process.exit(1));
setTimeout(() => {
  say({ event: 'error', message: `not finished within ${limit} ms` });
  process.exit(3);
}, limit);

// Ids that were agreed to and those whose completion came, in either order.
const agreed = new Set();
const completed = new Set();
let wake = () => {};
const missing = () => [...agreed].filter((id) => !completed.has(id));
const allCompleted = async () => {
  while (missing().length > 0) await new Promise((resolve) => (wake = resolve));
};

const elicitation = given.elicitation === undefined ? { form: {}, url: {} } : given.elicitation;
const client = new Client({ name: 'consentry-peer', version: '1.0.0' }, { capabilities: elicitation ? { elicitation } : {} });

const asked = (via, params) => {
  say({ event: 'elicitation', via, mode: params.mode ?? 'form', url: params.url, elicitation_id: params.elicitationId, message: params.message });
  if ((given.action ?? 'accept') === 'accept' && params.elicitationId) agreed.add(params.elicitationId);
};
if (elicitation) {
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked('request', params);
    return { action: given.action ?? 'accept' };
  });
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
    say({ event: 'complete', elicitation_id: params.elicitationId });
    completed.add(params.elicitationId);
    wake();
  });
}

const call = () => client.callTool({ name: given.tool, arguments: given.arguments ?? {} }, undefined, { timeout: limit, maxTotalTimeout: limit });
// A server may refuse the call with the links it needs instead of asking while the call waits: then we call again once they are done.
const callUntilAnswered = async () => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof UrlElicitationRequiredError) || (given.action ?? 'accept') !== 'accept' || tries === 5) throw error;
      for (const params of error.elicitations) asked('error', params);
      await allCompleted();
      say({ event: 'retry' });
    }
  }
};

let failed = false;
try {
  const headers = given.token ? { authorization: `Bearer ${given.token}` } : {};
  const transport = new StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers } });
  await client.connect(transport);
  say({ event: 'connected', protocol_version: transport.protocolVersion, server: client.getServerVersion() });
  const result = await callUntilAnswered();
  say({ event: 'result', is_error: result.isError ?? false, content: result.content, structured: result.structuredContent });
  // The completion travels on another stream than the result and may be the later of the two.
  await Promise.race([allCompleted(), new Promise((resolve) => setTimeout(resolve, given.completion_ms ?? 5_000))]);
  await transport.terminateSession();
} catch (error) {
  failed = true;
  say({ event: 'error', code: error.code, message: error.message, data: error.data });
}
say({ event: 'end', missing: missing() });
process.exit(failed ? 1 : 0);
