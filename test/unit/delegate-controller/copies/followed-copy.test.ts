import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { KubernetesObject, StringMap } from '../../../../api/objects/core.ts';
import {
  FOLLOWED_KEYS_ANNOTATION, GLOBAL_ANNOTATION, HAS_FINALIZER_LABEL,
  IS_DELEGATE_ANNOTATION, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_UID_LABEL,
} from '../../../../api/objects/keys.ts';
import {
  copyDigest, isCopyOf, mergePatchBetween, planCopy, toCopy,
} from '../../../../delegate-controller/copies/followed-copy.ts';
import {
  FOLLOWED_KINDS, followKey, parseFollowKey, type FollowedKind,
} from '../../../../delegate-controller/copies/followed-kinds.ts';
import { afterMergePatch } from '../../../support/objects/builders.ts';

const CLUSTER = 'cluster-1';

function kindOf(plural: string): FollowedKind {
  const kind = FOLLOWED_KINDS.find(({ type }) => type.plural === plural);
  assert.ok(kind);
  return kind;
}
const [CONFIG_MAP, SECRET, SERVICE, INGRESS] = ['configmaps', 'secrets', 'services', 'ingresses'].map(kindOf) as [
  FollowedKind, FollowedKind, FollowedKind, FollowedKind,
];

type Fields = Readonly<Record<string, unknown>>;
interface Labels {
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
}
const anObject = (fields: Fields, metadata: Labels = {}): KubernetesObject =>
  ({ metadata: { namespace: 'a', name: 'x', uid: 'source-uid', resourceVersion: '5', ...metadata }, ...fields });
/** As the target's API server stores it. */
const stored = (copy: KubernetesObject, fields: Fields = {}): KubernetesObject =>
  ({ ...copy, ...fields, metadata: { ...copy.metadata, uid: 'copy-uid', resourceVersion: '7' } });
const specOf = (object: KubernetesObject): Fields => (object as { readonly spec?: Fields }).spec ?? {};

describe('a copy', () => {
  it('carries contents, labels and annotations, and says whose it is', () => {
    const copy = toCopy(
      CONFIG_MAP, anObject({ data: { k: 'v' }, status: 'no' }, { labels: { team: 'a' }, annotations: { note: 'n' } }),
      CLUSTER,
    );
    assert.deepEqual(
      [(copy as { data?: unknown }).data, (copy as { status?: unknown }).status], [{ k: 'v' }, undefined],
    );
    assert.deepEqual(
      copy.metadata.labels, { team: 'a', [PARENT_UID_LABEL]: 'source-uid', [PARENT_CLUSTER_LABEL]: CLUSTER },
    );
    assert.equal(copy.metadata.annotations?.['note'], 'n');
    assert.equal(copy.metadata.uid, undefined);
    assert.ok(isCopyOf(copy, CLUSTER));
  });

  it('does not carry what is ours, nor what kubectl noted of the contents', () => {
    const metadata = {
      labels: { [HAS_FINALIZER_LABEL]: 'true', [PARENT_CLUSTER_LABEL]: 'forged' },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'canary', [`${ADMIRALTY_PREFIX}x`]: 'y' },
    };
    const copy = toCopy(SECRET, anObject({ data: {} }, metadata), CLUSTER);
    assert.equal(copy.metadata.labels?.[PARENT_CLUSTER_LABEL], CLUSTER);
    assert.ok(!JSON.stringify(copy).includes('canary'));
    assert.deepEqual(
      JSON.parse(copy.metadata.annotations?.[FOLLOWED_KEYS_ANNOTATION] ?? ''), { labels: [], annotations: [] },
    );
  });

  // Argo CD prunes what carries its mark of an application that does not hold it (argo-cd
  // `docs/user-guide/resource_tracking.md`).
  it('does not carry by what Argo CD knows its own', () => {
    const annotations = {
      'argocd.argoproj.io/tracking-id': 'web:/ConfigMap:team-a/settings', 'argocd.argoproj.io/installation-id': 'main',
      'argocd.argoproj.io/sync-wave': '1',
    };
    const copy = toCopy(SECRET, anObject({ data: {} }, { annotations }), CLUSTER);
    assert.deepEqual(Object.keys(copy.metadata.annotations ?? {}).filter((key) => key.startsWith('argocd')), [
      'argocd.argoproj.io/sync-wave',
    ]);
  });

  it('of a Service has the selector of delegates, and no address of the source', () => {
    const spec = {
      clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'], selector: { app: 'web' },
      ports: [{ port: 80, nodePort: 30_001 }], type: 'NodePort',
    };
    const copy = toCopy(SERVICE, anObject({ spec }), CLUSTER);
    assert.deepEqual(
      specOf(copy), { selector: { [`${ADMIRALTY_PREFIX}app`]: 'web' }, ports: [{ port: 80 }], type: 'NodePort' },
    );
    assert.equal(copy.metadata.annotations?.[GLOBAL_ANNOTATION], 'true');
    assert.equal(copy.metadata.annotations[IS_DELEGATE_ANNOTATION], '');
  });

  // Kubernetes "IPv4/IPv6 dual-stack": a cluster of one family rejects RequireDualStack and takes PreferDualStack.
  const policies: readonly (readonly [inSource: string | undefined, inTarget: string | undefined])[] = [
    ['SingleStack', 'SingleStack'], ['PreferDualStack', 'PreferDualStack'], ['RequireDualStack', 'PreferDualStack'],
    [undefined, undefined],
  ];
  for (const [inSource, inTarget] of policies) {
    it(`of a Service with ${inSource ?? 'no family policy'} has ${inTarget ?? 'none'}, and families of the target`,
      () => {
      const spec = {
        selector: { app: 'web' }, ipFamilies: ['IPv6', 'IPv4'],
          ...(inSource !== undefined && { ipFamilyPolicy: inSource }),
      };
      const copy = specOf(toCopy(SERVICE, anObject({ spec }), CLUSTER));
      assert.equal(copy['ipFamilyPolicy'], inTarget);
      assert.equal(Object.hasOwn(copy, 'ipFamilyPolicy'), inTarget !== undefined);
      assert.equal(Object.hasOwn(copy, 'ipFamilies'), false);
    });
  }

  it('of a headless Service stays headless', () => {
    assert.equal(
      specOf(toCopy(SERVICE, anObject({ spec: { clusterIP: 'None', selector: { a: 'b' } } }), CLUSTER))['clusterIP'],
      'None',
    );
  });

  it('is the same before and after the source got its marks', () => {
    const spec = { selector: { app: 'web' } };
    const marks = {
      [GLOBAL_ANNOTATION]: 'true', 'io.cilium/global-service': 'true',
      [`${ADMIRALTY_PREFIX}original-selector`]: 'app=web',
      [`${ADMIRALTY_PREFIX}follow-marks`]: 'x',
    };
    const marked = anObject({ spec: { selector: { [`${ADMIRALTY_PREFIX}app`]: 'web' } } }, { annotations: marks });
    assert.deepEqual(toCopy(SERVICE, marked, CLUSTER), toCopy(SERVICE, anObject({ spec }), CLUSTER));
  });
});

