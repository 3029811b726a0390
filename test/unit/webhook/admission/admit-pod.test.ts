// What admission makes of a pod as a whole: which fields it takes over, which it leaves, and pods that no API server
// has validated yet: mutating webhooks come before validation.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodSpec } from '../../../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION, ADOPTED_DELEGATE_ANNOTATION, DELEGATE_FINALIZER, DELEGATE_NAME_ANNOTATION,
  ELECT_ANNOTATION, HAS_FINALIZER_LABEL, PROVIDER_KEY, PROVIDER_VALUE, PROXY_CONSTRAINTS_ANNOTATION, PROXY_SCHEDULER,
  SCORE_WEIGHTS_ANNOTATION, SOURCE_MANIFEST_ANNOTATION, SPEC_AT_BIND_ANNOTATION, TARGET_ANNOTATION,
  USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import { restoreSourcePod } from '../../../../model/proxy/admission-record.ts';
import { admitPod } from '../../../../webhook/admission/admit-pod.ts';
import { review } from '../../../support/objects/admission.ts';
import {
  annotated, aPod, frozen, labelled, withFinalizers, withMetadata, withSpec,
} from '../../../support/objects/builders.ts';

type Json = Readonly<Record<string, unknown>>;

const anElected = (...changes: Parameters<typeof aPod>): Pod =>
  frozen(aPod(annotated({ [ELECT_ANNOTATION]: '' }), ...changes));
const specOf = (fields: Json): Pod => anElected(withSpec(fields));
const proxyOf = (pod: Pod): Pod => {
  const { response, pod: proxy } = review(pod);
  assert.equal(response.allowed, true, response.status?.message);
  return proxy;
};
const sourceOf = (proxy: Pod): Pod => {
  const restored = restoreSourcePod(proxy);
  return restored.kind === 'restored' ? restored.pod : assert.fail(restored.message);
};

describe('a field of a pod is the same on the proxy, where quotas and policies see it, and on the source pod', () => {
  // core/v1 PodSpec of Kubernetes 1.34, but for those that a proxy pod replaces
  const fields: Json = {
    activeDeadlineSeconds: 60, automountServiceAccountToken: false, dnsPolicy: 'None', enableServiceLinks: false,
    dnsConfig: { nameservers: ['10.0.0.1'], options: [{ name: 'ndots' }] }, hostAliases: [{ ip: '1.1.1.1' }],
    hostIPC: true, hostNetwork: true, hostPID: true, hostUsers: false, hostname: 'web-0', hostnameOverride: 'web',
    imagePullSecrets: [{ name: 'pull' }], initContainers: [{ name: 'init', restartPolicy: 'Always' }],
    os: { name: 'linux' }, overhead: { cpu: '250m' }, preemptionPolicy: 'Never', priority: 0,
    priorityClassName: 'high', readinessGates: [{ conditionType: 'example.com/ready' }],
    resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpu' }], resources: { limits: { cpu: '1' } },
    restartPolicy: 'OnFailure', runtimeClassName: 'sandboxed', schedulingGates: [{ name: 'example.com/wait' }],
    securityContext: { runAsNonRoot: true, fsGroup: 0 }, serviceAccountName: 'web', serviceAccount: 'web',
    setHostnameAsFQDN: true, shareProcessNamespace: true, subdomain: 'web', volumes: [{ name: 'v', emptyDir: {} }],
    workloadRef: { name: 'a field of a later version' },
  };
  for (const [field, value] of Object.entries(fields)) {
    it(field, () => {
      const proxy = proxyOf(specOf({ [field]: value }));
      for (const { spec } of [proxy, sourceOf(proxy)]) assert.deepEqual((spec as unknown as Json)[field], value);
    });
  }

  it('and so is everything within a container', () => {
    const containers = [{
      name: 'app', image: 'app:1', command: [''], args: ['$(A)'], env: [{ name: 'A', value: '' }], envFrom: [{}],
      ports: [{ containerPort: 0 }], resizePolicy: [], stdin: false, terminationMessagePath: '/x', volumeDevices: [{}],
      securityContext: { privileged: null }, lifecycle: { stopSignal: 'SIGUSR1' }, later: { a: [null] },
    }];
    const proxy = proxyOf(specOf({ containers }));
    assert.deepEqual([proxy.spec.containers, sourceOf(proxy).spec.containers], [containers, containers]);
  });
});

