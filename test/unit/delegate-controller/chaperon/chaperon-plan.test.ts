import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod, PodStatus } from '../../../../api/objects/core.ts';
import {
  CHAPERON_FINALIZER, EXPIRED_AT_ANNOTATION, FENCE_ANNOTATION, FENCED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION,
  POD_MISSING_SINCE_ANNOTATION, RUN_ONCE_FINALIZER, SOURCE_WATCHES_PODS_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../../../../api/resource-types.ts';
import {
  LAZY_STATUS_MS, RECREATE_AFTER_MS, planChaperon, planOrphanedDelegate, reportRejection, type ChaperonState,
  type ChaperonStep,
} from '../../../../delegate-controller/chaperon/chaperon-plan.ts';
import { toTargetPodRecord, type TargetPod } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { DELEGATE_REJECTED, toChaperonRecord } from '../../../../model/delegate/cached-delegate.ts';
import { isTerminal } from '../../../../model/pod/pod.ts';
import {
  aChaperon, aDelegate, afterMergePatch, afterStatusPatches, annotated, aPod, CHAPERON_UID, frozen, inPhase, named,
  scheduled, terminating, type Change, unschedulable, withCondition, withFinalizers, withMetadata, withoutAnnotation,
  withSpec, withStatus, withUid,
} from '../../../support/objects/builders.ts';

const NOW = Date.UTC(2026, 0, 2);
const AT = { namespace: 'team-a', name: 'web-abc' };

const missingFor = (ms: number) => annotated({ [POD_MISSING_SINCE_ANNOTATION]: new Date(NOW - ms).toISOString() });
const eager = withoutAnnotation(SOURCE_WATCHES_PODS_ANNOTATION);
const foreground = withFinalizers('foregroundDeletion');
const once = withSpec({ restartPolicy: 'Never' });
const held = withFinalizers('a.io/x', RUN_ONCE_FINALIZER);
const stoppingWithin = (seconds: number) =>
  withMetadata({ deletionTimestamp: 'T', deletionGracePeriodSeconds: seconds });
const stopped = stoppingWithin(0);
const toStopWithin = (seconds: string) => annotated({ [GRACE_PERIOD_ANNOTATION]: seconds });
const rejected = withCondition({ type: 'PodScheduled', status: 'False', reason: DELEGATE_REJECTED, message: 'quota' });

function delegate(...changes: Change<Pod>[]): TargetPod {
  return toTargetPodRecord(aDelegate(...changes));
}

function foreignPod(): TargetPod {
  return toTargetPodRecord(aPod(named('web-abc')));
}

function state(chaperon: PodChaperon, pod?: TargetPod, rest: Partial<ChaperonState> = {}): ChaperonState {
  return { chaperon, pod, podSeen: pod?.chaperonUid !== undefined, statusChangedAt: NOW, ...rest };
}

function told(step: ChaperonStep): string {
  return step.kind === 'wait' ? `wait ${step.ms}` : step.kind;
}

describe('planChaperon', () => {
  const running = withStatus({ phase: 'Running' });
  const cases: Record<string, readonly [state: ChaperonState, step: string]> = {
    'a new chaperon gets its delegate': [state(aChaperon()), 'create'],
    'one whose delegate was rejected tries again': [state(aChaperon(inPhase('Pending'), rejected)), 'create'],
    'one that goes gets none': [state(aChaperon(terminating())), 'no-change'],
    'one whose delegate ended gets no second one': [state(aChaperon(inPhase('Succeeded'))), 'no-change'],
    'however it ended': [state(aChaperon(inPhase('Failed')), undefined, { podSeen: true }), 'no-change'],
    'a delegate that was seen and has gone is looked for first':
      [state(aChaperon(), undefined, { podSeen: true }), 'confirm-gone'],
    'so is one that only the status remembers': [state(aChaperon(running)), 'confirm-gone'],
    'its source has time to give the chaperon up':
      [state(aChaperon(missingFor(10))), `wait ${RECREATE_AFTER_MS - 10}`],
    'after which the delegate is made again': [state(aChaperon(missingFor(RECREATE_AFTER_MS))), 'create'],
    'but not one that is to run once':
      [state(aChaperon(missingFor(RECREATE_AFTER_MS), withSpec({ restartPolicy: 'Never' }))), 'no-change'],
    'nor one that is to run until it succeeds':
      [state(aChaperon(missingFor(RECREATE_AFTER_MS), withSpec({ restartPolicy: 'OnFailure' }))), 'no-change'],
    'a delegate without a status has nothing to tell': [state(aChaperon(inPhase('Pending')), delegate()), 'no-change'],
    'a status that is shown already is not written':
      [state(aChaperon(eager, running), delegate(inPhase('Running'))), 'no-change'],
    'a status is written at once for a source that reads it here':
      [state(aChaperon(eager), delegate(inPhase('Running'))), 'write'],
    'and later for one that watches pods': [state(aChaperon(), delegate(inPhase('Running'))), `wait ${LAZY_STATUS_MS}`],
    'when it has been the same for a while':
      [state(aChaperon(), delegate(inPhase('Running')), { statusChangedAt: NOW - LAZY_STATUS_MS }), 'write'],
    'an end is written at once': [state(aChaperon(), delegate(inPhase('Failed'))), 'write'],
    'a pod of another owner in the way is reported': [state(aChaperon(), foreignPod()), 'write'],
    'once': [state(aChaperon(inPhase('Pending'), withCondition({
      type: 'PodScheduled', status: 'False', reason: DELEGATE_REJECTED,
      message: 'a pod team-a/web-abc that was not created from this PodChaperon already exists; delete or rename it',
    })), foreignPod()), 'no-change'],
    'an end stays an end, whoever takes the name': [state(aChaperon(inPhase('Succeeded')), foreignPod()), 'no-change'],
    'a delegate that gave way to a pod of another owner has gone':
      [state(aChaperon(running), foreignPod()), 'confirm-gone'],
    'a chaperon that goes takes its delegate along': [state(aChaperon(terminating(), foreground), delegate()), 'write'],
    'and waits until it has stopped':
      [state(aChaperon(terminating(), foreground), delegate(terminating())), 'no-change'],
    'then it may go, once that is sure': [state(aChaperon(terminating(), foreground), undefined), 'confirm-gone'],
    'a pod of another owner stays when the chaperon goes':
      [state(aChaperon(terminating(), foreground), foreignPod()), 'confirm-gone'],
    'a delegate that has stopped and must not run again is let go with its end':
      [state(aChaperon(), delegate(held, stopped, inPhase('Failed'))), 'write'],
    'and stays until it has stopped':
      [state(aChaperon(inPhase('Pending')), delegate(held, terminating(), inPhase('Pending'))), 'no-change'],
    'it is let go when its chaperon goes':
      [state(aChaperon(terminating(), foreground), delegate(held, stopped)), 'write'],
    'a delegate that goes is told to hurry':
      [state(aChaperon(terminating(), toStopWithin('1')), delegate(stoppingWithin(30))), 'write'],
    'but once': [state(aChaperon(terminating(), toStopWithin('1')), delegate(stoppingWithin(1))), 'no-change'],
    'and not to take more time than it has':
      [state(aChaperon(terminating(), toStopWithin('60')), delegate(stoppingWithin(30))), 'no-change'],
    'what is no number of seconds is not asked for':
      [state(aChaperon(terminating(), toStopWithin('-1')), delegate(stoppingWithin(30))), 'no-change'],
    'finalizers of others are none of our business':
      [state(aChaperon(terminating(), withFinalizers('a.io/x'))), 'no-change'],
  };
  for (const [sentence, [before, step]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(told(planChaperon(frozen(before), NOW)), step));
  }

  const marked = annotated({ [FENCE_ANNOTATION]: '30' });
  const fenced = annotated({ [FENCE_ANNOTATION]: '30', [FENCED_AT_ANNOTATION]: '2026-01-01T00:00:00Z' });
  const expired = annotated({ [EXPIRED_AT_ANNOTATION]: '2026-01-01T00:00:00Z' });
  const lost = { sourceLeaseExpired: true };
  const overdue = { isOverdue: true };
  const commandsOf = (step: ChaperonStep) =>
    ('plan' in step ? step.plan.map(({ kind }) => kind).join(', ') : step.kind);
  const fencing: Record<string, readonly [state: ChaperonState, commands: string]> = {
    'the delegate of a lost source is marked, then stopped':
      [state(aChaperon(marked), delegate(inPhase('Running')), lost), 'patch, delete'],
    'one that is not there yet is never made': [state(aChaperon(marked), undefined, lost), 'patch'],
    'one that goes already is marked': [state(aChaperon(marked), delegate(terminating()), lost), 'patch'],
    'one that has ended keeps its end':
      [state(aChaperon(marked, inPhase('Failed')), delegate(inPhase('Failed')), lost), 'no-change'],
    'one whose source waits for its target runs on':
      [state(aChaperon(inPhase('Running')), delegate(inPhase('Running')), lost), 'no-change'],
    'a mark counts when the source is back: the delegate goes all the same':
      [state(aChaperon(fenced), delegate(inPhase('Running'))), 'delete'],
    'once': [state(aChaperon(fenced), delegate(terminating(), inPhase('Pending'))), 'wait'],
    'then its source is told that there is none': [state(aChaperon(fenced), undefined), 'patch'],
    'and none is made, however long that is ago':
      [state(aChaperon(fenced, missingFor(RECREATE_AFTER_MS))), 'no-change'],
    'one that must not run again is let go with its end':
      [state(aChaperon(fenced), delegate(held, stopped, inPhase('Failed'))), 'patch, patch'],
    'a candidate that nobody has confirmed in time is marked, then stopped':
      [state(aChaperon(), delegate(inPhase('Running')), overdue), 'patch, delete'],
    'also before it has its delegate': [state(aChaperon(), undefined, overdue), 'patch'],
    'and gets none any more':
      [state(aChaperon(expired, missingFor(RECREATE_AFTER_MS)), undefined, overdue), 'no-change'],
    'whatever is confirmed later': [state(aChaperon(expired), delegate(inPhase('Running'))), 'delete'],
    'one that has ended by itself keeps its end':
      [state(aChaperon(inPhase('Succeeded')), delegate(inPhase('Succeeded')), overdue), 'no-change'],
  };
  it('a mark that comes late is for this chaperon alone, not for the next one of its name', () => {
    const step = planChaperon(state(aChaperon(marked), delegate(inPhase('Running')), lost), NOW);
    const [mark] = step.kind === 'write' ? step.plan : [];
    assert.equal(mark?.kind === 'patch' && (mark.patch as { metadata: { uid?: string } }).metadata.uid, CHAPERON_UID);
  });
  for (const [sentence, [before, commands]] of Object.entries(fencing)) {
    it(`${sentence} (fencing)`, () => assert.equal(commandsOf(planChaperon(frozen(before), NOW)), commands));
  }

  it('a candidate that is stopped has little time, and the mark is for the version that was looked at', () => {
    const step = planChaperon(
      state(aChaperon(withSpec({ terminationGracePeriodSeconds: 600 })), delegate(inPhase('Running')), overdue), NOW,
    );
    const [mark, deletion] = step.kind === 'expire' ? step.plan : [];
    assert.ok(mark?.kind === 'patch' && JSON.stringify(mark.patch).includes('resourceVersion'));
    assert.equal(deletion?.kind === 'delete' && deletion.gracePeriodSeconds, 5);
  });

  it('marks when the delegate was found gone, on this very chaperon, and comes back when patience ends', () => {
    const patch = {
      metadata: { annotations: { [POD_MISSING_SINCE_ANNOTATION]: '2026-01-02T00:00:00.000Z' }, resourceVersion: '10' },
    };
    assert.deepEqual(planChaperon(state(aChaperon(), undefined, { podSeen: true }), NOW), {
      kind: 'confirm-gone',
      plan: [{ kind: 'patch', type: POD_CHAPERONS, at: AT, patchType: 'merge', patch }], thenWait: RECREATE_AFTER_MS,
    });
  });

  it('clears that mark when there is a new delegate, whoever made it', () => {
    const step = planChaperon(state(aChaperon(missingFor(RECREATE_AFTER_MS)), delegate()), NOW);
    const [clear] = step.kind === 'write' ? step.plan : [];
    const cleared = afterMergePatch(
      aChaperon(missingFor(RECREATE_AFTER_MS)), clear?.kind === 'patch' && clear.patch,
    ) as PodChaperon;
    assert.equal(toChaperonRecord(cleared)?.podMissing, false);
  });

  it('deletes this very delegate, with the time it asked for to stop', () => {
    const step = planChaperon(state(aChaperon(terminating()), delegate()), NOW);
    assert.deepEqual(step, {
      kind: 'write',
      plan: [{ kind: 'delete', type: PODS, at: AT, preconditions: { uid: 'delegate-uid' }, propagation: 'Background' }],
    });
  });

  it('takes only its own finalizer and that of foreground deletion away, from this very version', () => {
    const step = planChaperon(
      state(aChaperon(terminating(), withFinalizers('a.io/x', CHAPERON_FINALIZER, 'foregroundDeletion'))), NOW,
    );
    const patch = { metadata: { resourceVersion: '10', finalizers: ['a.io/x'] } };
    assert.deepEqual(
      step, { kind: 'confirm-gone', plan: [{ kind: 'patch', type: POD_CHAPERONS, at: AT, patchType: 'merge', patch }] },
    );
  });

  it('shows a status after which there is nothing more to write, whatever was shown before', () => {
    const condition = { type: 'Ready', status: 'True', lastProbeTime: null } as const;
    const status = fc.record<PodStatus>(
      {
        phase: fc.constantFrom('Pending', 'Running', 'Failed'), reason: fc.string(), podIP: fc.string(),
        containerStatuses: fc.constant([{ name: 'app' }]), conditions: fc.constantFrom([], [condition]),
      },
      { requiredKeys: ['phase'] },
    );
    fc.assert(
      fc.property(fc.option(status, { nil: undefined }), status, (before, now) => {
        const chaperon = aChaperon(eager, ...(before === undefined ? [] : [withStatus(before)]));
        const pod = delegate(withStatus(now));
        const step = planChaperon(state(chaperon, pod), NOW);
        if (step.kind === 'no-change') return;
        assert.equal(step.kind, 'write');
        const after = afterStatusPatches(chaperon, step.kind === 'write' ? step.plan : []);
        assert.equal(told(planChaperon(state(after, pod), NOW)), 'no-change');
      }),
    );
  });
});

describe('a delegate that must not run again', () => {
  const written = (chaperon: PodChaperon, pod: TargetPod) => {
    const step = planChaperon(state(chaperon, pod), NOW);
    return step.kind === 'write' ? step.plan : [];
  };
  const letGo = {
    kind: 'patch',
    type: PODS, at: AT, patchType: 'merge', patch: { metadata: { resourceVersion: '1', finalizers: ['a.io/x'] } },
  };

  it('is held by a finalizer from the start, and one that may run again is not', () => {
    const made = (...changes: Change<PodChaperon>[]) => {
      const step = planChaperon(state(aChaperon(...changes)), NOW);
      return step.kind === 'create' ? step.pod.metadata.finalizers : undefined;
    };
    assert.deepEqual(made(once), [RUN_ONCE_FINALIZER]);
    assert.deepEqual(made(withSpec({ restartPolicy: 'OnFailure' })), [RUN_ONCE_FINALIZER]);
    assert.equal(made(), undefined);
  });

  it('has its end written on the chaperon before it may vanish', () => {
    const plan = written(aChaperon(once), delegate(held, stopped, inPhase('Succeeded')));
    assert.equal(afterStatusPatches(aChaperon(), plan).status?.phase, 'Succeeded');
    assert.deepEqual(plan.slice(1), [letGo]);
  });

  it('or that it is missing, when somebody took it away before its end', () => {
    const [mark, ...rest] = written(aChaperon(once), delegate(held, stopped, inPhase('Running')));
    const marked = afterMergePatch(aChaperon(once), mark?.kind === 'patch' && mark.patch) as PodChaperon;
    assert.deepEqual(rest, [letGo]);
    assert.deepEqual(
      planChaperon(state(marked), NOW + RECREATE_AFTER_MS), { kind: 'no-change' },
      'no process that starts later makes another one',
    );
  });

  it('needs nothing but to be let go when its end is written already', () => {
    assert.deepEqual(written(aChaperon(once, inPhase('Failed')), delegate(held, stopped, inPhase('Failed'))), [letGo]);
    assert.deepEqual(written(aChaperon(once, terminating()), delegate(held, stopped)), [letGo]);
  });

  it('is let go by whoever finds that its chaperon has gone', () => {
    assert.deepEqual(planOrphanedDelegate(delegate(held, stopped)), [letGo]);
    assert.deepEqual(planOrphanedDelegate(delegate(held, stoppingWithin(5))), []);
  });
});

describe('reportRejection', () => {
  it('says what the target said, as a no to the source', () => {
    const step = reportRejection(aChaperon(), 'exceeded quota', NOW);
    const after = afterStatusPatches(aChaperon(), step.kind === 'write' ? step.plan : []);
    assert.deepEqual(
      toChaperonRecord(after)?.verdict, { kind: 'rejected', reason: DELEGATE_REJECTED, message: 'exceeded quota' },
    );
  });

  it('says it once', () => {
    const chaperon = aChaperon(inPhase('Pending'), rejected);
    assert.deepEqual(reportRejection(chaperon, 'quota', NOW), { kind: 'no-change' });
    assert.equal(reportRejection(chaperon, 'another reason', NOW).kind, 'write');
  });
});

const chaperonChange = fc.subarray<Change<PodChaperon>>([
  terminating(), foreground, eager, missingFor(1), missingFor(2 * RECREATE_AFTER_MS), rejected,
  withSpec({ restartPolicy: 'Never' }),
]);
const phase = fc.constantFrom<Change<PodChaperon & Pod> | undefined>(
  undefined, inPhase('Pending'), inPhase('Running'), inPhase('Succeeded'), inPhase('Failed'),
);
const podChange = fc
  .tuple(phase, fc.constantFrom(undefined, terminating(), scheduled(), unschedulable(), stopped, held))
  .map((changes) => changes.filter((change) => change !== undefined) as Change<Pod>[]);
const anyState = fc
  .record({
    changes: chaperonChange, phase,
    pod: fc.option(
      fc.oneof(podChange.map((changes) => delegate(...changes)), fc.constant(foreignPod())), { nil: undefined },
    ),
    podSeen: fc.boolean(), statusChangedAt: fc.constantFrom(0, NOW),
  })
  .map(({ changes, phase, ...rest }): ChaperonState => frozen(
    { ...rest, chaperon: aChaperon(...changes, ...(phase === undefined ? [] : [phase])) },
  ));

function law(check: (state: ChaperonState, step: ChaperonStep) => void): void {
  fc.assert(fc.property(anyState, (state) => check(state, planChaperon(state, NOW))), { numRuns: 1_000 });
}

describe('laws of the chaperon', () => {
  it('makes no delegate for a chaperon that goes, or whose delegate has ended', () => {
    law(({ chaperon }, step) => {
      if (step.kind === 'create') {
        assert.ok(chaperon.metadata.deletionTimestamp === undefined && !isTerminal(chaperon.status?.phase));
      }
    });
  });

  it('makes no second delegate beside a pod of that name, nor after one that was seen, unless it is known to be ' +
    'missing for long', () => {
    law(({ chaperon, pod, podSeen }, step) => {
      if (step.kind !== 'create') return;
      assert.equal(pod, undefined);
      const since = chaperon.metadata.annotations?.[POD_MISSING_SINCE_ANNOTATION];
      if (podSeen) assert.ok(since !== undefined && Date.parse(since) + RECREATE_AFTER_MS <= NOW);
    });
  });

  it('touches no pod that was not made from this chaperon', () => {
    law(({ chaperon, pod }, step) => {
      const deletes = 'plan' in step ? step.plan.filter((command) => command.kind === 'delete') : [];
      if (deletes.length > 0) assert.equal(pod?.chaperonUid, chaperon.metadata.uid);
      assert.ok(deletes.every((command) => command.kind === 'delete' && command.preconditions.uid === pod?.uid));
    });
  });

  it('never lets an end come undone', () => {
    law(({ chaperon, pod }, step) => {
      if (
        !isTerminal(chaperon.status?.phase) || step.kind !== 'write'
          || chaperon.metadata.deletionTimestamp !== undefined
      ) return;
      assert.ok(isTerminal(afterStatusPatches(chaperon, step.plan).status?.phase), pod?.phase);
    });
  });

  it('writes to this very chaperon and this very delegate', () => {
    law((_state, step) => {
      const patches = 'plan' in step ? step.plan.filter((command) => command.kind === 'patch') : [];
      const isBoundTo = (
        { uid, resourceVersion }: PodChaperon['metadata'], [theUid, itsVersion]: readonly [string, string],
      ) => (resourceVersion === undefined ? uid === theUid : resourceVersion === itsVersion);
      assert.ok(
        patches.every((command) => command.kind === 'patch' && isBoundTo(
          (command.patch as PodChaperon).metadata,
          command.type === PODS ? ['delegate-uid', '1'] : ['chaperon-uid', '10'],
        )),
      );
    });
  });

  it('is not fooled by the chaperon of an earlier pod of that name', () => {
    const step = planChaperon(state(aChaperon(withUid('younger')), delegate(), { podSeen: false }), NOW);
    assert.equal(step.kind, 'write');
    assert.equal(
      afterStatusPatches(aChaperon(), step.kind === 'write' ? step.plan : []).status?.conditions?.[0]?.reason,
      DELEGATE_REJECTED,
    );
  });
});

describe('planOrphanedDelegate', () => {
  it('deletes exactly the delegate whose chaperon is gone', () => {
    const plan = planOrphanedDelegate(
      { key: 'ns/app', uid: 'pod-uid', phase: 'Running', terminating: false, chaperonUid: 'gone' },
    );
    assert.deepEqual(plan, [
      {
        kind: 'delete', type: PODS, at: { namespace: 'ns', name: 'app' }, preconditions: { uid: 'pod-uid' },
        propagation: 'Background',
      },
    ]);
  });

  for (const [sentence, change] of [
    ['leaves pods of others alone', { chaperonUid: undefined }],
    ['leaves a delegate alone that is going already', { terminating: true }],
  ] as const) {
    it(sentence, () => {
      const { chaperonUid, ...pod } = {
        key: 'ns/app', uid: 'pod-uid', phase: 'Running' as const, terminating: false, chaperonUid: 'gone', ...change,
      };
      assert.deepEqual(planOrphanedDelegate({ ...pod, ...(chaperonUid !== undefined && { chaperonUid }) }), []);
    });
  }
});
