// The bad inputs and attacks of the design's reference (table C2) that reach the webhook's pure part, each under its row; what needs a
// server is in admission-server.test.ts, what needs an API server in test/integration/webhook-pods.test.ts. `webhook-rows.test.ts` counts them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, StringMap } from '../../../api/core.ts';
import * as keys from '../../../api/keys.ts';
import { compileLabelPattern } from '../../../model/label-pattern.ts';
import { toPodChaperon } from '../../../model/pod-chaperon.ts';
import { isProxyPod } from '../../../model/pod.ts';
import { holderOf, openSourceManifest, sealedManifestOf } from '../../../model/sealed-manifest.ts';
import { restoreSourcePod } from '../../../model/source-manifest.ts';
import { ANNOTATIONS_LIMIT } from '../../../webhook/manifest-room.ts';
import { KEYS, review } from '../../support/admission.ts';

const { ELECT_ANNOTATION, NO_PREFIX_LABEL_REGEXP_ANNOTATION, OWN_PREFIX, SOURCE_MANIFEST_ANNOTATION, SOURCE_SIGNATURE_ANNOTATION } = keys;

function podWith({ labels, annotations, spec, name = 'web' }: { labels?: StringMap; annotations?: StringMap; spec?: object; name?: string } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...(labels && { labels }), annotations: { [ELECT_ANNOTATION]: '', ...annotations } },
    spec: { containers: [{ name: 'app', image: 'example/app:1' }], ...spec },
  };
}

/** The pod in the manifest of the proxy that admission makes; fails when it refuses. */
function manifestOf(pod: Pod): Pod {
  const { response, pod: proxy } = review(pod);
  assert.equal(response.allowed, true, response.status?.message);
  const restored = restoreSourcePod(sealedManifestOf(proxy.metadata)!.manifest);
  assert.ok(restored.kind === 'restored');
  return restored.pod;
}

/** As JSON parsers make it, with `__proto__` as a key of its own. */
const parsed = (text: string): Pod => JSON.parse(text) as Pod;

