// PodChaperons of a source that nobody would look at after a migration: their proxy is gone, is bound to another
// target, or has another PodChaperon in the same one. Whoever made them has been stopped in between, and whoever takes
// over knows only what bears its own name of the source. Pure.
import type { Pod } from '../../api/objects/core.ts';
import {
  DELEGATE_FINALIZER, DELEGATE_NAME_ANNOTATION, PARENT_CLUSTER_LABEL, PARENT_UID_LABEL,
} from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { deletionOf, type WaitingTakeover } from './waiting-takeover.ts';

/** What there is, and by which names the source is known in targets. */
export interface StrayState {
  /** All proxies of the source, read after what targets hold: what is not among them is gone. */
  readonly proxies: readonly Pod[];
  readonly held: readonly {
    readonly target: { readonly key: string; readonly nodeName: string }; readonly chaperons: readonly PodChaperon[]
  }[];
  /** Values of the label of the parent cluster: Admiralty's `clusterName`, and that of Isthmus. */
  readonly sourceNames: readonly string[];
}

/** Plans their deletion. */
export function planStrays({ proxies, held, sourceNames }: StrayState): WaitingTakeover {
  const byUid = new Map(proxies.map((proxy) => [proxy.metadata.uid ?? '', proxy]));
  const nodesOf = (uid = ''): readonly string[] => held
    .filter(({ chaperons }) => chaperons.some(({ metadata }) => metadata.uid === uid))
    .map(({ target }) => target.nodeName);
  const isStray = (chaperon: PodChaperon): boolean => {
    const { deletionTimestamp, labels = {}, uid } = chaperon.metadata;
    const parent = labels[PARENT_UID_LABEL];
    if (
      deletionTimestamp !== undefined || parent === undefined
        || !sourceNames.includes(labels[PARENT_CLUSTER_LABEL] ?? '')
    ) return false;
    return isUnwanted(chaperon, byUid.get(parent), nodesOf(uid));
  };
  return {
    inTargets: held.flatMap(({ target, chaperons }) => chaperons.filter(isStray).map(
      (chaperon) => ({ target: target.key, plan: [deletionOf(chaperon)] }),
    )),
    inSource: [],
  };
}

/**
 * Candidates of a proxy without a node are looked at with it. `nodes` are the virtual nodes of the targets that are the
 * chaperon's cluster.
 */
function isUnwanted({ metadata: { name } }: PodChaperon, proxy: Pod | undefined, nodes: readonly string[]): boolean {
  if (proxy === undefined) return true;
  const { spec: { nodeName = '' }, metadata: { finalizers = [], annotations = {} } } = proxy;
  if (nodeName === '') return false;
  if (!nodes.includes(nodeName)) return true;
  // what is written there is of ours alone
  const known = finalizers.includes(DELEGATE_FINALIZER) ? annotations[DELEGATE_NAME_ANNOTATION] : undefined;
  return known !== undefined && known !== name;
}
