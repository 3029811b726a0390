import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { targetKey } from '../../../../model/naming/target-ref.ts';

describe('targetKey', () => {
  it('names a ClusterTarget', () => assert.equal(targetKey({ kind: 'ClusterTarget', name: 'c2' }), 'ClusterTarget/c2'));
  it('names a Target with its namespace', () => {
    assert.equal(targetKey({ kind: 'Target', namespace: 'team-a', name: 'c2' }), 'Target/team-a/c2');
  });
});
