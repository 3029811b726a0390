import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod, StringMap } from '../../../../api/objects/core.ts';
import * as keys from '../../../../api/objects/keys.ts';
import {
  ADMISSION_RECORD_ANNOTATION, DELEGATE_ANNOTATIONS_ANNOTATION, ELECT_ANNOTATION, HAS_FINALIZER_LABEL,
  PLACEMENT_ANNOTATION, SOURCE_MANIFEST_ANNOTATION, TARGET_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import { USER_POD_ANNOTATIONS } from '../../../../model/pod/pod-annotations.ts';
import { restoreSourcePod, writeAdmissionRecord } from '../../../../model/proxy/admission-record.ts';
import { toPodChaperon } from '../../../../model/delegate/pod-chaperon.ts';
import {
  aPod, annotated, aProxy, frozen, labelled, withFinalizers, withSpec,
} from '../../../support/objects/builders.ts';

const PARENT = { clusterId: 'c', namespace: 'team-a', name: 'web', uid: 'u' };
const recorded = (record: unknown, ...changes: Parameters<typeof aProxy>) =>
  frozen(aProxy(
    annotated({ [ADMISSION_RECORD_ANNOTATION]: typeof record === 'string' ? record : JSON.stringify(record) }),
    ...changes,
  ));

/** The source pod of a proxy; fails where there is none. */
function restored(proxy: Pod): Pod {
  const answer = restoreSourcePod(proxy);
  return answer.kind === 'restored' ? answer.pod : assert.fail(answer.message);
}

describe('writeAdmissionRecord', () => {
  const cases: Record<string, readonly [pod: Pod, record: object]> = {
    'keeps the scheduling fields that the pod has': [
      aPod(withSpec({ nodeSelector: { disk: 'ssd' }, terminationGracePeriodSeconds: 7 })),
      { spec: { nodeSelector: { disk: 'ssd' }, terminationGracePeriodSeconds: 7 } },
    ],
    'keeps nothing of a pod that says nothing': [aPod(), { spec: {} }],
    'keeps what the pod says to injectors of sidecars': [
      aPod(labelled({ 'sidecar.istio.io/inject': 'true' }), annotated({ 'linkerd.io/inject': 'enabled' })),
      { spec: {}, labels: { 'sidecar.istio.io/inject': 'true' }, annotations: { 'linkerd.io/inject': 'enabled' } },
    ],
    'keeps no container, volume or other label':
      [aPod(labelled({ app: 'web' }), withSpec({ volumes: [{ name: 'v' }] })), { spec: {} }],
  };
  for (const [sentence, [pod, record]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(JSON.parse(writeAdmissionRecord(frozen(pod))), record));
  }
});

describe('restoreSourcePod', () => {
  it('puts back what admission replaced, and takes away what was not there', () => {
    const proxy = recorded({ spec: { schedulerName: 'mine', tolerations: [{ operator: 'Exists' }] } }, withSpec(
      { schedulerName: 'admiralty-proxy', nodeSelector: { a: 'b' }, tolerations: [], terminationGracePeriodSeconds: 0 },
    ));
    assert.deepEqual(
      restored(proxy).spec, { ...aPod().spec, schedulerName: 'mine', tolerations: [{ operator: 'Exists' }] },
    );
  });

  it('takes away the keys that Isthmus writes, and keeps all others', () => {
    const ours = { [TARGET_ANNOTATION]: 't', [PLACEMENT_ANNOTATION]: '{}' };
    const proxy = recorded(
      { spec: {} },
      annotated({ ...ours, note: 'n', [ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}', [ELECT_ANNOTATION]: '' }),
      labelled({ [HAS_FINALIZER_LABEL]: 'true', app: 'web' }),
      withFinalizers('a.io/x', 'multicluster.admiralty.io/delegate'),
    );
    const { labels, annotations, finalizers } = restored(proxy).metadata;
    assert.deepEqual(
      [labels, annotations, finalizers], [{ app: 'web' }, { note: 'n', [ELECT_ANNOTATION]: '' }, ['a.io/x']],
    );
  });

  it('takes away what a bound pod got from its node and its delegate', () => {
    const taken = { [DELEGATE_ANNOTATIONS_ANNOTATION]: '["from.target/a"]', 'from.target/a': '1' };
    const proxy = recorded(
      { spec: {} }, annotated({ [ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}', ...taken }),
      labelled({ 'topology.kubernetes.io/zone': 'z' }),
      withSpec({ nodeName: 'n', ephemeralContainers: [{ name: 'debug' }] }),
    );
    const pod = restored(proxy);
    assert.deepEqual([pod.metadata.labels, pod.metadata.annotations?.['from.target/a'], Object.keys(pod.spec)], [
      {}, undefined, ['containers'],
    ]);
  });

  it('drops no annotation that a user calls the delegate\'s before the pod is bound', () => {
    const profile = { 'container.apparmor.security.beta.kubernetes.io/app': 'runtime/default' };
    const forged = { [DELEGATE_ANNOTATIONS_ANNOTATION]: JSON.stringify(Object.keys(profile)) };
    const pod = restored(
      recorded({ spec: {} }, annotated({ [ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}', ...forged, ...profile })),
    );
    assert.deepEqual(pod.metadata.annotations, { [ELECT_ANNOTATION]: '', ...profile });
  });

  it('takes the fields of a record, and no others, from the manifest of Admiralty or of an older version', () => {
    const manifest = JSON.stringify({
      metadata: { labels: { evil: 'x', 'sidecar.istio.io/inject': 'true' } },
      spec: { hostNetwork: true, nodeSelector: { disk: 'ssd' }, containers: [{ name: 'evil', image: 'evil' }] },
    });
    const { metadata, ...proxy } = aProxy();
    const pod = restored(
      frozen({
        ...proxy,
        metadata: { ...metadata, annotations: { [ELECT_ANNOTATION]: '', [SOURCE_MANIFEST_ANNOTATION]: manifest } },
      }),
    );
    assert.deepEqual([pod.spec, pod.metadata.labels], [
      { ...aPod().spec, nodeSelector: { disk: 'ssd' } }, { 'sidecar.istio.io/inject': 'true' },
    ]);
  });

  const invalid: Record<string, readonly [record: unknown, message: RegExp]> = {
    'that is not JSON': ['{', /is not what the webhook wrote/],
    'that is a list': ['[]', /is not what the webhook wrote/],
    'without a spec': [{}, /is not what the webhook wrote/],
    'that is longer than any annotation': [{ spec: {}, x: 'x'.repeat(262_144) }, /is not what the webhook wrote/],
    "that names Isthmus' own scheduler":
      [{ spec: { schedulerName: 'admiralty-proxy' } }, /names scheduler admiralty-proxy, which only Isthmus uses/],
    'whose scheduler is a number': [{ spec: { schedulerName: 1 } }, /must have a string in schedulerName/],
    'whose grace period is a text':
      [{ spec: { terminationGracePeriodSeconds: '5' } }, /must have an integer in terminationGracePeriodSeconds/],
    'whose tolerations are a text': [{ spec: { tolerations: 'x' } }, /must have a list in tolerations/],
    'whose affinity is nonsense': [
      {
        spec: {
          affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: 'x' } } },
        },
      },
      /must have a list in affinity/,
    ],
  };
  for (const [what, [record, message]] of Object.entries(invalid)) {
    it(`rejects a record ${what}, and says what to do`, () => {
      const answer = restoreSourcePod(recorded(record));
      assert.match(answer.kind === 'invalid' ? answer.message : 'restored', message);
      assert.match(answer.kind === 'invalid' ? answer.message : '', /delete the pod, and create it again/);
    });
  }

  it('rejects a pod that has no record, for admission has not seen it', () => {
    const { metadata, ...pod } = aProxy();
    const answer = restoreSourcePod({ ...pod, metadata: { ...metadata, annotations: { [ELECT_ANNOTATION]: '' } } });
    assert.match(answer.kind === 'invalid' ? answer.message : '', /is missing, so the pod did not pass the webhook/);
  });

  it('takes fields of newer API servers that it does not know', () => {
    const tolerations = [{ key: 'a', operator: 'Exists', newer: true }];
    assert.deepEqual(restored(recorded({ spec: { tolerations } })).spec.tolerations, tolerations);
  });
});

/** What a pod may ask for that quotas, policies and admission look at: all of a spec but how it is scheduled. */
const SCHEDULING: readonly string[] = [
  'schedulerName', 'nodeSelector', 'tolerations', 'affinity', 'topologySpreadConstraints',
  'terminationGracePeriodSeconds',
];
/** The delegate gets the host name that the source's kubelet would derive from the pod's name. */
const DERIVED = ['hostname'];
const asked = (spec: object): object =>
  Object.fromEntries(Object.entries(spec).filter(([field]) => ![...SCHEDULING, ...DERIVED].includes(field)));

/** Annotations by which policies go, or the runtimes of nodes: none may be dropped, changed or made up on the way. */
const PROFILE = 'container.apparmor.security.beta.kubernetes.io/a';
const NOTE = 'policy.example.com/profile';
const shownBy = ({ metadata: { annotations = {} } }: Pick<Pod, 'metadata'>): StringMap => Object.fromEntries(
  [PROFILE, NOTE].flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]]])),
);
/** All annotations that Isthmus writes somewhere, on pods or elsewhere, and that a user may write, too. */
const SYSTEM_ANNOTATIONS = Object.entries(keys)
  .flatMap(([name, key]) => (name.endsWith('_ANNOTATION') && !USER_POD_ANNOTATIONS.has(key) ? [key] : []));

