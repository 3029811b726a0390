// What admission policies say of a request, by the rules of Kubernetes: which policies are about it, whether their
// match conditions hold, and the validations that do not. What cannot be evaluated denies, as `failurePolicy: Fail`.
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { authorizerOf, CelError, evaluate, type AskedPermission, type Scope } from './cel.ts';

/** A request to write an object. */
export interface WriteRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** Plural, with its subresource: `pods/status`. */
  readonly resource: string;
  readonly kind?: string;
  readonly namespace?: string;
  /** Name in the path, as of a token. */
  readonly name?: string;
  readonly user?: string;
  readonly object?: object;
  readonly oldObject?: object;
  readonly namespaceLabels?: Readonly<Record<string, string>>;
  /** Whether somebody has a permission; nobody has any when missing. */
  readonly can?: (asked: AskedPermission) => boolean;
}

interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

interface Policy {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly failurePolicy: 'Fail' | 'Ignore';
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly resources: readonly string[]; readonly operations: readonly string[]
      }[]
    };
    readonly matchConditions: readonly NamedExpression[];
    readonly variables?: readonly NamedExpression[];
    readonly validations: readonly {
      readonly expression: string; readonly message?: string; readonly messageExpression?: string;
    }[];
  };
}

/** What is said of a request; empty where it passes, in one line for each policy that says something. */
export function verdicts(objects: readonly KubernetesObject[], request: WriteRequest): string {
  const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy') as unknown as readonly Policy[];
  return policies.flatMap((policy) => verdict(policy, request)).join('\n');
}

function verdict({ metadata, spec }: Policy, request: WriteRequest): readonly string[] {
  const isAbout = spec.matchConstraints.resourceRules.some(
    ({ resources, operations }) => resources.includes(request.resource) && operations.includes(request.operation),
  );
  if (!isAbout) return [];
  const { failurePolicy, matchConditions, variables = [], validations } = spec;
  const failed = (error: CelError) => (
    failurePolicy === 'Fail' ? [`${metadata.name} cannot be evaluated: ${error.message}`] : []
  );
  const scope = scopeOf(request, variables);
  const conditions = matchConditions.map(({ expression }) => attempt(expression, scope));
  if (conditions.includes(false)) return []; // one that does not hold exempts, whatever the others are
  const broken = conditions.find((condition) => condition instanceof CelError);
  if (broken !== undefined) return failed(broken);
  return validations.flatMap(({ expression, message, messageExpression = '' }) => {
    const holds = attempt(expression, scope);
    if (holds instanceof CelError) return failed(holds);
    return holds === true ? [] : [message ?? String(evaluate(messageExpression, scope))];
  });
}

/** The value of an expression, or why it has none. */
function attempt(expression: string, scope: Scope): unknown {
  try {
    return evaluate(expression, scope);
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
}

function scopeOf(request: WriteRequest, variables: readonly NamedExpression[]): Scope {
  const { operation, object = null, oldObject = null, namespace, name, user = 'jane', kind = '' } = request;
  const [resource = '', subResource] = request.resource.split('/');
  const scope = {
    object, oldObject, authorizer: authorizerOf(request.can ?? (() => false)), variables: {},
    namespaceObject: { metadata: { labels: request.namespaceLabels ?? {} } },
    request: {
      operation, kind: { kind }, resource: { resource }, userInfo: { username: user },
      ...(namespace !== undefined && { namespace }), ...(name !== undefined && { name }),
      ...(subResource !== undefined && { subResource }),
    },
  };
  return variables.reduce((known, variable) => (
    { ...known, variables: { ...known.variables, [variable.name]: evaluate(variable.expression, known) } }
  ), scope);
}
