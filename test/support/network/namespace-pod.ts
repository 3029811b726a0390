// A pod as a program: a real HTTP server and a UDP server that say who they are and whom they see, and a client that is
// asked by lines of JSON, or by POST where it is given a port for that. It also keeps a long connection for as long as
// it is asked to, and asks at a steady rate.
import { createSocket } from 'node:dgram';
import { createServer, get, Agent } from 'node:http';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** What a pod is asked. */
export type PodQuestion =
  | { readonly ask: 'get'; readonly url: string; readonly timeoutMs: number }
  | { readonly ask: 'datagram'; readonly host: string; readonly port: number; readonly timeoutMs: number }
  | { readonly ask: 'connect'; readonly host: string; readonly port: number }
  | { readonly ask: 'stream-begin'; readonly host: string; readonly port: number }
  | { readonly ask: 'rate-begin'; readonly url: string; readonly everyMs: number; readonly timeoutMs: number }
  | { readonly ask: 'flood'; readonly host: string; readonly ms: number }
  | { readonly ask: 'end' }
  | { readonly ask: 'ready' };

/** What a server says. */
export interface PodAnswer {
  readonly pod: string;
  /** Address of the client as the server sees it. */
  readonly from: string;
}

/** How a stream and a steady rate went. */
export interface LoadReport {
  readonly streamAlive: boolean;
  readonly streamBytes: number;
  readonly answered: number;
  readonly failed: number;
  /** The longest time without an answer, in ms. */
  readonly longestGapMs: number;
}

const PORT = 8_080;
const STREAM_PORT = 8_081;
const SINK_PORT = 8_082;
const UDP_PORT = 8_083;
const CHUNK = Buffer.alloc(256 << 10);
const [name = 'pod', requestedAt] = process.argv.slice(2);
const filler = 'x'.repeat(2_000);

const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  const padding = request.url?.startsWith('/large') === true ? 'y'.repeat(200_000) : '';
  response.end(
    JSON.stringify({
      pod: name, from: request.socket.remoteAddress?.replace('::ffff:', ''), padding,
      filler: request.headers['x-filler'] ?? '',
    }),
  );
});
const echo = createTcpServer((socket) => socket.on('error', () => undefined).pipe(socket));
const sink = createTcpServer({ allowHalfOpen: true }, (socket) => {
  let bytes = 0;
  socket.on('data', (chunk) => (bytes += chunk.length)).on('end', () => socket.end(String(bytes))).on(
    'error', () => undefined,
  );
});
const datagrams = createSocket('udp4');
datagrams.on('message', (_text, { address, port }) => {
  datagrams.send(JSON.stringify({ pod: name, from: address } satisfies PodAnswer), port, address);
});
await new Promise<void>((resolve) => datagrams.bind(UDP_PORT, resolve));
await new Promise<void>((resolve) => sink.listen(SINK_PORT, resolve));
await new Promise<void>((resolve) => server.listen(PORT, resolve));
await new Promise<void>((resolve) => echo.listen(STREAM_PORT, resolve));

/** A connection of its own each time, as clients behind a Service make them. */
function fetchOnce(url: string, timeoutMs: number): Promise<PodAnswer> {
  return new Promise((resolve, reject) => {
    const request = get(url,
      { agent: new Agent(), timeout: timeoutMs, headers: { 'x-filler': filler } }, (response) => {
      let body = '';
      response.setEncoding('utf8').on(
        'data', (text: string) => (body += text),
      ).on('end', () => resolve(JSON.parse(body) as PodAnswer)).on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('timeout'))).on('error', reject);
  });
}

/** One datagram and its answer. */
function datagramOnce(host: string, port: number, timeoutMs: number): Promise<PodAnswer> {
  const socket = createSocket('udp4');
  return new Promise<PodAnswer>((resolve, reject) => {
    setTimeout(() => reject(new Error('timeout')), timeoutMs).unref();
    socket.on('message', (text) => resolve(JSON.parse(text.toString()) as PodAnswer)).on('error', reject);
    socket.send('who?', port, host, (error) => error !== null && reject(error));
  }).finally(() => socket.close());
}

