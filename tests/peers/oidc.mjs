// A real OAuth 2 and OpenID Connect server (panva's `oidc-provider`, which is certified) for the tests: once as the authorization server
// of an MCP server, once as the third party whose account is connected. It keeps everything in memory and must never be used to guard anything.
//
//   node oidc.mjs '{"host": "127.0.0.2", "clients": [{"client_id": "...", ...}]}'
//
// The one argument is a JSON object; every member may be left out:
//
//   host             address to listen on ("127.0.0.1")
//   port             0 takes a free one (0)
//   issuer           what it calls itself ("http://{host}:{port}")
//   clients          client metadata as RFC 7591 names it, passed to the server as it is; others may register themselves
//   scopes           what may be asked for besides openid, offline_access, email and profile
//   resource_scopes  what a token for a `resource` (RFC 8707) may hold (["mcp"])
//   refresh          "offline_access": a refresh token only for that scope, which needs prompt=consent; "always": for every grant
//   rotate           whether each refresh replaces the refresh token (true)
//   require_par      whether the authorize endpoint takes only pushed requests, RFC 9126 (false)
//   access_seconds   life of an access token (300)
//   events           whether grants, refusals and revocations are told on standard output, one JSON object a line (false)
//
// It prints {"event": "ready", "issuer", "host", "port"} once it can be used, and ends when its standard input closes, so that it never
// outlives the test. Any login name and password are accepted; the name becomes the `sub`. The sign-in form has the fields `login` and
// `password`; the consent form that follows has one button.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

// Standard output carries our lines alone, and that this is no server for production need not be said at each start.
console.info = console.log = console.warn = (line) => /^oidc-provider (NOTICE|WARNING): /.test(line) || console.error(line);
const { default: Provider, errors } = await import('oidc-provider');

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const given = JSON.parse(process.argv[2] ?? '{}');
const known = ['host', 'port', 'issuer', 'clients', 'scopes', 'resource_scopes', 'refresh', 'rotate', 'require_par', 'access_seconds', 'events'];
for (const name of Object.keys(given)) if (!known.includes(name)) throw new Error(`unknown member: ${name}`);

process.stdin.resume().on('end', () => process.exit(0)).on('error', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));

const host = given.host ?? '127.0.0.1';
const server = createServer();
server.listen(given.port ?? 0, host);
await once(server, 'listening');
const { port } = server.address();
const issuer = given.issuer ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

// Each instance has keys of its own: the built-in development keys are the same in all of them.
const key = (type, options, alg) => ({ ...generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' }), use: 'sig', alg });
const accessSeconds = given.access_seconds ?? 300;

const provider = new Provider(issuer, {
  clients: given.clients ?? [],
  jwks: { keys: [key('rsa', { modulusLength: 2048 }, 'RS256'), key('ec', { namedCurve: 'P-256' }, 'ES256')] },
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access', 'email', 'profile', ...(given.scopes ?? [])],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'preferred_username'] },
  findAccount: (_ctx, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.test`, email_verified: true, name: id, preferred_username: id }),
  }),
  ttl: { AccessToken: accessSeconds, AuthorizationCode: 60, IdToken: 300, RefreshToken: 86_400, Interaction: 600, Session: 3_600, Grant: 86_400 },
  rotateRefreshToken: given.rotate ?? true,
  issueRefreshToken: (_ctx, client, code) =>
    client.grantTypeAllowed('refresh_token') && (given.refresh === 'always' || code.scopes.has('offline_access')),
  features: {
    devInteractions: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    registration: { enabled: true },
    userinfo: { enabled: true },
    pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: given.require_par ?? false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => {
        if (new URL(resource).hash) throw new errors.InvalidTarget();
        return {
          scope: (given.resource_scopes ?? ['mcp']).join(' '),
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: accessSeconds,
          jwt: { sign: { alg: 'RS256' } },
        };
      },
    },
  },
});

// Its sign-in page imports a web font, which a machine without the internet would wait for.
provider.use(async (ctx, next) => {
  await next();
  if (ctx.type === 'text/html') ctx.set('content-security-policy', "style-src 'unsafe-inline'; font-src 'none'");
});

if (given.events) {
  const about = (ctx) => ({
    client_id: ctx.oidc.client?.clientId,
    sub: ctx.oidc.account?.accountId,
    grant_type: ctx.oidc.params?.grant_type,
  });
  for (const name of ['authorization.success', 'pushed_authorization_request.success', 'grant.success'])
    provider.on(name, (ctx) => say({ event: name, ...about(ctx) }));
  for (const name of ['authorization.error', 'grant.error', 'userinfo.error', 'introspection.error', 'revocation.error', 'server_error'])
    provider.on(name, (ctx, error) => say({ event: name, ...about(ctx), error: error.error ?? error.name, detail: error.error_detail ?? error.message }));
  provider.on('grant.revoked', (ctx, grant) => say({ event: 'grant.revoked', ...about(ctx), grant }));
  for (const name of ['access_token', 'refresh_token'])
    provider.on(`${name}.destroyed`, (token) => say({ event: `${name}.destroyed`, client_id: token.clientId, sub: token.accountId }));
}

server.on('request', provider.callback());
say({ event: 'ready', issuer, host, port });
