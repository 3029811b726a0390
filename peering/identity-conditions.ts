// What people are told of a source's identity: conditions of its (Cluster)Source after KEP-1623.
import type { Condition } from '../api/core.ts';
import { setCondition } from '../model/conditions.ts';
import type { SourceIdentity } from './source-identity.ts';

/** What became of an identity. */
export type IdentityOutcome =
  | { readonly kind: 'established' }
  /** Neither a user nor an account is named. */
  | { readonly kind: 'nobody' }
  /** The API server refused a part of it. */
  | { readonly kind: 'failed'; readonly error: { readonly status: number; readonly reason: string; readonly message: string } };

/** The conditions before, and what the new ones are about. */
export interface Observed {
  readonly conditions: readonly Condition[];
  /** The (Cluster)Source's `metadata.generation`. */
  readonly generation: number;
  /** RFC 3339. */
  readonly now: string;
}

type Told = Pick<Condition, 'status' | 'reason' | 'message'>;

/** The conditions with `Ready` and `Guarded` as they are now; the very list that was given when nothing changed. */
export function identityConditions(identity: SourceIdentity, outcome: IdentityOutcome, { conditions, generation, now }: Observed): readonly Condition[] {
  const told = { Ready: readiness(identity, outcome), Guarded: guard(identity) };
  return Object.entries(told).reduce<readonly Condition[]>(
    (list, [type, condition]) => setCondition(list, { type, ...condition, observedGeneration: generation }, now),
    conditions,
  );
}

function readiness(identity: SourceIdentity, outcome: IdentityOutcome): Told {
  if (outcome.kind === 'established') return { status: 'True', reason: 'Established', message: `${holdersOf(identity)} may send pods.` };
  if (outcome.kind === 'nobody') {
    const field = identity.namespace === undefined ? 'spec.serviceAccount' : 'spec.serviceAccountName';
    return { status: 'False', reason: 'NoIdentity', message: `Set ${field} or spec.userName: nobody is named yet.` };
  }
  const { status, reason, message } = outcome.error;
  const { account } = identity;
  if (status === 404 && account !== undefined) {
    return { status: 'False', reason: 'NamespaceMissing', message: `Create namespace ${account.namespace}, or name an account of another one: ${message}` };
  }
  return { status: 'False', reason: reason === '' ? 'ApplyFailed' : reason, message };
}

function guard({ clusterId }: SourceIdentity): Told {
  if (clusterId !== undefined) return { status: 'True', reason: 'PolicyInPlace', message: `Only pods of cluster ${clusterId} may be written.` };
  return {
    status: 'False',
    reason: 'ClusterUnknown',
    message: "Set spec.clusterID to the UID of the source's kube-system namespace: until then nothing keeps this source from pods of other sources.",
  };
}

function holdersOf({ account, userName }: SourceIdentity): string {
  const holders = [account && `ServiceAccount ${account.namespace}/${account.name}`, userName !== undefined && `user ${userName}`];
  return holders.filter((holder) => typeof holder === 'string').join(' and ');
}
