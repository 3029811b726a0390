// Conditions of a (Cluster)Source, which report the state of its identity as proposed in KEP-1623.
import type { AllowedToSource, SourceStatus } from '../../api/kinds/cluster-source.ts';
import type { Condition } from '../../api/objects/core.ts';
import { withConditions, type Observation } from '../../model/objects/conditions.ts';
import { namespacesText } from '../../model/access/source-grants.ts';
import type { SourceIdentity } from './source-identity.ts';

/** The outcome of a reconcile. */
export type IdentityOutcome =
  | { readonly kind: 'established' }
  /** Names neither a user nor an account. */
  | { readonly kind: 'nobody' }
  /** The API server rejected one of its objects. */
  | {
    readonly kind: 'failed';
    readonly error: { readonly status: number; readonly reason: string; readonly message: string }
  };

type ConditionText = Pick<Condition, 'status' | 'reason' | 'message'>;

/** Observed state of an identity. */
export interface KnownIdentity {
  readonly identity: SourceIdentity;
  readonly outcome: IdentityOutcome;
  readonly allows: AllowedToSource;
}

/** The current status; `before` itself when nothing changed. */
export function identityStatus(
  before: SourceStatus, { identity, outcome, allows }: KnownIdentity, observation: Observation,
): SourceStatus {
  const next = withConditions(
    before, [{ type: 'Ready', ...readiness(identity, outcome) }, { type: 'Guarded', ...guard(identity) }], observation,
  );
  return outcome.kind !== 'established' || isSame(next.allows, allows) ? next : { ...next, allows };
}

/** What a source may actually do; `allowed` are the namespaces that accept its pods, when not all do. */
export function allowedToSource(
  { namespace, grants = {} }: SourceIdentity, installNamespace: string, allowed: readonly string[],
): AllowedToSource {
  const { podSecurity = 'privileged', streams = 'OwnDelegates' } = grants;
  return { namespaces: namespace ?? namespacesText({ grants, installNamespace }, allowed), podSecurity, streams };
}

function readiness(identity: SourceIdentity, outcome: IdentityOutcome): ConditionText {
  if (outcome.kind === 'established') {
    return { status: 'True', reason: 'Established', message: `${holdersOf(identity)} may send pods.` };
  }
  if (outcome.kind === 'nobody') {
    const field = identity.namespace === undefined ? 'spec.serviceAccount' : 'spec.serviceAccountName';
    const message = `Set ${field} or spec.userName: the object names no identity yet.`;
    return { status: 'False', reason: 'NoIdentity', message };
  }
  const { status, reason, message } = outcome.error;
  const { account } = identity;
  if (status === 404 && account !== undefined) {
    return {
      status: 'False', reason: 'NamespaceMissing',
      message: `Create namespace ${account.namespace}, or name an account of another one: ${message}`,
    };
  }
  return { status: 'False', reason: reason === '' ? 'ApplyFailed' : reason, message };
}

function guard({ clusterId }: SourceIdentity): ConditionText {
  if (clusterId !== undefined) {
    return { status: 'True', reason: 'PolicyInPlace', message: `Only pods of cluster ${clusterId} may be written.` };
  }
  return {
    status: 'False',
    reason: 'ClusterUnknown',
    message:
      "Set spec.clusterID to the UID of the source's kube-system namespace: until then nothing keeps this source " +
        "from pods of other sources.",
  };
}

function holdersOf({ account, userName }: SourceIdentity): string {
  const holders =
    [account && `ServiceAccount ${account.namespace}/${account.name}`, userName !== undefined && `user ${userName}`];
  return holders.filter((holder) => typeof holder === 'string').join(' and ');
}

function isSame(before: AllowedToSource | undefined, { namespaces, podSecurity, streams }: AllowedToSource): boolean {
  return before?.namespaces === namespaces && before.podSecurity === podSecurity && before.streams === streams;
}
