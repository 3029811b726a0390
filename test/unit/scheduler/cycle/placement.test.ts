import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod } from '../../../../api/objects/core.ts';
import {
  CONFIRM_BEFORE_ANNOTATION, DELEGATE_NAME_ANNOTATION, FENCE_ANNOTATION, SPEC_AT_BIND_ANNOTATION,
    POD_MISSING_SINCE_ANNOTATION, TARGET_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../../../../api/resource-types.ts';
import {
  VERDICT_TIMEOUT_MS, planPlacement, planUnschedulable, type Candidate, type PlacementState, type PlacementStep,
} from '../../../../scheduler/cycle/placement.ts';
import {
  aChaperonRecord, annotated, aDelegateRecord,
  aProxyRecord, frozen, inPhase, onNode, scheduled, terminating, unschedulable, withCondition, withFinalizers, withSpec,
  withMetadata, withUid, type Change,
} from '../../../support/objects/builders.ts';

const NOW = 1_000_000;
const gated = withCondition({
  type: 'PodScheduled', status: 'False', reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
});
const missing = annotated({ [POD_MISSING_SINCE_ANNOTATION]: '2026-01-01T00:00:00Z' });

interface CandidateParts extends Partial<Omit<Candidate, 'chaperon' | 'delegate'>> {
  readonly chaperon?: readonly Change<PodChaperon>[] | 'gone';
  readonly delegate?: readonly Change<Pod>[];
}

function aCandidate(target: string, { chaperon = [], delegate, ...rest }: CandidateParts = {}): Candidate {
  return {
    target, nodeName: `admiralty-${target}`, reachable: true, waitingSince: NOW, ...rest,
    chaperon: chaperon === 'gone' ? undefined : aChaperonRecord(withUid(`chaperon-in-${target}`), ...chaperon),
    delegate: delegate && aDelegateRecord(...delegate),
  };
}

function state(candidates: readonly Candidate[] = [], rest: Partial<PlacementState> = {}): PlacementState {
  return { proxy: aProxyRecord(), candidates, pendingCreate: false, unobserved: [], ...rest };
}

/** The step in a few words: its kind, and where. */
function told(step: PlacementStep): string {
  return 'target' in step ? `${step.kind} ${step.target}` : step.kind;
}

describe('planPlacement', () => {
  const cases: Record<string, readonly [state: PlacementState, step: string]> = {
    'a new pod looks for a target': [state(), 'choose-target'],
    'a pod with a gate waits for its gate':
      [state([], { proxy: aProxyRecord(withSpec({ schedulingGates: [{ name: 'g' }] })) }), 'no-change'],
    'a bound pod is no business of the scheduler':
      [state([aCandidate('a')], { proxy: aProxyRecord(onNode('admiralty-a')) }), 'no-change'],
    'nor is a bound pod that terminates':
      [state([aCandidate('a')], { proxy: aProxyRecord(onNode('admiralty-a'), terminating()) }), 'no-change'],
    'a pod whose create is under way waits': [state([], { pendingCreate: true }), 'wait'],
    'a pod that may have a candidate in a target not heard yet waits': [state([], { unobserved: ['b'] }), 'wait'],
    'a candidate without a word is given time': [state([aCandidate('a')]), 'wait'],
    'a delegate without a word is given time': [state([aCandidate('a', { delegate: [] })]), 'wait'],
    'a delegate that has its node commits the pod': [state([aCandidate('a', { delegate: [scheduled()] })]), 'bind a'],
    'so does a chaperon that says so, where pods are not seen':
      [state([aCandidate('a', { chaperon: [scheduled()] })]), 'bind a'],
    'a delegate that runs commits the pod': [state([aCandidate('a', { delegate: [inPhase('Running')] })]), 'bind a'],
    'so does one that has ended already': [state([aCandidate('a', { delegate: [inPhase('Succeeded')] })]), 'bind a'],
    "the delegate's word counts more than the chaperon's":
      [state([aCandidate('a', { chaperon: [scheduled()], delegate: [unschedulable()] })]), 'delete-candidate a'],
    'a member of a group that is not complete is not bound':
      [state([aCandidate('a', { delegate: [scheduled()] })], { group: 'incomplete' }), 'wait'],
    'nor where members have gone since':
      [state([aCandidate('a', { delegate: [scheduled()] })], { group: 'too-few' }), 'wait'],
    'a member of a complete group is':
      [state([aCandidate('a', { delegate: [scheduled()] })], { group: 'complete' }), 'bind a'],
    'a group that has failed takes its candidates back, yes or no':
      [state([aCandidate('a', { delegate: [scheduled()] })], { group: 'failed' }), 'delete-candidate a'],
    'also those without a word': [state([aCandidate('a')], { group: 'failed' }), 'delete-candidate a'],
    'a no takes the candidate back': [state([aCandidate('a', { delegate: [unschedulable()] })]), 'delete-candidate a'],
    'a no is waited out where the autoscaler may make room':
      [state([aCandidate('a', { delegate: [unschedulable()] })], { scaleUpUntil: NOW + 1 }), 'wait'],
    'but not for ever':
      [state([aCandidate('a', { delegate: [unschedulable()] })], { scaleUpUntil: NOW }), 'delete-candidate a'],
    'and not where there is no pod that would wake it':
      [state([aCandidate('a', { chaperon: [unschedulable()] })], { scaleUpUntil: NOW + 1 }), 'delete-candidate a'],
    'no word within the patience takes it back':
      [state([aCandidate('a', { waitingSince: NOW - VERDICT_TIMEOUT_MS })]), 'delete-candidate a'],
    'a gate of the target is given time to open': [state([aCandidate('a', { delegate: [gated] })]), 'wait'],
    'within the patience':
      [state([aCandidate('a', { delegate: [gated], waitingSince: NOW - VERDICT_TIMEOUT_MS })]), 'delete-candidate a'],
    'or as long as the autoscaler may make room': [
      state(
        [aCandidate('a', { delegate: [gated], waitingSince: NOW - VERDICT_TIMEOUT_MS })], { scaleUpUntil: NOW + 1 },
      ),
      'wait',
    ],
    'a candidate that goes is waited for, yes or no':
      [state([aCandidate('a', { chaperon: [terminating(), scheduled()] })]), 'wait'],
    'a delegate that outlives its chaperon is waited for':
      [state([aCandidate('a', { chaperon: 'gone', delegate: [scheduled()] })]), 'wait'],
    'a delegate that goes while its chaperon stays is waited for':
      [state([aCandidate('a', { delegate: [terminating(), scheduled()] })]), 'wait'],
    'a candidate whose delegate was taken away is taken back, not bound':
      [state([aCandidate('a', { chaperon: [missing, scheduled()] })]), 'delete-candidate a'],
    'a target that does not answer keeps its candidate, whatever it said':
      [state([aCandidate('a', { reachable: false, delegate: [scheduled()] })]), 'wait'],
    'and however long it takes': [state([aCandidate('a', { reachable: false, waitingSince: 0 })]), 'wait'],
    'a candidate whose delete was done is waited for, also when its delegate gets a node before that is seen':
      [state([aCandidate('a', { deletion: 'done', delegate: [scheduled()] })]), 'wait'],
    'one whose delete may have been done is taken back, and never bound':
      [state([aCandidate('a', { deletion: 'sent', delegate: [inPhase('Running')] })]), 'delete-candidate a'],
    'once its target answers':
      [state([aCandidate('a', { deletion: 'sent', reachable: false, delegate: [scheduled()] })]), 'wait'],
    'a second candidate that is withdrawn does not hold up the bind': [
      state(
        [aCandidate('a', { deletion: 'done', delegate: [scheduled()] }), aCandidate('b', { delegate: [scheduled()] })],
      ),
      'bind b',
    ],
    'an abandoned candidate is taken back, and never bound':
      [state([aCandidate('a', { isAbandoned: true, delegate: [scheduled()] })]), 'delete-candidate a'],
    'once its target answers that was lost':
      [state([aCandidate('a', { isAbandoned: true, reachable: false, delegate: [scheduled()] })]), 'wait'],
    'it does not hold up, but goes before, the bind elsewhere': [
      state([
        aCandidate('a', { isAbandoned: true, delegate: [scheduled()] }), aCandidate('b', { delegate: [scheduled()] }),
      ]),
      'delete-candidate a',
    ],
    'a candidate of which its target might hear too late is not to be stopped, before it is bound':
      [state([aCandidate('a', { isCloseToDeadline: true, delegate: [scheduled()] })]), 'remove-deadline a'],
    'nor one that is slow': [state([aCandidate('a', { isCloseToDeadline: true })]), 'remove-deadline a'],
    'and is asked for again where nobody knows': [
      state(
        [aCandidate('a', { deletion: 'sent', delegate: [scheduled()] }), aCandidate('b', { delegate: [scheduled()] })],
      ),
      'delete-candidate a',
    ],
    'a pod that goes does not ask again for what was done':
      [state([aCandidate('a', { deletion: 'done' })], { proxy: aProxyRecord(terminating()) }), 'wait'],
    'of two candidates the one with a node stays':
      [state([aCandidate('a'), aCandidate('b', { delegate: [scheduled()] })]), 'delete-candidate a'],
    'of two without a word the first by name stays': [state([aCandidate('b'), aCandidate('a')]), 'delete-candidate b'],
    'of two with a node the first by name stays': [
      state([aCandidate('b', { delegate: [scheduled()] }), aCandidate('a', { delegate: [scheduled()] })]),
      'delete-candidate b',
    ],
    'a second candidate that goes already does not hold up the bind': [
      state([aCandidate('a', { chaperon: [terminating()] }), aCandidate('b', { delegate: [scheduled()] })]), 'bind b',
    ],
    'a pod that goes takes its candidate along':
      [state([aCandidate('a')], { proxy: aProxyRecord(terminating()) }), 'delete-candidate a'],
    'even one that has its node': [
      state([aCandidate('a', { delegate: [scheduled()] })], { proxy: aProxyRecord(terminating()) }),
      'delete-candidate a',
    ],
    'a pod that goes waits for a candidate that goes':
      [state([aCandidate('a', { chaperon: [terminating()] })], { proxy: aProxyRecord(terminating()) }), 'wait'],
    'for a delegate without its chaperon':
      [state([aCandidate('a', { chaperon: 'gone', delegate: [] })], { proxy: aProxyRecord(terminating()) }), 'wait'],
    'for a target that does not answer':
      [state([aCandidate('a', { reachable: false })], { proxy: aProxyRecord(terminating()) }), 'wait'],
    'for a create under way': [state([], { proxy: aProxyRecord(terminating()), pendingCreate: true }), 'wait'],
    'and for a target not heard yet': [state([], { proxy: aProxyRecord(terminating()), unobserved: ['b'] }), 'wait'],
    'a pod of which nothing is left anywhere is let go':
      [state([], { proxy: aProxyRecord(terminating()) }), 'remove-finalizer'],
    'once': [state([], { proxy: aProxyRecord(terminating(), withFinalizers('a.io/other')) }), 'no-change'],
    'a gated pod that goes is let go': [
      state([], { proxy: aProxyRecord(terminating(), withSpec({ schedulingGates: [{ name: 'g' }] })) }),
      'remove-finalizer',
    ],
    'a pod that ended without a node gets no target':
      [state([], { proxy: aProxyRecord(inPhase('Failed')) }), 'remove-finalizer'],
    'and its candidate is taken back': [
      state([aCandidate('a', { delegate: [scheduled()] })], { proxy: aProxyRecord(inPhase('Failed')) }),
      'delete-candidate a',
    ],
  };
  for (const [sentence, [before, step]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(told(planPlacement(frozen(before), NOW)), step));
  }

  describe('of a delegate that the source itself created', () => {
    const inPodMode = (...changes: Change<Pod>[]): Candidate => {
      const delegate = aDelegateRecord(withMetadata({ ownerReferences: [] }), ...changes);
      return { ...aCandidate('a'), chaperon: delegate.asChaperon, delegate };
    };
    const rows: Record<string, readonly [candidate: Candidate, step: string]> = {
      'binds one that has ended while it goes: its result must not be lost':
        [inPodMode(inPhase('Succeeded'), terminating()), 'bind a'],
      'also in a target that is away': [{ ...inPodMode(inPhase('Failed')), reachable: false }, 'bind a'],
      'also where it was abandoned': [{ ...inPodMode(inPhase('Failed')), isAbandoned: true }, 'bind a'],
      'waits for one that goes before it has ended': [inPodMode(scheduled(), terminating()), 'wait'],
      'waits for one that runs in a target that is away': [{ ...inPodMode(inPhase('Running')), reachable: false },
        'wait'],
      'binds one that has its node': [inPodMode(scheduled()), 'bind a'],
      'takes back one that its scheduler rejected': [inPodMode(unschedulable()), 'delete-candidate a'],
    };
    for (const [sentence, [candidate, step]] of Object.entries(rows)) {
      it(sentence, () => assert.equal(told(planPlacement(frozen(state([candidate])), NOW)), step));
    }
    it('does not bind one that has ended in PodChaperon mode while its chaperon goes', () => assert.equal(
      told(planPlacement(state([aCandidate('a', { chaperon: [inPhase('Succeeded'), terminating()] })]), NOW)), 'wait',
    ));
    it('deletes the pod, with its UID', () => {
      const step = planPlacement(state([inPodMode(unschedulable())]), NOW);
      assert.deepEqual(step.kind === 'delete-candidate' && step.plan.map((command) => command.kind === 'delete'
        && [command.type, command.preconditions]), [[PODS, { uid: 'delegate-uid' }]]);
    });
  });

  const transient = withCondition({ type: 'PodScheduled', status: 'False', reason: 'SchedulerError', message: 'm' });
  const times: Record<string, readonly [PlacementState, step: PlacementStep['kind'], ms: number | undefined]> = {
    'an autoscaler is given all of its time': [
      state([aCandidate('a', { delegate: [unschedulable()], waitingSince: 0 })], { scaleUpUntil: NOW + 250 }), 'wait',
        250,
    ],
    'a yes does not wait for an autoscaler':
      [state([aCandidate('a', { delegate: [scheduled()] })], { scaleUpUntil: NOW + 250 }), 'bind', undefined],
    'no word yet is not a no: an autoscaler changes nothing about patience': [
      state([aCandidate('a', { delegate: [], waitingSince: NOW - 9_000 })], { scaleUpUntil: NOW + 99_000 }), 'wait',
        1_000,
    ],
    'an error of the scheduler is no verdict': [state([aCandidate('a', { delegate: [transient] })]), 'wait', 10_000],
    'but does not last for ever': [
      state([aCandidate('a', { delegate: [transient], waitingSince: NOW - 10_000 })]), 'delete-candidate', undefined,
    ],
    'a gate is given what is left of the patience':
      [state([aCandidate('a', { delegate: [gated], waitingSince: NOW - 4_000 })]), 'wait', 6_000],
    'a target that is away is waited for without a time': [state([aCandidate('a', { reachable: false })]), 'wait',
      undefined],
    'a group is waited for without a time':
      [state([aCandidate('a', { delegate: [scheduled()] })], { group: 'incomplete' }), 'wait', undefined],
    'a create of which nobody knows is waited for without a time': [state([], { pendingCreate: true }), 'wait',
      undefined],
  };
  for (const [sentence, [before, kind, ms]] of Object.entries(times)) {
    it(sentence, () => {
      const step = planPlacement(frozen(before), NOW);
      assert.deepEqual([step.kind, step.kind === 'wait' ? step.ms : undefined], [kind, ms]);
    });
  }

  it('says of a gate who holds the pod there', () => {
    const step = planPlacement(state([aCandidate('a', { delegate: [gated], waitingSince: 0 })]), NOW);
    assert.match(
      (step.kind === 'delete-candidate' && step.rejection?.message) || '',
      /^held there for 10 s by a scheduling gate: Scheduling is blocked due to non-empty scheduling gates$/,
    );
  });
  it('says of a rejection what the target said', () => {
    const step = planPlacement(state([aCandidate('a', { delegate: [unschedulable('0/5 nodes: taints')] })]), NOW);
    assert.deepEqual(step.kind === 'delete-candidate' && step.rejection,
      { reason: 'Unschedulable', message: '0/5 nodes: taints' });
  });
  it('takes the deadline from this very chaperon', () => {
    const step = planPlacement(state([aCandidate('a', { isCloseToDeadline: true })]), NOW);
    assert.deepEqual(step.kind === 'remove-deadline' && step.plan, [{
      kind: 'patch', type: POD_CHAPERONS, at: { namespace: 'team-a', name: 'web-abc' }, patchType: 'merge',
      patch: { metadata: { uid: 'chaperon-in-a', annotations: { [CONFIRM_BEFORE_ANNOTATION]: null } } },
    }]);
  });

  it('waits just as long as patience lasts', () => {
    assert.deepEqual(
      planPlacement(state([aCandidate('a', { waitingSince: NOW - 1 })]), NOW),
      { kind: 'wait', ms: VERDICT_TIMEOUT_MS - 1 },
    );
  });

  it('binds this very pod to the virtual node, and says there where it runs', () => {
    const step = planPlacement(state([aCandidate('a', { delegate: [scheduled()] })]), NOW);
    const { specDigests } = aProxyRecord();
    const annotations =
      { [TARGET_ANNOTATION]: 'a', [DELEGATE_NAME_ANNOTATION]: 'web-abc', [SPEC_AT_BIND_ANNOTATION]: specDigests };
    assert.deepEqual(step.kind === 'bind' && step.plan, [
      {
        kind: 'bind',
        binding: {
          metadata: { namespace: 'team-a', name: 'web', uid: 'proxy-uid', annotations },
          target: { apiVersion: 'v1', kind: 'Node', name: 'admiralty-a' },
        },
      },
    ]);
  });

  it('says there what the candidate was made of, so that a change since then is sent', () => {
    const chaperon = [annotated({ [SPEC_AT_BIND_ANNOTATION]: 'of the candidate' })];
    const step = planPlacement(state([aCandidate('a', { chaperon, delegate: [scheduled()] })]), NOW);
    const [command] = step.kind === 'bind' ? step.plan : [];
    const { annotations } = command?.kind === 'bind' ? command.binding.metadata : {};
    assert.equal(annotations?.[SPEC_AT_BIND_ANNOTATION], 'of the candidate');
  });

  it('says there as well that its target stops the pod when it loses the source', () => {
    const step = planPlacement(
      state([aCandidate('a', { chaperon: [annotated({ [FENCE_ANNOTATION]: '30' })], delegate: [scheduled()] })]), NOW,
    );
    const [command] = step.kind === 'bind' ? step.plan : [];
    assert.equal(command?.kind === 'bind' && command.binding.metadata.annotations?.[FENCE_ANNOTATION], '30');
  });

  it('C2-14: takes back this very chaperon, and its delegate first', () => {
    const step = planPlacement(state([aCandidate('a', { delegate: [unschedulable('full')] })]), NOW);
    assert.deepEqual(step, {
      kind: 'delete-candidate',
      target: 'a', uid: 'chaperon-in-a', rejection: { reason: 'Unschedulable', message: 'full' },
      plan: [{
        kind: 'delete', type: POD_CHAPERONS, at: { namespace: 'team-a', name: 'web-abc' },
        preconditions: { uid: 'chaperon-in-a' }, propagation: 'Background',
      }],
    });
  });

  const rejectedBy: Record<string, readonly [candidate: Candidate, reason: string | undefined]> = {
    'silence is held against the target': [aCandidate('a', { waitingSince: 0 }), 'NoVerdict'],
    'so is a gate that stays shut': [aCandidate('a', { delegate: [gated], waitingSince: 0 }), 'SchedulingGated'],
    'so is a delegate that was taken away': [aCandidate('a', { chaperon: [missing] }), 'DelegateGone'],
  };
  for (const [sentence, [candidate, reason]] of Object.entries(rejectedBy)) {
    it(sentence, () => {
      const step = planPlacement(state([candidate]), NOW);
      assert.equal(step.kind === 'delete-candidate' ? step.rejection?.reason : step.kind, reason);
    });
  }

  it('holds nothing against a target whose candidate is one too many', () => {
    const step = planPlacement(state([aCandidate('a', { delegate: [scheduled()] }), aCandidate('b')]), NOW);
    assert.equal(step.kind === 'delete-candidate' && step.rejection, undefined);
  });
});

const word = fc.constantFrom<Change<PodChaperon & Pod> | undefined>(
  undefined, scheduled(), unschedulable(), inPhase('Running'), inPhase('Failed'),
  withCondition({ type: 'PodScheduled', status: 'False', reason: 'SchedulerError' }),
);
const chaperon = fc.oneof(
  fc.constant('gone' as const),
  fc.tuple(word, fc.constantFrom(undefined, terminating(), missing))
    .map((changes) => changes.filter((change) => change !== undefined) as Change<PodChaperon>[]),
);
const delegate = fc.option(
  fc.tuple(word, fc.constantFrom(undefined, terminating()))
    .map((changes) => changes.filter((change) => change !== undefined) as Change<Pod>[]),
  { nil: undefined },
);
const candidate = fc
  .record({
    target: fc.constantFrom('a', 'b', 'c'), chaperon, delegate, reachable: fc.boolean(),
    waitingSince: fc.constantFrom(0, NOW),
  })
  .map(({ target, delegate, ...parts }) => aCandidate(target, delegate === undefined ? parts : { ...parts, delegate }))
  .filter(({ chaperon, delegate }) => chaperon !== undefined || delegate !== undefined);
const anyState = fc
  .record({
    changes: fc.subarray<Change<Pod>>([
      terminating(), inPhase('Failed'), onNode('admiralty-a'), withFinalizers(),
      withSpec({ schedulingGates: [{ name: 'g' }] }),
    ]),
    candidates: fc.uniqueArray(candidate, { selector: ({ target }) => target, maxLength: 3 }),
    pendingCreate: fc.boolean(),
    unobserved: fc.subarray(['d']),
  })
  .map(({ changes, ...rest }): PlacementState => frozen({ proxy: aProxyRecord(...changes), ...rest }));

function law(check: (state: PlacementState, step: PlacementStep) => void): void {
  fc.assert(fc.property(anyState, (state) => check(state, planPlacement(state, NOW))), { numRuns: 1_000 });
}

describe('laws of placement', () => {
  it('binds only to a target that answers, whose word is yes and whose chaperon stays', () => {
    law(({ proxy, candidates }, step) => {
      if (step.kind !== 'bind') return;
      const { reachable, chaperon, delegate } = candidates.find(({ target }) => target === step.target)!;
      assert.equal((delegate ?? chaperon)?.verdict.kind, 'scheduled');
      assert.ok(reachable && chaperon?.terminating === false && !chaperon.podMissing && delegate?.terminating !== true);
      const { terminating, schedulingGated, nodeName, phase } = proxy;
      assert.ok(!terminating && !schedulingGated && nodeName === undefined && phase === 'Pending');
    });
  });

  it('binds only when no other candidate could still be taken back', () => {
    law(({ candidates }, step) => {
      if (step.kind !== 'bind') return;
      const others = candidates.filter(({ target }) => target !== step.target);
      assert.ok(
        others.every(({ chaperon, reachable }) => chaperon === undefined || chaperon.terminating || !reachable),
      );
    });
  });

  it('chooses a target only when nothing of the pod is anywhere, or may be', () => {
    law(({ proxy, candidates, pendingCreate, unobserved }, step) => {
      if (step.kind !== 'choose-target') return;
      assert.deepEqual([candidates.length, pendingCreate, unobserved.length], [0, false, 0]);
      assert.ok(!proxy.terminating && !proxy.schedulingGated && proxy.phase === 'Pending');
    });
  });

  it('lets a pod go only when nothing of it is left anywhere, or may be', () => {
    law(({ candidates, pendingCreate, unobserved }, step) => {
      if (step.kind === 'remove-finalizer') {
        assert.deepEqual([candidates.length, pendingCreate, unobserved.length], [0, false, 0]);
      }
    });
  });

  it('touches nothing of a bound pod', () => {
    law(({ proxy }, step) => {
      if (proxy.nodeName !== undefined) assert.equal(step.kind, 'no-change');
    });
  });

  it('takes back only what exists, does not go already, and is in a target that answers', () => {
    law(({ candidates }, step) => {
      if (step.kind !== 'delete-candidate') return;
      const { reachable, chaperon } = candidates.find(({ target }) => target === step.target)!;
      assert.ok(reachable && chaperon?.terminating === false);
      assert.ok(step.plan.every((command) => command.kind === 'delete' && command.preconditions.uid === chaperon.uid));
    });
  });

  it('does not depend on the order of candidates', () => {
    law((state, step) => {
      const other = planPlacement({ ...state, candidates: state.candidates.toReversed() }, NOW);
      // all are taken back, any may be first
      if (state.proxy.terminating || state.proxy.phase === 'Failed') assert.equal(other.kind, step.kind);
      else assert.deepEqual(other, step);
    });
  });

  it('is never late: waiting ends within the patience', () => {
    law((_state, step) => {
      if (step.kind === 'wait' && step.ms !== undefined) assert.ok(step.ms > 0 && step.ms <= VERDICT_TIMEOUT_MS);
    });
  });
});

describe('planUnschedulable', () => {
  const NO = [{ target: 'ClusterTarget/a', reason: 'NoNodes', message: 'it has none' }];
  const THEN = '2026-01-01T00:00:00Z';
  const LATER = '2026-01-02T00:00:00Z';
  const message = '0/1 targets are available: ClusterTarget/a: NoNodes: it has none.';
  const said = (text: string) => withCondition(
    { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: text, lastTransitionTime: THEN },
  );

  it('tells why, in the condition where Kubernetes does', () => {
    assert.deepEqual(planUnschedulable(frozen(aProxyRecord()), frozen(NO), LATER), [
      {
        kind: 'patch',
        type: PODS, at: { namespace: 'team-a', name: 'web', subresource: 'status' }, patchType: 'strategic',
        patch: {
          metadata: { uid: 'proxy-uid' },
          status: {
            conditions:
              [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: LATER }],
          },
        },
      },
    ]);
  });

  it('writes nothing when it says so already', () => assert.deepEqual(
    planUnschedulable(aProxyRecord(said(message)), NO, LATER), [],
  ));

  it('keeps since when it is so while the reasons change', () => {
    const [command] = planUnschedulable(aProxyRecord(said('other')), NO, LATER);
    assert.match(
      JSON.stringify(command?.kind === 'patch' && command.patch), new RegExp(`"lastTransitionTime":"${THEN}"`),
    );
  });
});
