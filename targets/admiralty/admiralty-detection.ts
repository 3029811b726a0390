// Detects whether Admiralty runs in a cluster. What RBAC forbids to read counts as absent.
import type { Lease } from '../../api/objects/core.ts';
import { LEASES, MUTATING_WEBHOOK_CONFIGURATIONS } from '../../api/resource-types.ts';
import { ADMIRALTY_LEASES, evidenceOfAdmiralty, type AdmiraltyEvidence } from '../../model/naming/live-admiralty.ts';
import { isForbidden, isNotFound } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';

/** Queries the API server. Throws what its calls throw, except when forbidden. */
export async function detectAdmiralty(client: ClusterClient, signal: AbortSignal): Promise<AdmiraltyEvidence> {
  const [configurations, leases] = await Promise.all([
    client.list(MUTATING_WEBHOOK_CONFIGURATIONS, {}, signal).catch(orNone),
    readAdmiraltyLeases(client, ADMIRALTY_LEASES, signal),
  ]);
  return evidenceOfAdmiralty({ configurations, leases }, Date.now());
}

/** The Leases of these names in all namespaces, each by a GET: no component needs the right to list Leases. */
export async function readAdmiraltyLeases(
  client: ClusterClient, names: readonly string[], signal: AbortSignal,
): Promise<readonly Lease[]> {
  const lists = await Promise.all(
    names.map((name) => client.list(LEASES, { fieldSelector: `metadata.name=${name}` }, signal).catch(orNone)),
  );
  return lists.flat();
}

function orNone(error: unknown): [] {
  if (isForbidden(error) || isNotFound(error)) return [];
  throw error;
}
