// The end of a pod that nobody observed: it is written exactly where somebody waits for one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { PodPhase } from '../../../../api/objects/core.ts';
import { DELEGATE_FINALIZER } from '../../../../api/objects/keys.ts';
import { planUnknownEnd } from '../../../../model/proxy/unknown-end.ts';
import {
  afterStatusPatches, aProxy, aProxyRecord, inPhase, withFinalizers,
} from '../../../support/objects/builders.ts';

const JOB_TRACKING = 'batch.kubernetes.io/job-tracking';
const phases: readonly PodPhase[] = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'];

describe('a pod whose end nobody observed', () => {
  it('has failed for the Job that waits for it, with a reason that Jobs can match', () => {
    const proxy = aProxy(withFinalizers(DELEGATE_FINALIZER, JOB_TRACKING), inPhase('Running'));
    const { status } = afterStatusPatches(proxy, planUnknownEnd(aProxyRecord(withFinalizers(DELEGATE_FINALIZER,
      JOB_TRACKING))));
    assert.deepEqual([status?.phase, status?.reason], ['Failed', 'EndUnknown']);
    assert.match(status?.message ?? '', /nobody observed how it ended/);
  });
  it('is written to the status of the version that was read, and to nothing else', () => {
    const [command, ...others] = planUnknownEnd(aProxyRecord(withFinalizers(JOB_TRACKING)));
    assert.deepEqual(others, []);
    assert.ok(command?.kind === 'patch');
    assert.deepEqual(command.at, { namespace: 'team-a', name: 'web', subresource: 'status' });
    assert.deepEqual(Object.keys(command.patch), ['metadata', 'status']);
    assert.deepEqual((command.patch as { readonly metadata: unknown }).metadata, { resourceVersion: '1' });
  });
  it('gets an end exactly when another finalizer than ours is left and it has none', () => {
    const finalizer = fc.constantFrom(DELEGATE_FINALIZER, JOB_TRACKING, 'example.com/other');
    fc.assert(fc.property(fc.uniqueArray(finalizer), fc.constantFrom(...phases), (finalizers, phase) => {
      const isAwaited = finalizers.includes(JOB_TRACKING) || finalizers.includes('example.com/other');
      const hasEnded = phase === 'Succeeded' || phase === 'Failed';
      const plan = planUnknownEnd(aProxyRecord(withFinalizers(...finalizers), inPhase(phase)));
      assert.equal(plan.length, isAwaited && !hasEnded ? 1 : 0);
    }));
  });
});
