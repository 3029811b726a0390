import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ContainerStatus, Pod, PodStatus } from '../../../../api/objects/core.ts';
import {
  SENT_CHANGES_ANNOTATION, DELEGATE_ANNOTATIONS_ANNOTATION, DELEGATE_CONDITIONS_ANNOTATION, DELEGATE_FINALIZER,
  EXPIRED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION,
  POD_MISSING_SINCE_ANNOTATION, RUN_ONCE_FINALIZER, SPEC_AT_BIND_ANNOTATION, TARGET_UNREACHABLE_CONDITION,
} from '../../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../../../../api/resource-types.ts';
import {
  planFeedback, planStoppedDelegateRelease, type BoundTarget, type FeedbackStep,
} from '../../../../delegate-controller/feedback/feedback-plan.ts';
import { shownPhase } from '../../../../delegate-controller/feedback/status-plan.ts';
import { toDelegatePodRecord } from '../../../../model/delegate/cached-delegate.ts';
import { planChaperonDeletion } from '../../../../model/delegate/delegation.ts';
import { specDigests, stateOf, writeSentChanges } from '../../../../model/pod/live-changes.ts';
import { isTerminal } from '../../../../model/pod/pod.ts';
import { toProxyPodRecord, type ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import {
  aChaperonRecord, aDelegate, aDelegateRecord, afterStatusPatches,
  annotated, aPod, aProxy, aProxyRecord, frozen, inPhase, onNode, scheduled, terminating, withCondition, withFinalizers,
  withMetadata, withoutOwner, withSpec, withStatus, type Change,
} from '../../../support/objects/builders.ts';

const AT = { namespace: 'team-a', name: 'web' };
const UNKNOWN: BoundTarget = { kind: 'unknown' };
const LOST: BoundTarget =
  { kind: 'unknown', outage: { reason: 'Unreachable', message: 'no route', since: '2026-11-22T10:00:00Z' } };
const REMOVED: BoundTarget =
  { kind: 'removed', outage: { reason: 'TargetRemoved', message: 'it was removed', since: '2026-11-22T10:00:00Z' } };
const missing = annotated({ [POD_MISSING_SINCE_ANNOTATION]: 'T' });
const gateOpen = withCondition({ type: 'a.io/gate', status: 'True' });
const expired = annotated({ [EXPIRED_AT_ANNOTATION]: '2026-01-01T00:00:00Z' });
const toldOfLoss = withCondition({ type: TARGET_UNREACHABLE_CONDITION, status: 'True', reason: 'Unreachable' });
const toStopWithin = (seconds: number) => annotated({ [GRACE_PERIOD_ANNOTATION]: String(seconds) });
const running = [inPhase('Running'), scheduled()];
/** As Jobs do. */
const awaited = withFinalizers(DELEGATE_FINALIZER, 'batch.kubernetes.io/job-tracking');
const notReady = withCondition({ type: 'Ready', status: 'False' });
const GONE = { kind: 'known', chaperon: undefined, delegate: undefined } as const;
const inGracePeriod = withMetadata({ deletionTimestamp: 'T', deletionGracePeriodSeconds: 30 });

function aBoundProxy(...changes: Change<Pod>[]): ProxyPod {
  return aProxyRecord(onNode('admiralty-a'), inPhase('Pending'), scheduled(), ...changes);
}

function known(
  chaperon: readonly Change<PodChaperon>[] | 'gone', delegate: readonly Change<Pod>[] | 'gone' = 'gone',
): BoundTarget {
  return {
    kind: 'known',
    chaperon: chaperon === 'gone' ? undefined : aChaperonRecord(...chaperon),
    delegate: delegate === 'gone' ? undefined : aDelegateRecord(...delegate),
  };
}

/** What a step does, in a few words. */
function told(step: FeedbackStep): string {
  if (step.kind === 'no-change') return 'no-change';
  if (step.kind === 'apply-changes') return `send: ${JSON.stringify(step.wanted.changes)}`;
  const verbs = step.plan.map((command) => (
    command.kind === 'patch'
      ? `patch ${command.at.subresource ?? Object.keys((command.patch as Pod).metadata).at(-1)}`
      : command.kind
  ));
  return `${step.kind}: ${verbs.join(', ')}`;
}

describe('planFeedback', () => {
  const containers = withStatus({ containerStatuses: [{ name: 'app' }] });
  const cases: Record<string, readonly [proxy: ProxyPod, target: BoundTarget, step: string]> = {
    'a delegate that runs is shown': [aBoundProxy(), known([], [inPhase('Running')]), 'copy-status: patch status'],
    'what is shown is not written again':
      [aBoundProxy(withStatus({ phase: 'Running' })), known([], [inPhase('Running'), scheduled()]), 'no-change'],
    'a delegate that has its node and nothing else adds nothing to the bind':
      [aBoundProxy(), known([], [scheduled()]), 'no-change'],
    'not while the proxy shows a former one, which was lost and made again':
      [aBoundProxy(inPhase('Running')), known([], [scheduled()]), 'copy-status: patch status'],
    'nor while that has no node':
      [aBoundProxy(inPhase('Running')), known([], [inPhase('Pending')]), 'copy-status: patch status'],
    'a delegate whose containers are made is shown before it runs':
      [aBoundProxy(), known([], [containers]), 'copy-status: patch status'],
    'an end is shown': [aBoundProxy(inPhase('Running')), known([], [inPhase('Failed')]), 'copy-status: patch status'],
    'one that was deleted there shows its end and goes too': [
      aBoundProxy(inPhase('Running')), known([], [inPhase('Failed'), terminating()]),
      'copy-status: patch status, delete',
    ],
    'even when the chaperon has gone':
      [aBoundProxy(inPhase('Running')), known('gone', [inPhase('Succeeded')]), 'copy-status: patch status'],
    'even when the chaperon goes':
      [aBoundProxy(inPhase('Running')), known([terminating()], [inPhase('Succeeded')]), 'copy-status: patch status'],
    'an end is shown that only the chaperon remembers':
      [aBoundProxy(inPhase('Running')), known([inPhase('Succeeded')]), 'copy-status: patch status'],
    'an end stays when the delegate is cleaned up': [aBoundProxy(inPhase('Succeeded')), known('gone'), 'no-change'],
    'an end stays when a delegate claims to run again':
      [aBoundProxy(inPhase('Failed')), known([], [inPhase('Running')]), 'no-change'],
    'what kubelet adds to an end is shown':
      [aBoundProxy(inPhase('Succeeded')), known([], [inPhase('Succeeded'), notReady]), 'copy-status: patch status'],
    'that is written once': [
      aBoundProxy(inPhase('Succeeded'), notReady), known([], [inPhase('Succeeded'), scheduled(), notReady]),
      'no-change',
    ],
    'an end is not replaced by another one':
      [aBoundProxy(inPhase('Failed')), known([], [inPhase('Succeeded'), notReady]), 'no-change'],
    'a proxy whose chaperon somebody deletes goes too':
      [aBoundProxy(), known([terminating()], [inPhase('Running')]), 'confirm-delegate-gone: delete'],
    'so does one whose delegate somebody deleted': [aBoundProxy(), known([missing]), 'confirm-delegate-gone: delete'],
    'and one whose delegate somebody deletes, as of a lost node, which never stops': [
      aBoundProxy(inPhase('Running')), known([], [inPhase('Running'), terminating()]), 'confirm-delegate-gone: delete',
    ],
    'and one whose chaperon has gone, once that is sure':
      [aBoundProxy(), known('gone'), 'confirm-delegate-gone: delete'],
    'one that was stopped because its bind was not heard of is wanted again':
      [aBoundProxy(), known([expired, missing]), 'delete-chaperon: patch annotations'],
    'once it has stopped':
      [aBoundProxy(), known([expired], [inPhase('Running'), terminating()]), 'copy-status: patch status'],
    'not when it must not run again':
      [aBoundProxy(), known([expired, missing, withSpec({ restartPolicy: 'Never' })]), 'confirm-delegate-gone: delete'],
    'a delegate that is about to be made is waited for': [aBoundProxy(), known([]), 'no-change'],
    'a target that does not answer changes nothing': [aBoundProxy(), UNKNOWN, 'no-change'],
    'one that is lost for a while is told of': [aBoundProxy(inPhase('Running')), LOST, 'report-outage: patch status'],
    'once': [aBoundProxy(inPhase('Running'), toldOfLoss), LOST, 'no-change'],
    'not on a pod that has ended': [aBoundProxy(inPhase('Succeeded')), LOST, 'no-change'],
    'nor on one that goes, which is held': [aBoundProxy(terminating()), LOST, 'no-change'],
    'and what it says when it is back takes its place': [
      aBoundProxy(inPhase('Running'), toldOfLoss), known([], [inPhase('Running'), scheduled()]),
      'copy-status: patch status',
    ],
    'even when that is next to nothing': [
      aBoundProxy(toldOfLoss), known([], [scheduled()]), 'copy-status: patch status',
    ],
    'one that was removed is told of at once':
      [aBoundProxy(inPhase('Running')), REMOVED, 'report-outage: patch status'],
    'an end stays what it is when the target is removed': [aBoundProxy(inPhase('Succeeded')), REMOVED, 'no-change'],
    'a pod that goes takes its chaperon along':
      [aBoundProxy(terminating()), known([], [inPhase('Running')]), 'delete-chaperon: delete'],
    'the time to stop that was asked for goes ahead':
      [aBoundProxy(inGracePeriod), known([], [inPhase('Running')]), 'delete-chaperon: patch annotations, delete'],
    'it is told once':
      [
        aBoundProxy(inGracePeriod, inPhase('Running')), known([terminating(), toStopWithin(30)], running),
        'no-change',
      ],
    'a shorter one may follow': [
      aBoundProxy(inGracePeriod), known([terminating(), toStopWithin(60)], [inPhase('Running')]),
      'delete-chaperon: patch annotations',
    ],
    'a container that the target has put in is not shown': [
      aBoundProxy(withStatus({ phase: 'Running', containerStatuses: [{ name: 'app' }] })),
      known([], [
        withStatus({ phase: 'Running', containerStatuses: [{ name: 'app' }, { name: 'mesh' }], conditions: [] }),
        scheduled(),
      ]),
      'no-change',
    ],
    'a condition of the source stays':
      [aBoundProxy(inPhase('Running'), gateOpen), known([], [inPhase('Running'), scheduled()]), 'no-change'],
    'even one that has ended':
      [aBoundProxy(terminating(), inPhase('Succeeded')), known([], [inPhase('Succeeded')]), 'delete-chaperon: delete'],
    'and waits while that goes':
      [aBoundProxy(terminating(), inPhase('Running')), known([terminating()], running), 'no-change'],
    'and while the delegate stops': [
      aBoundProxy(terminating(), inPhase('Running')), known('gone', [...running, terminating()]), 'no-change',
    ],
    'it shows what the delegate does while that stops': [
      aBoundProxy(terminating(), inPhase('Running')),
      known([terminating()], [inPhase('Running'), terminating(), notReady]), 'copy-status: patch status',
    ],
    'it shows how the delegate ends': [
      aBoundProxy(terminating(), inPhase('Running')), known([terminating()], [inPhase('Succeeded'), terminating()]),
      'copy-status: patch status',
    ],
    'it shows an end that only the chaperon remembers': [
      aBoundProxy(terminating(), inPhase('Running')), known([terminating(), inPhase('Failed')]),
      'copy-status: patch status',
    ],
    'it shows the end of a delegate that has gone before it is let go': [
      aBoundProxy(terminating(), inPhase('Running')), { ...GONE, last: { phase: 'Failed' } },
      'copy-status: patch status',
    ],
    'and is let go then': [
      aBoundProxy(terminating(), inPhase('Failed')), { ...GONE, last: { phase: 'Failed' } },
      'confirm-gone: patch finalizers',
    ],
    'one for whose end nobody waits is let go although nobody has seen that end':
      [aBoundProxy(terminating(), inPhase('Running')), GONE, 'confirm-gone: patch finalizers'],
    'one for whose end a controller waits counts as failed first, once it is sure that it is gone':
      [aBoundProxy(terminating(), inPhase('Running'), awaited), GONE, 'confirm-gone: patch status'],
    'and is let go after that': [
      aBoundProxy(terminating(), inPhase('Failed'), awaited), GONE, 'confirm-gone: patch finalizers',
    ],
    'then it is let go, once that is sure':
      [aBoundProxy(terminating()), known('gone'), 'confirm-gone: patch finalizers'],
    'without the grace period that no kubelet ends':
      [aBoundProxy(inGracePeriod), known('gone'), 'confirm-gone: delete, patch $deleteFromPrimitiveList/finalizers'],
    'it is let go where the target was removed': [aBoundProxy(terminating()), REMOVED, 'write: patch finalizers'],
    'and held where the target does not answer': [aBoundProxy(terminating()), UNKNOWN, 'no-change'],
    'a pod that was let go already needs nothing':
      [aBoundProxy(terminating(), withFinalizers('a.io/x')), known('gone'), 'no-change'],
  };
  for (const [sentence, [proxy, target, step]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(told(planFeedback(frozen(proxy), frozen(target))), step));
  }

  it('a pod whose target was removed is told once, and is not ready any more', () => {
    const step = planFeedback(aBoundProxy(inPhase('Running'), toldOfLoss), REMOVED);
    const [command] = step.kind === 'report-outage' ? step.plan : [];
    const { status } = command?.kind === 'patch' ? (command.patch as Pick<Pod, 'status'>) : {};
    assert.deepEqual(status?.conditions?.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`), [
      'isthmus.dev/TargetUnreachable True TargetRemoved', 'Ready False TargetRemoved',
      'ContainersReady False TargetRemoved',
    ]);
    const told = withCondition({ type: TARGET_UNREACHABLE_CONDITION, status: 'True', reason: 'TargetRemoved' });
    assert.equal(planFeedback(aBoundProxy(inPhase('Running'), told), REMOVED).kind, 'no-change');
  });

  it('deletes this very pod, not its successor of that name', () => {
    const step = planFeedback(aBoundProxy(), known('gone'));
    assert.deepEqual(step.kind === 'confirm-delegate-gone' && step.plan, [
      { kind: 'delete', type: PODS, at: AT, preconditions: { uid: 'proxy-uid' }, propagation: 'Background' },
    ]);
  });

  it('says of an end that nobody has seen that it is not known', () => {
    const step = planFeedback(aBoundProxy(terminating(), inPhase('Running'), awaited), GONE);
    const { status } = afterStatusPatches(aProxy(), step.kind === 'confirm-gone' ? step.plan : []);
    assert.deepEqual([status?.phase, status?.reason], ['Failed', 'EndUnknown']);
  });

  it('has the phase alone ready for an API server that rejects the rest of an end, for a pod that goes only', () => {
    const ended = known([], [withStatus({ phase: 'Failed', reason: 'Evicted', startTime: 'yesterday' })]);
    const stays = planFeedback(aBoundProxy(inPhase('Running')), ended);
    assert.equal(stays.kind === 'copy-status' && stays.fallback, undefined);
    const goes = planFeedback(
      aBoundProxy(terminating(), inPhase('Running')), {
        ...GONE, last: { phase: 'Failed', reason: 'Evicted', startTime: 'yesterday' },
      },
    );
    const { status } = afterStatusPatches(aProxy(), goes.kind === 'copy-status' ? goes.fallback ?? [] : []);
    assert.deepEqual([status?.phase, status?.reason, status?.startTime], ['Failed', 'Evicted', undefined]);
  });

  it('has the status without devices ready for an API server that rejects them, where there are any', () => {
    const containerStatuses = [{ name: 'app', restartCount: 7, allocatedResourcesStatus: [{ name: 'a.io/gpu' }] }];
    const step =
      planFeedback(aBoundProxy(), known([], [withStatus({ phase: 'Running', containerStatuses })]));
    const { status } = afterStatusPatches(aProxy(), step.kind === 'copy-status' ? step.fallback ?? [] : []);
    assert.deepEqual([status?.phase, status?.containerStatuses], ['Running', [{ name: 'app', restartCount: 7 }]]);
    const [shown] = step.kind === 'copy-status' ? step.plan : [];
    assert.ok(JSON.stringify(shown).includes('a.io/gpu'));
  });

  it('shows no condition of a delegate that was made again, nor gives it to the new one as the source\'s', () => {
    const gated = withSpec({ readinessGates: [{ conditionType: 'a.io/gate' }] });
    const step = planFeedback(aBoundProxy(gated), known([], [inPhase('Running'), gateOpen]));
    const pod = afterStatusPatches(
      aProxy(onNode('admiralty-a'), gated), step.kind === 'copy-status' ? step.plan : [],
    );
    const next = planFeedback(toProxyPodRecord(pod)!, known([], [inPhase('Running')]));
    assert.equal(next.kind, 'copy-status');
    const { status, metadata } = afterStatusPatches(pod, next.kind === 'copy-status' ? next.plan : []);
    assert.deepEqual([pod.status?.conditions?.length, status?.conditions?.length ?? 0], [1, 0]);
    const own = { ...pod, metadata, status: { phase: 'Running', conditions: [{ type: 'a.io/gate', status: 'True' }] } };
    assert.equal(
      told(planFeedback(toProxyPodRecord(own as Pod)!, known([], [inPhase('Running')]))),
      'send: {"gates":{"a.io/gate":{"status":"True"}}}',
    );
  });

  it('takes this very chaperon back, and its delegate first', () => {
    assert.deepEqual(planChaperonDeletion(aChaperonRecord()), [
      {
        kind: 'delete', type: POD_CHAPERONS, at: { namespace: 'team-a', name: 'web-abc' },
        preconditions: { uid: 'chaperon-uid' }, propagation: 'Background',
      },
    ]);
  });

  it('shows the addresses of the delegate and of its host', () => {
    const step = planFeedback(
      aBoundProxy(), known([], [withStatus({ phase: 'Running', hostIP: '192.168.0.1', podIP: '10.0.0.1' })]),
    );
    const { status } = afterStatusPatches(aProxy(), step.kind === 'copy-status' ? step.plan : []);
    assert.deepEqual([status?.phase, status?.podIP, status?.hostIP], ['Running', '10.0.0.1', '192.168.0.1']);
  });

  it('shows which generation of the proxy the kubelet of the target has acted on, not which of the delegate', () => {
    const generation = (of: number) => withMetadata({ generation: of });
    const ready = withCondition({ type: 'Ready', status: 'True', observedGeneration: 5 });
    const step = planFeedback(aBoundProxy(generation(2)), known([], [
      generation(5), withStatus({ phase: 'Running', observedGeneration: 5 }), ready,
    ]));
    const { status } = afterStatusPatches(aProxy(), step.kind === 'copy-status' ? step.plan : []);
    assert.deepEqual([status?.observedGeneration, status?.conditions?.[0]?.observedGeneration], [2, 2]);
  });
});

const status = fc.record<PodStatus>(
  {
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed'), reason: fc.string(), podIP: fc.string(),
    containerStatuses: fc.constant([{ name: 'app' }]), conditions: fc
      .constantFrom([], [{ type: 'PodScheduled', status: 'True', lastProbeTime: null }]),
  },
  { requiredKeys: ['phase'] },
);
const proxy = fc
  .record({ status, changes: fc.subarray<Change<Pod>>([terminating(), inGracePeriod, withFinalizers('a.io/x')]) })
  .map(({ status, changes }) => aProxy(onNode('admiralty-a'), withStatus(status), ...changes));
const chaperon = fc.oneof(fc.constant('gone' as const), fc.subarray<Change<PodChaperon>>([terminating(), missing]));
const delegate =
  fc.oneof(fc.constant('gone' as const), fc.record({ status, changes: fc.subarray<Change<Pod>>([terminating()]) }).map(
    ({ status, changes }) => [withStatus(status), ...changes],
  ));
const target = fc.oneof(fc.constantFrom(UNKNOWN, REMOVED), fc.tuple(chaperon, delegate).map(
  ([chaperon, delegate]) => known(chaperon, delegate),
));

function law(check: (pod: Pod, target: BoundTarget, step: FeedbackStep) => void): void {
  fc.assert(
    fc.property(
      proxy, target, (pod, target) => check(pod, target, planFeedback(frozen(toProxyPodRecord(pod)!), frozen(target))),
    ),
    { numRuns: 1_000 },
  );
}

describe('a source that is older than the target', () => {
  it('is not written to again when it has dropped a field that it does not know', () => {
    const target = known([], [
      withStatus({ phase: 'Running', containerStatuses: [{ name: 'app', newer: 1 } as ContainerStatus] }), scheduled(),
    ]);
    const before = aBoundProxy();
    const step = planFeedback(before, target);
    const kept = aBoundProxy(withStatus({ phase: 'Running', containerStatuses: [{ name: 'app' }] }));
    assert.equal(step.kind, 'copy-status');
    const lastWrite = {
      sent: step.kind === 'copy-status' ? step.digest : '',
      stored: kept.statusDigest ?? '', version: before.resourceVersion,
      phase: undefined,
    };
    assert.deepEqual(planFeedback(kept, target, lastWrite), { kind: 'no-change' });
    assert.equal(planFeedback(before, target, lastWrite).kind, 'copy-status', 'somebody else has changed the status');
    assert.equal(
      planFeedback(kept, known([], [inPhase('Failed')]), lastWrite).kind, 'copy-status',
      'there is something new to show',
    );
  });
});

describe('a status that was just written', () => {
  const runs = known([], [inPhase('Running')]);
  const before = aBoundProxy(withMetadata({ resourceVersion: '99' }));
  const step = planFeedback(before, runs);
  const lastWrite =
    {
      sent: step.kind === 'copy-status' ? step.digest : '',
      stored: 'as sent', version: '101', phase: 'Running',
    } as const;

  it('is not written again while the cache has not seen the write', () => {
    assert.equal(step.kind, 'copy-status');
    assert.deepEqual(planFeedback(before, runs, lastWrite), { kind: 'no-change' });
    assert.deepEqual(
      planFeedback(aBoundProxy(withMetadata({ resourceVersion: '100' })), runs, lastWrite), { kind: 'no-change' },
    );
  });

  it('does not keep a newer one waiting', () => {
    assert.equal(planFeedback(before, known([], [inPhase('Failed')]), lastWrite).kind, 'copy-status');
  });

  it('is what users see, although the cache says otherwise: metrics and traces tell it once', () => {
    assert.deepEqual(
      [shownPhase(before, lastWrite), shownPhase(before, undefined), shownPhase(
        before, { ...lastWrite, phase: undefined },
      )],
      ['Running', 'Pending', 'Pending'],
    );
  });

  it('is written again when somebody has changed it since', () => {
    const later = aBoundProxy(withMetadata({ resourceVersion: '102' }));
    assert.equal(planFeedback(later, runs, lastWrite).kind, 'copy-status');
  });
});

describe('laws of feedback', () => {
  it('a pod that has ended is never shown as anything else, nor deleted', () => {
    law((pod, _target, step) => {
      if (!isTerminal(pod.status?.phase)) return;
      if (pod.metadata.deletionTimestamp === undefined) {
        const plan = step.kind === 'copy-status' ? step.plan : [];
        assert.ok(['no-change', 'copy-status'].includes(step.kind) && plan.every(({ kind }) => kind === 'patch'));
        assert.equal(afterStatusPatches(pod, plan).status?.phase, pod.status?.phase);
      } else assert.ok(step.kind === 'no-change' || (
        step.kind !== 'apply-changes'
          && step.plan.every((command) => command.kind !== 'patch' || command.at.subresource !== 'status')
      ));
    });
  });

  it('nothing at all is done while the target is unknown', () => {
    fc.assert(fc.property(
      proxy, (pod) => assert.deepEqual(planFeedback(toProxyPodRecord(pod)!, UNKNOWN), { kind: 'no-change' }),
    ));
  });

  it('a pod is released only where nothing of it is left, and that was read live, unless the target was removed',
    () => {
    law((_pod, target, step) => {
      const releases = step.kind !== 'delete-chaperon' && 'plan' in step
        && step.plan.some((command) => command.kind === 'patch' && command.at.subresource === undefined);
      if (!releases || target.kind === 'removed') return;
      assert.equal(step.kind, 'confirm-gone');
      assert.deepEqual(target, { kind: 'known', chaperon: undefined, delegate: undefined });
    });
  });

  it('a pod that stays is deleted only when its delegate was taken away', () => {
    law((pod, target, step) => {
      const deletes = step.kind !== 'delete-chaperon' && 'plan' in step
        && step.plan.some((command) => command.kind === 'delete');
      if (!deletes || pod.metadata.deletionTimestamp !== undefined) return;
      assert.ok(target.kind === 'known' && (
        target.chaperon === undefined || target.chaperon.terminating || target.chaperon.podMissing
          || target.delegate?.terminating
      ));
    });
  });

  it('after what it shows there is nothing more to show, whatever was shown before', () => {
    const delegateStatus = status.filter(({ phase }) => phase !== 'Pending');
    fc.assert(
      fc.property(status, delegateStatus, (before, now) => {
        const pod = aProxy(onNode('admiralty-a'), withStatus(before));
        const target: BoundTarget =
          { kind: 'known', chaperon: aChaperonRecord(), delegate: toDelegatePodRecord(aDelegate(withStatus(now)))! };
        const step = planFeedback(toProxyPodRecord(pod)!, target);
        const after = afterStatusPatches(pod, step.kind === 'copy-status' ? step.plan : []);
        assert.deepEqual(planFeedback(toProxyPodRecord(after)!, target), { kind: 'no-change' });
      }),
    );
  });

  it('every write is to this very pod', () => {
    law((_pod, _target, step) => {
      if (step.kind === 'no-change' || step.kind === 'delete-chaperon' || step.kind === 'apply-changes') return;
      for (const command of step.plan) {
        if (command.kind === 'delete') assert.equal(command.preconditions.uid, 'proxy-uid');
        if (command.kind !== 'patch') continue;
        const { uid, resourceVersion } = (command.patch as Pod).metadata;
        assert.ok(resourceVersion === undefined ? uid === 'proxy-uid' : resourceVersion === '1');
      }
    });
  });
});

describe('a delegate that the source made itself', () => {
  const direct = (...changes: Change<Pod>[]): BoundTarget => {
    const delegate = toDelegatePodRecord(aDelegate(withoutOwner(), ...changes))!;
    return { kind: 'known', chaperon: delegate.asChaperon, delegate };
  };
  const within = (seconds: number) =>
    withMetadata({ deletionTimestamp: '2026-01-01T01:00:00Z', deletionGracePeriodSeconds: seconds });
  const held = withFinalizers(RUN_ONCE_FINALIZER);
  const steps: Record<string, readonly [proxy: ProxyPod, target: BoundTarget, step: string]> = {
    'is shown': [aBoundProxy(), direct(inPhase('Running')), 'copy-status: patch status'],
    'takes the proxy along when it is drained':
      [aBoundProxy(inPhase('Running')), direct(inPhase('Running'), within(30)), 'confirm-delegate-gone: delete'],
    'does so also when it must not run again, and may still end':
      [aBoundProxy(inPhase('Running')), direct(inPhase('Running'), held, within(30)), 'confirm-delegate-gone: delete'],
    'is lost when it has stopped without an end':
      [aBoundProxy(inPhase('Running')), direct(inPhase('Running'), held, within(0)), 'confirm-delegate-gone: delete'],
    'ends for good': [
      aBoundProxy(inPhase('Running')), direct(inPhase('Succeeded'), held, within(0)),
      'copy-status: patch status, delete',
    ],
    'is deleted with its proxy': [aBoundProxy(terminating()), direct(inPhase('Running')), 'delete-chaperon: delete'],
    'is not deleted twice':
      [aBoundProxy(terminating(), inPhase('Running')), direct(...running, within(30)), 'no-change'],
    'is deleted again when it is to be faster':
      [aBoundProxy(within(3)), direct(inPhase('Running'), within(30)), 'delete-chaperon: delete'],
    'is not slowed down':
      [aBoundProxy(within(60), inPhase('Running')), direct(...running, within(30)), 'no-change'],
    'is shown while it stops': [
      aBoundProxy(terminating(), inPhase('Running')), direct(inPhase('Succeeded'), held, within(0)),
      'copy-status: patch status',
    ],
  };
  for (const [what, [proxy, target, step]] of Object.entries(steps)) {
    it(what, () => assert.equal(told(planFeedback(proxy, target)), step));
  }

  it('is deleted within the time that was asked for', () => {
    const step = planFeedback(aBoundProxy(within(7)), direct());
    const [command] = step.kind === 'delete-chaperon' ? step.plan : [];
    assert.equal(command?.kind === 'delete' && command.gracePeriodSeconds, 7);
  });

  const stopped = (...changes: Change<Pod>[]) =>
    toDelegatePodRecord(aDelegate(withoutOwner(), held, within(0), ...changes))!.asChaperon!;
  type Delegate = Parameters<typeof planStoppedDelegateRelease>[0];
  const endings: Record<string, readonly [pod: Delegate, proxy: ProxyPod | undefined, isLetGo: boolean]> = {
    'is let go once its proxy shows the end': [stopped(inPhase('Succeeded')), aBoundProxy(inPhase('Succeeded')), true],
    'is kept until then': [stopped(inPhase('Succeeded')), aBoundProxy(inPhase('Running')), false],
    'is let go when its proxy goes and there is no end to show': [stopped(), aBoundProxy(terminating()), true],
    'is kept until its proxy, which goes, shows the end':
      [stopped(inPhase('Succeeded')), aBoundProxy(terminating(), inPhase('Running')), false],
    'is let go once that is shown':
      [stopped(inPhase('Succeeded')), aBoundProxy(terminating(), inPhase('Succeeded')), true],
    'is let go when its proxy goes and was never bound':
      [stopped(inPhase('Failed')), aProxyRecord(terminating()), true],
    'is let go when its proxy goes without our finalizer, for nothing shows the end then':
      [stopped(inPhase('Failed')), aBoundProxy(terminating(), withFinalizers('a.io/x')), true],
    'is let go when its proxy has gone': [stopped(inPhase('Succeeded')), undefined, true],
    'is let go when another pod has the name': [stopped(), aProxyRecord(withMetadata({ uid: 'another' })), true],
    'is let go when it was taken back before it ran': [stopped(), aProxyRecord(), true],
    'is kept when it ran before its proxy was bound': [stopped(inPhase('Failed')), aProxyRecord(), false],
  };
  for (const [what, [pod, proxy, isLetGo]] of Object.entries(endings)) {
    it(what, () => assert.equal(planStoppedDelegateRelease(pod, proxy).length > 0, isLetGo));
  }

  it('is kept while its containers run', () => {
    const running = toDelegatePodRecord(aDelegate(withoutOwner(), held, within(30)))!.asChaperon!;
    assert.deepEqual(planStoppedDelegateRelease(running, undefined), []);
  });
});

describe('changes of a running pod', () => {
  const sentTo = (changes: object, of = stateOf(changes)) =>
    annotated({ [SENT_CHANGES_ANNOTATION]: writeSentChanges({ of, changes }) });
  const manifest = (pod: Pod) => ({ [SPEC_AT_BIND_ANNOTATION]: specDigests(pod.spec) });
  const before = aPod();
  const changed = aBoundProxy(
    annotated(manifest(before)), withSpec({ containers: [{ name: 'app', image: 'app:2' }] }), inPhase('Running'),
  );
  const gated = (...changes: Change<Pod>[]) =>
    aBoundProxy(withSpec({ readinessGates: [{ conditionType: 'example.com/lb' }] }), inPhase('Running'), ...changes);
  const lb = (status: 'True' | 'False') => withCondition({ type: 'example.com/lb', status });
  const cases: Record<string, readonly [proxy: ProxyPod, target: BoundTarget, step: string]> = {
    'are sent': [changed, known([], running), 'send: {"images":{"app":"app:2"}}'],
    'are sent once': [changed, known([sentTo({ images: { app: 'app:2' } })], running), 'no-change'],
    'follow later ones':
      [changed, known([sentTo({ images: { app: 'app:3' } })], running), 'send: {"images":{"app":"app:2"}}'],
    'are taken back': [
      aBoundProxy(annotated(manifest(before)), inPhase('Running')),
      known([sentTo({ images: { app: 'app:3' } })], running), 'send: {}',
    ],
    'wait for a chaperon that stays': [changed, known([terminating()], running), 'confirm-delegate-gone: delete'],
    'are none where nothing was changed':
      [aBoundProxy(annotated(manifest(before)), inPhase('Running')), known([], running), 'no-change'],
    'to a readiness gate are sent':
      [gated(lb('True')), known([], running), 'send: {"gates":{"example.com/lb":{"status":"True"}}}'],
    'to a gate that the target decides on are not': [
      gated(lb('True'), annotated({ [DELEGATE_CONDITIONS_ANNOTATION]: '["example.com/lb"]' })),
      known([], [...running, lb('True')]), 'no-change',
    ],
    'to a gate that the source decides on are sent again': [
      gated(lb('False')),
      known([sentTo({ gates: { 'example.com/lb': { status: 'True' } } })], [...running, lb('True')]),
      'send: {"gates":{"example.com/lb":{"status":"False"}}}',
    ],
  };
  for (const [what, [proxy, target, step]] of Object.entries(cases)) {
    it(what, () => assert.equal(told(planFeedback(proxy, target)), step));
  }

  it("the target's copy of a gate that the source decides on is not shown", () => {
    const gates = { 'example.com/lb': { status: 'True' } } as const;
    const target = known([sentTo({ gates })], [inPhase('Running'), scheduled(), lb('False')]);
    const step = planFeedback(gated(lb('True'), inPhase('Pending')), target);
    const shown = afterStatusPatches(aProxy(), step.kind === 'copy-status' ? step.plan : []);
    assert.deepEqual(
      shown.status?.conditions?.filter(({ type }) => type === 'example.com/lb').map(({ status }) => status), ['True'],
    );
  });

  it('what the source has set meanwhile is not lost, nor an end taken back: a status is written into the version ' +
    'that was looked at', () => {
    const versionIn = (proxy: ProxyPod) => {
      const step = planFeedback(proxy, known([], [inPhase('Running')]));
      const [command] = step.kind === 'copy-status' ? step.plan : [];
      return command?.kind === 'patch' ? (command.patch as Pod).metadata.resourceVersion : 'no patch';
    };
    assert.equal(versionIn(aBoundProxy(lb('True'))), '1');
    assert.equal(versionIn(aBoundProxy()), '1');
  });

  it("the delegate's annotations are merged, and the user's stay", () => {
    const proxy = aBoundProxy(annotated({ mine: 'later', both: 'mine' }), inPhase('Pending'));
    const step = planFeedback(
      proxy, known([], [inPhase('Running'), annotated({ both: 'theirs', 'cni.example.com/ips': '10.0.0.1' })]),
    );
    const [command] = step.kind === 'copy-status' ? step.plan : [];
    const { annotations } = (command?.kind === 'patch' ? (command.patch as Pod) : aProxy()).metadata;
    assert.equal((command?.kind === 'patch' ? (command.patch as Pod) : aProxy()).metadata.resourceVersion, '1');
    assert.deepEqual(
      annotations, { 'cni.example.com/ips': '10.0.0.1', [DELEGATE_ANNOTATIONS_ANNOTATION]: '["cni.example.com/ips"]' },
    );
  });
});