describe('a token of the source', () => {
  it('is rejected, other Secrets are not', () => {
    assert.match(
      SECRET.reject?.(anObject({ type: 'kubernetes.io/service-account-token' })) ?? '', /ServiceAccount token/,
    );
    assert.equal(SECRET.reject?.(anObject({ type: 'Opaque' })), undefined);
  });
});

describe('the digest of a copy', () => {
  const copy = toCopy(
    SERVICE, anObject({ spec: { selector: { a: 'b' }, ports: [{ port: 80 }] } }, { labels: { team: 'a' } }), CLUSTER,
  );
  const digest = copyDigest(SERVICE, copy);

  it('does not change by what the target gives a copy', () => {
    const spec =
      { ...specOf(copy), clusterIP: '10.1.1.1', clusterIPs: ['10.1.1.1'], ports: [{ port: 80, nodePort: 30_002 }] };
    const seen = stored(copy, { spec });
    const byOthers = {
      ...seen,
      metadata: {
        ...seen.metadata, labels: { ...seen.metadata.labels, theirs: 'x' },
        annotations: { ...seen.metadata.annotations, theirs: 'y' },
      },
    };
    assert.equal(copyDigest(SERVICE, byOthers), digest);
  });

  const changes: Record<string, (object: KubernetesObject) => KubernetesObject> = {
    'a field': (object) => ({ ...object, spec: { selector: { a: 'c' } } }) as KubernetesObject,
    'a label that was carried': (object) =>
      ({ ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, team: 'b' } } }),
    'a mark that is missing': (object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [GLOBAL_ANNOTATION]: 'no' } },
    }),
    'another parent': (object) => ({
      ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, [PARENT_UID_LABEL]: 'other' } },
    }),
    'a note of ours that cannot be read': (object) => ({
      ...object,
      metadata:
        { ...object.metadata, annotations: { ...object.metadata.annotations, [FOLLOWED_KEYS_ANNOTATION]: '{' } },
    }),
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`changes with ${what}`, () => assert.notEqual(copyDigest(SERVICE, change(copy)), digest));
  }
});

