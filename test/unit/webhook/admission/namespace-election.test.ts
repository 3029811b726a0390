import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import type { Pod } from '../../../../api/objects/core.ts';
import { restoreSourcePod } from '../../../../model/proxy/admission-record.ts';
import type { Admission, AdmissionContext } from '../../../../webhook/review/admission-answer.ts';
import { admitPod } from '../../../../webhook/admission/admit-pod.ts';
import { admitPodOfNamespace, type Election } from '../../../../webhook/admission/namespace-election.ts';

const context: AdmissionContext = {};
const plain: Pod =
  { metadata: { namespace: 'team-a', name: 'web' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const election = (spec: Election['spec'] = {}, selfTargets: readonly string[] = []): Election =>
  ({ spec, selfTargets });

function patched(pod: Pod, admission: Admission): Pod {
  assert.equal(admission.kind, 'mutate');
  const patch = admission.kind === 'mutate' ? admission.patch : [];
  return jsonPatch.applyPatch(
    structuredClone(pod), structuredClone([...patch]) as jsonPatch.Operation[], true,
  ).newDocument;
}

describe('a pod of a namespace that elects all of its pods', () => {
  it('becomes the proxy pod that it would be with the annotation', () => {
    const annotated: Pod =
      { ...plain, metadata: { ...plain.metadata, annotations: { 'multicluster.admiralty.io/elect': '' } } };
    assert.deepEqual(
      patched(plain, admitPodOfNamespace(plain, election(), context)), patched(annotated, admitPod(annotated, context)),
    );
  });

  it('keeps what it has of annotations, and so does its source pod', () => {
    const pod: Pod = { ...plain, metadata: { ...plain.metadata, annotations: { note: 'a/b~c' } } };
    const proxy = patched(pod, admitPodOfNamespace(pod, election(), context));
    assert.equal(proxy.metadata.annotations?.['note'], 'a/b~c');
    const restored = restoreSourcePod(proxy);
    assert.deepEqual(restored.kind === 'invalid' ? undefined : restored.pod.metadata.annotations, {
      note: 'a/b~c', 'multicluster.admiralty.io/elect': '',
    });
  });

  it('is judged again by its own annotation: the same pod comes out', () => {
    const once = patched(plain, admitPodOfNamespace(plain, election(), context));
    assert.deepEqual(patched(once, admitPodOfNamespace(once, election({ strategy: 'Local' }), context)), once);
  });

  const stay: readonly (readonly [string, Pod, Election])[] = [
    ['with strategy Local', plain, election({ strategy: 'Local' })],
    [
      'of a DaemonSet',
      {
        ...plain,
        metadata: {
          ...plain.metadata,
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', controller: true }],
        },
      },
      election(),
    ],
    [
      'that says false',
      { ...plain, metadata: { ...plain.metadata, annotations: { 'multicluster.admiralty.io/elect': 'false' } } },
      election(),
    ],
    ['that has its node', { ...plain, spec: { ...plain.spec, nodeName: 'n' } }, election()],
    [
      'of a kubelet',
      { ...plain, metadata: { ...plain.metadata, annotations: { 'kubernetes.io/config.mirror': 'x' } } }, election(),
    ],
    [
      'that is a delegate of another cluster',
      { ...plain, metadata: { ...plain.metadata, labels: { 'multicluster.admiralty.io/parent-uid': 'u' } } },
      election(),
    ],
  ];
  for (const [what, pod, elects] of stay) {
    it(`${what} stays here, unchanged`, () => assert.deepEqual(
      admitPodOfNamespace(pod, elects, context), { kind: 'pass' },
    ));
  }

  const termsOf = (pod: Pod) =>
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const self = { key: 'multicluster.admiralty.io/cluster-target-name', operator: 'NotIn', values: ['here'] };
  const chosen: readonly (readonly [string, Election, readonly object[] | undefined])[] = [
    ['anywhere without a selector', election(), undefined],
    ['where the labels are', election({ selector: { matchLabels: { region: 'eu' } } }), [
      { matchExpressions: [{ key: 'region', operator: 'In', values: ['eu'] }] },
    ]],
    [
      'where the requirements hold', election({ selector: { matchExpressions: [{ key: 'gpu', operator: 'Exists' }] } }),
      [{ matchExpressions: [{ key: 'gpu', operator: 'Exists' }] }],
    ],
    ['not to a target that is this cluster', election({ strategy: 'Remote' }, ['here']), [
      { matchExpressions: [self] },
    ]],
    [
      'also to a target that is this cluster, with LocalAndRemote', election({ strategy: 'LocalAndRemote' }, ['here']),
      undefined,
    ],
  ];
  for (const [where, elects, terms] of chosen) {
    it(`goes ${where}`, () => assert.deepEqual(
      termsOf(patched(plain, admitPodOfNamespace(plain, elects, context))), terms,
    ));
  }

  it('keeps constraints of its own', () => {
    const annotations = { 'multicluster.admiralty.io/proxy-pod-scheduling-constraints': 'nodeSelector: {a: b}' };
    const pod: Pod = { ...plain, metadata: { ...plain.metadata, annotations } };
    const proxy =
      patched(pod, admitPodOfNamespace(pod, election({ selector: { matchLabels: { region: 'eu' } } }), context));
    assert.deepEqual([termsOf(proxy), proxy.spec.nodeSelector?.['a']], [undefined, 'b']);
  });

  it('that may not be elected is refused like any other', () => {
    const pod: Pod =
      { ...plain, metadata: { ...plain.metadata, annotations: { 'multicluster.admiralty.io/target': 'x' } } };
    const admission = admitPodOfNamespace(pod, election(), context);
    assert.deepEqual([admission.kind, admission.kind === 'deny' && admission.reason], ['deny', 'ReservedKey']);
  });

  it('gets a patch that applies, whatever labels and annotations it has', () => {
    const entries = fc.dictionary(fc.stringMatching(/^[a-z/~]{1,8}$/), fc.string({ maxLength: 5 }), { maxKeys: 3 });
    fc.assert(fc.property(entries, entries, (labels, annotations) => {
      const pod: Pod = { ...plain, metadata: { ...plain.metadata, labels, annotations } };
      const proxy = patched(pod, admitPodOfNamespace(pod, election(), context));
      assert.deepEqual({ ...proxy.metadata.annotations, ...annotations }, proxy.metadata.annotations);
      assert.equal(proxy.spec.schedulerName, 'admiralty-proxy');
    }), { numRuns: 50 });
  });
});
