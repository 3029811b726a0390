// Detects whether Admiralty runs in a cluster. What RBAC forbids to read is never taken for absent.
import type { Lease } from '../../api/objects/core.ts';
import {
  LEASES, MUTATING_WEBHOOK_CONFIGURATIONS, type MutatingWebhookConfiguration,
} from '../../api/resource-types.ts';
import { ADMIRALTY_LEASES, evidenceOfAdmiralty, type AdmiraltyEvidence } from '../../model/naming/live-admiralty.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';

/** Queries the API server. Throws what its calls throw, also when a read is forbidden. */
export async function detectAdmiralty(client: ClusterClient, signal: AbortSignal): Promise<AdmiraltyEvidence> {
  const [configurations, leases] = await Promise.all([
    readWebhookConfigurations(client, signal), readAdmiraltyLeases(client, ADMIRALTY_LEASES, signal),
  ]);
  return evidenceOfAdmiralty({ configurations, leases }, Date.now());
}

/** All mutating webhook configurations: the name of Admiralty's follows from its release. */
export async function readWebhookConfigurations(
  client: ClusterClient, signal: AbortSignal,
): Promise<readonly MutatingWebhookConfiguration[]> {
  return (await client.list(MUTATING_WEBHOOK_CONFIGURATIONS, {}, signal).catch(unless(isNotFound))) ?? [];
}

/** The Leases of these names in all namespaces, each in a list of its own: an idle cluster has many others. */
export async function readAdmiraltyLeases(
  client: ClusterClient, names: readonly string[], signal: AbortSignal,
): Promise<readonly Lease[]> {
  const lists = await Promise.all(names.map(
    (name) => client.list(LEASES, { fieldSelector: `metadata.name=${name}` }, signal).catch(unless(isNotFound)),
  ));
  return lists.flatMap((list) => list ?? []);
}
