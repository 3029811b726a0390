// The pod plane's packet rules as one nftables table in JSON form (libnftables-json(5)). The table is replaced or
// deleted as a whole in one transaction; no other rules are touched.
import type { PodPrefix } from '../../model/network/pod-addresses.ts';

/** Inputs of the rules. */
export interface PacketRules {
  readonly table: string;
  /** The tunnel interface on the gateway node. */
  readonly tunnel: string;
  /** The interface to the cluster's other nodes; missing when there are none. */
  readonly vxlan?: string | undefined;
  readonly prefixes: readonly PodPrefix[];
  /** CIDRs of members between which traffic is forwarded. */
  readonly relayed: readonly string[];
  /** UDP port of the echo that measures round trips. */
  readonly echoPort: number;
}

type Json = { readonly [key: string]: unknown };

const FAMILY = 'ip';
/**
 * Before the rules of kube-proxy and network plugins, at -100 and 100: an address translated here is not translated
 * again there.
 */
const BEFORE_DNAT = -101;
const BEFORE_SNAT = 99;
/** Filter priority: before filters that match translated addresses. */
const FILTER = -10;

/** The transaction that installs the rules, whatever exists. */
export function toRuleset(rules: PacketRules): Json {
  const table = { family: FAMILY, name: rules.table };
  const chain = (name: string, type: string, hook: string, prio: number) =>
    ({ add: { chain: { ...table, table: rules.table, name, type, hook, prio, policy: 'accept' } } });
  const rule = (name: string, expr: readonly Json[]) =>
    ({ add: { rule: { family: FAMILY, table: rules.table, chain: name, expr } } });
  return {
    nftables: [
      ...removal(rules.table),
      { add: { table } },
      chain('from-tunnel', 'nat', 'prerouting', BEFORE_DNAT), chain('to-tunnel', 'nat', 'postrouting', BEFORE_SNAT),
      chain('forward', 'filter', 'forward', FILTER), chain('input', 'filter', 'input', FILTER),
      ...rules.prefixes.filter(({ own, seen }) => own !== seen).map((prefix) => rule(
        'from-tunnel', [onInterface('iifname', rules.tunnel), mapPrefix('dnat', 'daddr', prefix.seen, prefix.own)],
      )),
      ...rules.prefixes.map((prefix) => rule(
        'to-tunnel', [onInterface('oifname', rules.tunnel), mapPrefix('snat', 'saddr', prefix.own, prefix.seen)],
      )),
      ...(rules.vxlan === undefined ? [] : [
        rule(
          'to-tunnel', [onInterface('oifname', rules.vxlan), onInterface('iifname', rules.tunnel), { accept: null }],
        ),
      ]),
      ...forwardRules(rules).map((expr) => rule('forward', expr)),
      ...inputRules(rules).map((expr) => rule('input', expr)),
    ],
  };
}

/** Deletes the table, whether it exists or not. */
export function removal(table: string): readonly Json[] {
  return [{ add: { table: { family: FAMILY, name: table } } }, { delete: { table: { family: FAMILY, name: table } } }];
}

/** On a non-gateway node: pods keep their addresses on the way to the gateway. */
export function toWorkerRuleset({ table, vxlan, podRanges }: {
  readonly table: string; readonly vxlan: string; readonly podRanges: readonly string[]
}): Json {
  return {
    nftables: [
      ...removal(table),
      { add: { table: { family: FAMILY, name: table } } },
      {
        add: {
          chain: {
            family: FAMILY, table, name: 'to-gateway', type: 'nat', hook: 'postrouting', prio: BEFORE_SNAT,
            policy: 'accept',
          },
        },
      },
      ...podRanges.map(
        (range) => ({
          add: {
            rule: {
              family: FAMILY, table, chain: 'to-gateway',
              expr: [onInterface('oifname', vxlan), mapPrefix('snat', 'saddr', range, range)],
            },
          },
        }),
      ),
      {
        add: {
          chain:
            { family: FAMILY, table, name: 'forward', type: 'filter', hook: 'forward', prio: FILTER, policy: 'accept' },
        },
      },
      ...clamp(vxlan).map((expr) => ({ add: { rule: { family: FAMILY, table, chain: 'forward', expr } } })),
    ],
  };
}

/** The tunnel may only reach pods of this cluster and forwarded members; never nodes or what is behind them. */
function forwardRules({ tunnel, prefixes, relayed }: PacketRules): readonly (readonly Json[])[] {
  const passedOn = relayed.length === 0 ? [] : [[
    onInterface('iifname', tunnel), onInterface('oifname', tunnel), inRanges('saddr', relayed),
    inRanges('daddr', relayed), { accept: null },
  ]];
  return [...clamp(tunnel), ...passedOn, [
    onInterface('iifname', tunnel),
    { match: { op: '!=', left: field('daddr'), right: setOf(prefixes.map(({ own }) => own)) } }, { drop: null },
  ]];
}

/** The gateway itself accepts the echo, pings, and replies to its own traffic. */
function inputRules({ tunnel, echoPort }: PacketRules): readonly (readonly Json[])[] {
  const fromTunnel = onInterface('iifname', tunnel);
  return [
    [fromTunnel, { match: { op: 'in', left: { ct: { key: 'state' } }, right: ['established', 'related'] } }, {
      accept: null,
    }],
    [fromTunnel, { match: { op: '==', left: { payload: { protocol: 'udp', field: 'dport' } }, right: echoPort } }, {
      accept: null,
    }],
    [fromTunnel, { match: { op: '==', left: { payload: { protocol: 'ip', field: 'protocol' } }, right: 'icmp' } }, {
      accept: null,
    }],
    [fromTunnel, { drop: null }],
  ];
}

/** MSS clamping in both directions: needed where ICMP is filtered. */
function clamp(device: string): readonly (readonly Json[])[] {
  const fit = [{ match: { op: 'in', left: { payload: { protocol: 'tcp', field: 'flags' } }, right: 'syn' } }, {
    mangle: { key: { 'tcp option': { name: 'maxseg', field: 'size' } }, value: { rt: { key: 'mtu' } } },
  }];
  return [[onInterface('oifname', device), ...fit], [onInterface('iifname', device), ...fit]];
}

function onInterface(key: 'iifname' | 'oifname', name: string): Json {
  return { match: { op: '==', left: { meta: { key } }, right: name } };
}

function inRanges(name: 'saddr' | 'daddr', ranges: readonly string[]): Json {
  return { match: { op: '==', left: field(name), right: setOf(ranges) } };
}

function setOf(ranges: readonly string[]): Json {
  return { set: ranges.map(toPrefix) };
}

function field(name: 'saddr' | 'daddr'): Json {
  return { payload: { protocol: 'ip', field: name } };
}

/**
 * Maps one CIDR to another of the same length, host part unchanged. With two equal CIDRs it only prevents later
 * translation.
 */
function mapPrefix(kind: 'dnat' | 'snat', name: 'saddr' | 'daddr', from: string, to: string): Json {
  const map = { key: field(name), data: { set: [[toPrefix(from), toPrefix(to)]] } };
  return { [kind]: { family: FAMILY, addr: { map }, flags: 'netmap', type_flags: 'prefix' } };
}

function toPrefix(range: string): Json {
  const [addr = '', length = ''] = range.split('/');
  return { prefix: { addr, len: Number(length) } };
}
