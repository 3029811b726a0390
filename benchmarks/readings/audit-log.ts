// Who wrote what, from the audit logs of API servers (`audit.k8s.io/v1`, one JSON event a line, level Metadata). Pure.
// It counts requests, not successes: a refused write costs the server nearly as much as one that is stored.

/** Prefix of the user agents of all our components. */
export const OUR_USER_AGENTS = 'isthmus-';

/** The part of an audit event that is looked at. Times are RFC 3339. */
interface AuditEvent {
  readonly stage?: string;
  readonly verb?: string;
  readonly userAgent?: string;
  readonly requestReceivedTimestamp?: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

/** A period in ms since the epoch, both ends included. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** Mutating requests of one kind. */
export interface WriteCount {
  readonly userAgent: string;
  readonly verb: string;
  /** Plural of the kind, with its subresource: `pods/status`. */
  readonly resource: string;
  readonly count: number;
}

const MUTATING_VERBS: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Heartbeats: they go on at the same pace however many pods there are, so they are not counted to a pod. */
const BACKGROUND_RESOURCES: ReadonlySet<string> = new Set(['leases', 'nodes', 'nodes/status']);

/** Whether writes of this kind belong to no pod. */
export function isBackground({ resource }: Pick<WriteCount, 'resource'>): boolean {
  return BACKGROUND_RESOURCES.has(resource);
}

/**
 * Counts our mutating requests that a log's server received in a period, most frequent kind first. Lines that are no
 * event, such as a last one that is still being written, are skipped.
 */
export function countWrites(log: string, period: Period): readonly WriteCount[] {
  const counts = new Map<string, WriteCount>();
  for (const line of log.split('\n')) {
    const event = parseEvent(line);
    if (event === undefined || !isOurWrite(event) || !isWithin(event, period)) continue;
    const { userAgent = '', verb = '' } = event;
    const resource = resourceOf(event);
    const key = `${userAgent} ${verb} ${resource}`;
    counts.set(key, { userAgent, verb, resource, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count);
}

function parseEvent(line: string): AuditEvent | undefined {
  if (!line.includes(OUR_USER_AGENTS)) return undefined; // most lines are the control plane's own
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === 'object' && event !== null ? event : undefined;
  } catch {
    return undefined;
  }
}

function isOurWrite({ stage, verb = '', userAgent = '' }: AuditEvent): boolean {
  return stage === 'ResponseComplete' && MUTATING_VERBS.has(verb) && userAgent.startsWith(OUR_USER_AGENTS);
}

function isWithin({ requestReceivedTimestamp }: AuditEvent, { from, to }: Period): boolean {
  const at = Date.parse(requestReceivedTimestamp ?? '');
  return at >= from && at <= to;
}

function resourceOf({ objectRef }: AuditEvent): string {
  const { resource = 'none', subresource } = objectRef ?? {};
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

/** The sum of all counts. */
export function totalOf(counts: readonly WriteCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}
