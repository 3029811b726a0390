// Proxies that have no node yet when an Admiralty hands over, and those that are being deleted. Its scheduler has made
// a candidate for each in every target, and may have ended between the target's bind and its own. Pure.
import type { Binding, Pod } from '../../api/objects/core.ts';
import {
  ADMIRALTY_PREFIX, DELEGATE_FINALIZER, HAS_FINALIZER_LABEL, PARENT_UID_LABEL, TRUE,
} from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { deletion, type Command, type Plan } from '../../model/objects/plan.ts';

/** A PodChaperon that was made for a proxy, and whether its delegate has a node. */
export interface Candidate {
  readonly target: string;
  /** Virtual node of the target. */
  readonly nodeName: string;
  readonly chaperon: PodChaperon;
  readonly isPlaced: boolean;
}

/** What targets hold of one proxy. */
export interface MadeFor {
  readonly candidates: readonly Candidate[];
  /** A PodChaperon or a delegate of the proxy is still in a target, be it that it is being deleted. */
  readonly remains: boolean;
}

/** Writes by target, and those in the source after them. */
export interface WaitingTakeover {
  readonly inTargets: readonly { readonly target: string; readonly plan: Plan }[];
  readonly inSource: Plan;
  /** Nothing more can be done until what was made in targets is gone. */
  readonly isWaiting?: true;
}

/** The candidates of a proxy among all chaperons of a target; those of Pod mode are no chaperons. */
export function candidatesOf(proxy: Pod, target: { readonly key: string; readonly nodeName: string }, found: {
  readonly chaperons: readonly PodChaperon[]; readonly delegates: readonly Pod[]
}): readonly Candidate[] {
  const own = found.chaperons.filter(
    ({ metadata }) =>
      metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid && metadata.deletionTimestamp === undefined,
  );
  return own.map((chaperon) => {
    const delegate = found.delegates.find(
      ({ metadata }) => metadata.namespace === chaperon.metadata.namespace && metadata.name === chaperon.metadata.name,
    );
    return {
      target: target.key, nodeName: target.nodeName, chaperon, isPlaced: (delegate?.spec.nodeName ?? '') !== '',
    };
  });
}

/**
 * What to do with a proxy without a node: where one target has given its candidate a node, it is bound to that target,
 * and all other candidates go. Else all of them go, and a scheduler gets the proxy once nothing of it is left anywhere:
 * a candidate that is given a node as it goes runs alone.
 * `finalizers` are those that the proxy gets in place of the ones of the side that leaves.
 */
export function planWaiting(
  proxy: Pod, { candidates, remains }: MadeFor, finalizers: readonly string[] = [DELEGATE_FINALIZER],
): WaitingTakeover {
  const winner = candidates.find(({ isPlaced }) => isPlaced);
  // two targets may be one cluster
  const losers = candidates.filter(({ chaperon }) => chaperon.metadata.uid !== winner?.chaperon.metadata.uid);
  const inTargets = losers.map(withdrawal);
  if (winner !== undefined) return { inTargets, inSource: [bindTo(proxy, winner.nodeName)] };
  return remains
    ? { inTargets, inSource: [], isWaiting: true }
    : { inTargets, inSource: planFinalizers(proxy, finalizers) };
}

/** A proxy that is being deleted: what was made for it goes; once nothing is left, nothing holds it any more. */
export function planEnding(proxy: Pod, { candidates, remains }: MadeFor): WaitingTakeover {
  const inTargets = candidates.map(withdrawal);
  return remains ? { inTargets, inSource: [], isWaiting: true } : { inTargets, inSource: planFinalizers(proxy, []) };
}

/** Replaces what holds a proxy; nothing where it is so already. */
export function planFinalizers({ metadata }: Pod, wanted: readonly string[]): Plan {
  const { namespace, name = '', resourceVersion, finalizers = [] } = metadata;
  const next = [...finalizers.filter((finalizer) => !finalizer.startsWith(ADMIRALTY_PREFIX)), ...wanted];
  if (next.toSorted().join() === finalizers.toSorted().join()) return [];
  const patch = { metadata: { resourceVersion, finalizers: next, labels: { [HAS_FINALIZER_LABEL]: TRUE } } };
  return [{ kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'merge', patch }];
}

/** Deletes this very PodChaperon in its target; its delegate goes with it. */
export function withdrawal(
  { target, chaperon }: Pick<Candidate, 'target' | 'chaperon'>,
): WaitingTakeover['inTargets'][number] {
  return { target, plan: [deletion(POD_CHAPERONS, chaperon.metadata)] };
}

function bindTo({ metadata: { namespace, name, uid } }: Pod, nodeName: string): Command {
  const binding: Binding = {
    apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name, uid },
    target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
  } as Binding;
  return { kind: 'bind', binding };
}
