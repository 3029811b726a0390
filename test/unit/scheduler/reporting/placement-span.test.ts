import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { placementSpan } from '../../../../scheduler/reporting/placement-span.ts';
import { aProxyRecord, frozen } from '../../../support/objects/builders.ts';

const TRACE = { traceId: 'a'.repeat(32), rootId: 'b'.repeat(16), startedAt: 1 };
const PART = { name: 'candidate', spanId: 'c'.repeat(16), startMs: 5, endMs: 9, target: 'ClusterTarget/eu' } as const;

describe('the span of a part of placement', () => {
  it('hangs from the root of the pod\'s trace, and says which pod and which target', () => {
    assert.deepEqual(placementSpan(frozen(aProxyRecord()), TRACE, PART), {
      name: 'candidate', traceId: TRACE.traceId, spanId: PART.spanId, parentId: TRACE.rootId, startMs: 5, endMs: 9,
      attributes: {
        'k8s.namespace.name': 'team-a', 'k8s.pod.name': 'web', 'k8s.pod.uid': 'proxy-uid',
        'isthmus.target': 'ClusterTarget/eu',
      },
    });
  });
  it('has an error where the target rejected the pod, and no such field where it did not', () => {
    assert.equal(placementSpan(aProxyRecord(), TRACE, { ...PART, error: 'it is full' }).error, 'it is full');
    assert.equal(Object.hasOwn(placementSpan(aProxyRecord(), TRACE, PART), 'error'), false);
  });
});
