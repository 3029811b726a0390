// Follows one screen: server-sent events read by fetch, because EventSource cannot send a token. A lost connection is
// opened again, and a snapshot that is already shown is not sent twice.
import type { AnyScreen } from '../wire/screens.ts';

/** Whether what is shown is current. */
export type StreamState = 'opening' | 'live' | 'lost' | 'paused' | 'signed-out' | { readonly refused: string };

/** Listener of a stream. */
export interface StreamListener {
  screen(screen: AnyScreen): void;
  state(state: StreamState): void;
}

/** The server sends something every 15 s. In ms. */
const SILENCE_MS = 40_000;
/** Status of an answer that may be another one in a moment. */
const TOO_MANY = 429;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Follows until the signal aborts, or nothing can be followed with this token. Never rejects. */
export async function followScreen(
  address: string, token: string, listener: StreamListener, signal: AbortSignal,
): Promise<void> {
  let [pause, lastId] = [FIRST_PAUSE_MS, ''];
  listener.state('opening');
  while (!signal.aborted) {
    const end = await readOnce({ address, token, lastId }, listener, signal);
    if (signal.aborted || end.kind === 'final') return;
    if (end.lastId !== lastId) pause = FIRST_PAUSE_MS;
    lastId = end.lastId;
    listener.state('lost');
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  }
}

type Ended = { readonly kind: 'final' } | { readonly kind: 'broken'; readonly lastId: string };

async function readOnce(
  { address, token, lastId }: { readonly address: string; readonly token: string; readonly lastId: string },
  listener: StreamListener, signal: AbortSignal,
): Promise<Ended> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  signal.addEventListener('abort', end);
  const events = new Events(lastId, listener);
  let timer = setTimeout(end, SILENCE_MS);
  try {
    const headers = { authorization: `Bearer ${token}`, ...(lastId !== '' && { 'last-event-id': lastId }) };
    const answer = await fetch(`/api/screens${address}`, { headers, signal: ended.signal });
    const isFinal = answer.status < 500 && answer.status !== TOO_MANY;
    if (isFinal && !answer.ok) return await refused(answer, listener);
    if (!answer.ok || answer.body === null) return { kind: 'broken', lastId };
    listener.state('live');
    for await (const text of chunksOf(answer.body)) {
      clearTimeout(timer);
      timer = setTimeout(end, SILENCE_MS);
      events.take(text);
    }
  } catch {
    // no connection, or it was interrupted
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
  return { kind: 'broken', lastId: events.lastId };
}

async function refused(answer: Response, listener: StreamListener): Promise<Ended> {
  const { message } = (await answer.json()) as { readonly message: string };
  listener.state(answer.status === 401 ? 'signed-out' : { refused: message });
  return { kind: 'final' };
}

/** Streams cannot be iterated in every browser. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

/** Reads events out of chunks (HTML standard, "Server-sent events"): of a snapshot, its id and one line of data. */
class Events {
  lastId: string;
  readonly #listener: StreamListener;
  readonly #parts: string[] = [];

  constructor(lastId: string, listener: StreamListener) {
    [this.lastId, this.#listener] = [lastId, listener];
  }

  take(text: string): void {
    this.#parts.push(text);
    if (!text.includes('\n\n')) return;
    const blocks = this.#parts.join('').split('\n\n');
    this.#parts.length = 0;
    this.#parts.push(blocks.pop() ?? '');
    for (const block of blocks) this.#read(block);
  }

  #read(block: string): void {
    const lines = new Map(block.split('\n').map((line) => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon), line.slice(colon + 2)] as const;
    }));
    const [id, data] = [lines.get('id'), lines.get('data')];
    if (id === undefined || data === undefined) return;
    this.lastId = id;
    this.#listener.screen(JSON.parse(data) as AnyScreen);
  }
}
