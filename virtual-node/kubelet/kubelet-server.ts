// The kubelet API of all virtual nodes: the source's API server calls it for kubectl logs, exec, attach and
// port-forward. The caller is authenticated and authorized first; then the request is relayed to the delegate in the
// target, with the source's identity there.
import { constants } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import type { StreamRequest } from '../../kubernetes/stream/stream-exchange.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import type { Chaperon } from '../../model/delegate/cached-delegate.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { KeyPair } from '../../process/crypto/certificate-authority.ts';
import { messageOf } from '../../process/errors.ts';
import { OpenConnections } from '../../process/servers/open-connections.ts';
import { identifyCaller, isAllowed } from './delegated-auth.ts';
import { locateDelegate, type DelegateLocation } from './delegate-lookup.ts';
import { requiredAccess } from './request-attributes.ts';
import { KubeletMetrics } from './kubelet-metrics.ts';
import { parseKubeletRequest, refused, type KubeletRequest, type PodRequest, type Refusal } from './kubelet-request.ts';
import { answerNodePage, type NodePages } from './node-pages.ts';
import { PodUsages } from '../usage/pod-usage-cache.ts';
import { IDLE_LIMITS, spliceConnections, relayAnswer, type IdleLimits } from '../streams/stream-relay.ts';
import { relayRefusedLog } from '../streams/refused-log.ts';
import { openStream } from '../streams/stream-permissions.ts';
import { responseHeaderText, createResponse, upgradeHeaders } from '../streams/upgrade-request.ts';
import { listenHost } from '../../process/listen-host.ts';

/** Dependencies of the server. */
export interface KubeletServerOptions {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  readonly certificate: KeyPair;
  /** PEM bundle of the CAs for client certificates. */
  readonly clientAuthority: string;
  /** The source, without fencing: every replica sends reviews to it. */
  readonly source: ClusterClient;
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  readonly limits?: IdleLimits;
  readonly logger: Logger;
}

/** Maximum number of streams; one more is refused. Each needs two connections. */
const MAX_STREAMS = 2_000;
/** A command is part of the request line. */
const MAX_HEADER_BYTES = 1 << 20;
/** How long a target may take to connect to the container, in ms. */
const UPGRADE_MS = 60_000;

/** Starts to listen. Throws what listening throws. */
export async function startKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  const kubelet = new KubeletServer(options);
  await kubelet.listen();
  return kubelet;
}

/** A listening server. */
export class KubeletServer {
  readonly #options: KubeletServerOptions;
  readonly #logger: Logger;
  readonly #server: Server;
  readonly #limits: IdleLimits;
  readonly #pages: NodePages;
  readonly #metrics = new KubeletMetrics(() => [...this.#streams.values()].map(({ operation }) => operation));
  /** By the controller that aborts them. */
  readonly #streams = new Map<AbortController, { readonly proxyUid: string; readonly operation: string }>();
  /** The HTTP server does not track upgraded connections. */
  readonly #connections: OpenConnections;
  #identity: Pick<KubeletServerOptions, 'certificate' | 'clientAuthority'>;

