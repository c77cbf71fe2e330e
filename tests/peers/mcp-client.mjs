// An MCP client on the official TypeScript SDK for the tests: calls one tool over streamable HTTP, agrees to open the links it is handed, and tells
// everything that happens. It opens no browser: the test does, with the link that is told here. (In Python: mcp_client.py, with the same members and
// events.)
//
//   node mcp-client.mjs '{"url": "http://127.0.0.4:4000/mcp", "token": "...", "tool": "list_files"}'
//
//   url              the MCP endpoint (required)
//   tool             the tool to call (required), with `arguments` ({})
//   token            sent as the bearer token when given
//   sdk              1 (the 1.x line, which knows the legacy era alone) or 2 (1)
//   era              "legacy" or "modern" ("legacy")
//   elicitation      the capability that is declared ({"form": {}, "url": {}}; null declares none)
//   action           the answer to an elicitation: "accept", "decline", "cancel", or "error", which fails the request ("accept")
//   content          what is answered to a form along with "accept" ({})
//   timeout_ms       the limit for everything together (120000)
//   completion_ms    how long a completion that has not come is waited for after the result (5000)
//
// Standard output has one JSON object a line:
//
//   {"event": "connected", "protocol_version", "server"}
//   {"event": "elicitation", "via": "request" | "error", "mode", "url", "elicitation_id", "message", "schema"}
//   {"event": "complete", "elicitation_id"}
//   {"event": "retry"}                               the call is made again, after the completion of what an error asked for
//   {"event": "result", "is_error", "content", "structured"}
//   {"event": "error", "code", "message", "data"}    the call failed; or something else did, then without a code
//   {"event": "end", "missing"}                      the last line: ids whose completion never came
//
// Exit code 0 when a result was told, 1 after an error, 3 when the time was over. It ends at once when its standard input closes.
const given = JSON.parse(process.argv[2] ?? '{}');
const known = 'url tool arguments token sdk era elicitation action content timeout_ms completion_ms'.split(' ');
for (const name of Object.keys(given)) if (!known.includes(name)) throw new Error(`unknown member: ${name}`);
if (!given.url || !given.tool) throw new Error('url and tool are required');
const { sdk: line = 1, era = 'legacy', action = 'accept', timeout_ms: limit = 120_000 } = given;
if (line === 1 && era !== 'legacy') throw new Error('the 1.x line knows the legacy era alone');

const say = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);
process.stdin.resume().on('end', () => process.exit(1)).on('error', () => process.exit(1));
setTimeout(() => {
  say({ event: 'error', message: `not finished within ${limit} ms` });
  process.exit(3);
}, limit);

/** The same few names, whichever line it is. */
async function load() {
  if (line === 1) {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const types = await import('@modelcontextprotocol/sdk/types.js');
    return {
      Client,
      StreamableHTTPClientTransport,
      UrlElicitationRequiredError: types.UrlElicitationRequiredError,
      asks: types.ElicitRequestSchema,
      completes: types.ElicitationCompleteNotificationSchema,
      more: {},
      version: (_, transport) => transport.protocolVersion,
      server: (client) => client.getServerVersion(),
      call: (client, params, options) => client.callTool(params, undefined, options),
    };
  }
  const { Client, StreamableHTTPClientTransport, UrlElicitationRequiredError } = await import('@modelcontextprotocol/client');
  return {
    Client,
    StreamableHTTPClientTransport,
    UrlElicitationRequiredError,
    asks: 'elicitation/create',
    completes: 'notifications/elicitation/complete',
    more: { versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' } },
    version: (client) => client.getNegotiatedProtocolVersion(),
    server: (client) => client.getServerVersion(),
    call: (client, params, options) => client.callTool(params, options),
  };
}
const sdk = await load();

// Ids that were agreed to and those whose completion came, in either order.
const agreed = new Set();
const completed = new Set();
let wake = () => {};
const missing = () => [...agreed].filter((id) => !completed.has(id));
const allCompleted = async () => {
  while (missing().length > 0) await new Promise((resolve) => (wake = resolve));
};

const elicitation = given.elicitation === undefined ? { form: {}, url: {} } : given.elicitation;
const client = new sdk.Client({ name: 'consentry-peer', version: '1.0.0' }, { capabilities: elicitation ? { elicitation } : {}, ...sdk.more });

const asked = (via, params) => {
  const { mode = 'form', url, elicitationId, message, requestedSchema } = params;
  say({ event: 'elicitation', via, mode, url, elicitation_id: elicitationId, message, schema: requestedSchema });
  if (action === 'accept' && elicitationId) agreed.add(elicitationId);
};
if (elicitation) {
  client.setRequestHandler(sdk.asks, ({ params }) => {
    asked('request', params);
    if (action === 'error') throw new Error('this client fails');
    const isForm = (params.mode ?? 'form') === 'form';
    return action === 'accept' && isForm ? { action, content: given.content ?? {} } : { action };
  });
  client.setNotificationHandler(sdk.completes, ({ params }) => {
    say({ event: 'complete', elicitation_id: params.elicitationId });
    completed.add(params.elicitationId);
    wake();
  });
}

const call = () => sdk.call(client, { name: given.tool, arguments: given.arguments ?? {} }, { timeout: limit, maxTotalTimeout: limit });
// A server may refuse the call with the links it needs instead of asking while the call waits: then we call again once they are done.
const callUntilAnswered = async () => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof sdk.UrlElicitationRequiredError) || action !== 'accept' || tries === 5) throw error;
      for (const params of error.elicitations) asked('error', params);
      await allCompleted();
      say({ event: 'retry' });
    }
  }
};

let failed = false;
try {
  const headers = given.token ? { authorization: `Bearer ${given.token}` } : {};
  const transport = new sdk.StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers } });
  await client.connect(transport);
  say({ event: 'connected', protocol_version: sdk.version(client, transport), server: sdk.server(client) });
  const result = await callUntilAnswered();
  say({ event: 'result', is_error: result.isError ?? false, content: result.content, structured: result.structuredContent });
  // The completion travels on another stream than the result and may be the later of the two.
  await Promise.race([allCompleted(), new Promise((resolve) => setTimeout(resolve, given.completion_ms ?? 5_000))]);
  if (era === 'legacy') await transport.terminateSession();
} catch (error) {
  failed = true;
  say({ event: 'error', code: error.code, message: error.message, data: error.data });
}
say({ event: 'end', missing: missing() });
process.exit(failed ? 1 : 0);
