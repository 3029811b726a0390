// The state of the live clusters as plain data, for a plan.
import type { NamespaceElectionSpec } from '../../api/kinds/namespace-election.ts';
import { NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE } from '../../api/objects/keys.ts';
import { NAMESPACE_ELECTIONS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { recordTarget } from '../../scheduler/explain/recorded-inputs.ts';
import type { Election } from '../../webhook/admission/namespace-election.ts';
import type { LiveState } from '../placement/live-state.ts';
import type { RecordedState } from './plan-simulation.ts';

/** Records it. Throws what reading the elections of namespaces throws. */
export async function recordLive(live: LiveState, signal: AbortSignal): Promise<RecordedState> {
  const { targets, context, inFlight } = live;
  const elections = await electionsOf(live, signal);
  return {
    targets: targets.map(recordTarget),
    policies: context.policies,
    placed: [...context.placed.classes()],
    ...(inFlight.length > 0 && { inFlight }),
    ...(context.weights && { weights: context.weights }),
    ...(context.location && { location: context.location }),
    ...(elections.size > 0 && { elections }),
  };
}

/** Of the namespaces whose label elects all of their pods. */
async function electionsOf(
  { cluster: { client }, context, sessions }: LiveState, signal: AbortSignal,
): Promise<ReadonlyMap<string, Election>> {
  const electing = [...context.policies.namespaces]
    .filter(([, labels]) => labels[NAMESPACE_ELECT_LABEL] === NAMESPACE_ELECT_VALUE)
    .map(([name]) => name);
  if (electing.length === 0) return new Map();
  const found = (await client.list(NAMESPACE_ELECTIONS, {}, signal).catch(unless(isNotFound))) ?? [];
  const specs =
    new Map<string | undefined, NamespaceElectionSpec>(found.map(({ metadata, spec }) => [metadata.namespace, spec]));
  const selfTargets = [...sessions.all()].filter(({ isSelf, ref }) => isSelf && ref.kind === 'ClusterTarget')
    .map(({ ref }) => ref.name);
  return new Map(electing.map((namespace) => [namespace, { spec: specs.get(namespace) ?? {}, selfTargets }]));
}