describe('a field that the proxy replaces', () => {
  const tolerations = [{ key: 'gpu', operator: 'Exists' }];
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] } };
  const topologySpreadConstraints = [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }];
  const replaced: Readonly<Record<string, readonly [own: unknown, onProxy: unknown]>> = {
    schedulerName: ['volcano', PROXY_SCHEDULER],
    nodeSelector: [{ disk: 'ssd' }, { [PROVIDER_KEY]: PROVIDER_VALUE }],
    affinity: [affinity, undefined],
    topologySpreadConstraints: [topologySpreadConstraints, undefined],
    terminationGracePeriodSeconds: [0, 0],
  };
  for (const [field, [own, onProxy]] of Object.entries(replaced)) {
    it(`${field} comes back with the source pod`, () => {
      const proxy = proxyOf(specOf({ [field]: own }));
      assert.deepEqual([proxy.spec, sourceOf(proxy).spec].map((spec) => (spec as unknown as Json)[field]),
        [onProxy, own]);
    });
    it(`${field} comes back as missing where the user left it out`, () =>
      assert.equal(Object.hasOwn(sourceOf(proxyOf(anElected())).spec, field), false));
  }

  it('nodeSelector by the spec keeps the user\'s labels, and not the one that makes it a virtual node', () => {
    const own = { disk: 'ssd', [PROVIDER_KEY]: 'another' };
    const proxy = proxyOf(aPod(withSpec({ nodeSelector: own }),
      annotated({ [ELECT_ANNOTATION]: '', [USE_SPEC_CONSTRAINTS_ANNOTATION]: '' })));
    assert.deepEqual(proxy.spec.nodeSelector, { disk: 'ssd', [PROVIDER_KEY]: PROVIDER_VALUE });
    assert.deepEqual(sourceOf(proxy).spec.nodeSelector, own);
  });
  it('tolerations by the annotation come after those that keep the proxy on its node', () => {
    const proxy = proxyOf(aPod(annotated(
      { [ELECT_ANNOTATION]: '', [PROXY_CONSTRAINTS_ANNOTATION]: JSON.stringify({ tolerations }) },
    )));
    assert.deepEqual(proxy.spec.tolerations?.map(({ key, effect }) => [key, effect]), [
      [PROVIDER_KEY, undefined], ['node.kubernetes.io/network-unavailable', undefined],
      ['node.kubernetes.io/not-ready', 'NoExecute'], ['node.kubernetes.io/unreachable', 'NoExecute'],
      ['gpu', undefined],
    ]);
    assert.equal(sourceOf(proxy).spec.tolerations, undefined);
  });
});

describe('metadata', () => {
  const kept: Json = {
    generateName: 'web-', namespace: 'team-a', uid: 'u', resourceVersion: '7', creationTimestamp: null,
    ownerReferences: [{ apiVersion: 'v1', kind: 'ReplicaSet', name: 'w', uid: 'o', controller: true }],
    managedFields: [{ manager: 'kubectl', operation: 'Apply' }],
  };
  for (const [field, value] of Object.entries(kept)) {
    it(`${field} is not touched`, () => {
      const proxy = proxyOf(anElected(withMetadata({ [field]: value })));
      assert.deepEqual((proxy.metadata as unknown as Json)[field], value);
    });
  }
  it('has a finalizer once, after those of others, and what the label says is always true', () => {
    const { metadata } = proxyOf(anElected(
      withFinalizers(DELEGATE_FINALIZER, 'example.com/a', DELEGATE_FINALIZER, 'example.com/b'),
      labelled({ [HAS_FINALIZER_LABEL]: 'no' }),
    ));
    assert.deepEqual(metadata.finalizers, ['example.com/a', 'example.com/b', DELEGATE_FINALIZER]);
    assert.equal(metadata.labels?.[HAS_FINALIZER_LABEL], 'true');
  });
  it('shows other webhooks that sidecars are not wanted, and gives the delegate what its user said of them', () => {
    const own = { 'sidecar.istio.io/inject': 'true', 'linkerd.io/inject': 'ingress' };
    const proxy = proxyOf(anElected(labelled(own), annotated({ ...own, 'vault.hashicorp.com/agent-inject': 'true' })));
    const { labels = {}, annotations = {} } = proxy.metadata;
    assert.deepEqual([labels['sidecar.istio.io/inject'], labels['linkerd.io/inject']], ['false', 'ingress']);
    assert.deepEqual(['sidecar.istio.io/inject', 'linkerd.io/inject', 'vault.hashicorp.com/agent-inject'].map(
      (key) => annotations[key],
    ), ['false', 'disabled', 'false']);
    const source = sourceOf(proxy).metadata;
    assert.deepEqual([source.labels, source.annotations?.['linkerd.io/inject']], [own, 'ingress']);
  });
});

