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
interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

/** What a policy is about, and what it does. */
interface PolicySpec {
  readonly resourceRules: readonly object[];
  readonly matchConditions: readonly NamedExpression[];
  readonly variables?: readonly NamedExpression[];
  readonly validations: readonly object[];
  /** A policy that only warns does nothing where it fails. */
  readonly action?: 'Deny' | 'Warn';
}

/** A validation that answers 403. */
export function validation(expression: string, message: string): Validation {
  return { expression, message, reason: 'Forbidden' };
}

/** The policy and its binding, both of that name. */
export function admissionPolicy(
  name: string, { resourceRules, matchConditions, variables, validations, action = 'Deny' }: PolicySpec,
): readonly KubernetesObject[] {
  const metadata = { name, labels: PART_OF };
  const failurePolicy = action === 'Deny' ? 'Fail' : 'Ignore';
  const policy = {
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICIES), kind: VALIDATING_ADMISSION_POLICIES.kind, metadata,
    spec: {
      failurePolicy, matchConstraints: { resourceRules }, matchConditions, ...(variables && { variables }), validations,
    },
  };
  const binding = {
    apiVersion: apiVersionOf(VALIDATING_ADMISSION_POLICY_BINDINGS), kind: VALIDATING_ADMISSION_POLICY_BINDINGS.kind,
    metadata, spec: { policyName: name, validationActions: [action] },
  };
  return [policy, binding];
}
