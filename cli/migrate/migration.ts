// Shared by the steps of a migration: the cluster, its Admiralty installation, its targets, waiting and progress. Each
// step, in the files beside this one, lists its objects itself: a restriction, such as to a namespace, goes into each.
// What happens to a pod is decided by pure functions of `cli/takeover`.
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import { MIGRATION_CONFIG_MAP, MIGRATION_STANDBY_KEY, MIGRATION_WEBHOOK_KEY } from '../../api/objects/own-names.ts';
import { CLUSTER_TARGETS, CONFIG_MAPS, TARGETS } from '../../api/resource-types.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { targetKey, targetRefOf, type TargetRef } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import type { AdmiraltyInstallation } from './admiralty-installation.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import { listIfServed } from '../clusters/served-objects.ts';

/** Field manager of the migration's own writes. */
export const MIGRATION_FIELD_MANAGER = 'isthmus-migrate';
/** Timeout of waits in ms. */
const TIMEOUT_MS = 120_000;
const POLL_INTERVAL_MS = 500;
/** Interval of progress lines in ms. */
const PROGRESS_INTERVAL_MS = 10_000;

/** A target of the migrated cluster, with administrator permissions in it. */
export interface MigrationTarget {
  readonly ref: TargetRef;
  readonly key: string;
  readonly nodeName: string;
  readonly client: ClusterClient;
  /** Admiralty runs there, so no controller removes our finalizers. */
  readonly isAdmiraltyThere: boolean;
}

/** A migration of one cluster. */
export interface Migration extends Progress {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  readonly installation: AdmiraltyInstallation;
  /** UID of the cluster's kube-system Namespace. */
  readonly clusterId: string;
  readonly targets: readonly MigrationTarget[];
}

/** One idempotent step. */
export interface Step {
  readonly title: string;
  readonly run: (migration: Migration) => Promise<void>;
}

/** A (Cluster)Target of this cluster. */
export interface NamedTarget {
  readonly ref: TargetRef;
  readonly object: ClusterTarget | Target;
}

/** All targets of a cluster; none when the kinds are not served. */
export async function targetsOf(client: ClusterClient, signal: AbortSignal): Promise<readonly NamedTarget[]> {
  const [clusterTargets, targets] =
    await Promise.all([listIfServed(client, CLUSTER_TARGETS, signal), listIfServed(client, TARGETS, signal)]);
  return [...clusterTargets, ...targets].map((object) => ({ object, ref: targetRefOf(object.metadata) }));
}

/** A target for the steps. */
export function migrationTarget(ref: TargetRef, client: ClusterClient, isAdmiraltyThere: boolean): MigrationTarget {
  return { ref, key: targetKey(ref), nodeName: virtualNodeName(ref), client, isAdmiraltyThere };
}

/**
 * Waits for a condition, with progress.
 * @throws AppError `Timeout` that says what did not happen and that the command can be repeated.
 */
export async function untilSo(what: string, look: () => Promise<boolean>, { tell, signal }: Progress): Promise<void> {
  let reportedAt = performance.now();
  const found = await pollUntil(async () => {
    if (await look()) return true;
    if (performance.now() - reportedAt > PROGRESS_INTERVAL_MS) {
      reportedAt = performance.now();
      tell(`  waiting until ${what}`);
    }
    return undefined;
  }, { forMs: TIMEOUT_MS, everyMs: POLL_INTERVAL_MS }, signal);
  if (found === undefined) throw new AppError(
    'Timeout',
    `Not seen within ${TIMEOUT_MS / 1_000} s: ${what}. Nothing is lost; run the same command again, or "isthmus ` +
      'migrate rollback".',
  );
}

/** The record for components: why they stand by, and why no pods are sent to our webhook. Without both they may act. */
export interface MigrationRecord {
  readonly standby?: string;
  readonly webhook?: string;
}

/** Writes the record that all components of this cluster follow. */
export async function writeRecord(
  { client, installNamespace, signal }: Pick<Migration, 'client' | 'installNamespace' | 'signal'>,
  { standby, webhook }: MigrationRecord,
): Promise<void> {
  const data = {
    ...(standby !== undefined && { [MIGRATION_STANDBY_KEY]: standby }),
    ...(webhook !== undefined && { [MIGRATION_WEBHOOK_KEY]: webhook }),
  };
  const record: KubernetesObject & { readonly data: object } = {
    apiVersion: 'v1', kind: 'ConfigMap',
    metadata: { namespace: installNamespace, name: MIGRATION_CONFIG_MAP, labels: PART_OF }, data,
  };
  await client.apply(CONFIG_MAPS, record, MIGRATION_FIELD_MANAGER, signal);
}
