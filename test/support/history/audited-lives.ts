// When delegates surely existed, by the audit logs of their API servers. Watches arrive late; API servers of one
// machine write the time of each request by one clock. So two delegates of one proxy are found however short they met.

/** The audit log of one target, and which of its pods count: delegates that have not ended. */
export interface AuditedTarget {
  readonly cluster: string;
  readonly log: string;
  /** Takes `namespace/name`. */
  readonly counts: (key: string) => boolean;
}

/**
 * One pod, from the answer to its create until the last write that still found it began; in ms since the epoch. An
 * audit log does not tell the name that an API server makes of `generateName`: such a pod has been there since its
 * first write.
 */
export interface Life {
  readonly cluster: string;
  readonly from: number;
  until: number;
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly objectRef?: {
    readonly resource: string; readonly namespace?: string; readonly name?: string; readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

/** By `namespace/name`. */
export type AuditedLives = ReadonlyMap<string, readonly Life[]>;

/** The lives of all delegates that count. */
export function auditedLives(targets: readonly AuditedTarget[]): AuditedLives {
  const lives = new Map<string, Life[]>();
  for (const target of targets) {
    for (const [key, found] of livesOf(target)) lives.set(key, [...(lives.get(key) ?? []), ...found]);
  }
  return lives;
}

/**
 * One sentence for each pair of delegates of one proxy that surely existed at the same time in two targets. The name of
 * a delegate follows from the UID of its proxy, so it is the same in all targets.
 */
export function doublesIn(lives: AuditedLives): readonly string[] {
  return [...lives].flatMap(([key, all]) => all.flatMap((one, index) => all.slice(index + 1).flatMap((other) => {
    const together = Math.min(one.until, other.until) - Math.max(one.from, other.from);
    if (one.cluster === other.cluster || together <= 0) return [];
    return [`${key} was in ${one.cluster} and in ${other.cluster} for ${together} ms at least`];
  })));
}

function livesOf({ cluster, log, counts }: AuditedTarget): AuditedLives {
  const lives = new Map<string, Life[]>();
  for (const { verb, objectRef, requestReceivedTimestamp, stageTimestamp } of podWritesIn(log)) {
    const key = `${objectRef?.namespace}/${objectRef?.name}`;
    if (!counts(key)) continue;
    const known = lives.get(key) ?? [];
    const isMade = verb === 'create' && objectRef?.subresource === undefined;
    const last = known.at(-1);
    const until = Date.parse(requestReceivedTimestamp);
    if (isMade || last === undefined) {
      lives.set(key, [...known, { cluster, from: Date.parse(stageTimestamp), until: isMade ? 0 : until }]);
    } else last.until = Math.max(last.until, until);
  }
  return lives;
}

/** Writes to pods that were done, in the order of their answers. */
function podWritesIn(log: string): readonly AuditEvent[] {
  const lines = log.split('\n').filter((line) => line.includes('"resource":"pods"'));
  const events = lines.flatMap((line) => parsed(line));
  return events.filter(({ stage, verb, responseStatus }) => (
    stage === 'ResponseComplete' && WRITES.has(verb) && [200, 201].includes(responseStatus?.code ?? 0)
  )).toSorted((one, other) => (one.stageTimestamp < other.stageTimestamp ? -1 : 1));
}

/** Nothing of a line that its server was killed in. */
function parsed(line: string): readonly AuditEvent[] {
  try {
    return [JSON.parse(line) as AuditEvent];
  } catch {
    return [];
  }
}
