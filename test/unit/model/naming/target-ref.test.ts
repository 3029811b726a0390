import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parseTargetKey, targetKey, type TargetRef } from '../../../../model/naming/target-ref.ts';

describe('targetKey', () => {
  it('names a ClusterTarget', () => assert.equal(targetKey({ kind: 'ClusterTarget', name: 'c2' }), 'ClusterTarget/c2'));
  it('names a Target with its namespace', () => {
    assert.equal(targetKey({ kind: 'Target', namespace: 'team-a', name: 'c2' }), 'Target/team-a/c2');
  });
});

describe('parseTargetKey', () => {
  const refused: Record<string, string> = {
    'refuses the empty text': '',
    'refuses a kind alone': 'ClusterTarget',
    'refuses an empty name': 'ClusterTarget/',
    'refuses a Target without a name': 'Target/team-a',
    'refuses an empty namespace': 'Target//c2',
    'refuses a ClusterTarget with a namespace': 'ClusterTarget/team-a/c2',
    'refuses too many parts': 'Target/team-a/c2/x',
    'refuses an unknown kind': 'Node/c2',
    'refuses a kind in lower case': 'clustertarget/c2',
  };
  for (const [sentence, text] of Object.entries(refused)) {
    it(sentence, () => assert.equal(parseTargetKey(text), undefined));
  }

  it('reads back every reference', () => {
    const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);
    const target: fc.Arbitrary<TargetRef> = fc.oneof(
      fc.record({ kind: fc.constant('ClusterTarget' as const), name }, { noNullPrototype: true }),
      fc.record({ kind: fc.constant('Target' as const), namespace: name, name }, { noNullPrototype: true }),
    );
    fc.assert(fc.property(target, (of) => assert.deepEqual(parseTargetKey(targetKey(of)), of)));
  });
});
