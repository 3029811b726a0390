// ClusterProfiles as they are after the plans for them were executed, without an API server.
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ClusterProfile } from '../../../api/placement/cluster-inventory.ts';
import type { Plan } from '../../../model/objects/plan.ts';
import type { PublishedTarget } from '../../../scheduler/publishing/cluster-profile.ts';
import { planProfile } from '../../../scheduler/publishing/plan-profile.ts';

/** A ClusterTarget with these facts. */
export function publishedTarget(more: Partial<PublishedTarget> = {}): PublishedTarget {
  return {
    name: 'eu', uid: 'uid-eu', labels: {}, clusterId: 'id-eu', availability: { kind: 'ready' },
    isSynced: true, properties: [],
    spec: { kubeconfigSecret: { name: 'eu' } }, secretRef: { namespace: 'isthmus-system', name: 'eu', key: 'config' },
    endpoint: { server: new URL('https://eu.example:6443'), isDirect: true, credentials: 'token' },
    ...more,
  };
}

/** Executes a plan on one object as an API server would. */
export function executed(before: ClusterProfile | undefined, plan: Plan): ClusterProfile | undefined {
  return plan.reduce<ClusterProfile | undefined>((object, command) => {
    switch (command.kind) {
      case 'create':
        return { ...(command.object as ClusterProfile), metadata: { ...command.object.metadata, uid: 'uid' } };
      case 'apply':
        return object && { ...object, metadata: mergedMetadata(object, command.object) };
      case 'patch': {
        const { status } = command.patch as Pick<ClusterProfile, 'status'>;
        return object && { ...object, status: { ...object.status, ...status } };
      }
      case 'delete':
        return undefined;
      case 'bind':
        return object;
    }
  }, before);
}

/** Executes plans until there is nothing more to do, at most so many; with how many there were. */
export function settled(
  target: PublishedTarget | undefined, existing: ClusterProfile | undefined, most = 4,
): { readonly profile: ClusterProfile | undefined; readonly rounds: number } {
  let profile = existing;
  for (let rounds = 0; rounds < most; rounds += 1) {
    const now = new Date(Date.UTC(2026, 0, 1, 0, rounds)).toISOString();
    const plan = planProfile({ namespace: 'kueue-system', target, existing: profile, now });
    if (plan.length === 0) return { profile, rounds };
    profile = executed(profile, plan);
  }
  return { profile, rounds: most };
}

/** Labels that only an earlier apply has set would go; those of others stay. */
function mergedMetadata(one: KubernetesObject, { metadata }: KubernetesObject): KubernetesObject['metadata'] {
  return {
    ...one.metadata, labels: { ...one.metadata.labels, ...metadata.labels },
    annotations: { ...one.metadata.annotations, ...metadata.annotations },
  };
}
