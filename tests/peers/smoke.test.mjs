// Do the peers themselves do what the tests rely on? Run before them, so that a broken peer is not taken for a broken Consentry.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';

const clean = [];
after(() => clean.forEach((undo) => undo()));

function start(script, config) {
  const child = spawn(process.execPath, [script, JSON.stringify(config)], { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] });
  clean.push(() => child.kill());
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}
const next = async (peer) => JSON.parse((await peer.lines.next()).value);

/** A browser without a screen: keeps the server's cookies, posts its two forms, stops at `redirectUri`. */
async function consent(url, login, redirectUri) {
  const jar = new Map();
  let form;
  for (let hops = 0; hops < 12; hops += 1) {
    const headers = { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') };
    const answer = await fetch(url, { redirect: 'manual', headers, ...(form && { method: 'POST', body: new URLSearchParams(form) }) });
    for (const cookie of answer.headers.getSetCookie()) jar.set(...cookie.split(';')[0].split(/=(.*)/s).slice(0, 2));
    form = undefined;
    if (answer.status < 400 && answer.headers.has('location')) {
      url = new URL(answer.headers.get('location'), url);
      if (url.href.startsWith(redirectUri)) return url.searchParams;
      continue;
    }
    const page = await answer.text();
    assert.equal(answer.status, 200, page);
    form = page.includes('name="login"') ? { prompt: 'login', login, password: 'x' } : { prompt: 'consent' };
    url = new URL(page.match(/action="([^"]+)"/)[1], url);
  }
  throw new Error('the sign-in never came back');
}

test('the authorization server signs a user in and issues, refreshes, describes and revokes tokens', async () => {
  const redirect = 'http://localhost:8080/callback';
  const client = {
    client_id: 'consentry',
    client_secret: 'a-secret-of-the-smoke-test-alone',
    redirect_uris: [redirect],
    grant_types: ['authorization_code', 'refresh_token'],
    scope: 'openid offline_access email files',
  };
  const peer = start('oidc.mjs', { host: '127.0.0.2', clients: [client], scopes: ['files'], events: true });
  const ready = await next(peer);
  assert.equal(ready.event, 'ready');
  assert.equal(ready.issuer, `http://127.0.0.2:${ready.port}`);
  const meta = await (await fetch(`${ready.issuer}/.well-known/openid-configuration`)).json();
  assert.equal(meta.authorization_response_iss_parameter_supported, true);

  const basic = `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}`;
  const post = async (url, form) => {
    const answer = await fetch(url, { method: 'POST', headers: { authorization: basic }, body: new URLSearchParams(form) });
    return { status: answer.status, body: await answer.json().catch(() => null) };
  };
  const verifier = 'v'.repeat(43);
  const pushed = await post(meta.pushed_authorization_request_endpoint, {
    client_id: client.client_id,
    response_type: 'code',
    redirect_uri: redirect,
    scope: client.scope,
    prompt: 'consent',
    state: 's1',
    nonce: 'n1',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  assert.equal(pushed.status, 201, JSON.stringify(pushed.body));
  const authorize = new URL(meta.authorization_endpoint);
  authorize.search = new URLSearchParams({ client_id: client.client_id, request_uri: pushed.body.request_uri });
  const back = await consent(authorize, 'alice', redirect);
  assert.equal(back.get('state'), 's1');
  assert.equal(back.get('iss'), ready.issuer);

  const grant = { grant_type: 'authorization_code', code: back.get('code'), redirect_uri: redirect, code_verifier: verifier };
  const first = await post(meta.token_endpoint, grant);
  assert.equal(first.status, 200, JSON.stringify(first.body));
  assert.equal(JSON.parse(atob(first.body.id_token.split('.')[1])).sub, 'alice');
  const who = await fetch(meta.userinfo_endpoint, { headers: { authorization: `Bearer ${first.body.access_token}` } });
  assert.equal((await who.json()).email, 'alice@example.test');

  const second = await post(meta.token_endpoint, { grant_type: 'refresh_token', refresh_token: first.body.refresh_token });
  assert.equal(second.status, 200, JSON.stringify(second.body));
  assert.notEqual(second.body.refresh_token, first.body.refresh_token);
  const told = await post(meta.introspection_endpoint, { token: second.body.access_token });
  assert.equal(told.body.sub, 'alice');
  assert.equal((await post(meta.revocation_endpoint, { token: second.body.refresh_token })).status, 200);
  assert.equal((await post(meta.token_endpoint, { grant_type: 'refresh_token', refresh_token: second.body.refresh_token })).status, 400);
  assert.equal((await post(meta.token_endpoint, grant)).body.error, 'invalid_grant');

  peer.child.stdin.end();
  assert.equal((await once(peer.child, 'exit'))[0], 0);
  const events = [];
  for await (const line of peer.lines) events.push(JSON.parse(line).event);
  assert.deepEqual(events.filter((name) => name.startsWith('grant.')).slice(0, 2), ['grant.success', 'grant.success']);
  assert.ok(events.includes('grant.error'));
});

test('the authorization server gives an MCP client that registers itself a JWT for the resource', async () => {
  const redirect = 'http://127.0.0.1:4999/callback';
  const peer = start('oidc.mjs', {});
  const { issuer } = await next(peer);
  const meta = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  const registered = await fetch(meta.registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirect], token_endpoint_auth_method: 'none', application_type: 'native' }),
  });
  const { client_id } = await registered.json();
  const resource = 'http://127.0.0.4:4000/mcp';
  const verifier = 'w'.repeat(43);
  const authorize = new URL(meta.authorization_endpoint);
  authorize.search = new URLSearchParams({
    client_id,
    response_type: 'code',
    redirect_uri: redirect,
    scope: 'openid mcp',
    resource,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const back = await consent(authorize, 'alice', redirect);
  const answer = await fetch(meta.token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'authorization_code', code: back.get('code'), redirect_uri: redirect, code_verifier: verifier, client_id, resource }),
  });
  const token = await answer.json();
  const [head, claims] = token.access_token.split('.').slice(0, 2).map((part) => JSON.parse(atob(part)));
  assert.equal(head.typ, 'at+jwt');
  assert.deepEqual([claims.iss, claims.aud, claims.sub, claims.scope], [issuer, resource, 'alice', 'mcp']);
});

