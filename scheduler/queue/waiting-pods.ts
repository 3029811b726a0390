// Pods that no target could take, in the order in which they get the room that appears: higher priority first (kube-scheduler's
// `PrioritySort`), and among equals one namespace after another, so that nobody's thousand pods keep out somebody else's one.

/** A pod that waits. */
export interface WaitingPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly priority: number;
  /** When it was created, in ms since the epoch. */
  readonly createdAt: number;
}

/** The pods that wait for room. */
export class WaitingPods {
  readonly #pods = new Map<string, WaitingPod>();

  /** Adds a pod; one that waits already is taken as it is now. */
  add({ key, namespace, priority, createdAt }: WaitingPod): void {
    this.#pods.set(key, { key, namespace, priority, createdAt });
  }

  /** Takes a pod out; false when it did not wait. */
  delete(key: string): boolean {
    return this.#pods.delete(key);
  }

  /** Takes all pods out and gives their keys in the order of their turns. */
  takeAll(): readonly string[] {
    if (this.#pods.size === 0) return [];
    const ordered = yieldToEventLoop([...this.#pods.values()]);
    this.#pods.clear();
    return ordered.map(({ key }) => key);
  }
}

/** By priority, then by the turn that a pod has in its namespace (the first of each, then the second of each), then by age. */
export function yieldToEventLoop<P extends WaitingPod>(pods: readonly P[]): readonly P[] {
  const turns = new Map<string, number>();
  const placed = pods.toSorted(byAge).map((pod) => {
    const line = `${pod.priority} ${pod.namespace}`;
    const turn = turns.get(line) ?? 0;
    turns.set(line, turn + 1);
    return { pod, turn };
  });
  placed.sort((one, other) => other.pod.priority - one.pod.priority || one.turn - other.turn || byAge(one.pod, other.pod));
  return placed.map(({ pod }) => pod);
}

function byAge(one: WaitingPod, other: WaitingPod): number {
  return one.createdAt - other.createdAt || (one.key < other.key ? -1 : 1);
}
