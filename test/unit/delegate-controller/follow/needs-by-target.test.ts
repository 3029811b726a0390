import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Placements, type Placement } from '../../../../delegate-controller/follow/needs-by-target.ts';
import type { PodNeeds } from '../../../../model/pod/pod-needs.ts';

const WEB: PodNeeds = { references: ['configmaps/settings', 'secrets/key'], labels: { app: 'web' } };
const JOB: PodNeeds = { references: ['secrets/key'], labels: { app: 'job' } };
const at = (needs: PodNeeds, target: string, namespace = 'a'): Placement => ({ namespace, needs, target });

describe('Placements', () => {
  it('tells only of the first pod of a template that comes to a target, and of the last that leaves', () => {
    const placements = new Placements();
    assert.deepEqual(placements.place('a/1', at(WEB, 'one')), [at(WEB, 'one')]);
    assert.deepEqual(placements.place('a/2', at(WEB, 'one')), []);
    assert.deepEqual(placements.place('a/1', undefined), []);
    assert.deepEqual(placements.place('a/2', at(WEB, 'two')), [at(WEB, 'one'), at(WEB, 'two')]);
    assert.deepEqual(placements.place('a/2', at(WEB, 'two')), []);
    assert.deepEqual(placements.place('a/2', undefined), [at(WEB, 'two')]);
  });

  it('knows what is named where', () => {
    const placements = new Placements();
    placements.place('a/1', at(WEB, 'one'));
    placements.place('a/2', at(JOB, 'two'));
    assert.deepEqual(placements.naming('a', 'secrets/key', 'two'), ['a/2']);
    assert.ok(placements.isNamed('a', 'configmaps/settings', 'one'));
    assert.ok(!placements.isNamed('a', 'configmaps/settings', 'two'));
    assert.ok(!placements.isNamed('b', 'configmaps/settings', 'one'));
    assert.ok(placements.isKindNamed('a', 'configmaps'));
    assert.ok(!placements.isKindNamed('a', 'config'));
    assert.deepEqual([...placements.inTarget('two')], [at(JOB, 'two')]);
  });

  it('knows what is selected, wherever it runs', () => {
    const placements = new Placements();
    placements.place('a/1', at(WEB, 'one'));
    placements.place('a/2', at(WEB, 'two'));
    assert.ok(placements.isAnySelected('a', { app: 'web' }));
    assert.ok(!placements.isAnySelected('a', {}));
    assert.ok(!placements.isAnySelected('b', { app: 'web' }));
    assert.deepEqual(placements.selected('a', { app: 'web' }), ['a/1', 'a/2']);
    assert.deepEqual(placements.selectedLabels('a', { app: 'web' }), [{ app: 'web' }]);
    assert.deepEqual([...placements.namespaces()], ['a']);
  });

  it('knows what is selected in one target', () => {
    const placements = new Placements();
    placements.place('a/1', at(WEB, 'one'));
    placements.place('a/2', at(JOB, 'two'));
    assert.ok(placements.isSelectedIn('a', { app: 'web' }, 'one'));
    assert.ok(!placements.isSelectedIn('a', { app: 'web' }, 'two'));
    assert.ok(!placements.isSelectedIn('b', { app: 'web' }, 'one'));
  });

  it('is as empty as before when all pods are gone, whatever happened', () => {
    const move = fc.record({
      pod: fc.constantFrom('a/1', 'a/2', 'a/3'), needs: fc.constantFrom(WEB, JOB),
      target: fc.constantFrom('one', 'two', undefined),
    });
    fc.assert(
      fc.property(fc.array(move), (moves) => {
        const placements = new Placements();
        const present = new Set<string>();
        const note = (changed: readonly Placement[]) => {
          for (const { needs, target } of changed) {
            const key = `${JSON.stringify(needs)} ${target}`;
            if (!present.delete(key)) present.add(key);
          }
        };
        for (const { pod, needs, target } of moves) {
          note(placements.place(pod, target === undefined ? undefined : at(needs, target)));
        }
        for (const pod of ['a/1', 'a/2', 'a/3']) note(placements.place(pod, undefined));
        assert.equal(present.size, 0);
        assert.ok(!placements.isKindNamed('a', 'secrets'));
      }),
    );
  });
});