describe('a pod that nobody has validated', () => {
  const injected = ['sidecar.istio.io/status', 'linkerd.io/proxy-version', 'vault.hashicorp.com/agent-inject-status'];
  const noContainers = { containers: null } as unknown as PodSpec;
  const marked = (key: string): Pod => anElected(annotated({ [key]: '{}' }), (pod) => ({ ...pod, spec: noContainers }));

  for (const key of ['example.com/none', ...injected]) {
    it(`without containers and with ${key} is left for the API server to deny`, () =>
      assert.equal(review(marked(key)).pod.spec.containers, null));
  }
  const odd: Readonly<Record<string, Json>> = {
    'with node affinity without terms':
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: null } } } },
    'with tolerations that mean nothing': { tolerations: [{}, { operator: 'Sometimes' }] },
    'with a negative grace period': { terminationGracePeriodSeconds: -1 },
    'with a selector of numbers that Go printed as text': { nodeSelector: { '': '' } },
    'with an empty scheduler name': { schedulerName: '' },
    'with spread over nothing': { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: '', whenUnsatisfiable: '' }] },
  };
  for (const [what, spec] of Object.entries(odd)) {
    it(`${what} is a proxy whose source pod is what its user wrote, whose words API servers know best`, () => {
      const pod = anElected(withSpec(spec), annotated({ [USE_SPEC_CONSTRAINTS_ANNOTATION]: '' }));
      const proxy = proxyOf(pod);
      assert.deepEqual(sourceOf(proxy).spec, pod.spec);
      assert.deepEqual(review(proxy).patch, []);
    });
  }
});

describe('a copy of a proxy pod that was bound, as backups and kubectl debug --keep-annotations make it', () => {
  const spec = withSpec({ nodeSelector: { disk: 'ssd' } });
  const first = proxyOf(anElected(spec, withSpec({ terminationGracePeriodSeconds: 60 })));
  const bind = {
    [TARGET_ANNOTATION]: 'ClusterTarget/c1', [DELEGATE_NAME_ANNOTATION]: 'web-1', [SPEC_AT_BIND_ANNOTATION]: '{}',
    [ADOPTED_DELEGATE_ANNOTATION]: 'other',
  };
  const copy = annotated({ ...first.metadata.annotations, ...bind })(first);
  it('is elected like the first, and has nothing of its bind', () => {
    const proxy = proxyOf(frozen(copy));
    assert.deepEqual(Object.keys(bind).filter((key) => Object.hasOwn(proxy.metadata.annotations ?? {}, key)), []);
    assert.deepEqual(sourceOf(proxy).spec, sourceOf(first).spec);
    assert.equal(sourceOf(proxy).spec.terminationGracePeriodSeconds, 60);
  });
  it('is denied with a reserved label all the same', () => {
    const admission = admitPod(labelled({ 'multicluster.admiralty.io/team': 'a' })(copy));
    assert.equal(admission.kind === 'deny' && admission.reason, 'ReservedKey');
  });
});