describe('planCopy', () => {
  const source = anObject({ data: { k: 'v' } }, { labels: { team: 'a' } });

  it('creates what is not there', () => {
    const step = planCopy(CONFIG_MAP, source, undefined, CLUSTER);
    assert.deepEqual(step, {
      kind: 'write', command: { kind: 'create', type: CONFIG_MAP.type, object: toCopy(CONFIG_MAP, source, CLUSTER) },
    });
  });

  const foreign: Record<string, KubernetesObject> = {
    'without marks': anObject({ data: {} }),
    'of another source': stored(toCopy(CONFIG_MAP, source, 'cluster-2')),
    'whose parent has another name':
      stored(toCopy(CONFIG_MAP, { ...source, metadata: { ...source.metadata, annotations: {} } }, CLUSTER)),
  };
  const renamed = foreign['whose parent has another name']!;
  foreign['whose parent has another name'] = {
    ...renamed,
    metadata: { ...renamed.metadata, annotations: { ...renamed.metadata.annotations, [PARENT_NAME_ANNOTATION]: 'y' } },
  };
  for (const [what, object] of Object.entries(foreign)) {
    it(`leaves an object ${what} alone`, () => assert.deepEqual(
      planCopy(CONFIG_MAP, source, object, CLUSTER), { kind: 'foreign' },
    ));
  }

  it('cannot change a headless copy into another one: an API server keeps its clusterIP without a word', () => {
    const [headless, usual] = [{ clusterIP: 'None' }, { clusterIP: '10.0.0.7' }].map(
      (spec) => anObject({ spec: { ...spec, selector: { a: 'b' } } }),
    );
    const copy = stored(toCopy(SERVICE, headless!, CLUSTER));
    assert.deepEqual(planCopy(SERVICE, usual!, copy, CLUSTER), { kind: 'unchangeable' });
    assert.deepEqual(planCopy(SERVICE, headless!, copy, CLUSTER), { kind: 'equal' });
  });

  it('writes nothing when nothing differs', () => {
    assert.deepEqual(
      planCopy(CONFIG_MAP, source, stored(toCopy(CONFIG_MAP, source, CLUSTER)), CLUSTER), { kind: 'equal' },
    );
  });

  it('patches just this version of just this object', () => {
    const step =
      planCopy(CONFIG_MAP, anObject({ data: { k: 'w' } }), stored(toCopy(CONFIG_MAP, source, CLUSTER)), CLUSTER);
    assert.ok(step.kind === 'write' && step.command.kind === 'patch');
    const { metadata } = step.command.patch as KubernetesObject;
    assert.deepEqual([metadata.uid, metadata.resourceVersion], ['copy-uid', '7']);
  });

  it('makes any copy equal to its object, and keeps what others added', () => {
    const words = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.string({ maxLength: 3 }), { maxKeys: 3 });
    const object = fc.record({ data: words, labels: words, annotations: words })
      .map(({ data, ...metadata }) => anObject({ data }, metadata));
    fc.assert(
      fc.property(object, object, (before, after) => {
        const old = stored(toCopy(CONFIG_MAP, before, CLUSTER));
        const existing = { ...old, metadata: { ...old.metadata, labels: { ...old.metadata.labels, theirs: 'x' } } };
        const step = planCopy(CONFIG_MAP, after, existing, CLUSTER);
        const result = step.kind === 'write' && step.command.kind === 'patch'
          ? (afterMergePatch(existing, step.command.patch) as KubernetesObject)
          : existing;
        const desired = toCopy(CONFIG_MAP, after, CLUSTER);
        assert.deepEqual({ ...result.metadata.labels }, { ...desired.metadata.labels, theirs: 'x' });
        assert.deepEqual({ ...result.metadata.annotations }, { ...desired.metadata.annotations });
        assert.equal(copyDigest(CONFIG_MAP, result), copyDigest(CONFIG_MAP, desired));
      }),
    );
  });
});

describe('mergePatchBetween', () => {
  it('gives a patch that makes one of the other, or none when they are equal', () => {
    const value = fc.letrec((tie) => ({
      object: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('any'), { maxKeys: 3 }),
      any:
        fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.array(fc.integer(), { maxLength: 2 }), tie('object')),
    })).object;
    fc.assert(
      fc.property(value, value, (before, after) => {
        const patch = mergePatchBetween(before, after);
        const plain = (object: unknown): unknown => JSON.parse(JSON.stringify(object));
        assert.deepEqual(plain(patch === undefined ? before : afterMergePatch(before, patch)), plain(after));
        assert.equal(mergePatchBetween(after, after), undefined);
      }),
    );
  });
});

// each is a valid key of a ConfigMap (`[-._a-zA-Z0-9]+`)
describe('a key that every object inherits', () => {
  for (const key of ['constructor', 'toString', '__proto__']) {
    const [none, one, other] = ['{}', `{"${key}":"1"}`, `{"${key}":"2"}`].map((text) => JSON.parse(text) as Fields);
    const patchOf = (before: Fields | undefined, after: Fields | undefined): unknown =>
      JSON.stringify(mergePatchBetween({ data: before }, { data: after }));
    it(`is added, changed and removed as any other: ${key}`, () => {
      assert.equal(patchOf(none, one), `{"data":{"${key}":"1"}}`);
      assert.equal(patchOf(one, other), `{"data":{"${key}":"2"}}`);
      assert.equal(patchOf(one, none), `{"data":{"${key}":null}}`);
    });
  }
});

describe('keys of followed objects', () => {
  it('can be read back', () => {
    assert.deepEqual(parseFollowKey(followKey(INGRESS, 'a/x')), { kind: INGRESS, namespace: 'a', name: 'x' });
    assert.equal(parseFollowKey('a/x/pods'), undefined);
  });
});
