// Targets of a source that is migrated: their kubeconfig Secrets are wherever Admiralty's users have put them, and
// Isthmus reads only those that roles name.
import { ROLE_BINDINGS, ROLES } from '../../api/resource-types.ts';
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import { readingManifests } from '../../peering/access/target-access.ts';
import { lookFor } from '../clusters/apply-objects.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import { MIGRATION_FIELD_MANAGER, targetsOf, type Migration, type NamedTarget } from './migration.ts';

/** How long targets are waited for, in ms: their first connection takes a few seconds. */
const PATIENCE = { forMs: 60_000, everyMs: 500 };

/** Lets the components of Isthmus read the one Secret of each target, where it is not in the install namespace. */
export async function lendKubeconfigs(migration: Migration): Promise<void> {
  const { client, installNamespace, signal, tell } = migration;
  for (const { object } of await targetsOf(client, signal)) {
    const secret = secretOf(object, installNamespace);
    if (secret === undefined || secret.namespace === installNamespace) continue;
    for (const manifest of readingManifests(secret, installNamespace)) {
      await client.apply(manifest.kind === 'Role' ? ROLES : ROLE_BINDINGS, manifest, MIGRATION_FIELD_MANAGER, signal);
    }
    tell(`  Secret ${secret.namespace}/${secret.name}`);
  }
}

/** Where a target's kubeconfig is; undefined for the cluster itself. */
export function secretOf({ metadata, spec }: ClusterTarget | Target, installNamespace: string): {
  readonly namespace: string; readonly name: string
} | undefined {
  const { kubeconfigSecret } = spec;
  if (kubeconfigSecret === undefined) return undefined;
  const { name, namespace } = kubeconfigSecret as { readonly name: string; readonly namespace?: string };
  return { name, namespace: metadata.namespace ?? namespace ?? installNamespace };
}

/**
 * Waits until Isthmus can use every target, and says what keeps it from those that it cannot: their pods keep running,
 * without status updates.
 */
export async function tellUnready(migration: Migration): Promise<void> {
  const { client, signal, tell } = migration;
  const unready = async (): Promise<readonly NamedTarget[]> =>
    (await targetsOf(client, signal)).filter(({ object }) => readyOf(object)?.status !== 'True');
  await lookFor(async () => ((await unready()).length === 0 ? true : undefined), PATIENCE, signal);
  for (const { ref, object } of await unready()) {
    const { reason = 'Unknown', message = 'it has no status yet' } = readyOf(object) ?? {};
    tell(`  ${targetText(ref)} is not Ready: ${reason}: ${message}`);
  }
}

function readyOf({ status }: ClusterTarget | Target) {
  return status?.conditions?.find(({ type }) => type === 'Ready');
}
