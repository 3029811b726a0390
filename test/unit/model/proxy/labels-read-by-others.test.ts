// Each label that a mesh or a queue reads on pods, with what becomes of it on the delegate, and why (ADR 0041).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { StringMap } from '../../../../api/objects/core.ts';
import {
  ELECT_ANNOTATION, NO_PREFIX_LABEL_REGEXP_ANNOTATION, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION,
  PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL,
} from '../../../../api/objects/keys.ts';
import { prefixLabels, toPodChaperon } from '../../../../model/delegate/pod-chaperon.ts';
import { aPod, annotated, labelled } from '../../../support/objects/builders.ts';

const PARENT = { clusterId: 'source-uid', namespace: 'team-a', name: 'web-0', uid: 'proxy-uid' };

/** Labels and annotations of the delegate of a pod, without those that say whose it is. */
function delegateOf(
  labels: StringMap,
  { annotations = {}, live = {} }: { readonly annotations?: StringMap; readonly live?: StringMap } = {},
): { readonly labels: StringMap; readonly annotations: StringMap } {
  const { metadata } = toPodChaperon(
    aPod(labelled(labels), annotated({ ...annotations, [ELECT_ANNOTATION]: '' })), { ...PARENT, labels: live },
  );
  const {
    [PARENT_UID_LABEL]: _uid, [PARENT_CLUSTER_LABEL]: _cluster, [PARENT_NAME_ANNOTATION]: _name,
    [PARENT_NAMESPACE_ANNOTATION]: _namespace, ...others
  } = metadata.labels ?? {};
  return { labels: others, annotations: metadata.annotations ?? {} };
}

const KEPT: Record<string, string> = {
  'sidecar.istio.io/inject': 'asks the injector of the target for a sidecar, or for none',
  'istio.io/rev': 'chooses the revision that injects it',
  'istio.io/dataplane-mode': 'takes it into the ambient mesh, or out of it',
  'istio.io/use-waypoint': 'names its waypoint',
  'istio.io/use-waypoint-namespace': 'says where its waypoint is',
  'service.istio.io/canonical-name': 'names its service in telemetry',
  'service.istio.io/canonical-revision': 'names its version in telemetry',
  'service.istio.io/workload-name': 'names its workload in telemetry',
  'kuma.io/sidecar-injection': 'asks the injector of the target for a sidecar, or for none',
  'kuma.io/mesh': 'chooses its mesh',
  'kueue.x-k8s.io/queue-name': 'queues it in the target',
  'kueue.x-k8s.io/priority-class': 'gives it its priority in the queue',
  'kueue.x-k8s.io/max-exec-time-seconds': 'bounds how long it may run',
  'kueue.x-k8s.io/pod-group-name':
    'is admitted with its group; the annotation with the count would have it rejected without the name',
};

const MOVED: Record<string, string> = {
  'security.istio.io/tlsMode':
    'an injector has said that its sidecar takes TLS; without one in the target nobody could reach the pod',
  'networking.istio.io/tunnel': 'an injector has said that its sidecar takes tunnels',
  'topology.istio.io/network': 'is the network of the source',
  'topology.istio.io/cluster': 'is the source',
  'istio-locality': 'is where the source pod was to be',
  'gateway.networking.k8s.io/gateway-name': 'is what a gateway in the target selects its own pods by',
  'linkerd.io/control-plane-ns':
    'an injector has said that the pod has a proxy; wishes to Linkerd are annotations, which go along',
  'linkerd.io/workload-ns': 'as the one before',
  'linkerd.io/proxy-deployment': 'as the one before',
  'consul.hashicorp.com/connect-inject-status': 'an injector has said that the pod has a proxy',
  'kueue.x-k8s.io/managed':
    'Kueue in the target would take the pod for one that it let run without having admitted it, and delete it',
  'kueue.x-k8s.io/podset': 'names a part of a Workload of the source',
  'kueue.x-k8s.io/tas': 'Kueue in the target would look for the topology that the source assigned',
  'kueue.x-k8s.io/cluster-queue-name': 'says which queue of the source let it run',
  'kueue.x-k8s.io/local-queue-name': 'as the one before',
  'kueue.x-k8s.io/prebuilt-workload-name': 'names a Workload of the source',
  'kueue.x-k8s.io/multikueue-origin': 'says which cluster made it for MultiKueue',
  'istio.io': 'is no label of Istio, only spelled like its domain',
  app: 'is what workloads and Services of the target select by',
  version: 'as the one before',
  'app.kubernetes.io/name': 'as the one before',
  'pod-template-hash': 'is what ReplicaSets of the target select by',
};

