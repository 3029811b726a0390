// Diffs a node's desired network (links, addresses, routes, rules, neighbours) against the observed one (as `ip -j`
// prints it) into commands with argument lists. Only our own interfaces, and entries that name one, are considered.

/** One of our links. A missing WireGuard interface is not created here, but by its own program. */
export type WantedLink =
  | { readonly kind: 'wireguard'; readonly name: string; readonly mtu: number; readonly address: string | undefined }
  | { readonly kind: 'vxlan'; readonly name: string; readonly mtu: number; readonly local: string };

/** A route over one of our links. */
export interface WantedRoute {
  readonly device: string;
  readonly range: string;
  /** Next hop. */
  readonly via?: string | undefined;
  /** Source address of this node's own packets. */
  readonly source?: string | undefined;
  /** Our routing table; the main one when missing. */
  readonly table?: number | undefined;
}

/** A node reached over the VXLAN link. */
export interface WantedNeighbour {
  readonly device: string;
  readonly address: string;
}

/** Traffic that arrives on a link uses its own routing table. */
export interface WantedRule {
  readonly inInterface: string;
  readonly table: number;
}

/** Our part of a node's network. */
export interface Network {
  readonly links: readonly WantedLink[];
  readonly routes: readonly WantedRoute[];
  readonly neighbours: readonly WantedNeighbour[];
  readonly rules: readonly WantedRule[];
}

/** The observed network, in the form of `ip -j`. */
export interface ObservedNetwork {
  readonly links: readonly {
    readonly ifname: string; readonly mtu?: number; readonly flags?: readonly string[];
    readonly linkinfo?: { readonly info_kind?: string; readonly info_data?: { readonly local?: string } }
  }[];
  readonly addresses: readonly {
    readonly ifname: string; readonly addr_info?: readonly { readonly local?: string; readonly prefixlen?: number }[]
  }[];
  readonly routes: readonly {
    readonly dst: string; readonly gateway?: string; readonly dev?: string; readonly prefsrc?: string;
    readonly table?: string; readonly type?: string
  }[];
  readonly neighbours: readonly { readonly dst?: string; readonly dev?: string; readonly lladdr?: string }[];
  readonly forwarding: readonly { readonly mac?: string; readonly ifname?: string; readonly dst?: string }[];
  readonly rules: readonly { readonly iif?: string; readonly table?: string }[];
}

/** A command without a shell: program and arguments. */
export type NetworkCommand = readonly ['ip' | 'bridge', ...string[]];

/** The VXLAN between the nodes of a cluster, as in Submariner. */
export const VXLAN = { id: '100', port: '4800' } as const;
/** Protocol number of our routes (`ip route`). */
const PROTOCOL = '73';
const MAIN_TABLE = 254;

/** A node's MAC address on the VXLAN link is derived from its IP address, so that no node needs ARP. */
export function vxlanMac(address: string): string {
  const octets = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return `02:69:${octets.join(':')}`;
}

/**
 * Commands that turn the observed network into the desired one; none when they are equal. Those of `ip` come first, so
 * that each program runs once.
 */
export function planNetwork(wanted: Network, observed: ObservedNetwork): readonly NetworkCommand[] {
  const kept = withoutRemade(wanted, observed);
  const commands = [
    ...wanted.links.flatMap((link) => planLink(link, observed)), ...planNeighbours(wanted, kept),
    ...planRoutes(wanted, kept), ...planRules(wanted, observed),
  ];
  return [...commands.filter(([program]) => program === 'ip'), ...commands.filter(([program]) => program === 'bridge')];
}

/** What stays when links are deleted to be made with another address: routes and neighbours go with them. */
function withoutRemade({ links }: Network, observed: ObservedNetwork): ObservedNetwork {
  const remade = new Set(links.filter((link) => isOther(link, observed)).map(({ name }) => name));
  const stays = (name = '') => !remade.has(name);
  return {
    ...observed, routes: observed.routes.filter(({ dev }) => stays(dev)),
    neighbours: observed.neighbours.filter(({ dev }) => stays(dev)),
    forwarding: observed.forwarding.filter(({ ifname }) => stays(ifname)),
  };
}

/** Whether a VXLAN link is missing, or has another address: that cannot be changed. */
function isOther(link: WantedLink, { links }: ObservedNetwork): boolean {
  if (link.kind !== 'vxlan') return false;
  return links.find(({ ifname }) => ifname === link.name)?.linkinfo?.info_data?.local !== link.local;
}

/** Commands that remove everything that the pod plane configured; WireGuard's link ends with its program. */
export function planRemoval(names: readonly string[], { links, rules }: ObservedNetwork): readonly NetworkCommand[] {
  const ours = rules.filter(({ iif }) => iif !== undefined && names.includes(iif));
  return [
    ...ours.map(({ iif = '', table = '' }): NetworkCommand => ['ip', 'rule', 'del', 'iif', iif, 'lookup', table]),
    ...links.filter(({ ifname }) => names.includes(ifname))
      .map(({ ifname }): NetworkCommand => ['ip', 'link', 'del', ifname]),
  ];
}

function planLink(link: WantedLink, observed: ObservedNetwork): readonly NetworkCommand[] {
  const { name, mtu } = link;
  const found = observed.links.find(({ ifname }) => ifname === name);
  if (link.kind === 'wireguard') {
    const addressing = planAddress(link, observed.addresses.find(({ ifname }) => ifname === name));
    return [...planMtu(name, mtu, found), ...addressing, ...planUp(name, found)];
  }
  if (!isOther(link, observed)) return [...planMtu(name, mtu, found), ...planUp(name, found)];
  const removal: readonly NetworkCommand[] = found === undefined ? [] : [['ip', 'link', 'del', name]];
  return [...removal, toVxlan(link), ...planMtu(name, mtu, undefined), ...planUp(name, undefined)];
}

