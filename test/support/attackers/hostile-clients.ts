// Clients that attack the webhook, each with the attack of its name, from an address of their own on the loopback
// network. They run in a process of their own, so that what they cost is not what the server costs.
import { setMaxListeners } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';

/** Where to, from where, with which attacks, and how hard. */
export interface HostileOrder {
  readonly port: number;
  /** A loopback address that is not that of any API server. */
  readonly from: string;
  readonly attacks: readonly Attack[];
  /** Connections of each attack at a time. */
  readonly connections: number;
  /** Between two connections of a client, in ms. */
  readonly pauseMs: number;
}

/**
 * By attack: connections that were begun, those that got an answer, answers that were reviews, and answers that
 * there is nothing.
 */
export type HostileCounts =
  Readonly<Record<string, { begun: number; answered: number; reviewed: number; refused: number }>>;

const PATH = '/mutate--v1-pod';
const SEGMENT = 'a'.repeat(48);
/** A connection that is left alone ends after this, in ms. */
const HELD_MS = 20_000;

const frame = (object: string): string =>
  `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","namespace":"x","object":${object},"oldObject":null}}`;
const manyAnnotations = (count: number): string => frame(
  `{"metadata":{"name":"x","annotations":{"multicluster.admiralty.io/elect":"",${Array.from({ length: count }, (_, index) => `"a/${index.toString(36)}":""`).join(',')}}},"spec":{"containers":[]}}`,
);
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const post = (body: string, path = PATH): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ` +
    `${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** What an attack sends over TLS, made once. */
const SENT = {
  'reviews of 600,000 annotations': () => post(manyAnnotations(600_000)),
  'reviews on a guessed path': () => post(manyAnnotations(600_000), `/${SEGMENT}${PATH}`),
  'JSON of a million levels': () => post(frame(nested(1_000_000))),
  'garbage for JSON': () => post('{"kind":'.repeat(500_000)),
  'headers of a megabyte': () =>
    `POST ${PATH} HTTP/1.1\r\nhost: x\r\n${Array.from({ length: 16_000 }, (_, index) => `x-${index}: ${'y'.repeat(55)}\r\n`).join('')}\r\n`,
  'ten thousand requests in a row': () =>
    `POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`.repeat(10_000),
  'ten thousand questions in a row': () => 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(10_000),
} as const;

const HELD = {
  'handshakes that do not end': 'plain',
  'bodies that trickle in': 'tls',
} as const;

/** The attacks. */
export const ATTACKS = [
  ...Object.keys(SENT), ...Object.keys(HELD), 'handshakes and nothing else', 'connections and nothing else',
] as readonly Attack[];
/** An attack by a client. */
export type Attack = keyof typeof SENT | keyof typeof HELD | 'handshakes and nothing else'
  | 'connections and nothing else';

/** Goes on until told to stop; gives what came of it. */
export async function runHostileClients(order: HostileOrder, signal: AbortSignal): Promise<HostileCounts> {
  setMaxListeners(0, signal);
  const counts: Record<string, { begun: number; answered: number; reviewed: number; refused: number }> = {};
  const clients = order.attacks.flatMap((attack) => {
    const text = attack in SENT ? Buffer.from(SENT[attack as keyof typeof SENT]()) : undefined;
    const count = (counts[attack] = { begun: 0, answered: 0, reviewed: 0, refused: 0 });
    return Array.from({ length: order.connections }, async () => {
      while (!signal.aborted) {
        count.begun += 1;
        const answer = await attempt(order, attack, text, signal);
        if (answer !== '') count.answered += 1;
        if (answer.startsWith('HTTP/1.1 404')) count.refused += 1;
        if (answer.startsWith('HTTP/1.1 200') && attack !== 'ten thousand questions in a row') count.reviewed += 1;
        await sleep(order.pauseMs);
      }
    });
  });
  await Promise.all(clients);
  return counts;
}

/** One connection, from its beginning to its end, whoever ends it; gives what was answered. */
function attempt(
  { port, from }: HostileOrder, attack: Attack, text: Buffer | undefined, signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve) => {
    const to = { port, host: '127.0.0.1', localAddress: from };
    const isPlain = attack === 'handshakes that do not end' || attack === 'connections and nothing else';
    const socket: Socket = isPlain ? connectPlain(to) : connectTls({ ...to, rejectUnauthorized: false });
    let answer = '';
    const end = (): void => void socket.destroy();
    signal.addEventListener('abort', end, { once: true });
    const timers: NodeJS.Timeout[] = [setTimeout(end, HELD_MS)];
    socket.on('error', () => undefined)
      .on('data', (chunk: Buffer) => (answer += answer.length < 100 ? chunk.toString('latin1') : ''));
    socket.once('close', () => {
      signal.removeEventListener('abort', end);
      for (const timer of timers) clearTimeout(timer);
      resolve(answer);
    });
    socket.once(isPlain ? 'connect' : 'secureConnect', () => {
      if (text !== undefined) socket.end(text);
      else if (attack === 'handshakes that do not end') socket.write(Buffer.from([0x16, 0x03, 0x01, 0x01, 0x00]));
      else if (attack === 'bodies that trickle in') {
        socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 7000000\r\n\r\n`);
        timers.push(setInterval(() => socket.write(' '), 200));
      } else socket.destroy();
    });
  });
}
