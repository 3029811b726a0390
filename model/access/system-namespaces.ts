// Namespaces that belong to the cluster or to an installation of Isthmus: where no pod is elected, and where no source
// is admitted. As functions for our processes, and as expressions (CEL) for admission policies.
import { discoveredNamespace, keyNamespace } from './key-namespace.ts';

/** The namespace of the cluster itself. The UID of its object identifies the cluster. */
export const CLUSTER_NAMESPACE = 'kube-system';
/** The namespace of the Leases by which Kubernetes detects node failures. */
export const NODE_LEASE_NAMESPACE = 'kube-node-lease';
const PREFIX = 'kube-';

/** Namespaces whose pods are never elected. */
export function neverElectedNamespaces(installNamespace: string): readonly string[] {
  return [...new Set([installNamespace, CLUSTER_NAMESPACE])];
}

/** Namespaces of an installation in a target. */
export function ownNamespaces(installNamespace: string): readonly string[] {
  return [installNamespace, keyNamespace(installNamespace), discoveredNamespace(installNamespace)];
}

/** Whether a namespace never admits a source: it is the cluster's own, or Isthmus'. */
export function isSystemNamespace(name: string, installNamespace: string): boolean {
  return name.startsWith(PREFIX) || ownNamespaces(installNamespace).includes(name);
}

/** The same as CEL: whether the namespace that an expression gives is the cluster's own, or one of `own`. */
export function celIsSystemNamespace(namespace: string, own: readonly string[]): string {
  return `${namespace}.startsWith('${PREFIX}') || ${celIsOneOf(namespace, own)}`;
}

/** CEL: whether an expression gives one of these names. */
export function celIsOneOf(expression: string, names: readonly string[]): string {
  return `${expression} in [${names.map((name) => `'${name}'`).join(', ')}]`;
}
