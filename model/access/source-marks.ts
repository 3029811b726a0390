// How the admission policy of a target (manifests/objects/source-policy.ts) recognizes a source: by rights of RBAC that mean nothing else. They come and go with
// the very rights that the policy limits, so there is no moment at which a source may write and is not limited.
import { ISTHMUS_GROUP } from '../../api/objects/group-version.ts';
import { onlyNamed, rule, type PolicyRule } from './rbac-objects.ts';

/** Resource of the marks in group `isthmus.dev`; the API server serves no such kind. */
export const SOURCE_IDENTITIES = 'sourceidentities';
/** Verb of the mark that each role of a source carries: who may do it is limited by the policy. */
export const CONFINED_VERB = 'confined';
/** Verb of the mark that says which cluster an identity belongs to; the name is the cluster's ID. */
export const OWN_VERB = 'own';
/** A verb that no role gives. Only administrators with wildcards have it, and the policy is not about them. */
export const UNCONFINED_VERB = 'unconfined';

/** The rule that makes a role one of a source. */
export const CONFINED_RULE: PolicyRule = rule(ISTHMUS_GROUP, [SOURCE_IDENTITIES], [CONFINED_VERB]);

/** Whose objects an identity may write: those of one cluster, or those of any where the cluster is not known. */
export function ownerRule(clusterId: string | undefined): PolicyRule {
  const any = rule(ISTHMUS_GROUP, [SOURCE_IDENTITIES], [OWN_VERB]);
  return clusterId === undefined ? any : onlyNamed(any, [clusterId]);
}
