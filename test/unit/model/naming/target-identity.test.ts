import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { identityProblem, type IdentifiedTarget } from '../../../../model/naming/target-identity.ts';

function target(name: string, rest: Partial<IdentifiedTarget> = {}): IdentifiedTarget {
  return { ref: { kind: 'ClusterTarget', name }, clusterId: 'cluster-1', createdAt: 0, isSelf: false, ...rest };
}
const inNamespace = (namespace: string, name: string, rest: Partial<IdentifiedTarget> = {}) =>
  target(name, { ref: { kind: 'Target', namespace, name }, ...rest });
const problem = (one: IdentifiedTarget, others: readonly IdentifiedTarget[] = []) =>
  identityProblem(one, [one, ...others], 'source')?.reason;

describe('the identity of a target', () => {
  it('is fine alone, and beside other clusters', () => {
    assert.equal(problem(target('a')), undefined);
    assert.equal(problem(target('a', { createdAt: 5 }), [target('b', { clusterId: 'cluster-2' })]), undefined);
  });

  it('is rejected when it is the source, unless that is meant', () => {
    assert.equal(problem(target('a', { clusterId: 'source' })), 'LoopToSource');
    assert.equal(problem(target('a', { clusterId: 'source', isSelf: true })), undefined);
  });

  it('is rejected where an older target points to the same cluster, which it names', () => {
    const [old, young] = [target('zebra', { createdAt: 1 }), target('ant', { createdAt: 2 })];
    assert.equal(problem(old, [young]), undefined);
    assert.match(
      identityProblem(young, [old, young], 'source')?.message ?? '',
      /^ClusterTarget\/zebra points to the same cluster; remove one of them$/,
    );
  });

  it('is told apart by name where both are as old', () => {
    assert.equal(problem(target('a'), [target('b')]), undefined);
    assert.equal(problem(target('b'), [target('a')]), 'DuplicateCluster');
  });

  it('competes within its scope only', () => {
    assert.equal(
      problem(inNamespace('team', 'a', { createdAt: 9 }), [target('b'), inNamespace('other', 'c')]), undefined,
    );
    assert.equal(problem(inNamespace('team', 'a', { createdAt: 9 }), [inNamespace('team', 'c')]), 'DuplicateCluster');
  });

  it('leaves just one target of each scope and cluster, in whatever order they are asked', () => {
    const someTargets = fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c', 'd'), clusterId: fc.constantFrom('c1', 'c2'),
        createdAt: fc.integer({ min: 0, max: 2 }),
      }),
      { selector: ({ name }) => name, minLength: 1 },
    ).map((parts) => parts.map(({ name, ...rest }) => target(name, rest)));
    fc.assert(fc.property(someTargets, (targets) => {
      const kept = targets.filter((one) => identityProblem(one, targets.toReversed(), 'source') === undefined);
      assert.deepEqual(
        kept.map(({ clusterId }) => clusterId).toSorted(),
        [...new Set(targets.map(({ clusterId }) => clusterId))].toSorted(),
      );
    }));
  });
});
