// A proxy of the tests' own in front of a real API server. It ends TLS, so that it can answer for the server or spoil
// an answer, and a plain TCP relay in front of it can swallow bytes, so that neither side sees more than silence.
import { once } from 'node:events';
import {
  createSecureServer, type Http2SecureServer, type Http2ServerRequest, type Http2ServerResponse,
} from 'node:http2';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { readKubeconfig, type ClusterConnection } from '../../../kubernetes/credentials/kubeconfig.ts';
import { resolveCredentials } from '../../../kubernetes/credentials/kubeconfig-user.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';

/** What is done to one request. */
export type Fault =
  /** Answered by the proxy; the server never sees it. */
  | { readonly kind: 'answer'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Handed on, but answered late. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Handed on and never answered. */
  | { readonly kind: 'swallow-answer' }
  /** The stream breaks after so many bytes of the answer. */
  | { readonly kind: 'cut-after'; readonly bytes: number }
  /** The lines of the answer are written by this instead. */
  | { readonly kind: 'rewrite'; readonly line: (line: string) => readonly string[] };

/** A request as the proxy saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly url: URL;
  readonly at: number;
}

interface OpenWatch {
  readonly upstream: Readable;
  readonly response: Http2ServerResponse;
  frozen: boolean;
}

/** A running proxy. */
export class FaultProxy {
  /** Decides on the fate of each request. */
  fate: (request: SeenRequest) => Fault | undefined = () => undefined;
  readonly requests: SeenRequest[] = [];
  /** Calls (not watches) that are answered now, and the most there have been. */
  inFlight = { now: 0, most: 0 };
  readonly #upstream: Pool;
  readonly #web: Http2SecureServer;
  readonly #relay: Server;
  readonly #pairs = new Set<{ readonly front: Socket; readonly back: Socket }>();
  readonly #watches = new Set<OpenWatch>();
  readonly #authority: string;
  #mode: 'pass' | 'black-hole' | 'refuse' = 'pass';

  private constructor(made: { upstream: Pool; web: Http2SecureServer; relay: Server; authority: string }) {
    this.#upstream = made.upstream;
    this.#web = made.web;
    this.#relay = made.relay;
    this.#authority = made.authority;
    this.#web.on('request', (request, response) => void this.#serve(request, response).catch(() => response.destroy()));
    this.#relay.on('connection', (front) => this.#join(front));
  }

  /** Starts a proxy in front of the cluster of an admin kubeconfig; `protocols` are what it offers to clients. */
  static async start(
    kubeconfig: string, protocols: readonly ('h2' | 'http/1.1')[] = ['h2', 'http/1.1'],
  ): Promise<FaultProxy> {
    const { server, certificateAuthority, credentials } =
      await readKubeconfig({ text: kubeconfig, author: 'administrator' });
    const { certificate, key } = await resolveCredentials(credentials);
    const upstream = new Pool(server.origin, {
      connections: 256, bodyTimeout: 0, connect: { ca: certificateAuthority, cert: certificate, key } as object,
    });
    const authority = await createAuthority('fault-proxy-ca', 1, new Date());
    const own = await authority.issue({ commonName: 'fault-proxy', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const web =
      createSecureServer({ cert: own.certificate, key: own.key, allowHTTP1: true, ALPNProtocols: [...protocols] });
    web.on('sessionError', () => undefined);
    web.on('error', () => undefined);
    const relay = createServer({ allowHalfOpen: false });
    for (const listener of [web, relay]) {
      listener.listen(0, '127.0.0.1');
      await once(listener, 'listening');
    }
    return new FaultProxy({ upstream, web, relay, authority: authority.keyPair.certificate });
  }

  /** How to reach the cluster through the proxy. */
  get connection(): ClusterConnection {
    const { port } = this.#relay.address() as AddressInfo;
    return {
      server: new URL(`https://127.0.0.1:${port}`), certificateAuthority: this.#authority, insecure: false,
      credentials: { kind: 'none' },
    };
  }

  /** Lists and watches, by what the query says. */
  count(what: 'list' | 'watch' | 'call', plural: string): number {
    return this.requests.filter(({ method, url }) => {
      const isCollection = method === 'GET' && url.pathname.endsWith(`/${plural}`);
      const isList = url.searchParams.get('watch') !== 'true' || url.searchParams.get('sendInitialEvents') === 'true';
      if (what === 'list') return isCollection && isList && !url.searchParams.has('continue');
      return what === 'watch' ? isCollection && !isList : !isCollection;
    }).length;
  }

  /** Watches that are open now. */
  get openWatches(): number {
    return this.#watches.size;
  }

  /** Breaks all connections at once. */
  cut(): void {
    for (const { front, back } of this.#pairs) {
      front.resetAndDestroy();
      back.destroy();
    }
  }

  /** From now on bytes go nowhere, on old connections and new ones, and no connection ends. */
  blackHole(): void {
    this.#mode = 'black-hole';
    for (const { front, back } of this.#pairs) {
      front.unpipe(back).pause();
      back.unpipe(front).pause();
    }
  }

  /** Breaks all connections and accepts none. */
  refuse(): void {
    this.#mode = 'refuse';
    this.cut();
  }

  /** All is well again; what was swallowed is lost with its connection. */
  heal(): void {
    const wasBlackHole = this.#mode === 'black-hole';
    this.#mode = 'pass';
    if (wasBlackHole) this.cut();
  }

  /** Ends all watches as a server does whose time is up. */
  endWatches(): void {
    for (const { response } of this.#watches) response.end();
  }

  /** Watches that are open bring nothing more, while their connections live on. */
  freezeWatches(): void {
    for (const watch of this.#watches) watch.frozen = true;
  }

  /** Writes an ERROR event on all watches. */
  failWatches(code: number, reason: string): void {
    const event = {
      type: 'ERROR',
      object: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message: 'injected' },
    };
    for (const { response } of this.#watches) response.write(`${JSON.stringify(event)}\n`);
  }

  async stop(): Promise<void> {
    this.#mode = 'refuse';
    this.cut();
    this.#relay.close();
    this.#web.close();
    await this.#upstream.destroy();
  }

  #join(front: Socket): void {
    if (this.#mode === 'refuse') return void front.resetAndDestroy();
    const back = connect((this.#web.address() as AddressInfo).port, '127.0.0.1');
    const pair = { front, back };
    this.#pairs.add(pair);
    for (const [one, other] of [[front, back], [back, front]] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
      if (this.#mode === 'black-hole') one.pause();
      else one.pipe(other);
    }
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const seen: SeenRequest =
      { method: request.method, url: new URL(request.url, 'https://proxy'), at: performance.now() };
    this.requests.push(seen);
    const fault = this.fate(seen);
    if (fault?.kind === 'answer') {
      request.resume();
      response.writeHead(fault.status, fault.headers)
        .end(JSON.stringify({ kind: 'Status', code: fault.status, reason: 'Injected', message: 'injected' }));
      return;
    }
    const isWatch = seen.url.searchParams.get('watch') === 'true';
    if (!isWatch) this.inFlight =
      { now: this.inFlight.now + 1, most: Math.max(this.inFlight.most, this.inFlight.now + 1) };
    try {
      await this.#forward(request, response, fault, isWatch);
    } finally {
      if (!isWatch) this.inFlight.now -= 1;
    }
  }

  async #forward(
    request: Http2ServerRequest, response: Http2ServerResponse, fault: Fault | undefined, isWatch: boolean,
  ): Promise<void> {
    const body = await readAll(request);
    const headers = Object.fromEntries(['accept', 'content-type', 'user-agent'].flatMap(
      (name) => (request.headers[name] === undefined ? [] : [[name, String(request.headers[name])]]),
    ));
    const answer = await this.#upstream.request(
      { method: request.method, path: request.url, headers, ...(body.length > 0 && { body }) },
    );
    if (fault?.kind === 'delay') await sleep(fault.ms);
    if (fault?.kind === 'swallow-answer') return void answer.body.resume().on('error', () => undefined);
    response.writeHead(answer.statusCode, { 'content-type': 'application/json' });
    (response as unknown as { flushHeaders(): void }).flushHeaders();
    const watch: OpenWatch = { upstream: answer.body, response, frozen: false };
    if (isWatch) this.#watches.add(watch);
    response.on('close', () => {
      this.#watches.delete(watch);
      answer.body.on('error', () => undefined).destroy();
    });
    await relayBody(watch, fault);
  }
}

async function relayBody(watch: OpenWatch, fault: Fault | undefined): Promise<void> {
  const { upstream, response } = watch;
  let left = fault?.kind === 'cut-after' ? fault.bytes : Number.POSITIVE_INFINITY;
  const source = fault?.kind === 'rewrite' ? upstream.pipe(rewriter(fault.line)) : upstream;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (response.destroyed || response.writableEnded) return;
    if (watch.frozen) continue;
    const part = chunk.subarray(0, Math.min(chunk.length, left));
    left -= part.length;
    if (!response.write(part)) await drained(response);
    if (left > 0) continue;
    await sleep(5); // lets the part go out first
    breakStream(response);
    return;
  }
  if (!watch.frozen) response.end();
}

function drained(response: Http2ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

function breakStream(response: Http2ServerResponse): void {
  const stream = response.stream as (typeof response.stream & { readonly rstCode?: number }) | undefined;
  if (stream?.close === undefined) response.destroy();
  else stream.close(2); // INTERNAL_ERROR
}

function rewriter(rewrite: (line: string) => readonly string[]): PassThrough {
  const out = new PassThrough();
  let rest = '';
  const write = out.write.bind(out);
  out.write = ((chunk: Buffer) => {
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    return lines.flatMap((line) => rewrite(line)).map((line) => write(Buffer.from(`${line}\n`))).every(Boolean);
  }) as typeof out.write;
  return out;
}

async function readAll(request: Http2ServerRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
