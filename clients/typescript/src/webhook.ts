/**
 * Webhooks, as Standard Webhooks signs them. What this must never do: read a body before its signature has been checked.
 */
import type { Event } from './api.ts';

/** How far the time of a post may be from now, in seconds. */
const TOLERANCE_S = 5 * 60;

/** A post that must not be believed: answer it with `status`. */
export class WebhookRefused extends Error {
  readonly status: 401 | 422;

  constructor(reason: string, status: 401 | 422 = 401) {
    super(reason);
    this.name = 'WebhookRefused';
    this.status = status;
  }
}

/** A post that is genuine. Deal with each `id` once: it is the same over all tries. */
export interface Post {
  id: string;
  event: Event;
}

/**
 * Checks a post: signed with one of `secrets` (`whsec_...`), and at most five minutes old.
 *
 * @param header Reads a header, for instance `(name) => request.headers.get(name)`.
 * @param body The bytes as they came, before anything has parsed them.
 * @param now In milliseconds since 1970.
 * @throws {WebhookRefused}
 */
export async function verifyWebhook(
  secrets: string[],
  header: (name: string) => string | null | undefined,
  body: Uint8Array | string,
  now: number = Date.now(),
): Promise<Post> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(header);
  if (!id || !timestamp || !signatures) throw new WebhookRefused('a header is missing');
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookRefused('the timestamp is not one');
  if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_S) throw new WebhookRefused('the post is too old, or of the future');

  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array([...head, ...bytes]);
  const given = signatures.split(' ').flatMap((one) => (one.startsWith('v1,') ? [decode(one.slice(3))] : []));
  for (const secret of secrets) {
    const key = await hmac(secret);
    for (const signature of given) {
      // Compares in constant time.
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return { id, event: read(bytes) };
    }
  }
  throw new WebhookRefused('no signature fits');
}

async function hmac(secret: string): Promise<CryptoKey> {
  const bytes = secret.startsWith('whsec_') ? decode(secret.slice(6)) : undefined;
  if (!bytes || bytes.length < 24) throw new TypeError('a webhook secret is `whsec_` and the base64 of at least 24 bytes');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function read(bytes: Uint8Array): Event {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Event;
  } catch {
    throw new WebhookRefused('the body is no event', 422);
  }
}
