// The life of a pod from its creation to the bind, in the real loop: what is sent to which target, and what happens
// when that says no, or somebody else was faster. A pod must never be in two targets at once.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import type { PodStatus } from '../../../../api/objects/core.ts';
import { SPEC_AT_BIND_ANNOTATION } from '../../../../api/objects/keys.ts';
import { ApiError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { specDigests } from '../../../../model/pod/live-changes.ts';
import { METRICS } from '../../../../process/metrics.ts';
import {
  inPhase, named, terminating, withFinalizers, withMetadata, withSpec,
} from '../../../support/objects/builders.ts';
import { aPolicyIndex, aClusterPolicy } from '../../../support/objects/placement.ts';
import {
  aPodOf, before, FORBIDDEN, gated, homesOf, REJECTED, SCHEDULED, sent, writesOf,
} from '../../../support/objects/scheduled-pods.ts';
import { aSchedulingWorld, type SchedulingWorld, type FakeTarget } from '../../../support/doubles/scheduling-world.ts';

describe('a new pod', () => {
  it('is sent to one target, and bound once that has a node for it', async (t) => {
    const { world, a, b } = await sent(t);
    assert.deepEqual([a.creates, b.creates, world.writes], [['u'], [], []]);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world), ['bind admiralty-a']);
    assert.equal(world.events.at(-1)?.reason, 'Scheduled');
    await world.pass(600_000);
    assert.deepEqual([a.creates, b.creates, writesOf(world).length], [['u'], [], 1]);
  });
  it('is sent with what it was made of: a scheduler that starts before the bind must know', async (t) => {
    const { a } = await sent(t);
    const [chaperon] = [...a.stored.values()];
    assert.equal(chaperon?.metadata.annotations?.[SPEC_AT_BIND_ANNOTATION], specDigests(aPodOf('u').spec, {}));
  });
  it('is not sent while it has a gate, and is once it has none', async (t) => {
    const { world, a } = await sent(t, gated);
    assert.deepEqual(a.creates, []);
    await world.put(aPodOf('u'));
    assert.deepEqual(a.creates, ['u']);
  });
  it('that did not pass the webhook is not sent, and told so', async (t) => {
    const { world, a, b } = await sent(t, withFinalizers());
    assert.deepEqual([a.creates, b.creates], [[], []]);
    assert.match(writesOf(world)[0] ?? '', /any: RecordInvalid: finalizer .* is missing.*create it again/);
  });
  it('that is bound already is no business of the loop', async (t) => {
    const { a, b } = await sent(t, withSpec({ nodeName: 'admiralty-b' }));
    assert.deepEqual([a.creates, b.creates], [[], []]);
  });
  it('that has ended is let go, not sent', async (t) => {
    const { world, a } = await sent(t, inPhase('Failed'));
    assert.deepEqual([a.creates, writesOf(world)], [[], ['remove-finalizer']]);
  });
  it('without any target is told so once, and again when there is one', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    await world.removed('a');
    await world.put(aPodOf('u'));
    assert.match(writesOf(world)[0] ?? '', /^Unschedulable: 0\/0 targets are available/);
    await world.pass(600_000);
    assert.equal(world.writes.length, 1);
    assert.deepEqual(world.events.map(({ reason }) => reason), ['FailedScheduling']);
  });
});

describe('a tier that opens after a wait', () => {
  it('opens by the clock of the API server, which pods are created by, whatever ours says', async (t) => {
    const created = Date.parse('2026-01-01T00:00:00Z');
    t.mock.method(Date, 'now', () => created - 3_600_000);
    const tiers = [{ targets: { matchLabels: { no: 'such' } }, waitSeconds: 60 }, { targets: {} }];
    const policyIndex = aPolicyIndex(aClusterPolicy({ tiers }));
    const world = await aSchedulingWorld(t, ['a'], { policyIndex, serverTime: () => created + 61_000 });
    await world.put(aPodOf('u', withMetadata({ creationTimestamp: new Date(created).toISOString() })));
    assert.deepEqual(world.target('a').creates, ['u'], writesOf(world).join());
  });
});

describe('pods that wait when the scheduler starts', () => {
  it('are placed by priority, whatever order they are listed in', async (t) => {
    const waiting = [0, 7, 100, -5].map((priority) => {
      const uid = `of-${priority}`;
      return aPodOf(uid, named(uid), withSpec({ priority }));
    });
    const world = await aSchedulingWorld(t, ['a'], { waiting });
    assert.deepEqual(world.target('a').creates, ['of-100', 'of-7', 'of-0', 'of--5']);
  });
});

