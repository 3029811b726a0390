// The order of an object's versions, which clients may compare since KEP-5504.

/** Compares versions of one collection: decimal numbers without leading zeros that only increase (KEP-5504). */
export function isLater(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}
