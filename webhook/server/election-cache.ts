// How namespaces elect their pods. Cached; on a miss the API server is queried, because a NamespaceElection may have
// been created in the same request batch as the pod.
import type { Logger } from 'pino';
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import {
  NAMESPACE_ELECTION_NAME, type NamespaceElection, type NamespaceElectionSpec,
} from '../../api/kinds/namespace-election.ts';
import { CLUSTER_TARGETS, NAMESPACE_ELECTIONS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { InFlightLimiter } from '../../kubernetes/http/in-flight-limiter.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import type { Election } from '../admission/namespace-election.ts';

/** Timeout of such a query in ms: the API server allows the webhook five seconds. */
const ASK_MS = 3_000;

/** Concurrent queries, one per pod; more are queued, since Lease renewals use the same connections. */
const ASKED_AT_ONCE = 16;

const NEVER = new AbortController().signal;

/** Returns the election of a namespace. Rejects when the API server cannot be queried. */
export type ElectionOf = (namespace: string) => Promise<Election>;

/** Watches elections until the signal aborts. */
export function followElections(
  { client, logger }: { readonly client: ClusterClient; readonly logger: Logger }, signal: AbortSignal,
): ElectionOf {
  const elections = new Informer<NamespaceElection, NamespaceElectionSpec>({
    client, logger, type: NAMESPACE_ELECTIONS,
    selection: { fieldSelector: `metadata.name=${NAMESPACE_ELECTION_NAME}` }, project: ({ spec }) => spec,
  });
  const selfTargets = new Informer<ClusterTarget, string>({
    client, logger, type: CLUSTER_TARGETS,
    selection: {}, project: ({ metadata, spec }) => (spec.self === true ? metadata.name : undefined),
  });
  void elections.run(signal);
  void selfTargets.run(signal);
  const limiter = new InFlightLimiter(ASKED_AT_ONCE);
  const specOf = async (namespace: string): Promise<NamespaceElectionSpec> => {
    const known = elections.get(`${namespace}/${NAMESPACE_ELECTION_NAME}`);
    if (known !== undefined) return known;
    // Without the signal: a stopping webhook still answers for a while.
    await limiter.acquire(namespace, NEVER);
    const found = await client.withoutRateLimit(ASK_MS)
      .get<NamespaceElection>(NAMESPACE_ELECTIONS, { namespace, name: NAMESPACE_ELECTION_NAME })
      .catch(unless(isNotFound))
      .finally(() => limiter.release());
    return found?.spec ?? {};
  };
  return async (namespace) => ({ spec: await specOf(namespace), selfTargets: [...selfTargets.records()] });
}
