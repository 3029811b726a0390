import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TRACE_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { Pod, PodPhase } from '../../../../api/objects/core.ts';
import { placementSpan } from '../../../../scheduler/reporting/placement-span.ts';
import { printTrace, rootSpan } from '../../../../model/proxy/trace.ts';
import { toProxyPodRecord } from '../../../../model/proxy/proxy-pod.ts';

const TRACE = { traceId: 'a'.repeat(32), rootId: 'b'.repeat(16), startedAt: 10 };
const pod = (phase: PodPhase, annotations: Record<string, string> = { [TRACE_ANNOTATION]: printTrace(TRACE) }): Pod =>
  ({ metadata: { namespace: 'n', name: 'p', uid: 'u', annotations }, spec: { containers: [] }, status: { phase } });

describe('the root of a trace', () => {
  it('lasts from admission until the proxy shows that it runs', () => {
    assert.deepEqual(rootSpan(pod('Running'), 30), {
      name: 'elected pod', traceId: TRACE.traceId, spanId: TRACE.rootId, startMs: 10, endMs: 30,
      attributes: { 'k8s.namespace.name': 'n', 'k8s.pod.name': 'p', 'k8s.pod.uid': 'u', 'isthmus.phase': 'Running' },
    });
  });

  it('tells of a pod that ended before it was seen running', () => assert.equal(
    rootSpan(pod('Failed'), 30)?.attributes['isthmus.phase'], 'Failed',
  ));

  const none: readonly (readonly [string, Pod | undefined])[] = [
    ['a write that was not made', undefined], ['a pod that is still Pending', pod('Pending')],
    ['a pod without a trace', pod('Running', {})],
  ];
  for (const [what, written] of none) {
    it(`does not end with ${what}`, () => assert.equal(rootSpan(written, 30), undefined));
  }
});

describe('parts of placement', () => {
  it('belong to the root, and tell why a target did not take the pod', () => {
    const proxy = toProxyPodRecord({
      ...pod('Pending'),
      metadata: {
        ...pod('Pending').metadata,
        annotations: { 'multicluster.admiralty.io/elect': '', [TRACE_ANNOTATION]: printTrace(TRACE) },
      },
      spec: { containers: [], schedulerName: 'admiralty-proxy' },
    });
    assert.deepEqual(proxy?.trace, TRACE);
    const span = placementSpan(proxy, TRACE, {
      name: 'candidate', spanId: 'c'.repeat(16), startMs: 1, endMs: 2, target: 'ClusterTarget/c2',
      error: 'NoVerdict: late',
    });
    assert.deepEqual([span.parentId, span.attributes['isthmus.target'], span.error], [
      TRACE.rootId, 'ClusterTarget/c2', 'NoVerdict: late',
    ]);
  });
});