describe('labels that meshes and queues read', () => {
  for (const [key, why] of Object.entries(KEPT)) {
    it(`${key} keeps its name: it ${why}`, () => assert.deepEqual(delegateOf({ [key]: 'v' }).labels, { [key]: 'v' }));
  }
  for (const [key, why] of Object.entries(MOVED)) it(
    `${key} is moved: ${why}`, () => assert.deepEqual(delegateOf({ [key]: 'v' }).labels, prefixLabels({ [key]: 'v' })),
  );

  it('are those that docs/delegation.md lists as kept', () => {
    // Compiled tests are one folder deeper than their sources.
    const page = readFileSync(join(import.meta.dirname, '..', '..', '..', '..', '..', 'docs', 'delegation.md'), 'utf8');
    const rows = page.split('\n').filter((line) => /^\| (Istio|Kuma|Kueue) \|/.test(line));
    const listed =
      rows.flatMap((row) => [...(row.split('|')[2] ?? '').matchAll(/`([^`]+)`/g)].map(([, key = '']) => key));
    assert.deepEqual(listed.toSorted(), Object.keys(KEPT).toSorted());
  });

  it('keep further keys that the user names', () => {
    const annotations = { [NO_PREFIX_LABEL_REGEXP_ANNOTATION]: '^(app|version)=' };
    const labels = { app: 'web', version: 'v2', 'istio.io/rev': 'canary' };
    assert.deepEqual(delegateOf(labels, { annotations }).labels, labels);
  });
});

describe('a pod that Kueue of the source has queued', () => {
  const wishes =
    { 'kueue.x-k8s.io/queue-name': 'gpus', 'kueue.x-k8s.io/pod-group-name': 'train', 'istio.io/rev': 'canary' };
  const annotations = {
    'kueue.x-k8s.io/pod-group-total-count': '4', 'kueue.x-k8s.io/pod-suspending-parent': 'deployment',
    'a.io/note': 'kept',
  };
  const marks: Record<string, StringMap> = {
    'its webhook gated the pod': { 'kueue.x-k8s.io/managed': 'true' },
    'its job controller let the Job of the pod run': { 'kueue.x-k8s.io/podset': 'main' },
    'it wrote down which queue let the pod run': { 'kueue.x-k8s.io/cluster-queue-name': 'team' },
    'it wrote down which of the namespace did': { 'kueue.x-k8s.io/local-queue-name': 'gpus' },
  };
  for (const [how, mark] of Object.entries(marks)) {
    it(`is not queued again, where ${how}, be it before or after us`, () => {
      for (const delegate of [
        delegateOf({ ...wishes, ...mark }, { annotations }), delegateOf(wishes, { annotations, live: mark }),
      ]) {
        const kueue = [...Object.keys(delegate.labels), ...Object.keys(delegate.annotations)].filter(
          (key) => key.startsWith('kueue.x-k8s.io/'),
        );
        assert.deepEqual(kueue, []);
        assert.equal(delegate.labels['istio.io/rev'], 'canary');
        assert.equal(delegate.annotations['a.io/note'], 'kept');
      }
    });
  }

  it('is one without such a mark no more than any other', () => {
    const delegate = delegateOf(wishes, { annotations });
    assert.deepEqual(delegate.labels, wishes);
    assert.equal(delegate.annotations['kueue.x-k8s.io/pod-group-total-count'], '4');
  });
});
