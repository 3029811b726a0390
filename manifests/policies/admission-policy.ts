// A ValidatingAdmissionPolicy with its binding (`admissionregistration.k8s.io/v1`), as all policies of Isthmus are.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  apiVersionOf, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../api/resource-types.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';

/** A CEL expression that must be true, and what is said when it is not. */
export interface Validation {
  readonly expression: string;
  readonly message: string;
  readonly reason: 'Forbidden';
}

/** A named CEL expression. */
export interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

/** The requests that a binding applies a policy to, of those that the policy is about. */
export interface PartialBinding {
  /** Follows the policy's name in the binding's; empty for the policy's own name. */
  readonly suffix: string;
  /** `admissionregistration.k8s.io/v1` MatchResources. */
  readonly matchResources: object;
}

/** What a policy is about, and what it does. */
interface PolicySpec {
  readonly resourceRules: readonly object[];
  /** Namespaces of the objects that it is about; all when missing. */
  readonly namespaceSelector?: object;
  readonly matchConditions: readonly NamedExpression[];
  readonly variables?: readonly NamedExpression[];
  readonly validations: readonly object[];
  /** A policy that only warns does nothing where it fails. */
  readonly action?: 'Deny' | 'Warn';
  /** One binding of all requests when missing. */
  readonly bindings?: readonly PartialBinding[];
}

/** A validation that answers 403. */
export function validation(expression: string, message: string): Validation {
  return { expression, message, reason: 'Forbidden' };
}

/**
 * CEL: whether one of these validations does not hold. In a match condition it spares the API server most of what a
 * policy costs where all hold: match conditions convert the object once, and validations, messages and audit
 * annotations once more each, even where there are none. What cannot be evaluated there is decided by the failurePolicy
 * as well. Neither `variables` nor `namespaceObject` can be used there.
 */
export function breaksOneOf(validations: readonly { readonly expression: string }[]): string {
  return `!(${validations.map(({ expression }) => `(${expression})`).join(' && ')})`;
}

/** The policy and its binding, both of that name; or its bindings, whose names begin with it. */
export function admissionPolicy(
  name: string, { action = 'Deny', bindings, ...about }: PolicySpec,
): readonly KubernetesObject[] {
  const { resourceRules, namespaceSelector, matchConditions, variables, validations } = about;
  const matchConstraints = { resourceRules, ...(namespaceSelector && { namespaceSelector }) };
  const metadata = { name, labels: PART_OF };
  const failurePolicy = action === 'Deny' ? 'Fail' : 'Ignore';
  const policy = {
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICIES), kind: VALIDATING_ADMISSION_POLICIES.kind, metadata,
    spec: {
      failurePolicy, matchConstraints, matchConditions, ...(variables && { variables }), validations,
    },
  };
  const binding = ({ suffix, ...requests }: Partial<PartialBinding> = {}) => ({
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICY_BINDINGS), kind: VALIDATING_ADMISSION_POLICY_BINDINGS.kind,
    metadata: { ...metadata, name: `${name}${suffix ?? ''}` },
    spec: { policyName: name, validationActions: [action], ...requests },
  });
  return [policy, ...(bindings === undefined ? [binding()] : bindings.map(binding))];
}
