// PodChaperons of a source that no controller would delete after a migration: their proxy is gone, has its PodChaperon
// in another target, or has another one in the same target. Whoever made them has been stopped in between, and whoever
// takes over knows only what bears its own name of the source. The only PodChaperon of a proxy is never one of them.
// Pure.
import type { Pod } from '../../api/objects/core.ts';
import {
  DELEGATE_FINALIZER, DELEGATE_NAME_ANNOTATION, PARENT_CLUSTER_LABEL, PARENT_UID_LABEL,
} from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { withdrawal, type WaitingTakeover } from './waiting-takeover.ts';

/** What there is, and by which names the source is known in targets. */
export interface StrayState {
  /** All proxies of the source, read after what targets have: what is not among them is gone. */
  readonly proxies: readonly Pod[];
  readonly inTargets: readonly {
    readonly target: { readonly key: string; readonly nodeName: string }; readonly chaperons: readonly PodChaperon[]
  }[];
  /** Values of the label of the parent cluster: Admiralty's `clusterName`, and that of Isthmus. */
  readonly sourceNames: readonly string[];
}

/** Plans their deletion. */
export function planStrays({ proxies, inTargets, sourceNames }: StrayState): WaitingTakeover {
  const byUid = new Map(proxies.map((proxy) => [proxy.metadata.uid ?? '', proxy]));
  const nodesOf = (uid = ''): readonly string[] => inTargets
    .filter(({ chaperons }) => chaperons.some(({ metadata }) => metadata.uid === uid))
    .map(({ target }) => target.nodeName);
  const isStray = (chaperon: PodChaperon): boolean => {
    const { deletionTimestamp, labels = {}, uid } = chaperon.metadata;
    const parent = labels[PARENT_UID_LABEL];
    if (
      deletionTimestamp !== undefined || parent === undefined
        || !sourceNames.includes(labels[PARENT_CLUSTER_LABEL] ?? '')
    ) return false;
    const proxy = byUid.get(parent);
    return proxy === undefined
      || (isElsewhere(proxy, nodesOf(uid)) ? hasChaperonThere(proxy) : isSecond(chaperon, proxy));
  };
  /** Whether the target that the proxy is bound to has a PodChaperon for it. */
  const hasChaperonThere = ({ spec, metadata: { uid } }: Pod): boolean => inTargets.some(
    ({ target, chaperons }) => target.nodeName === spec.nodeName && chaperons.some(
      ({ metadata: { deletionTimestamp, labels = {} } }) =>
        deletionTimestamp === undefined && labels[PARENT_UID_LABEL] === uid,
    ),
  );
  return {
    inTargets: inTargets.flatMap(({ target, chaperons }) => chaperons.filter(isStray).map(
      (chaperon) => withdrawal({ target: target.key, chaperon }),
    )),
    inSource: [],
  };
}

/**
 * Whether a proxy is bound to none of `nodes`, the virtual nodes of the targets that are a chaperon's cluster.
 * Candidates of a proxy without a node are handled with it.
 */
function isElsewhere({ spec: { nodeName = '' } }: Pod, nodes: readonly string[]): boolean {
  return nodeName !== '' && !nodes.includes(nodeName);
}

/** Whether a proxy of ours names another chaperon. What is written on others is not ours. */
function isSecond({ metadata: { name } }: PodChaperon, { spec: { nodeName = '' }, metadata }: Pod): boolean {
  const { finalizers = [], annotations = {} } = metadata;
  const known = finalizers.includes(DELEGATE_FINALIZER) ? annotations[DELEGATE_NAME_ANNOTATION] : undefined;
  return nodeName !== '' && known !== undefined && known !== name;
}