describe('a target that does not take a pod', () => {
  it('gets its candidate back after a no of its scheduler, and the next one is asked', async (t) => {
    const { world, a, b } = await sent(t);
    a.setStatus('u', REJECTED);
    await world.settled();
    assert.deepEqual([a.holds, b.creates], [[], ['u']]);
    b.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world), ['bind admiralty-b']);
  });
  it('is asked again five seconds later when nobody else has taken it', async (t) => {
    const { world, a, b } = await sent(t);
    a.setStatus('u', REJECTED);
    await world.settled();
    b.setStatus('u', REJECTED);
    await world.settled();
    assert.match(writesOf(world)[0] ?? '',
      /ClusterTarget\/a: Unschedulable: 0\/3 nodes.*ClusterTarget\/b: Unschedulable/);
    await world.pass(4_999);
    assert.deepEqual([a.creates.length, b.creates.length], [1, 1]);
    await world.pass(1);
    assert.equal(a.creates.length + b.creates.length, 3);
  });
  it('is asked again after twice as long each time that it says no, at most after 40 s', async (t) => {
    const world = await aSchedulingWorld(t, ['a']);
    const a = world.target('a');
    await world.put(aPodOf('u'));
    for (const [times, ms] of [5_000, 10_000, 20_000, 40_000, 40_000].entries()) {
      a.setStatus('u', REJECTED);
      await world.settled();
      await world.pass(ms - 1);
      assert.equal(a.creates.length, times + 1);
      await world.pass(1);
      assert.equal(a.creates.length, times + 2);
    }
  });
  it('is not left while it stops pods of lower priority there for it', async (t) => {
    const { world, a, b } = await sent(t);
    a.setStatus('u', { ...REJECTED, nominatedNodeName: 'node-1' });
    await world.settled();
    await world.pass(120_000);
    assert.deepEqual([a.holds, b.creates], [['u'], []]);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world).at(-1), 'bind admiralty-a');
  });
  it('is left when such pods do not go, or when a third one gets their room', async (t) => {
    const { world, a, b } = await sent(t);
    a.setStatus('u', { ...REJECTED, nominatedNodeName: 'node-1' });
    await world.settled();
    await world.pass(300_000);
    assert.deepEqual([a.holds, b.holds], [[], ['u']]);
    b.setStatus('u', { ...REJECTED, nominatedNodeName: 'node-1' });
    b.setStatus('u', REJECTED);
    await world.settled();
    assert.deepEqual([a.holds, b.holds], [[], []]);
  });
  it('is left after ten seconds without a word', async (t) => {
    const { world, a, b } = await sent(t);
    await world.pass(9_999);
    assert.deepEqual([a.holds, b.creates], [['u'], []]);
    await world.pass(1);
    assert.deepEqual([a.holds, b.creates], [[], ['u']]);
  });
  it('is not left while it decides about others', async (t) => {
    const { world, a, b } = await sent(t);
    await world.pass(9_000);
    await world.changed('b', { isReady: false });
    await world.put(aPodOf('v', named('other')));
    a.setStatus('v', SCHEDULED);
    await world.changed('b', { isReady: true });
    await world.pass(9_000);
    assert.deepEqual([homesOf(world, 'u'), b.creates.includes('u')], [['a'], false]);
    await world.pass(1_000);
    assert.equal(b.creates.includes('u'), true);
  });
  it('is left all the same when it only has made a delegate for another, which is no verdict', async (t) => {
    const { world, a, b } = await sent(t);
    await world.changed('b', { isReady: false });
    await world.put(aPodOf('v', named('other')));
    await world.changed('b', { isReady: true });
    await world.pass(9_000);
    a.setStatus('v', {});
    await world.pass(1_000);
    assert.ok(b.creates.includes('u'));
  });
  it('is left when somebody there deletes the delegate', async (t) => {
    const { world, a, b } = await sent(t);
    a.setStatus('u', {}, true);
    await world.settled();
    assert.deepEqual([a.holds, b.creates], [['u'], []], 'the delegate may still run');
    a.remove([...a.stored.keys()][0]!);
    await world.settled();
    assert.deepEqual(a.creates.length + b.creates.length, 2);
  });

  const REFUSALS: Record<string, readonly [error: Error, reason: RegExp, ms: number]> = {
    'forbids it': [FORBIDDEN, /Forbidden: exceeded quota/, 10_000],
    'is overloaded': [new ApiError(429, 'TooManyRequests', 'busy'), /Overloaded|TooManyRequests: busy/, 10_000],
    'has no such namespace':
      [new ApiError(404, 'NotFound', 'namespaces "team-a" not found'), /NamespaceMissing: .*create it/, 10_000],
    'cannot be connected to':
      [new UnreachableError('no route', { isUnsent: true }), /Unreachable: it cannot be reached: no route/, 2_000],
  };
  for (const [what, [error, reason, ms]] of Object.entries(REFUSALS)) {
    it(`and ${what} is passed over at once, and asked again ${ms / 1_000} s later`, async (t) => {
      const { world, a, b } = await before(t, (one, other) => {
        one.onCreate = error;
        other.onCreate = FORBIDDEN;
      });
      assert.deepEqual([a.creates, b.creates, homesOf(world, 'u')], [['u'], ['u'], []]);
      assert.match(writesOf(world)[0] ?? '', reason);
      assert.equal(world.cache.views.ledger.size, 0, 'nothing is reserved for it');
      a.onCreate = 'made';
      await world.pass(ms - 1);
      assert.deepEqual(homesOf(world, 'u'), []);
      await world.pass(1);
      assert.deepEqual(homesOf(world, 'u'), ['a']);
    });
  }
  it('and does not even answer is not asked', async (t) => {
    const { a, b } = await before(t, (one) => (one.answers = false));
    assert.deepEqual([a.creates, b.creates], [[], ['u']]);
  });
});