describe('hostile inputs', () => {
  /** Keys under our prefix on pods, by the sort that their names in api/keys.ts tell; the users' own are left out. */
  const ofUsers = new Set([
    ELECT_ANNOTATION, keys.NO_RESERVATION_ANNOTATION, keys.PROXY_CONSTRAINTS_ANNOTATION, keys.USE_SPEC_CONSTRAINTS_ANNOTATION, NO_PREFIX_LABEL_REGEXP_ANNOTATION,
  ]);
  const reserved = (ending: string): readonly string[] =>
    Object.entries(keys).flatMap(([name, key]) => (name.endsWith(ending) && typeof key === 'string' && key.startsWith(OWN_PREFIX) && !ofUsers.has(key) ? [key] : []));

  it('C2-6: every reserved annotation and label that we know, and any other under our prefix, is refused on an elected pod', () => {
    const annotations = [...reserved('_ANNOTATION'), `${OWN_PREFIX}anything`];
    const labels = [...reserved('_LABEL').filter((key) => key !== keys.HAS_FINALIZER_LABEL), `${OWN_PREFIX}anything`];
    assert.ok(annotations.length > 10 && labels.length > 4);
    for (const key of annotations) assert.equal(review(podWith({ annotations: { [key]: 'true' } })).response.allowed, false, key);
    for (const key of labels) assert.equal(review(podWith({ labels: { [key]: 'true' } })).response.allowed, false, key);
  });

  it('C2-6: reserved keys on a pod that is not elected mean nothing', () => {
    const pod = podWith({ labels: { [keys.HAS_FINALIZER_LABEL]: 'true' }, annotations: { [SOURCE_MANIFEST_ANNOTATION]: '{}' }, spec: { schedulerName: 'admiralty-proxy' } });
    const { [ELECT_ANNOTATION]: _elect, ...annotations } = pod.metadata.annotations!;
    const plain = { ...pod, metadata: { ...pod.metadata, annotations } };
    assert.deepEqual(review(plain).patch, []);
    assert.equal(isProxyPod(plain), false);
  });

  it('C2-8: a manifest that nobody signed is refused at admission, and opened by nobody', () => {
    const forged = podWith({ annotations: { [SOURCE_MANIFEST_ANNOTATION]: JSON.stringify(podWith({ spec: { hostNetwork: true } })), [SOURCE_SIGNATURE_ANNOTATION]: 'a.b.c' } });
    assert.equal(review(forged).response.status?.reason, 'ForgedManifest');
    assert.equal(openSourceManifest(sealedManifestOf(forged.metadata)!, holderOf(forged.metadata), KEYS).kind, 'invalid');
  });

  const escalations: Readonly<Record<string, object>> = {
    'a privileged container': { containers: [{ name: 'app', image: 'i', securityContext: { privileged: true, capabilities: { add: ['ALL'] } } }] },
    'a host path': { volumes: [{ name: 'host', hostPath: { path: '/' } }] },
    "the host's namespaces": { hostNetwork: true, hostPID: true, hostIPC: true },
    'another ServiceAccount': { serviceAccountName: 'admin' },
    'a system priority': { priorityClassName: 'system-node-critical' },
  };
  for (const [what, spec] of Object.entries(escalations)) {
    it(`C2-9: ${what} stays on proxy and chaperon, where the policies of both clusters see it`, () => {
      const pod = podWith({ spec });
      const proxy = review(pod).pod.spec;
      const { spec: chaperon } = toPodChaperon(manifestOf(pod), { clusterId: 'c', namespace: 'default', name: 'web', uid: 'u' });
      for (const [field, value] of Object.entries(spec)) {
        assert.deepEqual(proxy[field as keyof typeof proxy], value);
        assert.deepEqual(chaperon[field as keyof typeof chaperon], value);
      }
    });
  }

  it('C2-9: a node that the user chose is refused', () => {
    assert.equal(review(podWith({ spec: { nodeName: 'control-plane' } })).response.status?.reason, 'NodeNameSet');
  });

  it('C2-21: a key named __proto__ is data: kept in the manifest, polluting nothing', () => {
    const text = `{"metadata":{"name":"web","namespace":"default","labels":{"__proto__":"x"},"annotations":{"${ELECT_ANNOTATION}":"","__proto__":"y"}},"spec":{"__proto__":{"polluted":1},"containers":[{"name":"c","image":"i","env":[{"name":"__proto__","__proto__":{"polluted":1}}]}]}}`;
    const manifest = manifestOf(parsed(text));
    assert.equal(JSON.stringify(manifest), text);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    assert.equal((manifest.spec as unknown as Record<string, unknown>)['polluted'], undefined);
  });

  it('C2-22: keys that every object inherits are data, and are not taken for keys that are there', () => {
    const names = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf'];
    const map = Object.fromEntries(names.map((name) => [name, 'x']));
    const pod = podWith({ labels: map, annotations: map });
    assert.deepEqual(manifestOf(pod), pod);
    for (const { path } of review(pod).patch) assert.ok(!names.some((name) => path.endsWith(`/${name}`)), path);
    assert.deepEqual(review(podWith()).patch.map(({ path }) => path).filter((path) => path.includes('constructor')), []);
  });

  it('C2-23: keys with slashes, tildes, nothing and digits in them survive the patch, whose own pointers are escaped', () => {
    const map = Object.fromEntries(['a/b', '~1', '~0', '~01', '', '0', '-', 'sidecar.istio.io~1inject'].map((name) => [name, name]));
    const pod = podWith({ labels: map, annotations: { ...map, 'vault.hashicorp.com/agent-inject': 'true' } });
    const { pod: proxy } = review(pod);
    for (const [name, value] of Object.entries(map)) assert.deepEqual([proxy.metadata.labels?.[name], proxy.metadata.annotations?.[name]], [value, value]);
    assert.equal(proxy.metadata.annotations?.['vault.hashicorp.com/agent-inject'], 'false');
    assert.deepEqual(manifestOf(pod), pod);
  });

  it('C2-24: the patch has a dozen operations however large the pod is', () => {
    const many = (count: number, value: string): StringMap => Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/${index}`, value]));
    const env = Array.from({ length: 10_000 }, (_, index) => ({ name: `N${index}`, value: 'v' }));
    const pod = podWith({ labels: many(5_000, 'v'), annotations: many(1_000, 'v'), spec: { containers: [{ name: 'app', image: 'i', env }] } });
    const { response, patch } = review(pod);
    assert.equal(response.allowed, true);
    assert.ok(patch.length <= 12, String(patch.length));
    assert.ok((response.patch?.length ?? 0) < 3 * 1024 * 1024);
  });

  /** Text that hardly compresses. */
  const noise = (bytes: number): string => {
    let state = 1;
    const units = Uint8Array.from({ length: bytes }, () => ((state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0), state >>> 24));
    return Buffer.from(units).toString('base64').slice(0, bytes);
  };
  const bytesOf = (pod: Pod): number => Object.entries(pod.metadata.annotations ?? {}).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);

  it('C2-25: annotations near the cap are compressed beside what is there, or refused with the figures, and never exceed it', () => {
    for (const size of [1_000, 100_000, 130_000, 200_000, 240_000, 262_000]) {
      for (const note of ['abcdefghij'.repeat(size / 10), noise(size)]) {
        const { response, pod } = review(podWith({ annotations: { 'example.com/note': note } }));
        if (response.allowed) assert.ok(bytesOf(pod) <= ANNOTATIONS_LIMIT, `${size}: ${bytesOf(pod)}`);
        else assert.match(response.status?.message ?? '', /takes \d+ bytes compressed.*leave room for \d+ of the 262144.*ConfigMap or Secret/);
      }
    }
  });

  it('C2-26: 500 containers and 10,000 variables are admitted, or refused for want of room', () => {
    const containers = Array.from({ length: 500 }, (_, index) => ({
      name: `c${index}`, image: 'example/app:1', env: Array.from({ length: 20 }, (_none, at) => ({ name: `N${at}`, value: `value ${at}` })),
    }));
    assert.equal(manifestOf(podWith({ spec: { containers } })).spec.containers.length, 500);
    const large = { containers: [{ name: 'app', image: 'i', env: [{ name: 'N', value: noise(1_400_000) }] }] };
    assert.equal(review(podWith({ spec: large })).response.status?.reason, 'ManifestTooLarge');
  });

  it('C2-27: an expression that keeps a backtracking engine busy for ever is matched in linear time, a long or faulty one refused', () => {
    const pattern = compileLabelPattern('^(([a-z])+.)+[A-Z]([a-z])+$');
    assert.ok(pattern.kind === 'pattern');
    assert.equal(pattern.matches('a'.repeat(200), 'a'.repeat(20_000)), false, 'returns at all');
    for (const expression of ['(', 'a(?=b)', 'x'.repeat(513), '(a{0,1000}){0,1000}']) {
      assert.equal(review(podWith({ annotations: { [NO_PREFIX_LABEL_REGEXP_ANNOTATION]: expression } })).response.status?.reason, 'BadLabelPattern', expression.slice(0, 20));
    }
  });

  it('C2-28: names of every length and homoglyphs are kept letter by letter, and the seal fits the name that the API server makes of a long prefix', () => {
    for (const name of ['a'.repeat(253), 'a.b-c.', 'xn--80ak6aa92e']) assert.equal(manifestOf(podWith({ name })).metadata.name, name);
    const label = 'раyment'; // two Cyrillic letters
    assert.equal(manifestOf(podWith({ labels: { app: label } })).metadata.labels?.['app'], label);
    const { name: _name, ...metadata } = podWith().metadata;
    const generateName = 'long-name-'.repeat(20);
    const { pod } = review({ ...podWith(), metadata: { ...metadata, generateName } });
    const stored = { ...pod.metadata, name: `${generateName.slice(0, 58)}x7k2p` };
    assert.equal(openSourceManifest(sealedManifestOf(stored)!, holderOf(stored), KEYS).kind, 'restored');
    const other = { ...stored, name: `other-${'x'.repeat(57)}` };
    assert.equal(openSourceManifest(sealedManifestOf(other)!, holderOf(other), KEYS).kind, 'invalid');
  });
});
