// What holds for any pod, known fields or not, with keys that mislead programs.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import type { Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import * as keys from '../../api/objects/keys.ts';
import {
  ADMISSION_RECORD_ANNOTATION, DELEGATE_FINALIZER, ELECT_ANNOTATION, ADMIRALTY_PREFIX, USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../api/objects/keys.ts';
import { toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import { USER_POD_ANNOTATIONS } from '../../model/pod/pod-annotations.ts';
import { restoreSourcePod } from '../../model/proxy/admission-record.ts';
import { diffJson } from '../../webhook/review/json-patch.ts';
import { proxyPatch } from '../../webhook/proxy/proxy-patch.ts';
import { proxyFieldsOf, toProxyPod } from '../../webhook/proxy/make-proxy-pod.ts';
import { constraintsOf } from '../../webhook/proxy/scheduling-constraints.ts';
import { review } from '../support/objects/admission.ts';

const ODD = [
  '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a/b', '~1', '~0', '', '0', '-', '\ud800', 'ключ',
  'sidecar.istio.io/status',
];
const key = fc.oneof(fc.constantFrom(...ODD), fc.string());
const isUsers = (name: string): boolean => !name.startsWith(ADMIRALTY_PREFIX);
/** Keys are set one by one as a JSON parser does, so that `__proto__` is one of them. */
const toRecord = <T>(entries: readonly (readonly [string, T])[]): Record<string, T> => {
  const record: Record<string, T> = {};
  for (const [name, value] of entries) {
    Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return record;
};
const mapOf = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.array(fc.tuple(key.filter(isUsers), value), { maxLength: 5 }).map(toRecord);
const json = fc.oneof(fc.jsonValue({ maxDepth: 3 }), mapOf(fc.jsonValue({ maxDepth: 1 })));
const toleration = fc.record(
  { key: fc.string(), operator: fc.constantFrom('Exists', 'Equal'), tolerationSeconds: fc.integer() },
  { requiredKeys: [] },
);

const pods: fc.Arbitrary<Pod> = fc
  .record({
    name: fc.constantFrom('web', ''),
    labels: fc.option(mapOf(fc.string()), { nil: undefined }),
    annotations: mapOf(fc.string()),
    finalizers: fc.option(
      fc.array(
        fc.constantFrom('example.com/a', 'example.com/b', `${ADMIRALTY_PREFIX}c2`, DELEGATE_FINALIZER),
        { maxLength: 3 },
      ),
      { nil: undefined },
    ),
    spec: mapOf(json),
    metadata: mapOf(json),
    tolerations: fc.option(fc.array(toleration, { maxLength: 3 }), { nil: undefined }),
    isElected: fc.boolean(),
  })
  .map(({ name, labels, annotations, finalizers, spec, metadata, tolerations, isElected }) => {
    const {
      schedulerName: _scheduler, nodeName: _node, volumes: _volumes, initContainers: _init, nodeSelector: _selector,
      ...otherSpec
    } = spec;
    const { ownerReferences: _owners, ...otherMetadata } = metadata;
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...otherMetadata,
        namespace: 'default',
        ...(name === '' ? { generateName: 'web-' } : { name, generateName: '' }),
        ...(labels && { labels }),
        ...(finalizers && { finalizers }),
        annotations: isElected ? { ...annotations, [ELECT_ANNOTATION]: '' } : annotations,
      },
      spec: { ...otherSpec, containers: [{ name: 'c', image: 'i' }], ...(tolerations && { tolerations }) },
    };
    return JSON.parse(JSON.stringify(pod)) as Pod; // as it travels: no -0, no undefined
  });

const elected = pods.filter((pod) => Object.hasOwn(pod.metadata.annotations ?? {}, ELECT_ANNOTATION));
/** With constraints of its own, which choose the cluster or do not. */
const constrained = fc
  .tuple(
    elected,
    fc.record(
      {
        nodeSelector: mapOf(fc.string()), affinity: mapOf(json),
        topologySpreadConstraints: fc.array(json, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
    fc.boolean(),
  )
  .map(([pod, constraints, isUsed]) => {
    const annotations = { ...pod.metadata.annotations, ...(isUsed && { [USE_SPEC_CONSTRAINTS_ANNOTATION]: '' }) };
    return JSON.parse(
      JSON.stringify({ ...pod, metadata: { ...pod.metadata, annotations }, spec: { ...pod.spec, ...constraints } }),
    ) as Pod;
  });
const isClean = (pod: Pod): boolean => !Object.hasOwn(pod.metadata.annotations ?? {}, 'sidecar.istio.io/status');

/** All annotations that Isthmus writes somewhere, on pods or elsewhere, and that a user may write, too. */
const SYSTEM_ANNOTATIONS = Object.entries(keys)
  .flatMap(([name, value]) => (name.endsWith('_ANNOTATION') && !USER_POD_ANNOTATIONS.has(value) ? [value] : []));
/** Admission refuses to change these on a proxy (test/integration/shared/proxy-attacks). */
const UNCHANGEABLE: ReadonlySet<string> = new Set([ELECT_ANNOTATION, ADMISSION_RECORD_ANNOTATION]);
const REFUSALS: ReadonlySet<string> = new Set(['ReservedKey', 'BadAdmissionRecord', 'ForeignManifest', 'BadPodGroup']);
/** What a target's controllers go by, beside who the parent is. */
const READ_BY_TARGETS: ReadonlySet<string> = new Set([
  keys.FENCE_ANNOTATION,
  keys.FENCED_AT_ANNOTATION, keys.CONFIRM_BEFORE_ANNOTATION, keys.EXPIRED_AT_ANNOTATION, keys.GRACE_PERIOD_ANNOTATION,
  keys.POD_MISSING_SINCE_ANNOTATION,
  keys.SENT_CHANGES_ANNOTATION, keys.TARGET_KEY_ANNOTATION, keys.STREAMS_REQUESTED_ANNOTATION,
]);

/** The paths that are ours to change. */
const OWNED = [
  /^\/metadata\/(labels|annotations)$/, // added whole where there is none
  new RegExp(`^/metadata/labels/${ADMIRALTY_PREFIX.replaceAll('.', '\\.').replace('/', '~1')}has-finalizer$`),
  /^\/metadata\/annotations\/isthmus\.dev~1admission-record$/,
  /^\/metadata\/(labels|annotations)\/(sidecar\.istio\.io~1inject|linkerd\.io~1inject|vault\.hashicorp\.com~1agent-inject)$/,
  /^\/metadata\/finalizers$/,
  /^\/spec\/(schedulerName|tolerations|affinity|topologySpreadConstraints|terminationGracePeriodSeconds)$/,
  /^\/spec\/nodeSelector(\/.*)?$/,
];

describe('the webhook, for any pod', () => {
  it('leaves one that is not elected as it is', () => {
    fc.assert(fc.property(pods, (pod) => {
      if (Object.hasOwn(pod.metadata.annotations ?? {}, ELECT_ANNOTATION)) return;
      const { response } = review(pod);
      assert.deepEqual(response, { uid: 'review-uid', allowed: true });
    }), { numRuns: 300 });
  });

  it('fault 34: changes nothing more when it is asked again', () => {
    fc.assert(fc.property(elected, (pod) => {
      const first = review(pod);
      assert.equal(first.response.allowed, true, first.response.status?.message);
      assert.deepEqual(review(first.pod).patch, []);
    }), { numRuns: 500 });
  });

  it('says in its patch what the difference between the pod and its proxy pod is, and nothing else', () => {
    const sorted = (patch: readonly object[]): readonly string[] => patch.map((operation) => JSON.stringify(operation))
      .toSorted();
    fc.assert(fc.property(constrained, (pod) => {
      const constraints = constraintsOf(pod);
      assert.ok(constraints.kind === 'constraints');
      const fields = proxyFieldsOf(pod, { record: 'r', constraints });
      const proxy = toProxyPod(pod, fields);
      const patch = proxyPatch(pod, fields);
      assert.deepEqual(sorted(patch), sorted(diffJson({ ...pod }, { ...proxy })));
      const operations = JSON.parse(JSON.stringify(patch)) as jsonPatch.Operation[];
      assert.deepEqual(jsonPatch.applyPatch(structuredClone(pod), operations, true, true, false).newDocument, proxy);
      assert.deepEqual(
        proxyPatch(proxy, proxyFieldsOf(proxy, { record: 'r', constraints })), [],
        'a proxy pod has nothing to be changed',
      );
    }), { numRuns: 400 });
  });

  it('gives the pod of the user back from the proxy that is stored', () => {
    fc.assert(fc.property(elected.filter(isClean), (pod) => {
      const restored = restoreSourcePod(review(pod).pod);
      if (restored.kind !== 'restored') return assert.fail(restored.message);
      const { labels = {}, finalizers, ...metadata } = pod.metadata;
      const ofOthers = finalizers?.filter((name) => !name.startsWith(ADMIRALTY_PREFIX)) ?? [];
      assert.deepEqual(restored.pod, {
        ...pod, metadata: { ...metadata, labels, ...(ofOthers.length > 0 && { finalizers: ofOthers }) },
      });
    }), { numRuns: 500 });
  });

  it('touches only what is its own', () => {
    fc.assert(fc.property(elected.filter(isClean), (pod) => {
      for (const { op, path } of review(pod).patch) assert.ok(OWNED.some((owned) => owned.test(path)), `${op} ${path}`);
    }), { numRuns: 500 });
  });

  it('C2-21: leaves no trace on objects that it was not given', () => {
    fc.assert(fc.property(elected, (pod) => {
      review(pod);
      assert.deepEqual(Object.keys(Object.prototype), []);
      assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    }), { numRuns: 100 });
  });

  it('keeps the finalizers of the user in their order and has its own once', () => {
    fc.assert(fc.property(elected, (pod) => {
      const finalizers = review(pod).pod.metadata.finalizers ?? [];
      assert.deepEqual(finalizers, [
        ...(pod.metadata.finalizers ?? []).filter((name) => !name.startsWith(ADMIRALTY_PREFIX)), DELEGATE_FINALIZER,
      ]);
    }), { numRuns: 200 });
  });

  it('C2-8: whatever a record says, refuses the pod or makes a proxy that shows all that the user asked for', () => {
    const withRecord = (pod: Pod, record: string): Pod => ({
      ...pod,
      metadata:
        { ...pod.metadata, annotations: { ...pod.metadata.annotations, [ADMISSION_RECORD_ANNOTATION]: record } },
    });
    fc.assert(fc.property(elected.filter(isClean),
      fc.oneof(fc.string(), fc.json(), fc.jsonValue().map((spec) => JSON.stringify({ spec }))), (pod, record) => {
      const { response, pod: proxy } = review(withRecord(pod, record));
      if (!response.allowed) return assert.equal(response.status?.reason, 'BadAdmissionRecord');
      assert.deepEqual(proxy.spec.containers, pod.spec.containers);
      assert.deepEqual(review(proxy).patch, [], 'asked again, nothing changes');
    }), { numRuns: 500 });
  });

  describe('and whatever a user writes under keys of Isthmus, at once or on the proxy while it waits', () => {
    const POLICY = 'policy.example.com/profile';
    const written = fc.oneof(
      fc.constant(JSON.stringify([POLICY])), fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.stringify(value)),
      fc.constantFrom('true', '2999-01-01T00:00:00Z'),
    );
    const system = fc.dictionary(fc.constantFrom(...SYSTEM_ANNOTATIONS), written, { maxKeys: 3 });
    const later = fc.dictionary(
      fc.constantFrom(...SYSTEM_ANNOTATIONS, POLICY).filter((name) => !UNCHANGEABLE.has(name)),
      fc.option(written, { nil: undefined }), { maxKeys: 3 },
    );
    const annotated = (pod: Pod, more: Readonly<Record<string, string | undefined>>): Pod => JSON.parse(
      JSON.stringify({ ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...more } } }),
    ) as Pod;
    const chaperonOf = (proxy: Pod): PodChaperon | undefined => {
      const restored = restoreSourcePod(proxy);
      return restored.kind === 'restored'
        ? toPodChaperon(restored.pod, { clusterId: 'c', namespace: 'default', name: 'web', uid: 'u' })
        : undefined;
    };
    const cases = fc.tuple(elected.filter(isClean), system, later)
      .map(([pod, first, patch]) => ({ pod: annotated(pod, { [POLICY]: 'strict', ...first }), patch }));

    it('C2-6 and C2-8: the pod is refused, or its delegate has what the stored proxy shows', () => {
      fc.assert(fc.property(cases, ({ pod, patch }) => {
        const { response, pod: proxy } = review(pod);
        if (!response.allowed) return assert.ok(REFUSALS.has(response.status?.reason ?? ''), response.status?.reason);
        const stored = annotated(proxy, patch);
        const chaperon = chaperonOf(stored) ?? assert.fail('the proxy cannot be used any more');
        assert.deepEqual([chaperon.spec.containers, chaperon.metadata.annotations?.[POLICY]], [
          stored.spec.containers, stored.metadata.annotations?.[POLICY],
        ]);
      }), { numRuns: 1_000 });
    });

    it('C2-6: nothing that a target reads on a PodChaperon is what the user wrote', () => {
      fc.assert(fc.property(cases, ({ pod, patch }) => {
        const { response, pod: proxy } = review(pod);
        if (!response.allowed) return;
        const { annotations = {} } = chaperonOf(annotated(proxy, patch))?.metadata ?? {};
        assert.deepEqual(Object.keys(annotations).filter((name) => READ_BY_TARGETS.has(name)), []);
      }), { numRuns: 1_000 });
    });
  });
});
