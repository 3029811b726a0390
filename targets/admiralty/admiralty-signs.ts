// Reads whether an Admiralty works in a cluster. What may not be read is no sign.
import type { Lease } from '../../api/objects/core.ts';
import { LEASES, MUTATING_WEBHOOK_CONFIGURATIONS } from '../../api/resource-types.ts';
import { ADMIRALTY_LEASES, signsOfAdmiralty, type AdmiraltySigns } from '../../model/naming/live-admiralty.ts';
import { isForbidden, isNotFound } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';

/** Asks the API server. Throws what its calls throw, but for what is forbidden. */
export async function findAdmiraltyTraces(client: ClusterClient, signal: AbortSignal): Promise<AdmiraltySigns> {
  const [configurations, leases] = await Promise.all([
    client.list(MUTATING_WEBHOOK_CONFIGURATIONS, {}, signal).catch(orNone),
    readAdmiraltyLeases(client, ADMIRALTY_LEASES, signal),
  ]);
  return signsOfAdmiralty({ configurations, leases }, Date.now());
}

/** The Leases of these names in all namespaces: each is asked for by its name, for nobody needs the right to list others. */
export async function readAdmiraltyLeases(client: ClusterClient, names: readonly string[], signal: AbortSignal): Promise<readonly Lease[]> {
  const lists = await Promise.all(names.map((name) => client.list(LEASES, { fieldSelector: `metadata.name=${name}` }, signal).catch(orNone)));
  return lists.flat();
}

function orNone(error: unknown): [] {
  if (isForbidden(error) || isNotFound(error)) return [];
  throw error;
}
