// What an MCP server does with the client, once, for tests/it/clients.rs, which is the user in between:
//
//   node story.ts '{"url", "api_key", "provider", "sub", "posts": [{"secret", "headers", "body", "now"}]}'
//
// It tells what it sees as JSON, one object a line; clients/python/tests/story.py tells the same.
import { type api, Consentry, ConsentryError, verifyWebhook, WebhookRefused } from '../src/index.ts';

const { url, api_key: apiKey, provider, sub, posts } = JSON.parse(process.argv[2] ?? '{}');
const say = (told: Record<string, unknown>) => process.stdout.write(`${JSON.stringify(told)}\n`);
process.stdin.resume().on('end', () => process.exit(1));

const consentry = new Consentry({ url, apiKey });
const client: api.Client = { protocol_version: '2025-11-25', elicitation: { url: {} }, ref: 'story', method: 'tools/call', target: 'list' };
const wanted: api.ResolveRequest = { provider, subject: { sub }, client, message: 'For the story.' };

const problem = async (about: string, call: Promise<unknown>) => {
  const error = await call.catch((error: unknown) => error);
  if (!(error instanceof ConsentryError)) throw new Error(`no error: ${about}`);
  say({ event: 'problem', about, status: error.status, code: error.code, message: error.message });
};

// Everything that comes is told, and each stream is left after one event: the next goes on behind it.
const streaming = (async () => {
  let after = '0';
  for (;;) {
    for await (const { id, event } of consentry.events({ after })) {
      say({ event: 'signal', id, type: event.type, sequence: event.data.sequence, mcp: event.data.mcp ?? null });
      after = id;
      break;
    }
  }
})();

say({ event: 'providers', ids: (await consentry.providers()).map(({ id }) => id) });
const first = await consentry.resolve(wanted);
if (first.status !== 'action_required') throw new Error(first.status);
const [asked] = first.elicitations;
if (!asked) throw new Error('nothing is asked');
say({ event: 'asked', kind: first.reply.kind, id: asked.id, url: asked.url });
const accepted = await consentry.respond(asked.id, 'accept');
say({ event: 'accepted', state: accepted.elicitation.state });
say({ event: 'over', state: (await consentry.wait(asked.id)).state });

const ready = await consentry.resolve(wanted);
if (ready.status !== 'ready') throw new Error(ready.status);
const [grant] = ready.grants;
say({ event: 'ready', account: grant.connection.account.label, token: grant.credential.access_token });
say({ event: 'reported', status: (await consentry.report(grant)).status });
const several = await consentry.resolve({ requests: [{ provider }], subject: { sub }, client });
say({ event: 'several', status: several.status });

const page = await consentry.connections({ sub, limit: 10 });
say({ event: 'connections', ids: page.connections.map(({ id }) => id), one: (await consentry.connection(grant.connection.id)).id });

const [made, again] = [await consentry.createElicitation(wanted, 'a-key'), await consentry.createElicitation(wanted, 'a-key')];
const id = made.elicitations[0]?.id ?? '';
say({ event: 'created', same: id === again.elicitations[0]?.id, state: (await consentry.elicitation(id)).state });
const failed = await consentry.respond(id, 'error', client);
say({ event: 'failed', kind: failed.reply?.kind ?? null });
say({ event: 'cancelled', state: (await consentry.cancel(id)).elicitation.state });

// A modern client's rounds, to a no.
const modern: api.Client = { ...client, protocol_version: '2026-07-28', ref: 'modern' };
await consentry.deleteConnection(grant.connection.id);
const round = await consentry.resolve({ ...wanted, client: modern });
if (round.status !== 'action_required') throw new Error(round.status);
const { requestState, inputRequests } = round.reply.body as { requestState: string; inputRequests: Record<string, unknown> };
const input_responses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { action: 'decline' }]));
const refused = await consentry.resolve({ ...wanted, client: modern, request_state: requestState, input_responses, wait_seconds: 5 });
say({ event: 'refused', kind: round.reply.kind, status: refused.status, outcome: refused.status === 'refused' ? refused.outcome : null });

await problem('scope', consentry.resolve({ ...wanted, scopes: ['everything'] }));
await problem('state', consentry.resolve({ ...wanted, client: modern, request_state: 'forged' }));
await problem('unknown', consentry.connection('0199aa00-0000-7000-8000-000000000000'));
await problem('key', new Consentry({ url, apiKey: 'wrong' }).providers());
await problem('stream', new Consentry({ url, apiKey: 'wrong' }).events().next());

for (const { secret, headers, body, now } of posts) {
  const judged = await verifyWebhook([`whsec_${btoa('an unrelated secret of our own')}`, secret], (name) => headers[name], body, now * 1000).then(
    ({ id, event }) => ({ id, type: event.type }),
    (refusal: unknown) => ({ refused: refusal instanceof WebhookRefused ? refusal.status : String(refusal) }),
  );
  say({ event: 'post', ...judged });
}
say({ event: 'end' });
await streaming;
