import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod } from '../../../../api/objects/core.ts';
import {
  ELECT_ANNOTATION, EXPIRED_AT_ANNOTATION, PARENT_UID_LABEL, RUN_ONCE_FINALIZER, SOURCE_WATCHES_PODS_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import { POD_CHAPERONS, PODS } from '../../../../api/resource-types.ts';
import {
  DELEGATIONS, foundDelegation, isDelegateGone, isStoppedWithFinalizer, planChaperonDeletion,
  planRunOnceFinalizerRemoval,
} from '../../../../model/delegate/delegation.ts';
import { toDelegatePodRecord, type Chaperon } from '../../../../model/delegate/cached-delegate.ts';
import {
  aChaperon, aChaperonRecord, aDelegate, aDelegateRecord,
  annotated, frozen, inPhase, PROXY_UID, terminating, withFinalizers, withMetadata, withoutOwner, withSpec, type Change,
} from '../../../support/objects/builders.ts';

/** A delegate that the source made itself, as it is remembered. */
function aDirect(...changes: Change<Pod>[]): Chaperon {
  return toDelegatePodRecord(aDelegate(withoutOwner(), ...changes))!.asChaperon!;
}

const once = withSpec({ restartPolicy: 'Never' });
const finalized = withFinalizers('example.com/other', RUN_ONCE_FINALIZER);
const within = (seconds: number) =>
  withMetadata({ deletionTimestamp: '2026-01-01T01:00:00Z', deletionGracePeriodSeconds: seconds });

describe('a delegation', () => {
  it('by PodChaperon makes the chaperon as it is', () => {
    const chaperon = frozen(aChaperon());
    assert.equal(DELEGATIONS.PodChaperon.type, POD_CHAPERONS);
    assert.equal(DELEGATIONS.PodChaperon.toObject(chaperon), chaperon);
  });

  it("by Pod makes a pod of the chaperon's name, owned by nobody, that is not elected again", () => {
    const pod = DELEGATIONS.Pod.toObject(frozen(aChaperon(annotated({ [ELECT_ANNOTATION]: '', mine: 'x' })))) as Pod;
    assert.equal(DELEGATIONS.Pod.type, PODS);
    assert.deepEqual([pod.kind, pod.metadata.name, pod.metadata.namespace], ['Pod', 'web-abc', 'team-a']);
    assert.equal(pod.metadata.labels?.[PARENT_UID_LABEL], PROXY_UID);
    assert.equal(pod.metadata.ownerReferences, undefined);
    assert.equal(pod.metadata.annotations?.['mine'], 'x');
    for (const key of [ELECT_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION]) {
      assert.equal(pod.metadata.annotations?.[key], undefined);
    }
  });

  for (
    const [policy, finalizers] of [
      ['Always', undefined], ['OnFailure', [RUN_ONCE_FINALIZER]], ['Never', [RUN_ONCE_FINALIZER]],
    ] as const
  ) {
    it(`by Pod holds one with restart policy ${policy}: ${finalizers !== undefined}`, () => {
      assert.deepEqual(
        DELEGATIONS.Pod.toObject(aChaperon(withSpec({ restartPolicy: policy }))).metadata.finalizers, finalizers,
      );
    });
  }

  it('is remembered alike from what it made, and only where no chaperon made it', () => {
    const made = { ...DELEGATIONS.Pod.toObject(aChaperon(once)), status: { phase: 'Pending' } } as Pod;
    const { mode, parentUid, runOnceFinalizer } = toDelegatePodRecord(made)!.asChaperon!;
    assert.deepEqual([mode, parentUid, runOnceFinalizer?.finalizers], ['Pod', PROXY_UID, [RUN_ONCE_FINALIZER]]);
    assert.equal(toDelegatePodRecord(aDelegate())?.asChaperon, undefined);
  });
});

describe('a target that leaves it to the source how pods are delegated', () => {
  const cases: Record<string, readonly [Parameters<typeof foundDelegation>[0], ReturnType<typeof foundDelegation>]> = {
    'gets PodChaperons where a controller lives':
      [{ servesChaperons: true, controller: 'alive', mayWritePods: true }, 'PodChaperon'],
    'gets pods where the kind is not served':
      [{ servesChaperons: false, controller: 'unknown', mayWritePods: undefined }, 'Pod'],
    'gets pods where nobody works on the kind and the source may write them':
      [{ servesChaperons: true, controller: 'silent', mayWritePods: true }, 'Pod'],
    'gets pods where an Admiralty works on the kind and the source may write them':
      [{ servesChaperons: true, controller: 'admiralty', mayWritePods: true }, 'Pod'],
    'is waited for where an Admiralty works on the kind and the source may not':
      [{ servesChaperons: true, controller: 'admiralty', mayWritePods: false }, undefined],
    'is waited for where nobody works on the kind and the source may not':
      [{ servesChaperons: true, controller: 'silent', mayWritePods: false }, undefined],
    'is waited for while that was not asked':
      [{ servesChaperons: true, controller: 'silent', mayWritePods: undefined }, undefined],
    'is waited for while nobody knows who lives there':
      [{ servesChaperons: true, controller: 'unknown', mayWritePods: true }, undefined],
    'is waited for while it has not answered':
      [{ servesChaperons: undefined, controller: 'alive', mayWritePods: true }, undefined],
  };
  for (const [sentence, [found, mode]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(foundDelegation(found), mode));
  }
});

describe('planChaperonDeletion', () => {
  it('takes a chaperon with all that follows from it', () => {
    const [command] = planChaperonDeletion(aChaperonRecord());
    assert.deepEqual(command, {
      kind: 'delete', type: POD_CHAPERONS, at: { namespace: 'team-a', name: 'web-abc' },
      preconditions: { uid: 'chaperon-uid' }, propagation: 'Background',
    });
  });

  it('takes a pod within the time that was asked for, or its own', () => {
    const expected = {
      kind: 'delete', type: PODS, at: { namespace: 'team-a', name: 'web-abc' }, preconditions: { uid: 'delegate-uid' },
      propagation: 'Background',
    };
    assert.deepEqual(planChaperonDeletion(aDirect()), [expected]);
    assert.deepEqual(planChaperonDeletion(aDirect(), 0), [{ ...expected, gracePeriodSeconds: 0 }]);
  });
});

describe('planRunOnceFinalizerRemoval', () => {
  it('removes our finalizer and keeps those of others in their order, in the version that was observed', () => {
    const other: fc.Arbitrary<string> = fc.constantFrom('example.com/a', 'example.com/b', 'example.com/c');
    fc.assert(fc.property(fc.uniqueArray(other), fc.nat({ max: 3 }), (others, at) => {
      const [command, ...more] =
        planRunOnceFinalizerRemoval(aDirect(withFinalizers(...others.toSpliced(at, 0, RUN_ONCE_FINALIZER))));
      assert.ok(command?.kind === 'patch' && more.length === 0);
      assert.deepEqual(command.at, { namespace: 'team-a', name: 'web-abc' });
      assert.deepEqual(command.patch, { metadata: { resourceVersion: '1', finalizers: others } });
    }));
  });

  it('does nothing to one without the finalizer', () => assert.deepEqual(planRunOnceFinalizerRemoval(aDirect()), []));
});

describe('a proxy', () => {
  const expired = annotated({ [EXPIRED_AT_ANNOTATION]: '2026-01-01T00:00:00Z' });
  const cases: Record<string, readonly [record: Chaperon | undefined, lost: boolean, heldAfterStop: boolean]> = {
    'whose target holds nothing is lost': [undefined, true, false],
    'with a chaperon is not': [aChaperonRecord(), false, false],
    'whose chaperon goes is': [aChaperonRecord(terminating()), true, false],
    'with a pod of its own is not': [aDirect(inPhase('Running')), false, false],
    'whose pod is drained is': [aDirect(within(30)), true, false],
    'whose pod must run once is, and may still hear of its end': [aDirect(finalized, within(30)), true, false],
    'whose pod has stopped is': [aDirect(finalized, within(0)), true, true],
  };
  for (const [what, [record, lost, heldAfterStop]] of Object.entries(cases)) {
    it(what, () => assert.deepEqual(
      [isDelegateGone(record), record !== undefined && isStoppedWithFinalizer(record)], [lost, heldAfterStop],
    ));
  }

  it('whose delegate goes is lost, unless that is stopped for want of a confirmation', () => assert.deepEqual(
    [[], [expired]].map((changes) => isDelegateGone(aChaperonRecord(...changes), aDelegateRecord(terminating()))),
    [true, false],
  ));
});
