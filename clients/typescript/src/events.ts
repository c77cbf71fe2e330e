/**
 * The stream of events, taken up again by itself where it broke off (the format is that of HTML, "server-sent events").
 */
import type { Event } from './api.ts';
import { ConsentryError } from './error.ts';

/** The server says something every 15 s; after this long without a word the connection counts as dead. */
const SILENCE_MS = 50_000;
/** The longest pause before connecting again. */
const LONGEST_PAUSE_MS = 30_000;
/** No event is longer, in characters. */
const LONGEST = 256 * 1024;

/** An event, and the id behind which a later stream can go on. */
export interface Received {
  id: string;
  event: Event;
}

/** Connects, with `Last-Event-ID` where there is one. Throws a {@link ConsentryError} when it is refused. */
export type Connect = (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;

/**
 * Every event, one after the other, without end: what passes by itself is tried again. Ends when `stop` is aborted, and throws what trying again does
 * not mend (a wrong key, say).
 */
export async function* received(connect: Connect, lastEventId: string | undefined, stop: AbortSignal): AsyncGenerator<Received, void, void> {
  let failures = 0;
  let pause = 500;
  while (!stop.aborted) {
    if (failures > 0) await sleep(Math.min(pause * 2 ** (failures - 1), LONGEST_PAUSE_MS), stop);
    failures += 1;
    const silence = new AbortController();
    const signal = AbortSignal.any([stop, silence.signal]);
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const response = await connect(lastEventId, signal);
      for await (const message of messages(response.body, () => {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS);
      })) {
        // Not zero: a server that ends every stream at once must not make a hot loop.
        failures = 1;
        pause = message.retry ?? pause;
        if (message.data === undefined) continue;
        lastEventId = message.id ?? lastEventId;
        yield { id: lastEventId ?? '', event: JSON.parse(message.data) as Event };
      }
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof ConsentryError && !error.passes) throw error;
      if (error instanceof SyntaxError || error instanceof RangeError) throw error;
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }
}

interface Message {
  id?: string;
  data?: string;
  retry?: number;
}

async function* messages(body: ReadableStream<Uint8Array> | null, heard: () => void): AsyncGenerator<Message, void, void> {
  if (!body) return;
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of body) {
    heard();
    text = (text + decoder.decode(bytes, { stream: true })).replaceAll('\r\n', '\n');
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield message(text.slice(0, end));
      text = text.slice(end + 2);
    }
    if (text.length > LONGEST) throw new RangeError('an event is too long');
  }
}

function message(text: string): Message {
  const read: Message = {};
  for (const line of text.split('\n')) {
    const [, name, value = ''] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
    if (name === 'id') read.id = value;
    else if (name === 'data') read.data = read.data === undefined ? value : `${read.data}\n${value}`;
    else if (name === 'retry' && /^\d{1,6}$/.test(value)) read.retry = Number(value);
  }
  return read;
}

function sleep(milliseconds: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    function done() {
      clearTimeout(timer);
      stop.removeEventListener('abort', done);
      resolve();
    }
    stop.addEventListener('abort', done);
  });
}
