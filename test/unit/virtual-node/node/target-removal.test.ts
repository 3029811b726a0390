import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DRAIN_FINALIZER } from '../../../../api/objects/keys.ts';
import { planRemoval, type RemovableTarget, type RemovalState } from '../../../../virtual-node/node/target-removal.ts';

type BoundPod = RemovalState['bound'] extends Iterable<infer Proxy> ? Proxy : never;

function aTarget(rest: Partial<RemovableTarget> = {}): RemovableTarget {
  return {
    ref: { kind: 'ClusterTarget', name: 'c2' }, uid: 'uid', resourceVersion: '7', finalizers: [], terminating: false,
    removalPolicy: 'Drain', ...rest,
  };
}

function step(target: Partial<RemovableTarget>, bound: readonly BoundPod[] = [], candidates: number | undefined = 0) {
  return planRemoval({ target: aTarget(target), bound, candidates });
}

const running = (key: string): BoundPod => ({ key, phase: 'Running', terminating: false });
const HELD = { finalizers: ['other', DRAIN_FINALIZER] };
const REMOVED = { ...HELD, terminating: true };

function finalizersWritten(result: ReturnType<typeof planRemoval>): unknown {
  assert.equal(result.kind, 'write');
  const [command] = result.kind === 'write' ? result.plan : [];
  assert.ok(command?.kind === 'patch');
  return command.patch;
}

describe('planRemoval', () => {
  it('holds a target that drains, and no other one', () => {
    assert.deepEqual(finalizersWritten(step({ finalizers: ['other'] })), {
      metadata: { uid: 'uid', resourceVersion: '7', finalizers: ['other', DRAIN_FINALIZER] },
    });
    assert.deepEqual(step(HELD), { kind: 'no-change' });
    assert.deepEqual(step({ removalPolicy: 'Orphan' }), { kind: 'no-change' });
  });

  it('lets go of one that does not drain any more, whatever runs there, also while it is being removed', () => {
    for (const target of [HELD, REMOVED]) {
      assert.deepEqual(finalizersWritten(step({ ...target, removalPolicy: 'Orphan' }, [running('a/b')])), {
        metadata: { uid: 'uid', resourceVersion: '7', finalizers: ['other'] },
      });
    }
  });

  it('evicts each pod once, and waits for those that are going and for candidates', () => {
    const going = { ...running('a/going'), terminating: true };
    assert.deepEqual(step(REMOVED, [running('a/b'), going]), { kind: 'drain', evict: ['a/b'], left: 2 });
    assert.deepEqual(step(REMOVED, [going]), { kind: 'drain', evict: [], left: 1 });
    assert.deepEqual(step(REMOVED, [], 1), { kind: 'drain', evict: [], left: 1 });
  });

  it('concludes nothing while it is not known what is on its way there', () => {
    assert.deepEqual(planRemoval({ target: aTarget(REMOVED), bound: [], candidates: undefined }), {
      kind: 'drain', evict: [], left: 0,
    });
  });

  it('lets it go when all have gone; pods that have ended do not count', () => {
    assert.deepEqual(finalizersWritten(step(REMOVED, [{ key: 'a/done', phase: 'Succeeded', terminating: false }])), {
      metadata: { uid: 'uid', resourceVersion: '7', finalizers: ['other'] },
    });
    assert.deepEqual(step({ terminating: true }, [running('a/b')]), { kind: 'no-change' });
  });

  it('writes to a Target in its namespace', () => {
    const result = step({ ref: { kind: 'Target', namespace: 'team', name: 't' } });
    const [command] = result.kind === 'write' ? result.plan : [];
    assert.deepEqual(
      command?.kind === 'patch' && [command.type.plural, command.at], ['targets', { namespace: 'team', name: 't' }],
    );
  });
});