describe('a pod that is deleted', () => {
  it('takes its candidate along, and then is let go', async (t) => {
    const { world, a } = await sent(t);
    await world.put(aPodOf('u', terminating()));
    assert.deepEqual([a.holds, writesOf(world), [...world.pods]], [[], ['remove-finalizer'], []]);
    assert.equal(world.cache.views.ledger.size, 0);
  });
  it('while its target is away stays until that is back', async (t) => {
    const { world, a } = await sent(t);
    await world.changed('a', { isReady: false });
    await world.put(aPodOf('u', terminating()));
    await world.pass(60_000);
    assert.deepEqual(writesOf(world), []);
    await world.changed('a', { isReady: true });
    assert.deepEqual([a.holds, writesOf(world)], [[], ['remove-finalizer']]);
  });
  it('while its target is away is let go once that is removed, though nothing else changes', async (t) => {
    const { world } = await sent(t);
    await world.changed('a', { isReady: false });
    await world.put(aPodOf('u', terminating()));
    await world.removed('b');
    assert.deepEqual(writesOf(world), []);
    await world.removed('a');
    assert.deepEqual(writesOf(world), ['remove-finalizer']);
  });
  it('and comes again under the same name is another pod: what is left of the first is not bound to it', async (t) => {
    const { world, a } = await sent(t);
    await world.forget('team-a/web');
    await world.put(aPodOf('v'));
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(writesOf(world), []);
    a.setStatus('v', SCHEDULED);
    await world.settled();
    assert.deepEqual(world.writes, [{ pod: 'v', what: 'bind admiralty-a' }]);
  });
  it('without having been sent is let go at once', async (t) => {
    const { world } = await sent(t, gated, terminating());
    assert.deepEqual(writesOf(world), ['remove-finalizer']);
  });
});

describe('a bind', () => {
  const failing = async (t: TestContext, error: Error) => {
    const { world, a, b } = await sent(t);
    world.onBind = error;
    a.setStatus('u', SCHEDULED);
    await world.settled();
    world.onBind = undefined;
    return { world, a, b };
  };
  it('that fails is tried again, in the same target', async (t) => {
    const { world, b } = await failing(t, new ApiError(500, 'InternalError', 'etcd'));
    await world.pass(1_000);
    assert.deepEqual([writesOf(world), b.creates], [['bind admiralty-a'], []]);
  });
  for (const status of [404, 409]) {
    it(`that finds the pod changed or gone (${status}) waits for what the watch says, for a second`, async (t) => {
      const { world, a, b } = await failing(t, new ApiError(status, '', 'no'));
      await world.pass(999);
      assert.deepEqual([writesOf(world), a.holds, b.creates], [[], ['u'], []]);
      await world.put(aPodOf('u', withMetadata({ resourceVersion: '2' })));
      assert.deepEqual(writesOf(world), ['bind admiralty-a']);
    });
    it(`that finds the pod changed or gone (${status}) is sent again when nothing has changed`, async (t) => {
      const { world } = await failing(t, new ApiError(status, '', 'no'));
      await world.pass(1_000);
      assert.deepEqual(writesOf(world), ['bind admiralty-a']);
    });
  }
});

describe('what is measured', () => {
  const valuesOf = async (name: string) => (await METRICS.getSingleMetric(name)?.get())?.values ?? [];
  it('is where elected pods are', async (t) => {
    const { world, a } = await sent(t);
    const pods = async () => (await valuesOf('isthmus_elected_pods')).map(({ labels, value }) =>
      [labels['target'], value]);
    assert.deepEqual(await pods(), [['', 1]]);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.deepEqual(await pods(), [['ClusterTarget/a', 1]]);
  });
  it('is how long candidates took, from their create', async (t) => {
    const counted = async () => (await valuesOf('isthmus_scheduling_candidate_duration_seconds'))
      .filter((value) => 'metricName' in value && String(value.metricName).endsWith('_count'))
      .reduce((sum, { value }) => sum + value, 0);
    const first = await counted();
    const { world, a } = await sent(t);
    a.setStatus('u', SCHEDULED);
    await world.settled();
    assert.equal(await counted() - first, 1);
  });
  it('is how often a target rejects, by its scheduler or at once', async (t) => {
    const rejected = async () => (await valuesOf('isthmus_scheduling_candidates_rejected_total'))
      .reduce((sum, { value }) => sum + value, 0);
    const first = await rejected();
    const { world, a, b } = await sent(t);
    b.onCreate = FORBIDDEN;
    a.setStatus('u', REJECTED);
    await world.settled();
    assert.equal(await rejected() - first, 2);
  });
});

