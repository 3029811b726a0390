// How the admission policy of a target (manifests/policies/source-policy.ts) recognizes a source: by RBAC rules that
// have no other effect. They are granted and revoked together with the permissions that the policy limits, so at no
// moment can a source write without being limited.
import { ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { onlyNamed, rule, type PolicyRule } from './rbac-objects.ts';

/** Resource of these rules in group `isthmus.dev`; the API server serves no such kind. */
export const SOURCE_IDENTITIES = 'sourceidentities';
/** Verb in each role of a source: the policy limits anyone who may do it. */
export const CONFINED_VERB = 'confined';
/** Verb that names the cluster of an identity; the resource name is the cluster's ID. */
export const OWN_VERB = 'own';
/** A verb that no role grants. Only administrators with wildcards have it, and the policy does not apply to them. */
export const UNCONFINED_VERB = 'unconfined';
/**
 * Longest lifetime of a token that a source may request for its own account, in s: an admission policy of the target
 * denies longer ones, so a renewal asks for no more.
 */
export const MAX_OWN_TOKEN_SECONDS = 24 * 60 * 60;

/**
 * The rule that identifies a role as a source's, in each of them. It grants nothing: the policy limits any
 * identity that has it.
 */
export const SOURCE_MARKER_RULE: PolicyRule = rule(ISTHMUS_GROUP, [SOURCE_IDENTITIES], [CONFINED_VERB]);

/** The cluster whose objects an identity may write; any, if the cluster is not known. */
export function ownerRule(clusterId: string | undefined): PolicyRule {
  const any = rule(ISTHMUS_GROUP, [SOURCE_IDENTITIES], [OWN_VERB]);
  return clusterId === undefined ? any : onlyNamed(any, [clusterId]);
}
