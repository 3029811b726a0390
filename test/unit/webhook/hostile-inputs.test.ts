// The attacks of docs/results/attacks.md that reach the webhook's pure part, each under its number; what needs a
// server is in admission-server.test.ts, what needs an API server in test/integration/admission/webhook-pods.test.ts.
// `webhook-rows.test.ts` counts them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, StringMap } from '../../../api/objects/core.ts';
import * as keys from '../../../api/objects/keys.ts';
import { compileLabelPattern } from '../../../model/objects/label-pattern.ts';
import { toPodChaperon } from '../../../model/delegate/pod-chaperon.ts';
import { isProxyPod } from '../../../model/pod/pod.ts';
import { restoreSourcePod } from '../../../model/proxy/admission-record.ts';
import { review } from '../../support/objects/admission.ts';

const {
  ADMISSION_RECORD_ANNOTATION, ELECT_ANNOTATION, NO_PREFIX_LABEL_REGEXP_ANNOTATION, ADMIRALTY_PREFIX,
  SOURCE_MANIFEST_ANNOTATION,
} = keys;

function podWith(
  { labels, annotations, spec, name = 'web' }: {
    labels?: StringMap; annotations?: StringMap; spec?: object; name?: string
  } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name, namespace: 'default', ...(labels && { labels }), annotations: { [ELECT_ANNOTATION]: '', ...annotations },
    },
    spec: { containers: [{ name: 'app', image: 'example/app:1' }], ...spec },
  };
}

/** The source pod that the proxy of an admitted pod stands for; fails when admission refuses. */
function restoredFrom(pod: Pod): Pod {
  const { response, pod: proxy } = review(pod);
  assert.equal(response.allowed, true, response.status?.message);
  const restored = restoreSourcePod(proxy);
  assert.ok(restored.kind === 'restored');
  return restored.pod;
}

/** As JSON parsers make it, with `__proto__` as a key of its own. */
const parsed = (text: string): Pod => JSON.parse(text) as Pod;

