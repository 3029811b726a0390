// A proxy pod as Admiralty expects it, when a migration is rolled back: with the finalizers of its namespace's
// Targets, with a copy of the source pod where it has no node yet, and with a PodChaperon around the delegate that runs
// for it. Pure.
import { stringify } from 'yaml';
import type { Pod } from '../../api/objects/core.ts';
import {
  ADOPTED_DELEGATE_ANNOTATION, CHAPERON_FINALIZER,
  ELECT_ANNOTATION, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL, RUN_ONCE_FINALIZER, SOURCE_MANIFEST_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { restoreSourcePod } from '../../model/proxy/admission-record.ts';
import { joinName, MAX_LABEL_LENGTH } from '../../model/naming/names.ts';
import { FOR_KUBECTL } from '../../model/objects/yaml-limits.ts';
import type { Command, Plan } from '../../model/objects/plan.ts';
import { controllerOf } from '../../model/pod/pod.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { planEnding, planFinalizers, planWaiting, type Candidate, type WaitingTakeover } from './waiting-takeover.ts';

/** What is known of a proxy. */
export interface ReturnState {
  readonly proxy: Pod;
  readonly candidates: readonly Candidate[];
  /** As {@link MadeFor.remains}. */
  readonly remains: boolean;
  /** Its delegates, by target. */
  readonly delegates: readonly { readonly target: string; readonly delegate: Pod }[];
  readonly targets: readonly { readonly ref: TargetRef; readonly key: string; readonly isAdmiraltyThere: boolean }[];
  readonly clusterName: string;
}

/** The finalizer that Admiralty gives a proxy for a Target of its namespace; it has none for ClusterTargets. */
export function admiraltyFinalizer({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return ADMIRALTY_PREFIX + joinName([namespace, name], MAX_LABEL_LENGTH);
}

/** Plans it; nothing where all is so already. */
export function planReturn(state: ReturnState): WaitingTakeover {
  const { proxy, candidates, targets } = state;
  const finalizers = targets.flatMap(
    ({ ref }) => (ref.kind === 'Target' && ref.namespace === proxy.metadata.namespace ? [admiraltyFinalizer(ref)] : []),
  );
  const orphans = state.delegates.filter(({ delegate }) => controllerOf(delegate.metadata)?.kind !== 'PodChaperon');
  const ownerWrites = orphans.flatMap(({ target, delegate }) => (
    candidates.some(({ chaperon }) => chaperon.metadata.name === delegate.metadata.name)
      ? [{ target, plan: [owned(delegate, candidates)] }]
      : [{ target, plan: [chaperonForDelegate(delegate, state.clusterName)] }]
  ));
  if (proxy.metadata.deletionTimestamp !== undefined) return orphans.length > 0
    ? { inTargets: ownerWrites, inSource: [] }
    : planEnding(proxy, state);
  if ((proxy.spec.nodeName ?? '') === '') {
    const waiting = planWaiting(proxy, state, finalizers);
    return {
      ...waiting, inTargets: [...ownerWrites, ...waiting.inTargets],
      inSource: [...waiting.inSource, ...planManifest(proxy, waiting.inSource.length > 0)],
    };
  }
  const relabelled = candidates.flatMap(
    ({ target, chaperon }) => planChaperon(chaperon, state.clusterName, isOursThere(target, state)).map(
      (command) => ({ target, plan: [command] }),
    ),
  );
  const released = state.delegates.flatMap(({ target, delegate }) => (
    isOursThere(target, state) ? [] : planRelease(delegate).map((command) => ({ target, plan: [command] }))
  ));
  return { inTargets: [...ownerWrites, ...relabelled, ...released], inSource: planBound(proxy, finalizers) };
}

function isOursThere(target: string, { targets }: ReturnState): boolean {
  return targets.some(({ key, isAdmiraltyThere }) => key === target && !isAdmiraltyThere);
}

function planBound(proxy: Pod, finalizers: readonly string[]): Plan {
  const finalized = planFinalizers(proxy, finalizers);
  // one write at a time: after another one the finalizers would have no version to be compared with
  if (finalized.length > 0 || proxy.metadata.annotations?.[ADOPTED_DELEGATE_ANNOTATION] === undefined) return finalized;
  const { namespace, name = '', uid } = proxy.metadata;
  return [{
    kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { uid, annotations: { [ADOPTED_DELEGATE_ANNOTATION]: null } } },
  }];
}

/**
 * Admiralty makes candidates of a copy of the source pod; it is the stored proxy with what admission replaced put back.
 */
function planManifest(proxy: Pod, isWrittenBefore: boolean): Plan {
  const { namespace, name = '', uid, annotations = {} } = proxy.metadata;
  if (annotations[SOURCE_MANIFEST_ANNOTATION] !== undefined || isWrittenBefore) return [];
  const restored = restoreSourcePod(proxy);
  if (restored.kind === 'invalid') return [];
  const { metadata: { labels, annotations: kept, name: podName, namespace: podNamespace }, spec } = restored.pod;
  const source = {
    apiVersion: 'v1', kind: 'Pod',
    metadata: {
      name: podName, namespace: podNamespace, labels,
      annotations: { ...kept, [ELECT_ANNOTATION]: annotations[ELECT_ANNOTATION] ?? '' },
    },
    spec,
  };
  return [{
    kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'merge',
    patch: {
      metadata:
        { uid, annotations: { [SOURCE_MANIFEST_ANNOTATION]: stringify(source, FOR_KUBECTL) } },
    },
  }];
}

function planChaperon({ metadata }: PodChaperon, clusterName: string, needsFinalizer: boolean): Plan {
  const { namespace, name = '', resourceVersion, finalizers = [], labels = {} } = metadata;
  const next = needsFinalizer ? finalizers : finalizers.filter((finalizer) => finalizer !== CHAPERON_FINALIZER);
  if ((labels[PARENT_CLUSTER_LABEL] ?? '') === clusterName && next.length === finalizers.length) return [];
  return [{
    kind: 'patch', type: POD_CHAPERONS, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { resourceVersion, finalizers: next, labels: { [PARENT_CLUSTER_LABEL]: clusterName } } },
  }];
}

