// A copy that its source cannot read, as its target reports it: compared by versions, because the report has no
// contents.
import type { SecretCopySpec } from '../../api/kinds/secret-copy.ts';
import type { CopyObject, SourceObject } from './follow-plan.ts';

/** The last write, until a report is newer. */
export interface LastWrite {
  readonly uid: string;
  readonly parentUid: string;
  readonly parentVersion: string;
}

type KnownSource = SourceObject | undefined | 'unknown';

/**
 * A reported copy. It has the digest of its source if it was made from this version and was not changed since.
 */
export function unreadableCopy(
  key: string, { secretUID: uid, secretVersion, parentUID: parentUid, parentVersion, intact }: SecretCopySpec,
  source: KnownSource,
): CopyObject {
  const isCurrent = intact && typeof source === 'object' && source.resourceVersion === parentVersion;
  return { key, uid, parentUid, digest: isCurrent ? source.digest : versionDigest(secretVersion) };
}

/** A written copy, while no report is newer. */
export function writtenCopy(
  key: string, { uid, parentUid, parentVersion }: LastWrite, source: KnownSource,
): CopyObject {
  const isCurrent = typeof source === 'object' && source.resourceVersion === parentVersion;
  return { key, uid, parentUid, digest: isCurrent ? source.digest : 'of an older version' };
}

/** Stands in for the digest of a copy that differs from what its source wrote: it changes with every version. */
export function versionDigest(resourceVersion: string): string {
  return `version ${resourceVersion}`;
}