function planMtu(
  name: string, mtu: number, found: ObservedNetwork['links'][number] | undefined,
): readonly NetworkCommand[] {
  return found?.mtu === mtu ? [] : [['ip', 'link', 'set', name, 'mtu', String(mtu)]];
}

function planUp(name: string, found: ObservedNetwork['links'][number] | undefined): readonly NetworkCommand[] {
  return found?.flags?.includes('UP') === true ? [] : [['ip', 'link', 'set', name, 'up']];
}

function toVxlan({ name, local }: WantedLink & { readonly kind: 'vxlan' }): NetworkCommand {
  return [
    'ip', 'link', 'add', name, 'address', vxlanMac(local), 'type', 'vxlan', 'id', VXLAN.id, 'local', local, 'dstport',
    VXLAN.port, 'nolearning',
  ];
}

function planAddress(
  { name, address }: WantedLink & { readonly kind: 'wireguard' },
  found: ObservedNetwork['addresses'][number] | undefined,
): readonly NetworkCommand[] {
  const there =
    (found?.addr_info ?? []).flatMap(({ local }) => (local === undefined || local.includes(':') ? [] : [local]));
  return [
    ...there.filter((one) => one !== address)
      .map((one): NetworkCommand => ['ip', 'addr', 'del', `${one}/32`, 'dev', name]),
    ...(address === undefined || there.includes(address) ? [] : [
      ['ip', 'addr', 'add', `${address}/32`, 'dev', name] as const,
    ]),
  ];
}

function planNeighbours({ neighbours }: Network, observed: ObservedNetwork): readonly NetworkCommand[] {
  const isThere = ({ device, address }: WantedNeighbour) =>
    observed.neighbours.some(
      ({ dst, dev = device, lladdr }) => dst === address && dev === device && lladdr === vxlanMac(address),
    ) &&
    observed.forwarding.some(
      ({ mac, ifname = device, dst }) => mac === vxlanMac(address) && ifname === device && dst === address,
    );
  const added = neighbours.filter((one) => !isThere(one)).flatMap(({ device, address }): NetworkCommand[] => [
    ['ip', 'neigh', 'replace', address, 'lladdr', vxlanMac(address), 'dev', device, 'nud', 'permanent'],
    ['bridge', 'fdb', 'replace', vxlanMac(address), 'dev', device, 'dst', address],
  ]);
  const gone = observed.neighbours.filter(
    ({ dst = '', lladdr }) => lladdr === vxlanMac(dst) && !neighbours.some(({ address }) => address === dst),
  );
  const removed = gone.flatMap(({ dst = '', dev = '' }): NetworkCommand[] => [
    ['ip', 'neigh', 'del', dst, 'dev', dev],
    ['bridge', 'fdb', 'del', vxlanMac(dst), 'dev', dev, 'dst', dst],
  ]);
  return [...removed, ...added];
}

function planRoutes({ routes, links }: Network, observed: ObservedNetwork): readonly NetworkCommand[] {
  const key = (device: string, range: string, table: number) => `${device} ${range.replace(/\/32$/, '')} ${table}`;
  const names = new Set(links.map(({ name }) => name));
  const ours = observed.routes.filter(
    ({ dev = '', type, table }) =>
      names.has(dev) && type !== 'local' && type !== 'broadcast' && type !== 'multicast' && table !== 'local'
        && table !== '255',
  );
  const there = new Map(ours.map((route) => [key(route.dev ?? '', route.dst, tableOf(route.table)), route]));
  const wanted = new Set(routes.map(({ device, range, table = MAIN_TABLE }) => key(device, range, table)));
  const removed = [...there].filter(([name, { dst }]) => !wanted.has(name) && !dst.includes(':')).map(
    ([, { dst, dev = '', table }]): NetworkCommand =>
      ['ip', 'route', 'del', dst, 'dev', dev, 'table', String(tableOf(table))],
  );
  const changed = routes.filter(({ device, range, via, source, table = MAIN_TABLE }) => {
    const found = there.get(key(device, range, table));
    return found === undefined || found.gateway !== via || found.prefsrc !== source;
  });
  return [...removed, ...changed.map(toRouteCommand)];
}

function toRouteCommand({ device, range, via, source, table = MAIN_TABLE }: WantedRoute): NetworkCommand {
  const through = via === undefined ? [] : ['via', via];
  return [
    'ip', 'route', 'replace', range, ...through, 'dev', device, ...(via === undefined ? [] : ['onlink']),
    ...(source === undefined ? [] : ['src', source]), 'proto', PROTOCOL, 'table', String(table),
  ];
}

function tableOf(table: string | undefined): number {
  return table === undefined || table === 'main' ? MAIN_TABLE : Number(table);
}

function planRules({ rules, links }: Network, observed: ObservedNetwork): readonly NetworkCommand[] {
  const names = new Set(links.map(({ name }) => name));
  const ours = observed.rules.filter(({ iif = '' }) => names.has(iif));
  const isSame = (wanted: WantedRule, found: ObservedNetwork['rules'][number]) =>
    found.iif === wanted.inInterface && Number(found.table) === wanted.table;
  return [
    ...ours.filter((found) => !rules.some((wanted) => isSame(wanted, found)))
      .map(({ iif = '', table = '' }): NetworkCommand => ['ip', 'rule', 'del', 'iif', iif, 'lookup', table]),
    ...rules.filter((wanted) => !ours.some((found) => isSame(wanted, found))).map(
      ({ inInterface, table }): NetworkCommand => ['ip', 'rule', 'add', 'iif', inInterface, 'lookup', String(table)],
    ),
  ];
}
