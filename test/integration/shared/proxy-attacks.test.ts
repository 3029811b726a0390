// Attacks of a user of the source on what runs in a target, on real API servers: forged and replayed records, proxies
// made by hand, policies that ask for more than the pod shows. Whatever is tried, a delegate asks for what its stored
// proxy shows, and nothing wedges a namespace.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Agent, request } from 'undici';
import * as fc from 'fast-check';
import type { Pod, PodSpec, StringMap } from '../../../api/objects/core.ts';
import * as keys from '../../../api/objects/keys.ts';
import {
  ADMISSION_RECORD_ANNOTATION, DELEGATE_ANNOTATIONS_ANNOTATION, DELEGATE_FINALIZER, ELECT_ANNOTATION,
  HAS_FINALIZER_LABEL, PARENT_UID_LABEL, SOURCE_MANIFEST_ANNOTATION,
} from '../../../api/objects/keys.ts';
import {
  CLUSTER_TARGETS, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, PLACEMENT_POLICIES, PODS, RESOURCE_QUOTAS,
} from '../../../api/resource-types.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import { USER_POD_ANNOTATIONS } from '../../../model/pod/pod-annotations.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { reviewOf } from '../../support/objects/admission.ts';
import { inNamespace, isRunning, makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { shareWorld } from '../../support/worlds/shared-world.ts';
import { createPod } from '../../support/worlds/webhook-world.ts';

const NAMESPACE = 'attacked';
const PLAIN = 'not-opted-in';
/** An annotation by which policies go: none may be dropped on the way. */
const POLICY = 'policy.example.com/profile';
/** All annotations that Isthmus writes somewhere, on pods or elsewhere, and that a user may write, too. */
const SYSTEM_ANNOTATIONS = Object.entries(keys)
  .flatMap(([name, key]) => (name.endsWith('_ANNOTATION') && !USER_POD_ANNOTATIONS.has(key) ? [key] : []));
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' };
const SAFE = {
  allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};
const EVIL = {
  hostPID: true, hostNetwork: true, serviceAccountName: 'admin', volumes: [{ name: 'host', hostPath: { path: '/' } }],
  containers: [{
    name: 'main', image: 'example/evil:1', securityContext: { privileged: true }, resources: { requests: { cpu: '8' } },
  }],
};
const containers = [{
  name: 'main', image: 'example/main:1', securityContext: SAFE,
  resources: { requests: { cpu: '1m' }, limits: { cpu: '1m' } },
}];

const shared = shareWorld({ nodes: 2, audit: true });
let world: IsthmusWorld;
describe('attacks on what runs in a target', () => {
  before(async () => {
    ({ world } = shared());
    await makeNamespace(world, NAMESPACE);
    await world.source.client.patch(
      NAMESPACES, { name: NAMESPACE }, { patchType: 'merge', patch: { metadata: { labels: RESTRICTED } } },
    );
    for (const { client } of [world.source, ...world.targets]) {
      await client.apply(NAMESPACES, { metadata: { name: PLAIN } }, 'isthmus-test');
    }
  }, { timeout: 240_000 });

  interface Handmade {
    readonly annotations?: StringMap;
    readonly spec?: Partial<PodSpec> & Readonly<Record<string, unknown>>;
    readonly namespace?: string;
    readonly finalizers?: readonly string[];
  }

  /** A pod whose maker knows what admission writes. */
  function handmade(
    name: string, { annotations = {}, spec = {}, namespace = NAMESPACE, finalizers }: Handmade = {},
  ): Pod {
    const metadata = {
      namespace, name, annotations: { [ELECT_ANNOTATION]: '', ...annotations },
      ...(finalizers && { finalizers, labels: { [HAS_FINALIZER_LABEL]: 'true' } }),
    };
    return { metadata, spec: { containers, ...spec } };
  }

  async function created(pod: Pod): Promise<Pod> {
    const { pod: stored, error } = await createPod(world.source.client, pod);
    assert.equal(error, undefined, error?.message);
    return stored;
  }

  const refusal = async (pod: Pod): Promise<string> =>
    (await createPod(world.source.client, pod)).error?.message ?? 'it was created';

  /** The delegate of a proxy, in whichever target it runs. */
  async function delegateOf({ metadata: { uid = '' } }: Pod): Promise<Pod> {
    const isIts = (pod: Pod): boolean => pod.metadata.labels?.[PARENT_UID_LABEL] === uid;
    const all = await Promise.any(
      world.targets.map(({ pods }) => pods.until('the delegate is there', (objects) => objects.some(isIts), 60_000)),
    );
    return all.find(isIts)!;
  }

  /**
   * What of a pod quotas, Pod Security and policies look at; volumes of the ServiceAccount's token are each cluster's
   * own.
   */
  function asked({ spec }: Pod): unknown {
    const fields = spec as unknown as Readonly<Record<string, unknown>>;
    const kept = [
      'hostPID', 'hostIPC', 'hostNetwork', 'serviceAccountName', 'priorityClassName', 'runtimeClassName',
      'securityContext', 'activeDeadlineSeconds', 'restartPolicy',
    ];
    return {
      ...Object.fromEntries(kept.map((field) => [field, fields[field]])),
      containers: [...spec.containers, ...(spec.initContainers ?? [])].map((container) => {
        const { volumeMounts: _mounts, ...rest } = container;
        return rest;
      }),
      volumes: (spec.volumes ?? []).filter(({ name }) => !name.startsWith('kube-api-access-')),
    };
  }

  async function assertShown(proxy: Pod): Promise<void> {
    assert.deepEqual(asked(await delegateOf(proxy)), asked(proxy));
  }

  describe('a user who forges what admission writes', { timeout: 240_000 }, () => {
    it('C2-18: gets nothing of use from the answer to a review of a privileged pod, sent to the webhook by hand',
      async () => {
      const { webhooks = [] } = await world.source.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
      const { url } = (webhooks.find(({ name }) => name.startsWith('pods.')) as unknown as {
        clientConfig: { url: string }
      }).clientConfig;
      const agent = new Agent({ connect: { rejectUnauthorized: false } });
      const review = reviewOf({ ...handmade('pod'), spec: EVIL }, { namespace: NAMESPACE });
      const { body } = await request(url, {
        dispatcher: agent, method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify(review),
      });
      const { response } = (await body.json()) as { response: { allowed: boolean; patch: string } };
      await agent.close();
      assert.equal(response.allowed, true);
      const patch = JSON.parse(Buffer.from(response.patch, 'base64').toString()) as { path: string; value: unknown }[];
      const prefix = '/metadata/annotations/';
      const written = patch.filter(({ path, value }) => path.startsWith(prefix) && typeof value === 'string');
      const annotations = Object.fromEntries(
        written.map(({ path, value }) => [path.slice(prefix.length).replaceAll('~1', '/'), value as string]),
      );
      assert.ok(Object.hasOwn(annotations, ADMISSION_RECORD_ANNOTATION));
      await assertShown(await created(handmade('pasted', { annotations })));
    });

    it('C2-8: runs what the stored proxy shows, whatever the record of it says', async () => {
      const record = JSON.stringify({
        spec: { ...EVIL, nodeSelector: {} }, labels: { 'sidecar.istio.io/inject': 'true' },
        annotations: { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined' },
      });
      const proxy = await created(handmade('forged', { annotations: { [ADMISSION_RECORD_ANNOTATION]: record } }));
      await assertShown(proxy);
      assert.equal(
        (await delegateOf(proxy)).metadata.annotations?.['container.apparmor.security.beta.kubernetes.io/main'],
        undefined,
      );
    });

    it('C2-8: is refused with a manifest of the old form', async () => {
      assert.match(
        await refusal(handmade(
          'manifest', { annotations: { [SOURCE_MANIFEST_ANNOTATION]: JSON.stringify({ metadata: {}, spec: EVIL }) } },
        )),
        /create the pod from its own manifest/,
      );
    });

    it('C2-8: replays the record of an admitted pod on other pods for nothing: quota counts what runs', async () => {
      const hard = { 'requests.cpu': '5m' };
      await world.source.client.create(
        RESOURCE_QUOTAS, { metadata: { namespace: NAMESPACE, name: 'small' }, spec: { hard } } as never,
      );
      const { metadata: { annotations = {} } } = await created(handmade('counted'));
      await assertShown(await created(handmade('replayed', { annotations })));
      const large = [{ ...containers[0]!, resources: { requests: { cpu: '8' }, limits: { cpu: '8' } } }];
      const tooLarge = handmade('too-large', { annotations, spec: { containers: large } });
      assert.match(await refusal(tooLarge), /exceeded quota/);
      await world.source.client.delete(RESOURCE_QUOTAS, { namespace: NAMESPACE, name: 'small' });
    });

    it('C2-7: cannot make a proxy pod where nobody has opted in, nor one that is elected later', async () => {
      const spec = { schedulerName: 'admiralty-proxy' };
      const marks = { annotations: { [ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}' }, finalizers: [DELEGATE_FINALIZER] };
      assert.match(
        await refusal(handmade('hidden', { ...marks, spec, namespace: PLAIN })),
        /is for pods of namespaces that opted in/,
      );
      const { [ELECT_ANNOTATION]: _elect, ...annotations } = handmade('later', marks).metadata.annotations!;
      const later = {
        ...handmade('later', { ...marks, spec }),
        metadata: { namespace: NAMESPACE, name: 'later', annotations, finalizers: [DELEGATE_FINALIZER] },
      };
      assert.match(await refusal(later), /set that annotation in its place/);
    });

    it('C2-8: cannot change the record, nor the election, of a proxy that is stored', async () => {
      const { metadata: { name = '' } } = await created(handmade('admitted'));
      const patched = (annotations: Readonly<Record<string, string | null>>): Promise<unknown> =>
        world.source.client.patch(
          PODS, { namespace: NAMESPACE, name }, { patchType: 'merge', patch: { metadata: { annotations } } },
        );
      await assert.rejects(
        patched({ [ADMISSION_RECORD_ANNOTATION]: '{"spec":{"schedulerName":"x"}}' }),
        /is written at admission and cannot be changed/,
      );
      await assert.rejects(
        patched({ [ADMISSION_RECORD_ANNOTATION]: null }), /is written at admission and cannot be changed/,
      );
      for (const value of [null, 'false']) {
        await assert.rejects(patched({ [ELECT_ANNOTATION]: value }), /cannot be changed after the pod was admitted/);
      }
      await patched({ note: 'users may still annotate' });
    });

    it('C2-9: whatever the spec, the record and the annotations are, the delegate asks for what the stored proxy shows',
      async () => {
      const container = fc.record({
        name: fc.constant('main'), image: fc.constantFrom('example/a:1', 'example/b:1'),
        command: fc.array(fc.constantFrom('sh', '-c'), { maxLength: 2 }),
        securityContext: fc.constantFrom(SAFE, { ...SAFE, readOnlyRootFilesystem: true }), resources: fc
          .constantFrom({}, { requests: { cpu: '2m', memory: '1Mi' } }),
      });
      const spec = fc.record({
        containers: fc.tuple(container),
        volumes: fc.constantFrom([], [{ name: 'tmp', emptyDir: {} }]), activeDeadlineSeconds: fc.constantFrom(600, 900),
        restartPolicy: fc.constantFrom('Always', 'Never'),
        terminationGracePeriodSeconds: fc.nat(60), nodeSelector: fc.constantFrom({}, { 'kubernetes.io/os': 'linux' }),
      }, { requiredKeys: ['containers'] });
      const record = fc.oneof(
        fc.constant(JSON.stringify({ spec: EVIL })),
        fc.jsonValue().map((value) => JSON.stringify({ spec: { ...EVIL, tolerations: [], value } })),
        spec.map((other) => JSON.stringify({ spec: { ...other, hostPID: true } })),
      );
      const pods = fc.sample(fc.tuple(spec, fc.option(record)), { numRuns: 40, seed: 21 });
      const proxies = await Promise.all(pods.map(([ofPod, forged], index) =>
        created(handmade(
          `any-${index}`,
          { spec: ofPod, ...(forged !== null && { annotations: { [ADMISSION_RECORD_ANNOTATION]: forged } }) },
        ))));
      for (const proxy of proxies) await assertShown(proxy);
    });

    it('C2-6 and C2-8: drops nothing that a proxy shows for what its user writes under keys of Isthmus, at once or ' +
      'while it waits', async () => {
      const { client } = world.source;
      const spec = { podSelector: { matchLabels: { app: 'waiting' } }, require: { matchLabels: { opened: 'yes' } } };
      await client.create(PLACEMENT_POLICIES, { metadata: { namespace: NAMESPACE, name: 'waiting' }, spec } as never);
      const written = fc.oneof({ weight: 3, arbitrary: fc.constant(JSON.stringify([POLICY])) }, fc.constantFrom(
        'true', '{"spec":{"hostPID":true}}', '2999-01-01T00:00:00Z',
      ));
      const system = fc.dictionary(fc.constantFrom(...SYSTEM_ANNOTATIONS), written, { maxKeys: 1 });
      const later = fc.constantFrom(...SYSTEM_ANNOTATIONS).map((key) => ({ [key]: JSON.stringify([POLICY]) }));
      const cases = [
        ...fc.sample(fc.tuple(system, later), { numRuns: 20, seed: 21 }),
        [{}, { [DELEGATE_ANNOTATIONS_ANNOTATION]: JSON.stringify([POLICY]) }] as const,
      ];
      const waiting = (await Promise.all(cases.map(async ([annotations, then], index) => {
        const { metadata, ...rest } =
          handmade(`waiting-${index}`, { annotations: { [POLICY]: 'strict', ...annotations } });
        const { pod: made } =
          await createPod(client, { ...rest, metadata: { ...metadata, labels: { app: 'waiting' } } });
        if (made === undefined) return []; // the key is reserved at admission
        const at = { namespace: NAMESPACE, name: made.metadata.name ?? '' };
        await client.patch(PODS, at, { patchType: 'merge', patch: { metadata: { annotations: then } } }).catch(
          (error: unknown) => assert.ok(error instanceof ApiError && [403, 422].includes(error.status), String(error)),
        );
        return [await client.get(PODS, at)];
      }))).flat();
      assert.ok(waiting.length > 10, String(waiting.length));
      assert.deepEqual(waiting.filter(({ spec: { nodeName } }) => nodeName !== undefined), [], 'they wait');
      await client.patch(
        CLUSTER_TARGETS, { name: 'target-1' },
        { patchType: 'merge', patch: { metadata: { labels: { opened: 'yes' } } } },
      );
      for (const proxy of waiting) {
        await assertShown(proxy);
        assert.equal(
          (await delegateOf(proxy)).metadata.annotations?.[POLICY], 'strict',
          JSON.stringify(proxy.metadata.annotations),
        );
      }
    });
  });

  describe('a pod that was made by hand', { timeout: 240_000, concurrency: true }, () => {
    const gone = (name: string) =>
      (pods: readonly Pod[]): boolean => inNamespace(pods, NAMESPACE).every(({ metadata }) => metadata.name !== name);
    const deletion = (name: string): Promise<unknown> =>
      world.source.client.delete(PODS, { namespace: NAMESPACE, name });

    it('onto a virtual node goes when it is deleted, though no kubelet ends it', async () => {
      const nodeName = virtualNodeName({ kind: 'ClusterTarget', name: 'target-1' });
      const { metadata } = handmade('stranger');
      await created({ metadata: { ...metadata, annotations: {} }, spec: { containers, nodeName } });
      await deletion('stranger');
      await world.source.pods.until('the stranger is gone', gone('stranger'), 90_000);
    });

    it('into a proxy without our finalizer goes when it is deleted, and its delegate with it', async () => {
      const proxy = await created(handmade('unheld'));
      await world.source.pods.until(
        'it runs', (pods) => pods.some((pod) => pod.metadata.uid === proxy.metadata.uid && isRunning(pod)), 60_000,
      );
      await world.source.client.patch(
        PODS, { namespace: NAMESPACE, name: 'unheld' },
        { patchType: 'merge', patch: { metadata: { finalizers: null } } },
      );
      await world.source.client.delete(PODS, { namespace: NAMESPACE, name: 'unheld' }, { gracePeriodSeconds: 30 });
      await world.source.pods.until('the proxy is gone', gone('unheld'), 60_000);
      const isIts = (pod: Pod): boolean => pod.metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid;
      await Promise.all(
        world.targets.map(({ pods }) => pods.until('no delegate is left', (all) => !all.some(isIts), 60_000)),
      );
    });

    it('under a virtual node does not hold up the deletion of its namespace', async () => {
      await makeNamespace(world, 'doomed');
      const nodeName = virtualNodeName({ kind: 'ClusterTarget', name: 'target-2' });
      await created({ metadata: { namespace: 'doomed', name: 'stranger' }, spec: { containers, nodeName } });
      await created(handmade('proxy', { namespace: 'doomed' }));
      await world.source.client.delete(NAMESPACES, { name: 'doomed' });
      await world.source.pods.until('its pods are gone', (pods) => inNamespace(pods, 'doomed').length === 0, 90_000);
    });
  });
});
