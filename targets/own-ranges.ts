// Address ranges of the source cluster itself, as far as they can be discovered: tenants' targets may not lie in them,
// and no target may claim them for its pods. Refreshed at intervals; sources that are forbidden or not served add
// nothing. What was found stays while its source cannot be read: an address must not become free because of an outage.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import type { Node } from '../api/objects/core.ts';
import { NODES, SERVICE_CIDRS } from '../api/resource-types.ts';
import { ENDPOINT_SLICES } from '../api/objects/endpoint-slice.ts';
import { parseRange, RangeSet, type IpRange } from '../model/network/ip-range.ts';
import { messageOf } from '../process/errors.ts';
import { isUnreadable } from '../kubernetes/flow/api-error.ts';
import { delay } from '../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { FieldReader } from '../kubernetes/json/json-fields.ts';

/** Where the ranges come from. */
export interface OwnRangesOptions {
  readonly client: ClusterClient;
  /** The source's API server as this process reaches it. */
  readonly server: URL;
  /** Its in-cluster addresses (`KUBERNETES_SERVICE_HOST`), if any. */
  readonly serviceHost?: string | undefined;
  /** Ranges configured by the administrator. */
  readonly configured: readonly IpRange[];
  /** Whether nodes, ServiceCIDRs and the API server's endpoints may be read. */
  readonly mayRead: boolean;
  readonly logger: Logger;
}

/** Refresh interval in ms: ranges of new nodes are usually next to the others. */
const INTERVAL_MS = 900_000;
/** The same in ms while a source cannot be read that might be. */
const RETRY_MS = 30_000;
/** The Service `kubernetes` in namespace default, whose slice of the same name holds the API servers. */
const API_SERVER = { namespace: 'default', name: 'kubernetes' };
const PAGE_SIZE = 200;
const NODE_FIELDS = new FieldReader({
  metadata: { continue: true },
  items: { spec: { podCIDR: true, podCIDRs: true }, status: { addresses: { type: true, address: true } } },
});

/** Discovers and caches the ranges. */
export class OwnRanges {
  readonly #options: OwnRangesOptions;
  readonly #listeners: (() => void)[] = [];
  readonly known: Promise<void>;
  #resolveKnown: () => void = () => undefined;
  #ranges: readonly IpRange[];
  #set: RangeSet;
  /** What each source has said last, in the order of {@link run}. */
  readonly #last: (readonly string[] | undefined)[] = [];
  /** Sources that could not be read, and might be: these alone are read again sooner. */
  readonly #unread = new Set<number>();

  constructor(options: OwnRangesOptions) {
    this.#options = options;
    this.#ranges = options.configured;
    this.#set = new RangeSet(options.configured);
    this.known = new Promise((resolve) => {
      this.#resolveKnown = resolve;
    });
  }

  /** All ranges that are known. */
  get ranges(): readonly IpRange[] {
    return this.#ranges;
  }

  /** Whether an address is in one of them. */
  has(address: string): boolean {
    return this.#set.has(address);
  }

  /** Calls back on each change of {@link ranges}. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Refreshes until `signal` is aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const sources = [() => this.#apiServer(), ...(this.#options.mayRead ? this.#reads(signal) : [])];
    let waitedMs = INTERVAL_MS;
    while (!signal.aborted) {
      const isDue = waitedMs >= INTERVAL_MS;
      if (isDue) waitedMs = 0;
      const found = await Promise.all(sources.map(async (ask, source) =>
        (isDue || this.#unread.has(source) ? this.#orBefore(ask, source) : (this.#last[source] ?? []))));
      if (!signal.aborted) this.#take(found.flat());
      this.#resolveKnown();
      const ms = this.#unread.size > 0 ? RETRY_MS : INTERVAL_MS - waitedMs;
      await delay(ms, signal);
      waitedMs += ms;
    }
    this.#resolveKnown();
  }

  #take(found: readonly string[]): void {
    const texts = new Set(found.map((text) => (text.includes('/') ? text : `${text}/${isIP(text) === 6 ? 128 : 32}`)));
    const ranges = [...this.#options.configured, ...[...texts].toSorted().flatMap((text) => parseRange(text) ?? [])];
    const [before, after] = [this.#ranges, ranges].map((all) => all.map(({ text }) => text).join());
    if (before === after) return;
    [this.#ranges, this.#set] = [ranges, new RangeSet(ranges)];
    this.#listeners.forEach((listener) => listener());
  }

  async #apiServer(): Promise<readonly string[]> {
    const { server, serviceHost } = this.#options;
    const hosts = [server.hostname.replace(/^\[|\]$/g, ''), ...(serviceHost === undefined ? [] : [serviceHost])];
    const resolved = await Promise.all(
      hosts.map(async (host) => (isIP(host) === 0 ? lookup(host, { all: true }) : [{ address: host }])),
    );
    return resolved.flat().map(({ address }) => address);
  }

  #reads(signal: AbortSignal): (() => Promise<readonly string[]>)[] {
    const { client } = this.#options;
    return [
      () => this.#nodes(signal),
      () => client.list(SERVICE_CIDRS, {}, signal).then((found) => found.flatMap(({ spec }) => spec?.cidrs ?? [])),
      () => client.get(ENDPOINT_SLICES, API_SERVER, signal)
        .then(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])),
    ];
  }

  async #nodes(signal: AbortSignal): Promise<readonly string[]> {
    const found: string[] = [];
    let next: string | undefined;
    do {
      const bytes = await this.#options.client.listPageBytes(NODES, {}, { limit: PAGE_SIZE, continue: next }, signal);
      const page = NODE_FIELDS.read(bytes) as {
        readonly metadata?: { readonly continue?: string }; readonly items?: readonly NodeAddresses[]
      };
      found.push(...(page.items ?? []).flatMap(rangesOfNode));
      next = page.metadata?.continue === '' ? undefined : page.metadata?.continue;
    } while (next !== undefined);
    return found;
  }

  async #orBefore(ask: () => Promise<readonly string[]>, source: number): Promise<readonly string[]> {
    this.#unread.delete(source);
    try {
      return (this.#last[source] = await ask());
    } catch (error) {
      this.#options.logger.debug({ error: messageOf(error) }, 'some of the ranges of this cluster cannot be read');
      if (!isUnreadable(error)) this.#unread.add(source);
      return this.#last[source] ?? [];
    }
  }
}

type NodeAddresses = Pick<Node, 'spec' | 'status'>;

/** Virtual nodes have the address of the kubelet API, which is a pod of Isthmus or a Service. */
function rangesOfNode({ spec = {}, status = {} }: NodeAddresses): readonly string[] {
  const { podCIDR = '', podCIDRs = [podCIDR] } = spec;
  const addresses = (status.addresses ?? []).filter(({ type, address }) => type.endsWith('IP') && isIP(address) !== 0)
    .map(({ address }) => address);
  return [...podCIDRs.filter((range) => range !== ''), ...addresses];
}
