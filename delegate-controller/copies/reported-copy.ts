// A copy that its source cannot read, as its target reports it: compared with the source by versions, for what it says is not told.
import type { SecretCopySpec } from '../../api/kinds/secret-copy.ts';
import type { CopyObject, SourceObject } from './follow-plan.ts';

/** What was last written, until a report says more. */
export interface LastWrite {
  readonly uid: string;
  readonly parentUid: string;
  readonly parentVersion: string;
}

type KnownSource = SourceObject | undefined | 'unknown';

/** A copy as it was reported: it has the digest of its source where it was made of this version of it and nobody has changed it since. */
export function reportedCopy(key: string, { secretUID: uid, secretVersion, parentUID: parentUid, parentVersion, intact }: SecretCopySpec, source: KnownSource): CopyObject {
  const isCurrent = intact && typeof source === 'object' && source.resourceVersion === parentVersion;
  return { key, uid, parentUid, digest: isCurrent ? source.digest : versionDigest(secretVersion) };
}

/** A copy as it was written, as long as no report is newer. */
export function writtenCopy(key: string, { uid, parentUid, parentVersion }: LastWrite, source: KnownSource): CopyObject {
  const isCurrent = typeof source === 'object' && source.resourceVersion === parentVersion;
  return { key, uid, parentUid, digest: isCurrent ? source.digest : 'of an older version' };
}

/** Stands for the digest of a copy that is not what its source wrote: it changes whenever the copy does. */
export function versionDigest(resourceVersion: string): string {
  return `version ${resourceVersion}`;
}
