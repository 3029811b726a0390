// Who may use the kubelet API of virtual nodes: whoever the source's API server lets do the same with that very pod, or with the node it is on.
// The API server asks for its users after it has authorised them itself, so what it is asked about here is its own certificate.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { TokenReview } from '../../api/resource-types.ts';
import type { NodeRequest, PodRequest } from './kubelet-request.ts';

/** Who asks, as the source's API server knows users (`authentication.k8s.io/v1` UserInfo). */
export interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What is asked for (`authorization.k8s.io/v1` ResourceAttributes). */
export interface ResourceAttributes {
  readonly verb: 'get' | 'create';
  readonly resource: 'pods' | 'nodes';
  readonly subresource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** A certificate's subject as Node reads it: a value that comes several times is a list. */
export interface CertificateSubject {
  readonly CN?: string | readonly string[];
  readonly O?: string | readonly string[];
}

/** The user that a client certificate names (Kubernetes "X509 client certificates"); undefined when it names none, or several. */
export function callerOf({ CN, O = [] }: CertificateSubject): Caller | undefined {
  if (typeof CN !== 'string' || CN === '') return undefined;
  return { user: CN, groups: [...(typeof O === 'string' ? [O] : O), 'system:authenticated'] };
}

/** The user that a TokenReview names; undefined when it names none. */
export function callerOfReview({ username = '', groups = [], uid, extra }: NonNullable<TokenReview['status']>['user'] = {}): Caller | undefined {
  if (username === '') return undefined;
  return { user: username, groups, ...(uid !== undefined && { uid }), ...(extra !== undefined && { extra }) };
}

/**
 * What a caller must be allowed, one of them: the operation on the pod itself, or what kubelets ask for ("Kubelet authorization"), since clusters
 * give their API server the role `system:kubelet-api-admin`, which knows nodes only.
 */
export function requiredAccess(request: PodRequest | NodeRequest, node: string | undefined): readonly ResourceAttributes[] {
  const onNode = node === undefined ? {} : { name: node };
  if (request.kind === 'node') {
    const subresource = request.page === 'pods' ? 'proxy' : request.page;
    return [{ verb: 'get', resource: 'nodes', subresource, ...onNode }];
  }
  const { operation, namespace, name } = request;
  const verb = operation === 'log' ? 'get' : 'create';
  return [
    { verb, resource: 'pods', subresource: operation, namespace, name },
    ...(node === undefined ? [] : [{ verb, resource: 'nodes', subresource: 'proxy', ...onNode } as const]),
  ];
}

/** The question to the API server (`authorization.k8s.io/v1` SubjectAccessReview). */
export function toAccessReview({ user, groups, uid, extra }: Caller, resourceAttributes: ResourceAttributes): KubernetesObject & { readonly spec: object } {
  return { metadata: {}, spec: { user, groups, ...(uid !== undefined && { uid }), ...(extra !== undefined && { extra }), resourceAttributes } };
}
