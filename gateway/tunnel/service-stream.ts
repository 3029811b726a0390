// The remote end of a stream: connects a peer to the requested service if it is allowed. Contents (TLS to the API
// server) pass through unread: no token or object is ever visible here.
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { findService, serviceOf, type AllowedServices, type ServiceAddress } from '../protocol/allowed-services.ts';
import type { FoundService } from '../protocol/exported-endpoints.ts';
import type { StreamRecord } from '../protocol/cable-driver.ts';
import { printable, toFailure } from '../protocol/failure-cause.ts';
import { joinStreams } from './stream-junction.ts';
import { REASON_HEADER, type TunnelSession } from './tunnel-session.ts';
import type { TunnelLimits } from '../protocol/tunnel-protocol.ts';
import { hostPort } from '../../model/network/socket-address.ts';

/** Dependencies. */
export interface ServiceStreamsOptions {
  readonly services: AllowedServices;
  /** Services exported by this cluster, by a stream's authority; undefined when it names none. */
  readonly exported?: ((asked: string) => FoundService | undefined) | undefined;
  readonly limits: TunnelLimits;
  readonly audit: (record: StreamRecord) => void;
}

interface Answer {
  readonly status: number;
  readonly reason: string;
}

/** A stream whose service is allowed. */
interface Asked {
  readonly stream: ServerHttp2Stream;
  readonly session: TunnelSession;
  readonly authority: string;
  readonly address: ServiceAddress;
  readonly refuse: (answer: Answer) => void;
}

/** Serves the streams of all peers. */
export class ServiceStreams {
  readonly #options: ServiceStreamsOptions;
  /** Streams whose service has not answered yet, by peer. */
  readonly #pending = new Map<string, number>();
  #open = 0;
  /** Streams to exported Services so far, for round robin over their endpoints. */
  #turns = 0;

  constructor(options: ServiceStreamsOptions) {
    this.#options = options;
  }

  /** Streams that are connected to a service now. */
  get open(): number {
    return this.#open;
  }

  /** Connects a stream to its service, or responds with the reason why not. */
  readonly serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, session: TunnelSession): void => {
    const { limits } = this.#options;
    const authority = (headers[':authority'] ?? '').slice(0, 300);
    const found = this.#find(authority);
    const refuse = (answer: Answer) => {
      this.#note(session, authority, answer.reason);
      if (!stream.destroyed && !stream.closed) {
        stream.respond({ ':status': answer.status, [REASON_HEADER]: answer.reason }, { endStream: true });
      }
      stream.close();
    };
    if (headers[':method'] !== 'CONNECT') return refuse({ status: 405, reason: 'this gateway speaks CONNECT only' });
    if (found.kind === 'refused') return refuse({ status: found.status, reason: printable(found.reason) });
    const address = found.addresses[this.#turns++ % found.addresses.length];
    if (address === undefined) return refuse({ status: 503, reason: 'the service has no endpoint' });
    if (this.#pendingOf(session) >= limits.pendingStreamsPerPeer) {
      return refuse({ status: 503, reason: 'too many streams are waiting for their service' });
    }
    this.#connect({ stream, session, authority, address, refuse });
  };

  #find(authority: string): FoundService {
    const { services, exported } = this.#options;
    const address = findService(services, authority);
    if (address !== undefined) return { kind: 'found', addresses: [address] };
    return exported?.(serviceOf(authority)) ?? {
      kind: 'refused', status: 403, reason: `"${authority}" is not on the list of services of that cluster's gateway`,
    };
  }

  #connect({ stream, session, authority, address, refuse }: Asked): void {
    const { limits } = this.#options;
    const { clusterId } = session.peer;
    this.#pending.set(clusterId, this.#pendingOf(session) + 1);
    const socket = connect({ ...address, allowHalfOpen: true, noDelay: true });
    let isPending = true;
    const settle = () => {
      if (!isPending) return false;
      isPending = false;
      clearTimeout(timer);
      const left = this.#pendingOf(session) - 1;
      if (left === 0) this.#pending.delete(clusterId);
      else this.#pending.set(clusterId, left);
      return true;
    };
    const fail = (error: { readonly code?: string; readonly message: string }) => {
      socket.destroy();
      if (settle()) {
        refuse({ status: 502, reason: printable(toFailure(error, hostPort(address.host, address.port)).message) });
      }
    };
    const timer = setTimeout(() => fail({ code: 'ETIMEDOUT', message: 'no answer in time' }), limits.serviceMs);
    socket.on('error', fail);
    stream.once('close', () => {
      if (settle()) socket.destroy();
    });
    socket.once('connect', () => {
      if (!settle() || stream.destroyed) return void socket.destroy();
      this.#note(session, authority, '');
      stream.respond({ ':status': 200 });
      this.#open += 1;
      joinStreams(stream, socket, limits.halfClosedMs, () => (this.#open -= 1));
    });
  }

  #pendingOf({ peer }: TunnelSession): number {
    return this.#pending.get(peer.clusterId) ?? 0;
  }

  #note({ peer, lane, remoteAddress }: TunnelSession, authority: string, reason: string): void {
    const outcome = reason === '' ? 'opened' : 'refused';
    this.#options.audit({
      direction: 'in', clusterId: peer.clusterId, service: printable(serviceOf(authority)), lane, from: remoteAddress,
      outcome, reason,
    });
  }
}
