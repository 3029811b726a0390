// The namespaces beside the install namespace. There the components that use targets read all Secrets, since
// administrators put kubeconfigs there by hand. In the namespace of keys only the owner of a key reads it, and in that
// of discovered targets discovery writes kubeconfigs, and could not replace anybody's key.

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
