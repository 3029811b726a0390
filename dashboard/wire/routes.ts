// The address of every state of the page, for both sides: a path and a query name a screen and its filters.

/** What a screen may be narrowed to; all texts are as typed by the viewer. */
export interface Filters {
  /** The only namespace; all when missing. */
  readonly namespace?: string | undefined;
  readonly target?: string | undefined;
  readonly status?: string | undefined;
  /** `Deployment/web`. */
  readonly workload?: string | undefined;
  /** Part of a name. */
  readonly text?: string | undefined;
}

/** A list with its filters, one pod, or the decision about one. */
export type Route = ListRoute | PodRoute | DecisionRoute;

/** A list. */
export interface ListRoute {
  readonly screen: (typeof LISTS)[number];
  readonly filters: Filters;
}

/**
 * One pod, and what is supposed: `without`: that this target were not there; `replicas`: that there were so many more
 * pods like it; `policy`: that this policy applied to it; `spec`: that the policy were written like this.
 */
export interface PodRoute {
  readonly screen: 'pod';
  readonly namespace: string;
  readonly name: string;
  /** `eu-west`, or `NAMESPACE/NAME` of a Target. */
  readonly without?: string | undefined;
  /** From 1 to {@link MOST_REPLICAS}. */
  readonly replicas?: number | undefined;
  /** `PlacementPolicy/NAME`, in the namespace of the pod, or `ClusterPlacementPolicy/NAME`; a text as typed. */
  readonly policy?: string | undefined;
  /** The spec of a policy, as YAML or JSON; a text as typed. */
  readonly spec?: string | undefined;
}

/** Of a hypothesis: each is placed on its own. */
export const MOST_REPLICAS = 100;
/**
 * Of a spec, in bytes as an address has them, percent-encoded: addresses are part of a request's headers, of which a
 * server takes 16 KiB together with the token, and many a proxy takes 8 KiB a line.
 */
export const LONGEST_SPEC = 6_000;

/** The decision about one pod. */
export interface DecisionRoute {
  readonly screen: 'decision';
  readonly namespace: string;
  readonly name: string;
}

/** Lists in the order of the menu. */
export const LISTS = ['targets', 'workloads', 'pods', 'pending', 'policies', 'decisions', 'moves'] as const;
const FILTERS = ['namespace', 'target', 'status', 'workload', 'text'] as const;
const LONGEST_FILTER = 253;
/** Names of pods and namespaces (RFC 1123 subdomains). */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Whether it can be the name of a pod or namespace, among others. */
export function isObjectName(text: string): boolean {
  return NAME.test(text);
}

/** Parses `/pods?namespace=shop`; undefined when the page has no such address. */
export function parseRoute(path: string, query: ReadonlyMap<string, string> = new Map()): Route | undefined {
  const [, first = '', ...rest] = path.split('/');
  const screen = first === '' && rest.length === 0 ? 'targets' : LISTS.find((list) => list === first);
  if (screen === undefined) return undefined;
  if (rest.length === 0) return { screen, filters: filtersOf(query) };
  return screen === 'pods' || screen === 'decisions' ? podRoute(screen, rest, query) : undefined;
}

function podRoute(
  list: 'pods' | 'decisions', [namespace = '', name = '', ...more]: readonly string[],
  query: ReadonlyMap<string, string>,
): Route | undefined {
  if (more.length > 0 || !isObjectName(namespace) || !isObjectName(name)) return undefined;
  if (list === 'decisions') return { screen: 'decision', namespace, name };
  return { screen: 'pod', namespace, name, ...whatIfIn(query) };
}

function whatIfIn(query: ReadonlyMap<string, string>): Omit<PodRoute, 'screen' | 'namespace' | 'name'> {
  const [without, policy] = [typedIn(query, 'without'), typedIn(query, 'policy')];
  const [replicas, spec] = [Number(typedIn(query, 'replicas')), query.get('spec') ?? ''];
  const isCount = Number.isInteger(replicas) && replicas >= 1 && replicas <= MOST_REPLICAS;
  return {
    ...(without !== undefined && { without }), ...(isCount && { replicas }), ...(policy !== undefined && { policy }),
    ...(spec.trim() !== '' && { spec }),
  };
}

function filtersOf(query: ReadonlyMap<string, string>): Filters {
  return Object.fromEntries(FILTERS.flatMap((name) => {
    const text = typedIn(query, name);
    return text === undefined ? [] : [[name, text]];
  }));
}

function typedIn(query: ReadonlyMap<string, string>, name: string): string | undefined {
  const text = query.get(name)?.trim() ?? '';
  return text === '' || text.length > LONGEST_FILTER ? undefined : text;
}

/** Whether a spec can be part of an address, or why not. */
export function specProblem(spec: string): string | undefined {
  const bytes = encoded(spec).length;
  return bytes <= LONGEST_SPEC ? undefined : `The spec has ${bytes} bytes in the address of this page, and at most ` +
    `${LONGEST_SPEC} are read. Letters and digits have one each, spaces, lines and most punctuation three, ` +
    'characters that are not ASCII six to twelve.';
}

/** Half of a pair of surrogates has no encoding, and may be typed all the same. */
function encoded(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
}

/** The address of a route, as {@link parseRoute} reads it. */
export function addressOf(route: Route): string {
  if (route.screen === 'pod') {
    const { namespace, name, without, replicas, policy, spec } = route;
    return `/pods/${namespace}/${name}${queryText([
      ['without', without], ['replicas', replicas?.toString()], ['policy', policy], ['spec', spec],
    ])}`;
  }
  if (route.screen === 'decision') return `/decisions/${route.namespace}/${route.name}`;
  return `/${route.screen}${queryText(FILTERS.map((name) => [name, route.filters[name]]))}`;
}

function queryText(fields: readonly (readonly [name: string, text: string | undefined])[]): string {
  const query = fields.flatMap(([name, text = '']) => (text === '' ? [] : [`${name}=${encoded(text)}`]));
  return query.length === 0 ? '' : `?${query.join('&')}`;
}