/** An MCP server with one tool that needs a link to be opened; `ask` decides how it says so. */
async function mcpServer(ask) {
  const server = new Server({ name: 'smoke', version: '1' }, { capabilities: { tools: {} } });
  const seen = {};
  server.setRequestHandler(CallToolRequestSchema, () => ask(server, seen));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  const http = createServer((request, response) => {
    seen.authorization = request.headers.authorization;
    transport.handleRequest(request, response);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  clean.push(() => http.close(), () => http.closeAllConnections());
  return { url: `http://127.0.0.1:${http.address().port}/mcp`, seen };
}

async function run(config) {
  const peer = start('mcp-client.mjs', { timeout_ms: 20_000, token: 't', tool: 'files', ...config });
  const events = [];
  for await (const line of peer.lines) events.push(JSON.parse(line));
  const code = peer.child.exitCode ?? (await once(peer.child, 'exit'))[0];
  return { code, events, names: events.map((line) => line.event) };
}

test('the MCP client is asked during the call, told of the completion and given the result', async () => {
  const id = randomUUID();
  const url = `http://localhost:8080/connect?elicitationId=${id}`;
  const { seen, ...server } = await mcpServer(async (mcp, state) => {
    state.client = mcp.getClientCapabilities();
    const { action } = await mcp.elicitInput({ mode: 'url', message: 'Connect Files', url, elicitationId: id });
    await mcp.createElicitationCompletionNotifier(id)();
    return { content: [{ type: 'text', text: action }] };
  });
  const { code, events, names } = await run(server);
  assert.equal(code, 0);
  assert.equal(seen.authorization, 'Bearer t');
  assert.deepEqual(seen.client.elicitation, { form: {}, url: {} });
  assert.equal(events[0].protocol_version, '2025-11-25');
  assert.deepEqual(events[1], { event: 'elicitation', via: 'request', mode: 'url', url, elicitation_id: id, message: 'Connect Files' });
  assert.deepEqual(names.toSorted(), ['complete', 'connected', 'elicitation', 'end', 'result']);
  assert.equal(events.find((line) => line.event === 'result').content[0].text, 'accept');
  assert.deepEqual(events.at(-1), { event: 'end', missing: [] });
});

test('the MCP client calls again once the link of a -32042 error is completed', async () => {
  const id = randomUUID();
  const link = { mode: 'url', message: 'Connect Files', url: `http://localhost:8080/connect?elicitationId=${id}`, elicitationId: id };
  const { seen, ...server } = await mcpServer((mcp, state) => {
    if (state.asked) return { content: [{ type: 'text', text: 'files' }] };
    state.asked = true;
    setImmediate(mcp.createElicitationCompletionNotifier(id));
    throw new UrlElicitationRequiredError([link]);
  });
  const { code, names } = await run(server);
  assert.equal(code, 0);
  assert.deepEqual(names.toSorted(), ['complete', 'connected', 'elicitation', 'end', 'result', 'retry']);
  assert.ok(names.indexOf('retry') > names.indexOf('complete'));
});

test('the MCP client ends when the time is over', async () => {
  const { seen, ...server } = await mcpServer(() => new Promise(() => {}));
  const { code, events } = await run({ ...server, timeout_ms: 500 });
  assert.equal(code, 3);
  assert.deepEqual(events.at(-1), { event: 'error', message: 'not finished within 500 ms' });
});

test('the lock file has a digest for every package and the address of none', () => {
  const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url)));
  for (const [name, entry] of Object.entries(packages).filter(([path]) => path !== '')) {
    assert.ok(entry.integrity, name);
    assert.equal(entry.resolved, undefined, name);
  }
});