  constructor(options: KubeletServerOptions) {
    this.#options = options;
    this.#limits = options.limits ?? IDLE_LIMITS;
    this.#pages = { ...options, limits: this.#limits, usages: new PodUsages(options.proxies) };
    this.#logger = options.logger.child({ component: 'kubelet-api' });
    this.#identity = options;
    this.#server = createServer({
      ...toTls(options), allowHalfOpen: true, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.2',
      secureOptions: constants.SSL_OP_NO_TICKET, maxHeaderSize: MAX_HEADER_BYTES,
    });
    this.#server.on(
      'request', (request: IncomingMessage, reply: ServerResponse) => void this.#serve({ request, reply }),
    );
    this.#server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => undefined); // 'close' follows
      void this.#serve({ request, reply: createResponse(request, socket), upgrade: { socket, head } });
    });
    this.#server.on('connection', (socket: Socket) => {
      socket.setKeepAlive(true, 30_000); // the kernel detects a caller that vanished silently
    });
    this.#connections = new OpenConnections(this.#server);
    options.proxies.onChange((_key, before, after) => {
      if (before !== undefined && before.uid !== after?.uid) this.#endStreamsOf(before.uid);
    });
  }

  /** Where it listens. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Throws what listening throws. */
  async listen(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, listenHost(host), resolve);
    });
  }

  /** Replaces the certificate or the client CAs; open connections are not affected. */
  use(identity: Partial<Pick<KubeletServerOptions, 'certificate' | 'clientAuthority'>>): void {
    this.#identity = { ...this.#identity, ...identity };
    this.#server.setSecureContext(
      { ...toTls(this.#identity), minVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET },
    );
  }

  /** Closes all streams. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const stream of this.#streams.keys()) stream.abort(new Error('the kubelet API stops'));
    this.#connections.end();
    await closed;
  }

  /** Answers one request; every error becomes a response. */
  async #serve(exchange: Omit<Exchange, 'joined'>): Promise<void> {
    const asked = parseKubeletRequest(exchange.request.method ?? '', exchange.request.url ?? '');
    const gone = new AbortController();
    const { socket } = exchange.request;
    const onClose = () => gone.abort(new Error('the caller has gone'));
    socket.once('close', onClose);
    // What a caller sent before it left must still reach the target: once both are joined, each closes the other.
    const joined = () => void socket.removeListener('close', onClose);
    try {
      const refusal = await this.#answer(asked, { ...exchange, joined }, gone);
      if (refusal !== undefined) this.#refuse(refusal, asked, exchange.reply);
    } catch (error) {
      if (gone.signal.aborted) {
        exchange.reply.destroy();
        return;
      }
      this.#logger.warn({ error: messageOf(error) }, 'a stream could not be opened');
      this.#refuse(refused(503, messageOf(error)), asked, exchange.reply);
    } finally {
      joined();
    }
  }

  async #answer(asked: KubeletRequest, exchange: Exchange, gone: AbortController): Promise<Refusal | undefined> {
    if (asked.kind === 'refused') return asked;
    if (asked.kind === 'health') {
      exchange.reply.end('ok');
      return undefined;
    }
    const proxy = asked.kind === 'pod' ? this.#options.proxies.get(`${asked.namespace}/${asked.name}`) : undefined;
    const denial = await this.#authorize(asked, proxy?.nodeName, exchange.request, gone.signal);
    if (denial !== undefined) return denial;
    if (asked.kind === 'node') return answerNodePage(asked, this.#pages, exchange.reply, gone.signal);
    return this.#stream(asked, proxy, exchange, gone);
  }

  async #authorize(
    asked: Exclude<KubeletRequest, { readonly kind: 'health' } | Refusal>, node: string | undefined,
    request: IncomingMessage, signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const { source } = this.#options;
    const caller = await identifyCaller(request.socket as TLSSocket, request.headers.authorization, { source, signal });
    if (caller === undefined) {
      return refused(401, 'this kubelet needs a client certificate or a token of the cluster');
    }
    const wanted = requiredAccess(asked, asked.kind === 'node' ? asked.node : node);
    if (await isAllowed(source, caller, wanted, signal)) return undefined;
    this.#logger.warn({ user: caller.user, wanted }, 'denied');
    const [{ verb, resource, subresource, namespace, name } = {
      verb: 'get', resource: 'nodes', subresource: '', namespace: undefined, name: undefined,
    }] = wanted;
    return refused(
      403,
      `user ${JSON.stringify(caller.user)} may not ${verb} ${resource}/${subresource}` +
        (name === undefined ? '' : ` of ${namespace === undefined ? '' : `${namespace}/`}${name}`),
    );
  }

  async #stream(
    asked: PodRequest, proxy: ProxyPod | undefined, exchange: Exchange, ending: AbortController,
  ): Promise<Refusal | undefined> {
    const session = this.#options.targets.byNode(proxy?.nodeName ?? '')?.session;
    const { chaperon, delegate } = (proxy && session?.find(proxy)) ?? {};
    const located = locateDelegate(asked, { proxy, reachable: session !== undefined, delegate });
    if (located.kind === 'refused') return located;
    if (proxy === undefined || session === undefined) return refused(404, 'the pod has gone');
    const invalid = this.#validateUpgrade(asked, exchange);
    if (invalid !== undefined) return invalid;
    this.#streams.set(ending, { proxyUid: proxy.uid, operation: asked.operation });
    this.#metrics.began(asked.operation);
    try {
      await this.#relay({ session, chaperon, asked: toStreamRequest(located, exchange) }, exchange, ending);
      return undefined;
    } finally {
      this.#streams.delete(ending);
    }
  }

  #validateUpgrade({ operation }: PodRequest, { upgrade }: Exchange): Refusal | undefined {
    if (operation === 'log' && upgrade !== undefined) return refused(400, 'a log request must not be an upgrade');
    if (operation !== 'log' && upgrade === undefined) {
      return refused(400, 'this needs an upgrade to SPDY/3.1 or a WebSocket');
    }
    return this.#streams.size < MAX_STREAMS ? undefined : refused(429, `${MAX_STREAMS} streams are open; close some`);
  }

  async #relay(
    { session, chaperon, asked }: Relayed, { request, reply, upgrade, joined }: Exchange, ending: AbortController,
  ): Promise<void> {
    const { signal } = ending;
    const forget = onAbort(session.signal, () => ending.abort(new Error('the connection to the target has ended')));
    try {
      const answer = await openStream({ transport: session.client.transport, chaperon }, asked, signal);
      joined();
      signal.addEventListener('abort', () => request.socket.destroy(), { once: true });
      if (answer.kind === 'answer' || upgrade === undefined) {
        const { response } = answer;
        const isRefusedLog = upgrade === undefined && (response.statusCode ?? 0) >= 400;
        return await (isRefusedLog ? relayRefusedLog(response, reply) : relayAnswer(response, reply, this.#limits));
      }
      reply.detachSocket(upgrade.socket);
      upgrade.socket.write(responseHeaderText(answer.response));
      await spliceConnections(upgrade, answer, this.#limits);
    } finally {
      forget();
    }
  }

  #refuse({ status, message }: Refusal, asked: KubeletRequest, reply: ServerResponse): void {
    this.#metrics.refused(asked.kind === 'pod' ? asked.operation : 'other', status);
    if (reply.headersSent) reply.destroy();
    else reply.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
      .end(`${message}\n`);
  }

  #endStreamsOf(uid: string): void {
    for (const [stream, { proxyUid }] of this.#streams) {
      if (proxyUid === uid) stream.abort(new Error('the pod has gone'));
    }
  }
}

/** A stream and its target. */
interface Relayed {
  readonly session: TargetSession;
  readonly chaperon: Chaperon | undefined;
  readonly asked: StreamRequest;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly reply: ServerResponse;
  /** Of an upgrade request. */
  readonly upgrade?: { readonly socket: Socket; readonly head: Buffer };
  /** Called when the target has responded. */
  readonly joined: () => void;
}

function toTls({ certificate, clientAuthority }: Pick<KubeletServerOptions, 'certificate' | 'clientAuthority'>) {
  return { cert: certificate.certificate, key: certificate.key, ca: clientAuthority };
}

function toStreamRequest({ path, query }: DelegateLocation, { request, upgrade }: Exchange): StreamRequest {
  const method = request.method === 'POST' ? 'POST' : 'GET';
  return {
    method, path, query,
    ...(upgrade !== undefined && { headers: upgradeHeaders(request), headersTimeoutMs: UPGRADE_MS }),
  };
}
