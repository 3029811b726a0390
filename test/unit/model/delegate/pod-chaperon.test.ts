import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Container, Pod, PodSpec } from '../../../../api/objects/core.ts';
import * as keys from '../../../../api/objects/keys.ts';
import {
  CHAPERON_FINALIZER, HAS_FINALIZER_LABEL, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL,
  PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL, SOURCE_WATCHES_PODS_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { DELEGATIONS } from '../../../../model/delegate/delegation.ts';
import { toChaperonRecord, toDelegatePodRecord } from '../../../../model/delegate/cached-delegate.ts';
import { delegateName } from '../../../../model/naming/names.ts';
import { prefixLabels, toDelegateLabelChanges, toPodChaperon } from '../../../../model/delegate/pod-chaperon.ts';
import { restoreSourcePod } from '../../../../model/proxy/admission-record.ts';
import {
  aPod, annotated, frozen, labelled, withFinalizers, withMetadata, withSpec, withStatus, type Change,
} from '../../../support/objects/builders.ts';

const PARENT = { clusterId: 'source-uid', namespace: 'team-a', name: 'web-0', uid: 'proxy-uid' };
const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const TOKEN_MOUNT = { name: 'kube-api-access-x7x7x', mountPath: TOKEN_PATH };
const TOKEN_VOLUME = { name: 'kube-api-access-x7x7x', projected: { sources: [] } };
/** The host name that a kubelet of the source would give it. */
const HOST = { hostname: 'web-0' };
const DATA_MOUNT = { name: 'data', mountPath: '/data' };

function chaperonOf(...changes: Change<Pod>[]): PodChaperon {
  return toPodChaperon(frozen(aPod(...changes)), PARENT);
}

describe('toDelegateLabelChanges', () => {
  const P = ADMIRALTY_PREFIX;
  const changes = { app: 'db', tier: null, 'kuma.io/mesh': 'default', 'parent-uid': 'x' };
  it('has the keys of the delegate', () => assert.deepEqual(toDelegateLabelChanges(changes, {}), {
    [`${P}app`]: 'db', [`${P}tier`]: null, 'kuma.io/mesh': 'default', [`${P.slice(0, -1)}.${P}parent-uid`]: 'x',
  }));
  it('removes the other key where the value decides which one it is', () => {
    const annotations = { [keys.NO_PREFIX_LABEL_REGEXP_ANNOTATION]: '^app=db$' };
    assert.deepEqual(toDelegateLabelChanges({ app: 'db' }, { annotations }), { app: 'db', [`${P}app`]: null });
    assert.deepEqual(toDelegateLabelChanges({ app: 'web' }, { annotations }), { app: null, [`${P}app`]: 'web' });
    assert.deepEqual(toDelegateLabelChanges({ app: null }, { annotations }), { app: null, [`${P}app`]: null });
  });
});

describe('toPodChaperon', () => {
  it("is named after its parent's UID, in its parent's namespace", () => {
    const { name, namespace } = chaperonOf(withMetadata({ name: 'elsewhere', namespace: 'elsewhere' })).metadata;
    assert.deepEqual([name, namespace], [delegateName('web-0', 'proxy-uid'), 'team-a']);
  });

  it('says which spec it was made of, for the bind, and its delegate as well', () => {
    const chaperon = toPodChaperon(aPod(), { ...PARENT, specDigests: 'of the spec' });
    assert.equal(chaperon.metadata.annotations?.[keys.SPEC_AT_BIND_ANNOTATION], 'of the spec');
    assert.equal(toChaperonRecord(chaperon)?.specDigests, 'of the spec');
    const delegate = DELEGATIONS.Pod.toObject(chaperon) as Pod;
    assert.equal(toDelegatePodRecord(delegate)?.asChaperon?.specDigests, 'of the spec');
    for (const other of [undefined, 'x'.repeat(20_000)]) {
      assert.equal(toChaperonRecord(toPodChaperon(aPod(), { ...PARENT, specDigests: other }))?.specDigests, undefined);
    }
  });

  it('says whose it is', () => {
    const { labels, annotations } = chaperonOf().metadata;
    assert.deepEqual(labels, {
      [PARENT_UID_LABEL]: 'proxy-uid', [PARENT_CLUSTER_LABEL]: 'source-uid', [PARENT_NAME_ANNOTATION]: 'web-0',
      [PARENT_NAMESPACE_ANNOTATION]: 'team-a',
    });
    assert.deepEqual(annotations, {
      [PARENT_NAME_ANNOTATION]: 'web-0', [PARENT_NAMESPACE_ANNOTATION]: 'team-a',
      [SOURCE_WATCHES_PODS_ANNOTATION]: 'true',
    });
  });

  it('is found by the name of its pod: a label with it, or with its beginning and a hash where it is too long', () => {
    const labelOf = (name: string): string =>
      toPodChaperon(aPod(), { ...PARENT, name }).metadata.labels?.[PARENT_NAME_ANNOTATION] ?? '';
    assert.equal(labelOf('a'.repeat(63)), 'a'.repeat(63));
    const long = labelOf('a'.repeat(64));
    assert.match(long, /^a{52}-[0-9a-f]{10}$/);
    assert.notEqual(long, labelOf('a'.repeat(65)));
    assert.match(labelOf(`${'a'.repeat(51)}.${'b'.repeat(100)}`), /^a{51}-[0-9a-f]{10}$/, 'ends a part with a letter');
  });

  it('keeps replicas apart, together or spread over nodes: selectors that match the pod match its delegates', () => {
    const web = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'kubernetes.io/hostname' };
    const own = {
      topologyKey: 'zone', matchLabelKeys: ['pod-template-hash'],
      labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'api'] }] },
    };
    const cache = { labelSelector: { matchLabels: { app: 'cache' } }, topologyKey: 'zone' };
    const spread = { ...web, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' };
    const labels = { app: 'web', 'pod-template-hash': '1a2b' };
    const { affinity, topologySpreadConstraints } = chaperonOf(labelled(labels), withSpec({
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [web] },
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [cache],
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: own }],
        },
      },
      topologySpreadConstraints: [spread],
    })).spec;
    const selector = { matchLabels: { [`${ADMIRALTY_PREFIX}app`]: 'web' } };
    assert.deepEqual([affinity, topologySpreadConstraints], [
      {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...web, labelSelector: selector }] },
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [cache],
          preferredDuringSchedulingIgnoredDuringExecution: [{
            weight: 1, podAffinityTerm: {
              ...own, matchLabelKeys: [`${ADMIRALTY_PREFIX}pod-template-hash`],
              labelSelector: {
                matchExpressions: [{ key: `${ADMIRALTY_PREFIX}app`, operator: 'In', values: ['web', 'api'] }],
              },
            },
          }],
        },
      },
      [{ ...spread, labelSelector: selector }],
    ]);
    const unchecked = {
      affinity: {
        podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] }, podAntiAffinity: null,
      },
      topologySpreadConstraints: [{ maxSkew: 1, labelSelector: null }],
    };
    const kept = chaperonOf(withSpec(unchecked as unknown as PodSpec)).spec.affinity;
    assert.equal(JSON.stringify(kept), JSON.stringify(unchecked.affinity));
  });

  it("keeps a user's labels of those names apart from them", () => {
    const { labels } = chaperonOf(labelled({ 'parent-name': 'x' })).metadata;
    assert.equal(labels?.[PARENT_NAME_ANNOTATION], 'web-0');
    assert.equal(labels?.[`multicluster.admiralty.io.${PARENT_NAME_ANNOTATION}`], 'x');
  });

  it('C2-38: carries annotations of users, and none of ours, so it is not elected again', () => {
    const { annotations } = chaperonOf(
      annotated({ 'a.io/note': 'kept', [keys.ELECT_ANNOTATION]: '', [PARENT_NAME_ANNOTATION]: 'forged' }),
    ).metadata;
    assert.equal(annotations?.['a.io/note'], 'kept');
    assert.equal(annotations?.[keys.ELECT_ANNOTATION], undefined);
    assert.equal(annotations?.[PARENT_NAME_ANNOTATION], 'web-0');
  });

  it('carries nothing else of the metadata, which belongs to the source', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs' };
    const { metadata } =
      chaperonOf(withFinalizers('a.io/x'), withMetadata({ generateName: 'web-', ownerReferences: [owner] }));
    assert.deepEqual(Object.keys(metadata).toSorted(), ['annotations', 'finalizers', 'labels', 'name', 'namespace']);
    assert.deepEqual(metadata.finalizers, [CHAPERON_FINALIZER]);
  });

  it('carries no status', () => assert.equal(chaperonOf(withStatus({ phase: 'Running' })).status, undefined));

  const specs: Record<string, readonly [before: Partial<PodSpec>, after: Partial<PodSpec>]> = {
    'lets the target resolve the priority class': [
      { priority: 7, preemptionPolicy: 'Never', priorityClassName: 'high' }, { priorityClassName: 'high' },
    ],
    'lets the target choose the node': [{ nodeName: 'mine' }, {}],
    // The pod is scheduled only once its gates are open; a delegate with gates would wait for nobody.
    'leaves out scheduling gates, which the source has opened': [{ schedulingGates: [{ name: 'quota' }] }, {}],
    'keeps placement rules for the target': [{ nodeSelector: { gpu: 'a100' }, schedulerName: 'fancy' }, {
      nodeSelector: { gpu: 'a100' }, schedulerName: 'fancy',
    }],
    'keeps the service account, which must exist in the target':
      [{ serviceAccountName: 'robot' }, { serviceAccountName: 'robot' }],
    'leaves volumes alone where there is no token': [{ volumes: [{ name: 'data' }] }, { volumes: [{ name: 'data' }] }],
  };
  for (const [sentence, [before, after]] of Object.entries(specs)) {
    it(sentence, () => assert.deepEqual(chaperonOf(withSpec(before)).spec, { ...aPod().spec, ...after, ...HOST }));
  }

  it("takes out the source's token from containers, init containers and volumes, and nothing else", () => {
    const container = (name: string): Container => ({ name, volumeMounts: [TOKEN_MOUNT, DATA_MOUNT] });
    const spec = {
      containers: [container('a'), { name: 'b' }], initContainers: [container('i')],
      volumes: [{ name: 'data' }, TOKEN_VOLUME],
    };
    assert.deepEqual(chaperonOf(withSpec(spec)).spec, {
      containers: [{ name: 'a', volumeMounts: [DATA_MOUNT] }, { name: 'b' }],
      initContainers: [{ name: 'i', volumeMounts: [DATA_MOUNT] }],
      volumes: [{ name: 'data' }],
      ...HOST,
    });
  });

  it('takes out a token that only an init container mounts', () => {
    const spec = {
      containers: [{ name: 'a' }], initContainers: [{ name: 'i', volumeMounts: [TOKEN_MOUNT] }],
      volumes: [TOKEN_VOLUME],
    };
    assert.deepEqual(chaperonOf(withSpec(spec)).spec, {
      containers: [{ name: 'a' }], initContainers: [{ name: 'i', volumeMounts: [] }], volumes: [],
      ...HOST,
    });
  });

  it('takes null for none, as a template leaves it', () => {
    const spec = { containers: [{ name: 'main', volumeMounts: null }], initContainers: null } as unknown as PodSpec;
    assert.deepEqual(chaperonOf(withSpec(spec)).spec.containers, spec.containers);
  });

  // The API server mounts no token where the user has mounted a volume already.
  it("leaves a user's own volume at the token's path", () => {
    const mounts = [{ name: 'vault', mountPath: TOKEN_PATH }];
    const spec = {
      containers:
        [{ name: 'a', volumeMounts: mounts }, { name: 'b', volumeMounts: [{ name: 'vault', mountPath: '/vault' }] }],
      volumes: [{ name: 'vault' }],
    };
    assert.deepEqual(chaperonOf(withSpec(spec)).spec, { ...spec, ...HOST });
  });

  const DROPPED = ['priority', 'preemptionPolicy', 'nodeName', 'schedulingGates', 'ephemeralContainers'];
  it('has the spec of the stored proxy apart from the fields above; unknown fields survive', () => {
    const field =
      fc.oneof(fc.constantFrom(...DROPPED, 'dnsPolicy', 'hostNetwork', 'resourceClaims', '__proto__'), fc.string());
    const spec = fc.dictionary(field, fc.jsonValue())
      .map((fields) => ({ ...fields, containers: [{ name: 'app', image: 'x' }], initContainers: [], volumes: [] }));
    fc.assert(
      fc.property(spec, (spec) => {
        const saved = JSON.parse(
          JSON.stringify({ ...aPod(annotated({ [keys.ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}' })), spec }),
        ) as Pod;
        const restored = restoreSourcePod(saved);
        assert.equal(restored.kind, 'restored');
        const chaperon = toPodChaperon(frozen(restored.kind === 'restored' ? restored.pod : saved), PARENT);
        const kept = Object.entries(saved.spec).filter(([key]) => !DROPPED.includes(key));
        const host = saved.spec.hostNetwork || saved.spec.hostname ? [] : Object.entries(HOST);
        assert.deepEqual(new Map(Object.entries(chaperon.spec)), new Map([...kept, ...host]));
      }),
    );
  });
});

// Label keys as the API server lets them through: an optional DNS-1123 subdomain of up to 253 characters, a slash, a
// name.
const NAME = fc.stringMatching(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?$/);
const DOMAIN = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,4}[a-z0-9])?(\.[a-z0-9]{1,3}){0,3}$/) },
  {
    weight: 1, arbitrary: fc.constantFrom('a.io', 'b.io', 'multicluster.admiralty.io.x', 'x.multicluster.admiralty.io'),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('a', 'b'), fc.integer({ min: 195, max: 253 }))
      .map(([letter, length]) => letter.repeat(length)),
  },
);
const RESERVED_NAMES = Object.values(keys).filter(
  (key) => typeof key === 'string' && key.startsWith(ADMIRALTY_PREFIX),
).map(
  (key) => key.slice(ADMIRALTY_PREFIX.length),
);
const KEY = fc
  .oneof(NAME, fc.constantFrom(...RESERVED_NAMES.filter((name) => name !== '')), fc.tuple(DOMAIN, NAME).map(
    ([domain, name]) => `${domain}/${name}`,
  ))
  .filter((key) => !key.startsWith(ADMIRALTY_PREFIX));

