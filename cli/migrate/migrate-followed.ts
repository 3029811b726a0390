// Objects that follow pods: removes Admiralty's finalizers in the source and takes over their copies in targets, and
// back.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CONFIG_MAPS, INGRESSES, SECRETS, SERVICES } from '../../api/resource-types.ts';
import { PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import { FOLLOWED_KINDS } from '../../delegate-controller/copies/followed-kinds.ts';
import { toReportedCopy } from '../../delegate-controller/copies/followed-copy.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { planAdmiraltyFinalizerRemoval, planRelabelling } from '../takeover/followed-takeover.ts';
import type { Migration, MigrationTarget } from './migration.ts';

const TYPES: readonly ResourceType[] = [CONFIG_MAPS, SECRETS, SERVICES, INGRESSES];

/** Takes over the copies in targets, and removes Admiralty's finalizers in the source. */
export async function takeFollowed(migration: Migration): Promise<void> {
  const { client, installation, clusterId, signal, tell } = migration;
  for (const type of TYPES) {
    const objects = await client.list(type, {}, signal);
    const given = await handOver(migration, type, objects, { from: installation.clusterName, to: clusterId });
    let freed = 0;
    for (const object of objects) {
      const plan = planAdmiraltyFinalizerRemoval(type, object);
      freed += plan.length;
      await executePlan(client, plan, signal).catch(ignoreStale);
    }
    if (given + freed > 0) tell(`  ${type.plural}: ${given} copies taken over, ${freed} freed from finalizers`);
  }
}

/** Returns the copies to Admiralty, which adds its finalizers itself. */
export async function returnFollowed(migration: Migration): Promise<void> {
  const { client, installation, clusterId, signal } = migration;
  for (const type of TYPES) await handOver(
    migration, type, await client.list(type, {}, signal), { from: clusterId, to: installation.clusterName },
  );
}

async function handOver(migration: Migration, type: ResourceType, objects: readonly KubernetesObject[], { from, to }: {
  readonly from: string; readonly to: string
}): Promise<number> {
  const byUid = new Map(objects.map((object) => [object.metadata.uid ?? '', object]));
  let count = 0;
  for (const target of migration.targets) {
    for (const copy of await target.client.list(type, { labelSelector: PARENT_UID_LABEL }, migration.signal)) {
      const plan = planRelabelling(type, copy, { from, to, parents: new Set(byUid.keys()) });
      if (plan.length === 0) continue;
      count += 1;
      const parent = byUid.get(copy.metadata.labels?.[PARENT_UID_LABEL] ?? '');
      if (
        type === SECRETS && to === migration.clusterId && parent !== undefined
      ) await rewriteSecret(migration, target, parent, copy);
      else await executePlan(target.client, plan, migration.signal).catch(ignoreStale);
    }
  }
  return count;
}

/**
 * Sources may not read Secrets in targets: the copy is rewritten as our source writes it, so that the target recognizes
 * it as unchanged.
 */
async function rewriteSecret(
  { clusterId, signal }: Migration, target: MigrationTarget, parent: KubernetesObject,
  { metadata: { uid, resourceVersion } }: KubernetesObject,
): Promise<void> {
  const kind = FOLLOWED_KINDS.find(({ type }) => type === SECRETS);
  if (kind === undefined) return;
  const wanted = toReportedCopy(kind, parent, clusterId);
  await target.client.update(
    SECRETS,
    {
      ...wanted,
      metadata: {
        ...wanted.metadata, ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
    },
    signal,
  ).catch(ignoreStale);
}
