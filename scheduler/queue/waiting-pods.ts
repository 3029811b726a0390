// Pods that fit no target, in the order in which they get freed capacity: higher priority first (kube-scheduler's
// `PrioritySort`), then round robin over namespaces, so that a namespace with a thousand pods does not starve another.

/** A waiting pod. */
export interface WaitingPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly priority: number;
  /** Creation time, in ms since the epoch. */
  readonly createdAt: number;
}

/** The pods that wait for capacity. */
export class WaitingPods {
  readonly #pods = new Map<string, WaitingPod>();

  /** Adds a pod, or updates one that waits already. */
  add({ key, namespace, priority, createdAt }: WaitingPod): void {
    this.#pods.set(key, { key, namespace, priority, createdAt });
  }

  /** Removes a pod; false when it was not waiting. */
  delete(key: string): boolean {
    return this.#pods.delete(key);
  }

  /** Removes all pods and returns their keys in scheduling order. */
  takeAll(): readonly string[] {
    if (this.#pods.size === 0) return [];
    const ordered = inSchedulingOrder([...this.#pods.values()]);
    this.#pods.clear();
    return ordered.map(({ key }) => key);
  }
}

/** By priority, then by the pod's position in its namespace (first of each, then second of each), then by age. */
export function inSchedulingOrder<P extends WaitingPod>(pods: readonly P[]): readonly P[] {
  const turns = new Map<string, number>();
  const withTurns = pods.toSorted(byAge).map((pod) => {
    const queue = `${pod.priority} ${pod.namespace}`;
    const turn = turns.get(queue) ?? 0;
    turns.set(queue, turn + 1);
    return { pod, turn };
  });
  withTurns.sort(
    (one, other) => other.pod.priority - one.pod.priority || one.turn - other.turn || byAge(one.pod, other.pod),
  );
  return withTurns.map(({ pod }) => pod);
}

function byAge(one: WaitingPod, other: WaitingPod): number {
  return one.createdAt - other.createdAt || (one.key < other.key ? -1 : 1);
}