describe('whatever proxy, record, manifest, system annotations and later patches are', () => {
  const securityContext = fc.record({ privileged: fc.boolean(), runAsUser: fc.nat(2) }, { requiredKeys: [] });
  const container = fc.record(
    {
      name: fc.constantFrom('a', 'b'), image: fc.constantFrom('i:1', 'i:2', 'evil'),
      command: fc.array(fc.string(), { maxLength: 1 }), securityContext,
      resources: fc.record({ requests: fc.record({ cpu: fc.constantFrom('1m', '8') }) }),
    },
    { requiredKeys: ['name'] },
  );
  const spec = fc.record({
    containers: fc.array(container, { minLength: 1, maxLength: 2 }),
    hostNetwork: fc.boolean(), hostPID: fc.boolean(), hostIPC: fc.boolean(), hostUsers: fc.boolean(),
    serviceAccountName: fc.constantFrom('default', 'admin'), priorityClassName:
      fc.constantFrom('low', 'system-node-critical'), runtimeClassName: fc.constantFrom('gvisor', 'runc'),
    securityContext, volumes: fc.array(
      fc.record({ name: fc.constantFrom('v', 'w'), hostPath: fc.record({ path: fc.constant('/') }) }, {
        requiredKeys: ['name'],
      }),
      { maxLength: 2 },
    ),
    nodeSelector: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
    schedulerName: fc.constantFrom('admiralty-proxy', 'mine'), unknown: fc.jsonValue(),
  }, { requiredKeys: ['containers'] });
  const record = fc.oneof(
    fc.string(), fc.json(),
    fc.record({ spec: fc.oneof(spec, fc.jsonValue()), labels: fc.jsonValue(), annotations: fc.jsonValue() }, {
      requiredKeys: ['spec'],
    }).map((value) => JSON.stringify(value)),
  );
  const shown = fc.record(
    { [PROFILE]: fc.constant('unconfined'), [NOTE]: fc.constantFrom('strict', 'loose') }, { requiredKeys: [] },
  );
  const written = fc.oneof(fc.subarray([PROFILE, NOTE]).map((names) => JSON.stringify(names)), record, fc.constantFrom(
    'true', '', '2999-01-01T00:00:00Z',
  ));
  const system = fc.dictionary(fc.constantFrom(...SYSTEM_ANNOTATIONS), written, { maxKeys: 4 });
  const records =
    fc.record({ [ADMISSION_RECORD_ANNOTATION]: record, [SOURCE_MANIFEST_ANNOTATION]: record }, { requiredKeys: [] });
  const annotations = fc.tuple(system, records, shown).map((maps) => Object.assign({}, ...maps) as StringMap);
  const proxies = fc.tuple(spec, annotations).map(
    ([ofPod, marks]) => JSON.parse(JSON.stringify(
      { ...aPod(), metadata: { ...aPod().metadata, annotations: { ...marks, [ELECT_ANNOTATION]: '' } }, spec: ofPod },
    )) as Pod,
  );

  it('the delegate asks for just what the stored proxy shows', () => {
    fc.assert(fc.property(proxies, (proxy) => {
      const answer = restoreSourcePod(proxy);
      if (answer.kind === 'invalid') return;
      const chaperon = toPodChaperon(answer.pod, PARENT);
      assert.deepEqual(asked(chaperon.spec), asked(proxy.spec));
      assert.deepEqual(shownBy(chaperon), shownBy(proxy));
    }), { numRuns: 2_000 });
  });

  it('two delegates that differ there come of proxies that differ there', () => {
    fc.assert(fc.property(proxies, proxies, record, (one, other, shared) => {
      const [a, b] = [one, other].map(
        (proxy) => restoreSourcePod({
          ...proxy,
          metadata:
            { ...proxy.metadata, annotations: { [ELECT_ANNOTATION]: '', [ADMISSION_RECORD_ANNOTATION]: shared } },
        }),
      );
      if (a?.kind !== 'restored' || b?.kind !== 'restored') return;
      const differ = (x: unknown, y: unknown): boolean => JSON.stringify(x) !== JSON.stringify(y);
      assert.equal(differ(asked(toPodChaperon(a.pod, PARENT).spec), asked(toPodChaperon(b.pod, PARENT).spec)), differ(
        asked(one.spec), asked(other.spec),
      ));
    }), { numRuns: 1_000 });
  });
});
