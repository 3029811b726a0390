// Elected pods as a source shows them, for tests of the dashboard.
import type { Condition, Pod } from '../../../api/objects/core.ts';
import { PROXY_SCHEDULER, TARGET_ANNOTATION } from '../../../api/objects/keys.ts';
import { toSeenPod, type SeenPod } from '../../../dashboard/views/seen-pod.ts';
import type { ProposedCluster } from '../../../dashboard/wire/screens.ts';
import type { SeenDiscoveries, SeenSource } from '../../../dashboard/views/targets-view.ts';

/** What differs between pods. */
export interface ShownPod {
  readonly namespace?: string;
  readonly name?: string;
  /** As `Kind/name`; without one it is not bound. */
  readonly target?: string;
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly conditions?: readonly Condition[];
  readonly owner?: { readonly kind: string; readonly name: string };
  readonly labels?: Readonly<Record<string, string>>;
  readonly createdAt?: string;
  readonly status?: Pod['status'];
  readonly spec?: Partial<Pod['spec']>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const USUAL = { namespace: 'shop', name: 'web-1', createdAt: '2026-01-01T10:00:00Z', labels: {}, annotations: {} };

/** A proxy pod; one with a target runs there. */
export function shownPod(given: ShownPod = {}): Pod {
  const { namespace, name, createdAt, target, conditions, owner, labels, annotations } = { ...USUAL, ...given };
  const owners = owner === undefined ? [] : [{ apiVersion: 'apps/v1', uid: 'o', controller: true, ...owner }];
  const phase = given.phase ?? (target === undefined ? 'Pending' : 'Running');
  return {
    metadata: {
      namespace, name, uid: `uid-${namespace}-${name}`, creationTimestamp: createdAt, labels, ownerReferences: owners,
      annotations: { ...annotations, ...(target !== undefined && { [TARGET_ANNOTATION]: target }) },
    },
    spec: {
      containers: [{ name: 'web', image: 'web:1' }], schedulerName: PROXY_SCHEDULER,
      ...(target !== undefined && { nodeName: nodeOfTarget(target) }), ...given.spec,
    },
    status: { phase, ...(conditions !== undefined && { conditions }), ...given.status },
  };
}

/** The virtual node that {@link shownPod} binds to. */
export function nodeOfTarget(target: string): string {
  return `admiralty-${target.split('/').at(-1)}`;
}

/** A condition that says no. */
export function unschedulable(message: string): Condition {
  return {
    type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message,
    lastTransitionTime: '2026-01-01T10:00:01Z',
  };
}

/** TargetDiscoveries that were read, with these clusters that nobody has approved. */
export function seenDiscoveries(
  proposed: readonly ProposedCluster[] = [], actions: SeenDiscoveries['actions'] = [],
): SeenDiscoveries {
  return { discoveries: { kind: 'read', records: [proposed] }, actions };
}

/** A source that was read whole. */
export function seenSource(pods: readonly Pod[], more: Partial<SeenSource> = {}): SeenSource {
  const read = <T>(records: readonly T[]) => ({ kind: 'read' as const, records });
  return {
    clusterTargets: read([]), targets: read([]), nodes: read([]), pods: read<SeenPod>(pods.map(toSeenPod)), ...more,
  };
}
