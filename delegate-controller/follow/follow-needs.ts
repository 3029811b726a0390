// Which objects elected pods need, and in which targets: those they refer to, those that select them, and those that
// refer to the latter. Pure.
import type { StringMap } from '../../api/objects/core.ts';
import { isSelected, type PodNeeds } from '../../model/pod/pod-needs.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import type { SourceObject } from '../copies/follow-plan.ts';
import { FOLLOWED_KINDS, type FollowedName } from '../copies/followed-kinds.ts';
import type { Placements } from './needs-by-target.ts';

/** The fields of a target that are used here. */
export interface FollowTarget {
  readonly key: string;
  readonly ref: TargetRef;
  readonly nodeName: string;
}

/** What placement policies say about pods with these labels. */
export interface FollowRules {
  /** Whether some of these pods may run in the target; `unknown` while that is not known. */
  allow(pods: readonly { readonly namespace: string; readonly labels: StringMap }[], target: FollowTarget): boolean
    | 'unknown';
  /** Calls `listener` when the answers may have changed. */
  onChange(listener: () => void): void;
}

/** The needs of a pod, and the virtual node of the target where it is or where its candidate is. */
export interface BoundNeeds {
  readonly nodeName: string;
  readonly needs: PodNeeds;
}

/** Where pods are. */
export interface PodsByTarget {
  /** Bound pods. */
  readonly placements: Placements;
  /** Pods with a candidate: what they refer to is copied while the target decides (ADR 0054). */
  readonly candidates: Placements;
}

/** The needs of all placed pods, and of those on their way. */
export class FollowNeeds {
  readonly #placements: Placements;
  readonly #candidates: Placements;
  readonly #rules: FollowRules;
  readonly #sourceObject: (at: FollowedName) => SourceObject | undefined | 'unknown';

  constructor(
    { placements, candidates }: PodsByTarget, rules: FollowRules,
    sourceObject: (at: FollowedName) => SourceObject | undefined | 'unknown',
  ) {
    this.#placements = placements;
    this.#candidates = candidates;
    this.#rules = rules;
    this.#sourceObject = sourceObject;
  }

  /** Whether some pod needs the object in the target. */
  isNeeded(object: FollowedName, target: FollowTarget): boolean | 'unknown' {
    const { kind, namespace, name } = object;
    if (kind.need.kind === 'named') {
      const reference = `${kind.type.plural}/${name}`;
      return [this.#placements, this.#candidates].some((pods) => pods.isNamed(namespace, reference, target.key));
    }
    if (target.ref.kind === 'Target' && target.ref.namespace !== namespace) return false;
    const selectors = this.#selectorsBehind(object);
    if (selectors.some((selector) => this.#placements.isSelectedIn(namespace, selector, target.key))) return true;
    const pods = selectors.flatMap((selector) => this.#placements.selectedLabels(namespace, selector))
      .map((labels) => ({ namespace, labels }));
    return this.#rules.allow(pods, target);
  }

  /** The same for pods from an uncached read. What may still be needed counts as needed. */
  isNeededBy(placed: readonly BoundNeeds[], object: FollowedName, target: FollowTarget): boolean {
    const { kind, namespace, name } = object;
    const reference = `${kind.type.plural}/${name}`;
    const isThere = ({ nodeName }: BoundNeeds) => nodeName === target.nodeName;
    if (kind.need.kind === 'named') {
      return placed.some((pod) => isThere(pod) && pod.needs.references.includes(reference));
    }
    const selectors = this.#selectorsBehind(object);
    const selected = placed.filter(({ needs }) => selectors.some((selector) => isSelected(selector, needs.labels)));
    return selected.some(isThere) || this.#rules
      .allow(selected.map(({ needs }) => ({ namespace, labels: needs.labels })), target) !== false;
  }

  /** Whether some pod of the namespace, placed or on its way, refers to an object of the kind. */
  isKindNamed(namespace: string, plural: string): boolean {
    return [this.#placements, this.#candidates].some((pods) => pods.isKindNamed(namespace, plural));
  }

  /** Whether the object selects a placed pod, or refers to one that does. */
  isServing(object: FollowedName): boolean {
    return this.#selectorsBehind(object).some((selector) => this.#placements.isAnySelected(object.namespace, selector));
  }

  /** Keys of the pods that need the object: those in the target if they refer to it, otherwise all that it serves. */
  podsNeeding(at: FollowedName, target: FollowTarget): string[] {
    const { kind, namespace, name } = at;
    if (kind.need.kind === 'named') {
      const reference = `${kind.type.plural}/${name}`;
      return [this.#placements, this.#candidates].flatMap((pods) => pods.naming(namespace, reference, target.key));
    }
    return [
      ...new Set(this.#selectorsBehind(at).flatMap((selector) => this.#placements.selected(namespace, selector))),
    ];
  }

  /** The selectors of the Service, or of the Services that the object refers to. */
  #selectorsBehind(at: FollowedName): StringMap[] {
    const object = this.#sourceObject(at);
    if (typeof object !== 'object') return [];
    const { kind: { need }, namespace } = at;
    if (need.kind !== 'refers-to') return [object.selector];
    const behind = FOLLOWED_KINDS.find(({ type }) => type.plural === need.plural);
    return behind === undefined
      ? []
      : object.refersTo.flatMap((name) => this.#selectorsBehind({ kind: behind, namespace, name }));
  }
}
