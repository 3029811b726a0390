// The order of an object's versions. Kubernetes lets clients compare them since KEP-5504, and says how.

/** Compares versions of one collection: decimal numbers without leading zeros that only grow (KEP-5504). */
export function isLater(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}