describe('a record that somebody else wrote', () => {
  const withRecord = (text: string, ...changes: Parameters<typeof aPod>): Pod =>
    anElected(annotated({ [ADMISSION_RECORD_ANNOTATION]: text }), ...changes);
  const denied: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
    'that is no JSON': ['{', /is not what the webhook wrote/],
    'without a spec': ['{}', /is not what the webhook wrote/],
    'whose spec is a list': ['{"spec":[]}', /is not what the webhook wrote/],
    'that names our scheduler': [`{"spec":{"schedulerName":"${PROXY_SCHEDULER}"}}`, /which only Isthmus uses/],
    'with a scheduler that is no text': ['{"spec":{"schedulerName":7}}', /a string in schedulerName/],
    'with half a second of grace': ['{"spec":{"terminationGracePeriodSeconds":0.5}}', /an integer in/],
    'with a grace period too large for Go':
      ['{"spec":{"terminationGracePeriodSeconds":1e300}}', /an integer in terminationGracePeriodSeconds/],
    'with a selector that is a list': ['{"spec":{"nodeSelector":["a"]}}', /nodeSelector/],
    'with tolerations that are a map': ['{"spec":{"tolerations":{"0":{}}}}', /a list in tolerations/],
  };
  for (const [what, [text, message]] of Object.entries(denied)) {
    it(`${what} is denied`, () => {
      const { response: { status } } = review(withRecord(text));
      assert.equal(status?.reason, 'BadAdmissionRecord');
      assert.match(status?.message ?? '', message);
      assert.match(status?.message ?? '', /create it again from its own manifest$/);
    });
  }

  it('speaks for the spec: what the pod itself has in those fields is overwritten', () => {
    const proxy = proxyOf(withRecord('{"spec":{"schedulerName":"volcano"}}', withSpec({ nodeSelector: { a: 'b' } })));
    assert.deepEqual([sourceOf(proxy).spec.schedulerName, sourceOf(proxy).spec.nodeSelector], ['volcano', undefined]);
    assert.deepEqual(proxy.spec.nodeSelector, { [PROVIDER_KEY]: PROVIDER_VALUE });
  });
  it('lets a proxy be created again whose fields are those of a proxy already', () => {
    const first = proxyOf(specOf({ schedulerName: 'volcano', affinity: { podAffinity: {} } }));
    assert.deepEqual(review({ ...first, metadata: { ...first.metadata, uid: 'another' } }).patch, []);
  });
  it('does not make a manifest of Admiralty acceptable beside it, nor does it hide a node', () => {
    const both = withRecord('{"spec":{}}', annotated({ [SOURCE_MANIFEST_ANNOTATION]: '{}' }));
    assert.equal(proxyOf(both).metadata.annotations?.[SOURCE_MANIFEST_ANNOTATION], '{}', 'the record is what counts');
    const bound = withRecord('{"spec":{}}', withSpec({ nodeName: 'n' }));
    assert.equal(review(bound).response.status?.reason, 'NodeNameSet');
  });
});

describe('the annotation that elects', () => {
  const rows: readonly (readonly [value: string, kind: string])[] = [
    ['', 'mutate'], ['true', 'mutate'], ['yes', 'mutate'], ['0', 'mutate'], ['False', 'mutate'], [' false', 'mutate'],
    ['false', 'pass'],
  ];
  for (const [value, kind] of rows) {
    it(`with value "${value}": ${kind}`, () =>
      assert.equal(admitPod(aPod(annotated({ [ELECT_ANNOTATION]: value }))).kind, kind));
  }
  it('as a label elects nothing', () =>
    assert.equal(admitPod(aPod(labelled({ [ELECT_ANNOTATION]: '' }))).kind, 'pass'));
});

describe('weights of scores on a pod', () => {
  const warningsFor = (text: string): readonly string[] => {
    const admission = admitPod(anElected(annotated({ [SCORE_WEIGHTS_ANNOTATION]: text })));
    return admission.kind === 'mutate' ? admission.warnings : assert.fail(admission.kind);
  };

  it('that cannot be read are ignored with a warning', () => {
    assert.match(warningsFor('speed=1').join('\n'), /^annotation isthmus\.dev\/score-weights is ignored: .*"speed"/);
    assert.match(warningsFor('cost=x').join('\n'), /is ignored: the weight of cost must be a number from 0 to 100/);
  });

  it('that can be read need none', () => assert.deepEqual(warningsFor('cost=2,leastAllocated=0'), []));
});