describe('laws of the loop', () => {
  const KINDS = [
    'scheduled', 'rejected', 'lose', 'return', 'delete', 'again', 'pass', 'lost answer', 'forbid', 'ok',
  ] as const;
  const act = fc.record({
    kind: fc.constantFrom(...KINDS), target: fc.constantFrom('a', 'b'), uid: fc.constantFrom('u', 'v'),
  });
  type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

  type Perform = (world: SchedulingWorld, act: Act, uids: Uids) => Promise<void> | undefined;

  /** UIDs of the two pods: a pod that comes again under its name has the next number. */
  class Uids {
    readonly #last = new Map([['u', 0], ['v', 0]]);

    current(name: string): string {
      return `${name}${this.#last.get(name) ?? 0}`;
    }

    next(name: string): string {
      this.#last.set(name, (this.#last.get(name) ?? 0) + 1);
      return this.current(name);
    }

    all(): readonly string[] {
      return [...this.#last].flatMap(([name, last]) =>
        Array.from({ length: last + 1 }, (_, index) => `${name}${index}`));
    }
  }

  const answering = (onCreate: FakeTarget['onCreate']): Perform => (world, { target }) => {
    world.target(target).onCreate = onCreate;
    return undefined;
  };
  const saying = (status: PodStatus): Perform => (world, { target, uid }, uids) => {
    world.target(target).setStatus(uids.current(uid), status);
    return world.settled();
  };
  const ACTS: Record<Act['kind'], Perform> = {
    'scheduled': saying(SCHEDULED), 'rejected': saying(REJECTED),
    'lose': (world, { target }) => world.changed(target, { isReady: false }),
    'return': (world, { target }) => world.changed(target, { isReady: true }),
    'pass': (world) => world.pass(11_000),
    'lost answer': answering('made, answer lost'), 'forbid': answering(FORBIDDEN), 'ok': answering('made'),
    'delete': (world, { uid }) => {
      const pod = world.pods.get(`team-a/${uid}`);
      return pod === undefined || pod.spec.nodeName !== undefined ? undefined : world.put(terminating()(pod));
    },
    'again': (world, { uid }, uids) => (
      world.pods.has(`team-a/${uid}`) ? undefined : world.put(aPodOf(uids.next(uid), named(uid)))
    ),
  };

  function check(world: SchedulingWorld, uid: string): void {
    assert.ok(homesOf(world, uid).length <= 1, `${uid} is in two targets`);
    const binds = world.writes.filter(({ pod, what }) => pod === uid && what.startsWith('bind'));
    assert.ok(binds.length <= 1, `${uid} was bound twice`);
    if (binds.length > 0) assert.deepEqual(binds[0]?.what, `bind admiralty-${homesOf(world, uid)[0]}`);
  }

  /** All targets answer again, and all pods are deleted. */
  async function end(world: SchedulingWorld): Promise<void> {
    for (const name of ['a', 'b']) {
      world.target(name).onCreate = 'made';
      await world.changed(name, { isReady: true });
    }
    await world.pass(20_000);
    for (const pod of [...world.pods].map(([, each]) => each)) {
      if (pod.spec.nodeName === undefined) await world.put(terminating()(pod));
      else await world.forget(`team-a/${pod.metadata.name}`);
    }
    for (const name of ['a', 'b']) world.target(name).deliver();
    await world.pass(20_000);
  }

  it('a pod is in one target at most, is bound once at most, and there; once all are gone nothing is left',
    async (t) => {
    await fc.assert(fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 14 }), async (acts) => {
      const world = await aSchedulingWorld(t, ['a', 'b']);
      const uids = new Uids();
      for (const uid of ['u', 'v']) await world.put(aPodOf(uids.current(uid), named(uid)));
      for (const one of acts) {
        await ACTS[one.kind](world, one, uids);
        for (const uid of uids.all()) check(world, uid);
      }
      await end(world);
      assert.deepEqual([...world.pods.keys()], []);
      assert.equal(world.cache.views.ledger.size, 0);
    }).afterEach(() => {
      t.mock.timers.reset();
      t.mock.restoreAll();
    }), { numRuns: 50 });
  });
});
