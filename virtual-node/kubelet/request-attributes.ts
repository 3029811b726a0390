// Authorization for the kubelet API of virtual nodes: a caller needs the same permission at the source's API server, on
// that pod or on its node. For users' requests the caller is the API server itself, which has authorized the user
// before.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { TokenReview } from '../../api/resource-types.ts';
import type { NodeRequest, PodRequest } from './kubelet-request.ts';

/** A caller (`authentication.k8s.io/v1` UserInfo). */
export interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A requested right (`authorization.k8s.io/v1` ResourceAttributes). */
export interface ResourceAttributes {
  readonly verb: 'get' | 'create';
  readonly resource: 'pods' | 'nodes';
  readonly subresource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** A certificate's subject as Node parses it: a repeated attribute is a list. */
export interface CertificateSubject {
  readonly CN?: string | readonly string[];
  readonly O?: string | readonly string[];
}

/**
 * The user of a client certificate (Kubernetes "X509 client certificates"); undefined when it names none, or several.
 */
export function callerOf({ CN, O = [] }: CertificateSubject): Caller | undefined {
  if (typeof CN !== 'string' || CN === '') return undefined;
  return { user: CN, groups: [...(typeof O === 'string' ? [O] : O), 'system:authenticated'] };
}

/** The user of a TokenReview; undefined when it names none. */
export function callerOfReview(
  { username = '', groups = [], uid, extra }: NonNullable<TokenReview['status']>['user'] = {},
): Caller | undefined {
  if (username === '') return undefined;
  return { user: username, groups, ...(uid !== undefined && { uid }), ...(extra !== undefined && { extra }) };
}

/**
 * The permissions of which a caller needs one: the operation on the pod itself, or what kubelets check ("Kubelet
 * authorization"), because clusters grant their API server the role `system:kubelet-api-admin`, which only covers
 * nodes.
 */
export function requiredAccess(
  request: PodRequest | NodeRequest, node: string | undefined,
): readonly ResourceAttributes[] {
  const onNode = node === undefined ? {} : { name: node };
  if (request.kind === 'node') {
    const right = (subresource: string) => ({ verb: 'get', resource: 'nodes', subresource, ...onNode }) as const;
    // KEP-2862: first by the page's own name
    return request.page === 'pods' ? [right('pods'), right('proxy')] : [right(request.page)];
  }
  const { operation, namespace, name } = request;
  const verb = operation === 'log' ? 'get' : 'create';
  return [
    { verb, resource: 'pods', subresource: operation, namespace, name },
    ...(node === undefined ? [] : [{ verb, resource: 'nodes', subresource: 'proxy', ...onNode } as const]),
  ];
}

/** The SubjectAccessReview for a permission (`authorization.k8s.io/v1`). */
export function toAccessReview(
  { user, groups, uid, extra }: Caller, resourceAttributes: ResourceAttributes,
): KubernetesObject & { readonly spec: object } {
  return {
    metadata: {},
    spec:
      { user, groups, ...(uid !== undefined && { uid }), ...(extra !== undefined && { extra }), resourceAttributes },
  };
}
