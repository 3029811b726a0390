// The namespace of keys that Isthmus makes for itself. In the install namespace the components that use targets read
// all Secrets, since administrators put kubeconfigs there by hand; here only the owner of a key reads it.

/** Suffix of the name. */
const SUFFIX = '-keys';
/** Longest name of an install namespace, in characters, so that the name with the suffix is valid. */
export const MAX_INSTALL_NAMESPACE = 63 - SUFFIX.length;
/** What to do where the namespace, or the right to read a key in it, is missing: an older version was installed. */
export const KEY_NAMESPACE_REMEDY = 'run "isthmus install" again, or upgrade the chart';

/** Name of the namespace of keys. */
export function keyNamespace(installNamespace: string): string {
  return `${installNamespace}${SUFFIX}`;
}
