// The streams over which the broker tells members about each other: a JSON line for each state, and keep-alive lines.
import type { FastifyReply } from 'fastify';
import type { ExportedService } from '../../api/kinds/service-discovery.ts';
import type { KnownPeer } from '../tunnel/tls-identity.ts';
import { speaksFor, type BrokerUpdate, type Members } from './broker-protocol.ts';
import type { MemberStore } from './member-store.ts';

const HEARTBEAT_MS = 10_000;
/** Largest unsent backlog of one member, over all of its streams; all exports at once fit. */
const MAX_UNREAD_BYTES = 64 << 20;
const MAX_STREAMS = 1_000;
/** Of one member: its active gateway has one, and another while it renews its certificate or hands over. */
const MAX_STREAMS_OF_MEMBER = 4;
/** Debounce interval for export changes in ms: a rollout changes one export many times. */
const GATHER_MS = 100;

/** The open streams. */
export class MemberStreams {
  readonly #store: MemberStore;
  readonly #streams = new Map<FastifyReply, KnownPeer>();
  /** Exports changed since the last line, by name. */
  readonly #changedExports = new Map<string, ExportedService | undefined>();

  constructor(store: MemberStore) {
    this.#store = store;
    store.onChange(() => this.#sendAll(visibleToMembers(store.members())));
    store.onExportChange((name, after) => {
      if (this.#changedExports.size === 0) setTimeout(() => this.#sendExports(), GATHER_MS);
      this.#changedExports.set(name, after);
    });
  }

  /** Whether as many members follow as may. */
  get isFull(): boolean {
    return this.#streams.size >= MAX_STREAMS;
  }

  /**
   * Opens a stream with the current state as its first line. Ends when the certificate is no longer valid, or when the
   * member has opened some more: one member must not take the places of others, nor the memory for many backlogs.
   */
  open(reply: FastifyReply, peer: KnownPeer): void {
    const others = [...this.#streams].filter(([, { clusterId }]) => clusterId === peer.clusterId);
    for (const [{ raw }] of others.toReversed().slice(MAX_STREAMS_OF_MEMBER - 1)) raw.destroy();
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'application/x-ndjson' });
    this.#streams.set(reply, peer);
    const timer = setInterval(() => {
      if (Date.now() < peer.notAfterMs) this.#send(reply, peer, '\n');
      else reply.raw.destroy();
    }, HEARTBEAT_MS);
    reply.raw.once('close', () => {
      clearInterval(timer);
      this.#streams.delete(reply);
    });
    this.#send(reply, peer, toLine({ ...visibleToMembers(this.#store.members()), exports: this.#store.exports() }));
  }

  /** Of a member that does not read the oldest are disconnected: it reconnects and gets the latest state. */
  #send({ raw }: FastifyReply, { clusterId }: KnownPeer, line: string): void {
    const own = [...this.#streams].filter(([one, peer]) => peer.clusterId === clusterId && !one.raw.destroyed);
    let unread = own.reduce((sum, [one]) => sum + one.raw.writableLength, 0);
    for (const [one] of own) {
      if (unread <= MAX_UNREAD_BYTES) break;
      unread -= one.raw.writableLength;
      if (one.raw.writableLength > 0) one.raw.destroy();
    }
    if (!raw.destroyed) raw.write(line);
  }

  #sendExports(): void {
    const changed = [...this.#changedExports];
    this.#changedExports.clear();
    this.#sendAll({
      changedExports: changed.flatMap(([, after]) => after ?? []),
      goneExports: changed.flatMap(([name, after]) => (after === undefined ? [name] : [])),
    });
  }

  #sendAll(news: BrokerUpdate): void {
    const members = this.#store.members();
    const line = toLine(news);
    for (const [reply, peer] of this.#streams) {
      const member = members.clusters.find(({ spec }) => spec.clusterID === peer.clusterId);
      if (speaksFor(member, peer.serial)) this.#send(reply, peer, line);
      else reply.raw.destroy();
    }
  }
}

function toLine(news: BrokerUpdate): string {
  return `${JSON.stringify(news)}\n`;
}

/** What members see of each other: names and specs only. */
export function visibleToMembers({ clusters, endpoints }: Members): Members {
  return {
    clusters: clusters.map(({ metadata, spec }) => ({ metadata: { name: metadata.name ?? '' }, spec })),
    endpoints: endpoints.map(({ metadata, spec }) => ({ metadata: { name: metadata.name ?? '' }, spec })),
  };
}
