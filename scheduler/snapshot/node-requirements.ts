// What a delegate pod requires of a node.
import type { StringMap, Toleration } from '../../api/objects/core.ts';
import type { Affinity } from '../../api/objects/affinity.ts';
import type { ResourceAmounts } from '../../model/resources/resources.ts';

/** What a delegate pod requires of a node. Equal pods should share one object: results are cached by identity. */
export interface NodeRequirements {
  readonly requests: ResourceAmounts;
  readonly nodeSelector?: StringMap;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  /** The RuntimeClass of its target may add tolerations that nobody here knows (`scheduling` of a RuntimeClass). */
  readonly hasRuntimeClass?: true;
}

/** Maximum number of entries per class of pods; those of the class are cleared when it is full. */
const MOST_ENTRIES = 2_000;

/** What was concluded for a class of pods, by number, kept as long as something holds the class. */
export class ClassCache<V> {
  readonly #byClass = new WeakMap<NodeRequirements, Map<number, V>>();

  /** The entries of a class, to be read and set. */
  of(pod: NodeRequirements): Map<number, V> {
    const known = this.#byClass.get(pod);
    if (known !== undefined && known.size < MOST_ENTRIES) return known;
    const fresh = new Map<number, V>();
    this.#byClass.set(pod, fresh);
    return fresh;
  }
}