describe('labels whose keys a user keeps', () => {
  const kept = (expression: string): boolean => Object.hasOwn(chaperonOf(
    labelled({ app: 'web' }), annotated({ [keys.NO_PREFIX_LABEL_REGEXP_ANNOTATION]: expression }),
  ).metadata.labels ?? {}, 'app');

  it('match the expression anywhere in key=value', () => assert.deepEqual(['^app=', 'p=w', 'b$'].map(kept),
    [true, true, true]));
  it('are none where it matches none, or is empty, as in Admiralty', () => assert.deepEqual(['^web', ''].map(kept),
    [false, false]));
});

describe('prefixLabels', () => {
  const cases: Record<string, readonly [before: string, after: string]> = {
    'moves a plain key under our prefix, as Admiralty does': ['app', `${ADMIRALTY_PREFIX}app`],
    'keeps the domain of a key': ['a.io/x', 'a.io.multicluster.admiralty.io/x'],
    'keeps keys apart that differ in their domain only': ['b.io/x', 'b.io.multicluster.admiralty.io/x'],
    'does not let a user say whose delegate it is':
      ['parent-uid', `multicluster.admiralty.io.${ADMIRALTY_PREFIX}parent-uid`],
    'does not let a user say what an uninstall must release':
      ['has-finalizer', `multicluster.admiralty.io.${ADMIRALTY_PREFIX}has-finalizer`],
  };
  for (const [sentence, [before, after]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(prefixLabels({ [before]: 'v' }), { [after]: 'v' }));
  }

  it('keeps two keys apart where one is long and looks like the other one moved', () => {
    const long = 'a'.repeat(210);
    const labels = { [`${long}/x`]: '1', [`${long}.multicluster.admiralty.io/x`]: '2' };
    assert.deepEqual(Object.values(prefixLabels(labels)).toSorted(), ['1', '2']);
  });

  it('keeps any two keys apart, and each with its value', () => {
    fc.assert(
      fc.property(fc.uniqueArray(KEY, { maxLength: 8 }), (keys) => {
        const prefixed = prefixLabels(frozen(Object.fromEntries(keys.map((key) => [key, key]))));
        assert.deepEqual(Object.values(prefixed).toSorted(), keys.toSorted());
      }),
      { numRuns: 500 },
    );
  });

  it('gives none of the keys that mean something to us', () => {
    const reserved: readonly string[] = [
      PARENT_UID_LABEL, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, HAS_FINALIZER_LABEL,
    ];
    fc.assert(
      fc.property(fc.uniqueArray(KEY, { maxLength: 8 }), (keys) => {
        const prefixed = Object.keys(prefixLabels(Object.fromEntries(keys.map((key) => [key, '']))));
        assert.deepEqual(prefixed.filter((key) => reserved.includes(key)), []);
      }),
      { numRuns: 500 },
    );
  });

  it('gives keys that an API server takes, none of which a selector of the target matches', () => {
    fc.assert(
      fc.property(KEY, (key) => {
        const [prefixed = ''] = Object.keys(prefixLabels({ [key]: '' }));
        const [prefix = ''] = prefixed.split('/');
        assert.ok(prefix.length <= 253, prefixed);
        assert.match(prefix, /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)*multicluster\.admiralty\.io$/);
      }),
      { numRuns: 500 },
    );
  });

  it("makes the parent's identity immune to labels of the user", () => {
    const { labels } =
      toPodChaperon(aPod(labelled({ 'parent-uid': 'forged', 'parent-cluster-name': 'forged' })), PARENT).metadata;
    assert.equal(labels?.[PARENT_UID_LABEL], 'proxy-uid');
    assert.equal(labels?.[PARENT_CLUSTER_LABEL], 'source-uid');
    assert.equal(Object.keys(labels ?? {}).length, 6);
  });
});
