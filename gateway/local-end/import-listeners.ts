// Assigns listener ports of an importing cluster's gateway: one per TCP port of each Service that another cluster
// exports. An assigned port is stable across gateways: endpoints with it are known to every node and must never lead to
// another Service.
import type { ExportedService, ImportListener } from '../../api/kinds/service-discovery.ts';
import { contentDigest } from '../../model/objects/canonical-json.ts';
import { exportedPortName } from '../../model/network/gateway-names.ts';

/** First to last port. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** Destination of connections to one port. */
export interface ListenerTarget {
  readonly clusterId: string;
  /** Service and port to request there. */
  readonly service: string;
}

/** Listeners of imports, by name of the ExportedService. */
export type AssignedListeners = ReadonlyMap<string, readonly ImportListener[]>;

/** All listeners, and what to record in the copies. */
export interface ListenerPlan {
  readonly targets: ReadonlyMap<number, ListenerTarget>;
  /** By name of the ExportedService. */
  readonly numbers: AssignedListeners;
  /** Those not yet recorded in their objects. */
  readonly changed: AssignedListeners;
  /** Names of ExportedServices of which some port has no listener, because there are not enough. */
  readonly without: readonly string[];
}

/** Inputs. */
export interface ListenerFacts {
  /** ID of this cluster. */
  readonly clusterId: string;
  readonly exports: readonly ExportedService[];
  readonly range: PortRange;
  /** Ports assigned since this gateway became active, which objects may not show yet. */
  readonly given: AssignedListeners;
  /** Ports in use by other programs on this machine. */
  readonly taken: ReadonlySet<number>;
}

/** Default of {@link ListenerFacts.range}: below node ports (30000) and ephemeral ports (32768). */
export const IMPORT_PORTS: PortRange = { first: 20_000, last: 29_999 };

/** `FIRST-LAST`; undefined when the text is invalid or contains privileged ports. */
export function parsePortRange(text: string): PortRange | undefined {
  const [, one = '', other = ''] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? [];
  const [first, last] = [Number(one), Number(other)];
  return first >= 1_024 && first <= last && last <= 65_535 ? { first, last } : undefined;
}

/**
 * Plans all listeners. When the range does not suffice, it is shared among clusters, and what a cluster gets among its
 * Services: a member decides how many ports it exports, and must not take those of others.
 */
export function planListeners({ clusterId, exports, range, given: before, taken }: ListenerFacts): ListenerPlan {
  const isUsable = (port: number) => port >= range.first && port <= range.last && !taken.has(port);
  const usable = range.last - range.first + 1 - [...taken].filter((port) => port >= range.first && port <= range.last)
    .length;
  const imports = exports.filter(({ spec }) => spec.clusterID !== clusterId && spec.type === 'ClusterSetIP')
    .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
    .map((exported): Import => ({ exported, ports: portsOf(exported) }));
  const shares = sharesOf(imports, usable);
  const targets = new Map<number, ListenerTarget>();
  const given = imports.map((one) => {
    const name = nameOf(one.exported);
    const had = (before.get(name) ?? one.exported.status?.listeners ?? [])
      .filter(({ port, listenerPort }) => one.ports.has(port) && isUsable(listenerPort));
    return [one, keptNumbers(one.exported, had.slice(0, shares.get(one)), targets)] as const;
  });
  for (const [one, numbers] of given) {
    for (const port of [...one.ports].filter((number) => !numbers.has(number))) {
      if (numbers.size >= (shares.get(one) ?? 0)) break;
      const free = firstFree(
        `${nameOf(one.exported)} ${port}`, range, (number) => !isUsable(number) || targets.has(number),
      );
      if (free === undefined) break;
      numbers.set(port, free);
      targets.set(free, targetOf(one.exported, port));
    }
  }
  const all = given.map(([{ exported, ports }, numbers]) => (
    [exported, [...ports].flatMap((port) => toListener(port, numbers.get(port)))] as const
  ));
  const byName = (list: typeof all) => new Map(list.map(([one, listeners]) => [nameOf(one), listeners]));
  return {
    targets, numbers: byName(all), changed: byName(all.filter(([one, listeners]) => !isPublished(one, listeners))),
    without: given.flatMap(([{ exported, ports }, { size }]) => (size < ports.size ? [nameOf(exported)] : [])),
  };
}

/** An import with its TCP ports. */
interface Import {
  readonly exported: ExportedService;
  readonly ports: ReadonlySet<number>;
}

/** How many listeners each import may have. */
function sharesOf(imports: readonly Import[], usable: number): ReadonlyMap<Import, number> {
  const ids = new Set(imports.map(({ exported }) => exported.spec.clusterID));
  const clusters = [...ids].map((id) => imports.filter(({ exported }) => exported.spec.clusterID === id));
  const sizeOf = ({ ports }: Import) => ports.size;
  const ofClusters = fairShares(clusters, (of) => of.reduce((sum, one) => sum + sizeOf(one), 0), usable);
  return new Map([...ofClusters].flatMap(([of, share]) => [...fairShares(of, sizeOf, share)]));
}

/** Shares of a total: nobody gets less because another wants more (max-min fairness). */
function fairShares<T>(all: readonly T[], wantedBy: (one: T) => number, total: number): ReadonlyMap<T, number> {
  let left = total;
  return new Map(
    all.toSorted((one, other) => wantedBy(one) - wantedBy(other)).map((one, index) => {
      const share = Math.min(wantedBy(one), Math.floor(left / (all.length - index)));
      left -= share;
      return [one, share];
    }),
  );
}

/** Ports that an import already has and may keep; recorded in `targets`, so that on a conflict the first keeps it. */
function keptNumbers(
  exported: ExportedService, before: readonly ImportListener[], targets: Map<number, ListenerTarget>,
): Map<number, number> {
  const kept = new Map<number, number>();
  for (const { port, listenerPort } of before) {
    if (kept.has(port) || targets.has(listenerPort)) continue;
    kept.set(port, listenerPort);
    targets.set(listenerPort, targetOf(exported, port));
  }
  return kept;
}

/** Starts at a different port for each import, so that a freed port is not reused at once. */
function firstFree(key: string, { first, last }: PortRange, isTaken: (port: number) => boolean): number | undefined {
  const size = last - first + 1;
  const start = Buffer.from(contentDigest(key), 'base64').readUInt32BE(0);
  for (let step = 0; step < size; step += 1) {
    const port = first + ((start + step) % size);
    if (!isTaken(port)) return port;
  }
  return undefined;
}

function portsOf({ spec }: ExportedService): ReadonlySet<number> {
  return new Set(spec.ports.filter(({ protocol = 'TCP' }) => protocol === 'TCP').map(({ port }) => port));
}

function targetOf({ spec: { clusterID: clusterId, namespace, name } }: ExportedService, port: number): ListenerTarget {
  return { clusterId, service: exportedPortName({ namespace, name, port }) };
}

function toListener(port: number, listenerPort: number | undefined): readonly ImportListener[] {
  return listenerPort === undefined ? [] : [{ port, listenerPort }];
}

function isPublished({ status }: ExportedService, listeners: readonly ImportListener[]): boolean {
  const published = status?.listeners ?? [];
  return published.length === listeners.length && published.every(
    ({ port, listenerPort }, index) =>
      port === listeners[index]?.port && listenerPort === listeners[index]?.listenerPort,
  );
}

function nameOf({ metadata: { name = '' } }: ExportedService): string {
  return name;
}