function planRelease({ metadata: { namespace, name = '', resourceVersion, finalizers = [] } }: Pod): Plan {
  if (!finalizers.includes(RUN_ONCE_FINALIZER)) return [];
  return [{
    kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'merge',
    patch:
      { metadata: { resourceVersion, finalizers: finalizers.filter((finalizer) => finalizer !== RUN_ONCE_FINALIZER) } },
  }];
}

/** Where the source made the pod itself: a chaperon of its name, of which the next round makes its owner. */
function chaperonForDelegate(
  { metadata: { namespace = '', name = '', labels, annotations = {} }, spec, status }: Pod, clusterName: string,
): Command {
  const { nodeName: _node, ...rest } = spec;
  const object = {
    apiVersion: ADMIRALTY_API_VERSION, kind: 'PodChaperon',
    metadata: { namespace, name, labels: { ...labels, [PARENT_CLUSTER_LABEL]: clusterName }, annotations }, spec: rest,
    status,
  };
  return { kind: 'create', type: POD_CHAPERONS, object };
}

function owned({ metadata: { namespace, name = '', uid } }: Pod, candidates: readonly Candidate[]): Command {
  const owner = candidates.find(({ chaperon }) => chaperon.metadata.name === name)?.chaperon.metadata.uid ?? '';
  const ownerReferences = [{
    apiVersion: ADMIRALTY_API_VERSION, kind: 'PodChaperon', name, uid: owner, controller: true,
    blockOwnerDeletion: true,
  }];
  return {
    kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { uid, ownerReferences } },
  };
}
