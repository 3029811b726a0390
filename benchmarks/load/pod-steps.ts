// Where the time of one pod goes: the requests until it is Running, timed by the API servers' audit logs
// (`audit.k8s.io/v1`, level Metadata). The time between two of them is watches, decisions and network. Pure.

/** A request as its API server saw it; times in ms since the epoch, to the microsecond. */
export interface RequestSpan {
  readonly server: 'source' | 'target';
  /** `create pods`, `patch pods/status`. */
  readonly what: string;
  readonly from: number;
  readonly to: number;
}

/** A request that a pod waits for. */
export interface Step {
  readonly name: string;
  readonly server: RequestSpan['server'];
  readonly what: string;
  /** Steps that it begins after; the first one begins with the user's call. */
  readonly after: readonly string[];
}

const CREATED: Step = { name: 'pod created', server: 'target', what: 'create pods', after: [] };
const SCHEDULED: Step =
  { name: 'pod bound by kube-scheduler', server: 'target', what: 'create pods/binding', after: [CREATED.name] };
const RUNS: Step =
  { name: 'pod Running by kwok', server: 'target', what: 'patch pods/status', after: [SCHEDULED.name] };

/** The steps of a pod of the target's own. */
export const PLAIN_STEPS: readonly Step[] = [CREATED, SCHEDULED, RUNS];

/** The steps of an elected pod in PodChaperon mode. */
export const ELECTED_STEPS: readonly Step[] = [
  { name: 'proxy created, with admission', server: 'source', what: 'create pods', after: [] },
  { name: 'chaperon created', server: 'target', what: 'create podchaperons', after: ['proxy created, with admission'] },
  { ...CREATED, after: ['chaperon created'] },
  SCHEDULED,
  RUNS,
  { name: 'proxy bound', server: 'source', what: 'create pods/binding', after: [SCHEDULED.name] },
  { name: 'proxy Running', server: 'source', what: 'patch pods/status', after: [RUNS.name, 'proxy bound'] },
];

/** How long a step took, in ms. */
export interface StepTime {
  readonly name: string;
  /**
   * From the answers to what it comes after to the arrival of its request; negative where a watch told of the write
   * before its answer had gone out.
   */
  readonly waited: number;
  /** From the arrival of its request to the answer. */
  readonly took: number;
}

interface AuditEvent {
  readonly stage?: string;
  readonly verb?: string;
  readonly requestReceivedTimestamp?: string;
  readonly stageTimestamp?: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly namespace?: string };
}

/**
 * The requests about objects of a namespace in a server's audit log. Lines that are no event, such as a last one that
 * is being written, are skipped.
 */
export function requestSpans(log: string, server: RequestSpan['server'], namespace: string): readonly RequestSpan[] {
  return log.split('\n').flatMap((line) => toSpan(line, server, namespace) ?? []);
}

function toSpan(line: string, server: RequestSpan['server'], namespace: string): RequestSpan | undefined {
  if (!line.includes(`"${namespace}"`)) return undefined; // most lines are about something else
  const { stage, verb = '', requestReceivedTimestamp = '', stageTimestamp = '', objectRef = {} } = parseEvent(line);
  if (stage !== 'ResponseComplete' || objectRef.namespace !== namespace) return undefined;
  const { resource = '', subresource } = objectRef;
  const what = `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  return { server, what, from: microTime(requestReceivedTimestamp), to: microTime(stageTimestamp) };
}

function parseEvent(line: string): AuditEvent {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === 'object' && event !== null ? event : {};
  } catch {
    return {};
  }
}

/** `metav1.MicroTime`: Date reads its milliseconds, the three digits behind them are added. */
function microTime(text: string): number {
  return Date.parse(`${text.slice(0, 23)}Z`) + Number(`0.${text.slice(23, 26)}`);
}

/** Two clocks of one machine, the user's monotonic one and that of the logs, are this far apart at most, in ms. */
const CLOCK_MS = 1;

/**
 * The times of a pod that was asked for at `from` and seen Running at `to`, in ms since the epoch; undefined when a
 * request of it is not in the logs.
 */
export function stepTimes(
  steps: readonly Step[], spans: readonly RequestSpan[], { from, to }: { readonly from: number; readonly to: number },
): readonly StepTime[] | undefined {
  const ended = new Map<string, number>();
  const times: StepTime[] = [];
  for (const { name, server, what, after } of steps) {
    const span =
      spans.find((one) => one.server === server && one.what === what && one.from >= from - CLOCK_MS && one.from <= to);
    if (span === undefined) return undefined;
    const readyAt = Math.max(from, ...after.map((step) => ended.get(step) ?? from));
    ended.set(name, span.to);
    times.push({ name, waited: span.from - readyAt, took: span.to - span.from });
  }
  return [...times, { name: 'seen by the user', waited: to - Math.max(...ended.values()), took: 0 }];
}