describe('hostile inputs', () => {
  /**
   * Keys under our prefix on pods, by the sort that their names in api/objects/keys.ts tell; the users' own are left
   * out.
   */
  const ofUsers = new Set([
    ELECT_ANNOTATION, keys.NO_RESERVATION_ANNOTATION,
    keys.PROXY_CONSTRAINTS_ANNOTATION, keys.USE_SPEC_CONSTRAINTS_ANNOTATION, NO_PREFIX_LABEL_REGEXP_ANNOTATION,
  ]);
  const reserved = (ending: string): readonly string[] =>
    Object.entries(keys).flatMap(([name, key]) => (
      name.endsWith(ending) && typeof key === 'string' && key.startsWith(ADMIRALTY_PREFIX) && !ofUsers.has(key)
        ? [key] : []
    ));

  it('C2-6: every reserved annotation and label that we know, and any other under our prefix, is refused on an ' +
    'elected pod', () => {
    const annotations = [...reserved('_ANNOTATION'), `${ADMIRALTY_PREFIX}anything`];
    const labels = [
      ...reserved('_LABEL').filter((key) => key !== keys.HAS_FINALIZER_LABEL), `${ADMIRALTY_PREFIX}anything`,
    ];
    assert.ok(annotations.length > 10 && labels.length > 4);
    for (const key of annotations) {
      assert.equal(review(podWith({ annotations: { [key]: 'true' } })).response.allowed, false, key);
    }
    for (const key of labels) assert.equal(review(podWith({ labels: { [key]: 'true' } })).response.allowed, false, key);
  });

  it('C2-6: reserved keys on a pod that is not elected mean nothing', () => {
    const pod =
      podWith({ labels: { [keys.HAS_FINALIZER_LABEL]: 'true' }, annotations: { [SOURCE_MANIFEST_ANNOTATION]: '{}' } });
    const { [ELECT_ANNOTATION]: _elect, ...annotations } = pod.metadata.annotations!;
    const plain = { ...pod, metadata: { ...pod.metadata, annotations } };
    assert.deepEqual(review(plain).patch, []);
    assert.equal(isProxyPod(plain), false);
  });

  it('C2-8: a manifest that was written elsewhere is refused at admission', () => {
    const forged = podWith(
      { annotations: { [SOURCE_MANIFEST_ANNOTATION]: JSON.stringify(podWith({ spec: { hostNetwork: true } })) } },
    );
    assert.equal(review(forged).response.status?.reason, 'ForeignManifest');
  });

  it('C2-8: a record that a user wrote gives the delegate nothing but scheduling within its target', () => {
    const spec = {
      hostNetwork: true, containers: [{ name: 'app', image: 'evil' }], serviceAccountName: 'admin',
      nodeSelector: { disk: 'ssd' }, terminationGracePeriodSeconds: 5,
    };
    const record = JSON.stringify({
      spec, labels: { app: 'x' }, annotations: { 'k8s.v1.cni.cncf.io/networks': 'x', 'linkerd.io/inject': 'enabled' },
    });
    const source = restoredFrom(podWith({ annotations: { [ADMISSION_RECORD_ANNOTATION]: record } }));
    assert.deepEqual(source.spec, {
      containers: [{ name: 'app', image: 'example/app:1' }], nodeSelector: { disk: 'ssd' },
      terminationGracePeriodSeconds: 5,
    });
    assert.deepEqual([source.metadata.labels, source.metadata.annotations], [
      {}, { [ELECT_ANNOTATION]: '', 'linkerd.io/inject': 'enabled' },
    ]);
  });

  const escalations: Readonly<Record<string, object>> = {
    'a privileged container': {
      containers: [{ name: 'app', image: 'i', securityContext: { privileged: true, capabilities: { add: ['ALL'] } } }],
    },
    'a host path': { volumes: [{ name: 'host', hostPath: { path: '/' } }] },
    "the host's namespaces": { hostNetwork: true, hostPID: true, hostIPC: true },
    'another ServiceAccount': { serviceAccountName: 'admin' },
    'a system priority': { priorityClassName: 'system-node-critical' },
  };
  for (const [what, spec] of Object.entries(escalations)) {
    it(`C2-9: ${what} stays on proxy and chaperon, where the policies of both clusters see it`, () => {
      const pod = podWith({ spec });
      const proxy = review(pod).pod.spec;
      const { spec: chaperon } =
        toPodChaperon(restoredFrom(pod), { clusterId: 'c', namespace: 'default', name: 'web', uid: 'u' });
      for (const [field, value] of Object.entries(spec)) {
        assert.deepEqual(proxy[field as keyof typeof proxy], value);
        assert.deepEqual(chaperon[field as keyof typeof chaperon], value);
      }
    });
  }

  it('C2-9: a node that the user chose is refused', () => {
    assert.equal(review(podWith({ spec: { nodeName: 'control-plane' } })).response.status?.reason, 'NodeNameSet');
  });

  it('C2-21: a key named __proto__ is data: kept, polluting nothing', () => {
    const text =
      `{"metadata":{"name":"web","namespace":"default","labels":{"__proto__":"x"},"annotations":{"${ELECT_ANNOTATION}":"","__proto__":"y"}},"spec":{"__proto__":{"polluted":1},"containers":[{"name":"c","image":"i","env":[{"name":"__proto__","__proto__":{"polluted":1}}]}]}}`;
    const manifest = restoredFrom(parsed(text));
    assert.deepEqual(manifest, parsed(text));
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    assert.equal((manifest.spec as unknown as Record<string, unknown>)['polluted'], undefined);
  });

  it('C2-22: keys that every object inherits are data, and are not taken for keys that are there', () => {
    const names = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf'];
    const map = Object.fromEntries(names.map((name) => [name, 'x']));
    const pod = podWith({ labels: map, annotations: map });
    assert.deepEqual(restoredFrom(pod), pod);
    for (const { path } of review(pod).patch) assert.ok(!names.some((name) => path.endsWith(`/${name}`)), path);
    assert.deepEqual(
      review(podWith()).patch.map(({ path }) => path).filter((path) => path.includes('constructor')), [],
    );
  });

  it('C2-23: keys with slashes, tildes, nothing and digits in them survive the patch, whose own pointers are escaped',
    () => {
    const map = Object.fromEntries(
      ['a/b', '~1', '~0', '~01', '', '0', '-', 'sidecar.istio.io~1inject'].map((name) => [name, name]),
    );
    const pod = podWith({ labels: map, annotations: { ...map, 'vault.hashicorp.com/agent-inject': 'true' } });
    const { pod: proxy } = review(pod);
    for (const [name, value] of Object.entries(map)) {
      assert.deepEqual([proxy.metadata.labels?.[name], proxy.metadata.annotations?.[name]], [value, value]);
    }
    assert.equal(proxy.metadata.annotations?.['vault.hashicorp.com/agent-inject'], 'false');
    assert.deepEqual(restoredFrom(pod), pod);
  });

  it('C2-24: the patch has a dozen operations however large the pod is', () => {
    const many = (count: number, value: string): StringMap =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/${index}`, value]));
    const env = Array.from({ length: 10_000 }, (_, index) => ({ name: `N${index}`, value: 'v' }));
    const pod = podWith({
      labels: many(5_000, 'v'), annotations: many(1_000, 'v'), spec: { containers: [{ name: 'app', image: 'i', env }] },
    });
    const { response, patch } = review(pod);
    assert.equal(response.allowed, true);
    assert.ok(patch.length <= 12, String(patch.length));
    assert.ok((response.patch?.length ?? 0) < 3 * 1024 * 1024);
  });

  it('C2-25: annotations near the cap are kept, and the manifest that tools may ask for is left out where it does ' +
    'not fit beside them', () => {
    for (const size of [1_000, 120_000, 130_000, 240_000, 262_000]) {
      const pod = podWith({ annotations: { 'example.com/note': 'x'.repeat(size) } });
      const { response, pod: proxy } = review(pod, { writesManifest: true });
      const isWritten = Object.hasOwn(proxy.metadata.annotations ?? {}, SOURCE_MANIFEST_ANNOTATION);
      assert.equal(isWritten, size < 122_000, String(size));
      assert.equal(response.warnings?.some((warning) => warning.includes('is omitted')) ?? false, !isWritten);
      assert.deepEqual(restoredFrom(pod).metadata.annotations, pod.metadata.annotations);
    }
  });

  it('C2-26: 500 containers and 10,000 variables are admitted', () => {
    const containers = Array.from({ length: 500 }, (_, index) => ({
      name: `c${index}`, image: 'example/app:1',
      env: Array.from({ length: 20 }, (_none, at) => ({ name: `N${at}`, value: `value ${at}` })),
    }));
    assert.equal(restoredFrom(podWith({ spec: { containers } })).spec.containers.length, 500);
  });

  it('C2-27: an expression that keeps a backtracking engine busy for ever is matched in linear time, a long or ' +
    'faulty one refused', () => {
    const pattern = compileLabelPattern('^(([a-z])+.)+[A-Z]([a-z])+$');
    assert.ok(pattern.kind === 'pattern');
    assert.equal(pattern.matches('a'.repeat(200), 'a'.repeat(20_000)), false, 'returns at all');
    for (const expression of ['(', 'a(?=b)', 'x'.repeat(513), '(a{0,1000}){0,1000}']) {
      assert.equal(
        review(podWith({ annotations: { [NO_PREFIX_LABEL_REGEXP_ANNOTATION]: expression } })).response.status?.reason,
        'BadLabelPattern', expression.slice(0, 20),
      );
    }
  });

  it('C2-28: names of every length and homoglyphs are kept letter by letter', () => {
    for (const name of ['a'.repeat(253), 'a.b-c.', 'xn--80ak6aa92e']) {
      assert.equal(restoredFrom(podWith({ name })).metadata.name, name);
    }
    const label = 'раyment'; // two Cyrillic letters
    assert.equal(restoredFrom(podWith({ labels: { app: label } })).metadata.labels?.['app'], label);
  });
});
