// The two namespaces next to the install namespace. In the install namespace the components that use targets may read
// all Secrets, because administrators put kubeconfigs there by hand. So each component's key is in a namespace where
// only that component reads it. Discovery writes kubeconfigs to another one, where it cannot replace a key.

/** Suffix of the namespace of keys. */
const SUFFIX = '-keys';
/** Suffix of the namespace of discovered targets. */
const TARGETS_SUFFIX = '-targets';
/** Longest name of an install namespace, in characters, so that the names with the suffixes are valid. */
export const MAX_INSTALL_NAMESPACE = 63 - TARGETS_SUFFIX.length;
/**
 * What to do where the namespace, or the permission to read a key in it, is missing: an older version was installed.
 */
export const KEY_NAMESPACE_REMEDY = 'run "isthmus install" again, or upgrade the chart';

/** Name of the namespace of keys. */
export function keyNamespace(installNamespace: string): string {
  return `${installNamespace}${SUFFIX}`;
}

/** Name of the namespace of the kubeconfigs that discovery writes. */
export function discoveredNamespace(installNamespace: string): string {
  return `${installNamespace}${TARGETS_SUFFIX}`;
}