let stream: Socket | undefined;
const heard = { bytes: 0, ended: false };
let timer: NodeJS.Timeout | undefined;
let answered = 0;
let failed = 0;
let longestGapMs = 0;
let lastAnswer = 0;

/** Sends as fast as one TCP stream takes it; gives Gbit/s of what has arrived. */
async function flood(host: string, ms: number): Promise<number> {
  const socket = connect(SINK_PORT, host);
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  const begin = performance.now();
  while (performance.now() - begin < ms) if (!socket.write(CHUNK)) await new Promise<void>(
    (resolve) => socket.once('drain', resolve),
  );
  let told = '';
  socket.setEncoding('utf8').on('data', (text: string) => (told += text));
  await new Promise<void>((resolve) => socket.end().once('end', resolve));
  return (Number(told) * 8) / (performance.now() - begin) / 1e6;
}

async function count(asked: Promise<PodAnswer>): Promise<void> {
  const isAnswered = await asked.then(() => true, () => false);
  if (!isAnswered) return void (failed += 1);
  answered += 1;
  longestGapMs = Math.max(longestGapMs, performance.now() - lastAnswer);
  lastAnswer = performance.now();
}

/**
 * Whether the stream still carries bytes. After a gap TCP tries again after twice as long each time: what was silent
 * for 7 s may stay so for 6 more.
 */
async function goesOn(): Promise<boolean> {
  const before = heard.bytes;
  const end = performance.now() + 15_000;
  while (heard.bytes === before && !heard.ended && performance.now() < end) await new Promise(
    (resolve) => setTimeout(resolve, 100),
  );
  return heard.bytes > before;
}

async function answer(question: PodQuestion): Promise<object> {
  switch (question.ask) {
    case 'ready':
      return {};
    case 'get':
      return fetchOnce(question.url, question.timeoutMs);
    case 'datagram':
      return datagramOnce(question.host, question.port, question.timeoutMs);
    case 'flood':
      return { gigabits: await flood(question.host, question.ms) };
    case 'connect': {
      const socket = connect(question.port, question.host);
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
      socket.destroy();
      return {};
    }
    case 'stream-begin':
      Object.assign(heard, { bytes: 0, ended: false });
      stream = connect(question.port, question.host);
      stream.on('data', (chunk) => (heard.bytes += chunk.length)).on('close', () => (heard.ended = true)).on(
        'error', () => (heard.ended = true),
      );
      await new Promise<void>((resolve, reject) => stream?.once('connect', resolve).once('error', reject));
      setInterval(() => !heard.ended && stream?.write('tick'), 20).unref();
      return {};
    case 'rate-begin':
      [answered, failed, longestGapMs, lastAnswer] = [0, 0, 0, performance.now()];
      timer = setInterval(() => {
        void count(fetchOnce(question.url, question.timeoutMs));
      }, question.everyMs);
      return {};
    case 'end': {
      clearInterval(timer);
      const streamAlive = await goesOn();
      const report: LoadReport =
        { streamAlive, streamBytes: heard.bytes, answered, failed, longestGapMs: Math.round(longestGapMs) };
      stream?.destroy();
      return report;
    }
  }
}

function told(text: string): Promise<string> {
  return answer(JSON.parse(text) as PodQuestion)
    .catch((error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }))
    .then((answered) => JSON.stringify(answered));
}

if (requestedAt === undefined) {
  for await (const line of createInterface({ input: process.stdin })) {
    void told(line).then((text) => process.stdout.write(`${text}\n`));
  }
  process.exit(0);
}
process.on('SIGTERM', () => process.exit(0));
createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text)).on('end', () => {
    void told(body).then((text) => response.end(text));
  });
}).listen(Number(requestedAt));
