// A receiver of webhooks that verifies with the reference implementation of Standard Webhooks.
//
//   node webhooks.mjs '{"secrets": {"first": "whsec_..."}}'
//
// It tells { "event": "listening", "url" }, and for each post { "event": "post", "id", "timestamp", "fits", "body" }, where
// `fits` names the secrets under which the reference verifies it. It answers 204 when there is one, and 401 otherwise.
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const { secrets } = JSON.parse(process.argv[2]);
const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

// Ends with whoever started it.
process.stdin.on('end', () => process.exit(0)).resume();

function fits(secret, body, headers) {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const names = Object.keys(secrets).filter((name) => fits(secrets[name], body, request.headers));
    const tampered = fits(Object.values(secrets)[0], Buffer.concat([body, Buffer.from(' ')]), request.headers);
    say({
      event: 'post',
      id: request.headers['webhook-id'],
      timestamp: request.headers['webhook-timestamp'],
      fits: names,
      tampered,
      body: JSON.parse(body.toString('utf8')),
    });
    response.writeHead(names.length > 0 ? 204 : 401).end();
  });
});

server.listen(0, '127.0.0.1', () => say({ event: 'listening', url: `http://127.0.0.1:${server.address().port}/hooks` }));
