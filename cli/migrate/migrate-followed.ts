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
import { AppError } from '../../process/errors.ts';
import { planAdmiraltyFinalizerRemoval, planRelabelling } from '../takeover/followed-takeover.ts';
import type { Migration, MigrationTarget } from './migration.ts';

const TYPES: readonly ResourceType[] = [CONFIG_MAPS, SECRETS, SERVICES, INGRESSES];

/** Users and controllers write to the same objects; what has changed meanwhile is read again, at most this often. */
const ROUNDS = 5;

/** What one round did, and how many objects had changed since they were read. */
interface Round {
  readonly done: number;
  readonly stale: number;
}

/**
 * Takes over the copies in targets, and removes Admiralty's finalizers in the source. Throws AppError `Timeout` for
 * objects that change each time.
 */
export async function takeFollowed(migration: Migration): Promise<void> {
  const { installation, clusterId, tell } = migration;
  for (const type of TYPES) {
    const given = await inRounds(
      type, () => handOver(migration, type, { from: installation.clusterName, to: clusterId }),
    );
    const freed = await inRounds(type, () => free(migration, type));
    if (given + freed > 0) tell(`  ${type.plural}: ${given} copies taken over, ${freed} freed from finalizers`);
  }
}

/** Returns the copies to Admiralty, which adds its finalizers itself. Throws as {@link takeFollowed}. */
export async function returnFollowed(migration: Migration): Promise<void> {
  const { installation, clusterId } = migration;
  for (const type of TYPES) await inRounds(
    type, () => handOver(migration, type, { from: clusterId, to: installation.clusterName }),
  );
}

async function inRounds(type: ResourceType, once: () => Promise<Round>): Promise<number> {
  let all = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const { done, stale } = await once();
    all += done;
    if (stale === 0) return all;
  }
  throw new AppError(
    'Timeout', `Some ${type.plural} change faster than they are handed over. Nothing is lost; run the same command ` +
      'again.',
  );
}

async function free({ client, signal }: Migration, type: ResourceType): Promise<Round> {
  const plans = (await client.list(type, {}, signal)).map((object) => planAdmiraltyFinalizerRemoval(type, object));
  return written(plans.filter((plan) => plan.length > 0).map((plan) => () => executePlan(client, plan, signal)));
}

async function handOver(migration: Migration, type: ResourceType, { from, to }: {
  readonly from: string; readonly to: string
}): Promise<Round> {
  const objects = await migration.client.list(type, {}, migration.signal);
  const byUid = new Map(objects.map((object) => [object.metadata.uid ?? '', object]));
  const writes: (() => Promise<void>)[] = [];
  for (const target of migration.targets) {
    for (const copy of await target.client.list(type, { labelSelector: PARENT_UID_LABEL }, migration.signal)) {
      const plan = planRelabelling(type, copy, { from, to, parents: new Set(byUid.keys()) });
      if (plan.length === 0) continue;
      const parent = byUid.get(copy.metadata.labels?.[PARENT_UID_LABEL] ?? '');
      writes.push(() => (type === SECRETS && to === migration.clusterId && parent !== undefined
        ? rewriteSecret(migration, target, parent, copy)
        : executePlan(target.client, plan, migration.signal)));
    }
  }
  return written(writes);
}

async function written(writes: readonly (() => Promise<void>)[]): Promise<Round> {
  let stale = 0;
  for (const write of writes) await write().catch((error: unknown) => {
    ignoreStale(error);
    stale += 1;
  });
  return { done: writes.length - stale, stale };
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
  );
}
