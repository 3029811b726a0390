import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SecretCopySpec } from '../../../../api/kinds/secret-copy.ts';
import type { SourceObject } from '../../../../delegate-controller/copies/follow-plan.ts';
import { unreadableCopy, versionDigest, writtenCopy } from '../../../../delegate-controller/copies/unreadable-copy.ts';

const source: SourceObject = {
  key: 'a/x', uid: 'p', resourceVersion: '5', digest: 'd', selector: {}, refersTo: [], rejection: undefined,
  markings: ['rewritten'],
};
const report: SecretCopySpec = { secretUID: 's', secretVersion: '7', parentUID: 'p', parentVersion: '5', intact: true };

describe('a copy as it was reported', () => {
  const cases: Record<
    string, readonly [report: Partial<SecretCopySpec>, source: SourceObject | undefined | 'unknown', digest: string]
  > = {
    'is what its source says, while nobody has changed either': [{}, source, 'd'],
    'is another once its source has changed': [{}, { ...source, resourceVersion: '6' }, 'version 7'],
    'is another once somebody has changed it': [{ intact: false }, source, 'version 7'],
    'is another for each change': [{ intact: false, secretVersion: '8' }, source, 'version 8'],
    'is there also when its source is gone': [{}, undefined, 'version 7'],
    'is there also when its source is not known': [{}, 'unknown', 'version 7'],
  };
  for (const [what, [change, of, digest]] of Object.entries(cases)) {
    it(what, () => assert.deepEqual(
      unreadableCopy('a/x', { ...report, ...change }, of), { key: 'a/x', uid: 's', parentUid: 'p', digest },
    ));
  }
});

describe('a copy as it was written', () => {
  const written = { uid: 's', parentUid: 'p', parentVersion: '5' };
  it('is what its source said then', () => assert.equal(writtenCopy('a/x', written, source).digest, 'd'));
  it('is another once its source has changed', () => assert.notEqual(
    writtenCopy('a/x', written, { ...source, resourceVersion: '6' }).digest, 'd',
  ));
  it('is never taken for what a target made of a write', () => assert.notEqual(
    writtenCopy('a/x', written, undefined).digest, versionDigest('5'),
  ));
});
