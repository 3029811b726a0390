// Admission as a user meets it: pods created through a real API server, read back and compared.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { KubernetesObject, Pod, PodSpec } from '../../../api/objects/core.ts';
import {
  ADMISSION_RECORD_ANNOTATION, DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, ADMIRALTY_PREFIX,
} from '../../../api/objects/keys.ts';
import {
  CLUSTER_TARGETS, EVENTS, MUTATING_WEBHOOK_CONFIGURATIONS, PODS, RESOURCE_SHARES,
} from '../../../api/resource-types.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import { restoreSourcePod } from '../../../model/proxy/admission-record.ts';
import { isElected } from '../../../model/pod/pod.ts';
import { eventually } from '../../support/history/eventually.ts';
import { review } from '../../support/objects/admission.ts';
import {
  createPod, ELECTED_NAMESPACE, PLAIN_NAMESPACE, shareWebhookWorld, untilAdmitting, type RunningWebhook,
  type WebhookWorld,
} from '../../support/worlds/webhook-world.ts';

const GOLDEN = join(import.meta.dirname, '..', '..', '..', '..', 'test', 'golden', 'webhook');
const goldens = readdirSync(GOLDEN).filter(
  (file) => file.endsWith('.input.yaml'),
).map((file) => file.replace('.input.yaml', '')).toSorted();

let world: WebhookWorld;
let webhook: RunningWebhook;
const enter = shareWebhookWorld(async (shared) => {
  world = shared;
  webhook = await world.startWebhook();
  await untilAdmitting(world.client);
}, () => webhook?.stop());

const elected = (name: string, more: Partial<PodSpec> = {}): Pod => ({
  metadata: { namespace: ELECTED_NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
  spec: { containers: [{ name: 'main', image: 'example/main:1' }], ...more },
});
const stored = (pod: Pod): Promise<Pod> =>
  world.client.get(PODS, { namespace: pod.metadata.namespace, name: pod.metadata.name! });

/**
 * Without what the API server makes up anew for every pod, a deletion for want of an owner, and the random part of the
 * token volume's name.
 */
function comparable(pod: Pod): unknown {
  const {
    uid: _uid, resourceVersion: _version, generation: _generation, creationTimestamp: _created, managedFields: _managed,
    name: _name, ...others
  } =
    pod.metadata as Pod['metadata'] & { managedFields?: unknown };
  const { deletionTimestamp: _deleted, deletionGracePeriodSeconds: _grace, ...metadata } = others;
  const { status: _status, ...rest } = pod;
  return JSON.parse(JSON.stringify({ ...rest, metadata }).replaceAll(/kube-api-access-\w{5}/g, 'kube-api-access'));
}

describe('a pod of the golden files, created through the API server', { timeout: 120_000 }, () => {
  before(enter, { timeout: 600_000 });
  for (const name of goldens) {
    const input = parse(readFileSync(join(GOLDEN, `${name}.input.yaml`), 'utf8')) as Pod;
    it(`${name}: is stored as the webhook says, and gives the pod of the user back`, async () => {
      const pod = {
        ...input, metadata: { ...input.metadata, ...(input.metadata.name && { name }), namespace: ELECTED_NAMESPACE },
      };
      // What the API server makes of the pod where nobody is elected: with its defaults, and its own refusals.
      const plain = await createPod(
        world.client, { ...pod, metadata: { ...pod.metadata, namespace: PLAIN_NAMESPACE } },
        { dryRun: 'All', fieldValidation: 'Ignore' },
      );
      const created = await createPod(world.client, pod, { fieldValidation: 'Ignore' });
      const expected = review(pod);
      if (plain.error !== undefined) {
        return assert.equal(created.pod, undefined, 'what is no valid pod does not become one');
      }
      if (!expected.response.allowed) {
        assert.equal(created.error?.status, 403);
        return assert.ok(created.error.message.includes(expected.response.status!.message), created.error.message);
      }
      assert.equal(created.error, undefined);
      const proxy = created.pod;
      // its finalizers may have changed already: the Job controller lets orphans go
      const readBack = await stored(proxy);
      assert.deepEqual([readBack.spec, readBack.metadata.annotations, readBack.metadata.labels], [
        proxy.spec, proxy.metadata.annotations, proxy.metadata.labels,
      ]);
      if (!isElected(pod)) return assert.deepEqual(
        comparable({ ...proxy, metadata: { ...proxy.metadata, namespace: PLAIN_NAMESPACE } }), comparable(plain.pod),
      );

      const restored = restoreSourcePod(proxy);
      assert.ok(restored.kind === 'restored');
      if (!name.includes('injected') && !name.startsWith('record-')) {
        const { status: _status, ...user } = restored.pod;
        const { labels = {}, finalizers = [], ...metadata } = plain.pod.metadata;
        // keys of ours are not the user's
        const ofOthers = finalizers.filter((finalizer) => !finalizer.startsWith(ADMIRALTY_PREFIX));
        const others = Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith(ADMIRALTY_PREFIX)));
        const stored = { ...user, metadata: { ...user.metadata, namespace: PLAIN_NAMESPACE } };
        assert.deepEqual(
          comparable(stored),
          comparable({
            ...plain.pod,
            metadata: { ...metadata, labels: others, ...(ofOthers.length > 0 && { finalizers: ofOthers }) },
          }),
          'it is what would have been stored without us',
        );
      }
      // The proxy is the source pod after our patch, and nothing else.
      assert.deepEqual(comparable(review(restored.pod).pod), comparable(proxy));
    });
  }
});

describe('the webhook on a real API server', { timeout: 120_000 }, () => {
  before(enter, { timeout: 600_000 });
  it('C2-7: elects nobody in a namespace that has not opted in, in its own and in kube-system', async () => {
    for (const namespace of [PLAIN_NAMESPACE, DEFAULT_INSTALL_NAMESPACE, 'kube-system']) {
      const { pod } =
        await createPod(world.client, { ...elected('stays'), metadata: { ...elected('stays').metadata, namespace } });
      assert.deepEqual(pod?.metadata.finalizers ?? [], [], namespace);
      assert.equal(pod?.spec.schedulerName, 'default-scheduler');
    }
  });

  it('fault 34: answers a dry run in the same way and leaves nothing behind', async () => {
    const { pod } = await createPod(world.client, elected('dry'), { dryRun: 'All' });
    assert.equal(pod?.spec.schedulerName, 'admiralty-proxy');
    await assert.rejects(stored(elected('dry')), (error: unknown) => error instanceof ApiError && error.status === 404);
  });

  it('C2-8: takes a copy of a proxy for what it shows, whatever its record says', async () => {
    const { pod } = await createPod(world.client, elected('original', { nodeSelector: { disk: 'ssd' } }));
    const { annotations = {}, labels = {}, finalizers = [] } = pod!.metadata;
    const record = JSON.stringify({ spec: { nodeSelector: { disk: 'hdd' }, hostNetwork: true, containers: [] } });
    const containers = [{ name: 'main', image: 'example/other:1' }];
    const metadata = {
      namespace: ELECTED_NAMESPACE, name: 'copy', labels, finalizers,
      annotations: { ...annotations, [ADMISSION_RECORD_ANNOTATION]: record },
    };
    const copy = await createPod(world.client, { metadata, spec: { ...elected('copy').spec, containers } } as Pod);
    const restored = restoreSourcePod(copy.pod!);
    assert.ok(restored.kind === 'restored');
    assert.deepEqual(
      [restored.pod.spec.containers[0]?.image, restored.pod.spec.nodeSelector], ['example/other:1', { disk: 'hdd' }],
    );
    assert.equal((restored.pod.spec as { hostNetwork?: boolean }).hostNetwork, undefined);
  });

  it('C2-25: takes a pod whose annotations are near the cap: it holds no second copy of itself', async () => {
    const large = elected('large');
    const note = { 'example.com/note': 'x'.repeat(255_000) };
    const { pod, error } = await createPod(world.client, {
      ...large, metadata: { ...large.metadata, annotations: { ...large.metadata.annotations, ...note } },
    });
    assert.equal(error, undefined);
    assert.ok(JSON.stringify(pod).length < 255_000 + 8_192);
  });

  it('refuses a target whose expression is none and a share whose limit is none, and lets good ones pass', async () => {
    const target = (name: string, excludedLabelsRegexp: string): Promise<unknown> =>
      world.client.create(CLUSTER_TARGETS, { metadata: { name }, spec: { self: true, excludedLabelsRegexp } } as never);
    await assert.rejects(target('bad', 'a(?=b)'), /spec.excludedLabelsRegexp is not a valid RE2 expression/);
    await target('good', '^secret/');
    const share = (name: string, cpu: string): Promise<unknown> =>
      world.client.create(RESOURCE_SHARES, { metadata: { name }, spec: { source: '*', limits: { cpu } } } as never);
    await assert.rejects(share('bad', 'ten'), /spec.limits gives "ten" of cpu, which is not a valid quantity/);
    await share('good', '10');
    await world.client.delete(CLUSTER_TARGETS, { name: 'good' });
    await world.client.delete(RESOURCE_SHARES, { name: 'good' });
  });

  it('fault 32: while it is away, holds up elected pods of opted-in namespaces alone, and all is well when it is back',
    async () => {
    await webhook.stop();
    const { error } = await createPod(world.client, elected('refused'));
    assert.equal(error?.status, 500);
    const { annotations: _none, ...metadata } = elected('as-ever').metadata;
    assert.equal(
      (await createPod(world.client, { ...elected('as-ever'), metadata })).pod?.spec.schedulerName, 'default-scheduler',
    );
    assert.ok(
      (await createPod(
        world.client,
        { ...elected('elsewhere'), metadata: { ...elected('elsewhere').metadata, namespace: PLAIN_NAMESPACE } },
      )).pod,
    );
    for (const namespace of [DEFAULT_INSTALL_NAMESPACE, 'kube-system']) {
      assert.ok(
        (
          await createPod(world.client, { ...elected('never'), metadata: { ...elected('never').metadata, namespace } })
        ).pod,
        namespace,
      );
    }
    webhook = await world.startWebhook();
    await untilAdmitting(world.client);
    assert.equal((await createPod(world.client, elected('back'))).pod?.spec.schedulerName, 'admiralty-proxy');
  });

  it('fault 33: while it is silent, delays an elected pod until its timeout, and other pods not at all', async () => {
    await webhook.stop();
    const silent = createServer().listen(world.port, '127.0.0.1');
    await once(silent, 'listening');
    const held: Socket[] = [];
    silent.on('connection', (socket) => held.push(socket.on('error', () => undefined)));
    // until the API server has given up its connection to the webhook that has stopped
    for (let attempt = 0; held.length === 0 && attempt < 100; attempt += 1) {
      await Promise.race([createPod(world.client, elected('held-up'), { dryRun: 'All' }), once(silent, 'connection')]);
    }
    const ended: string[] = [];
    const refused = createPod(world.client, elected('held-up')).finally(() => ended.push('elected'));
    assert.ok(
      (await createPod(
        world.client, { ...elected('not-held-up'), metadata: { ...elected('not-held-up').metadata, annotations: {} } },
      )).pod,
    );
    assert.deepEqual(ended, [], 'the other pod did not wait');
    assert.match((await refused).error?.message ?? '', /deadline exceeded|timeout/i);
    for (const socket of held) socket.destroy();
    silent.close();
    await once(silent, 'close');
    webhook = await world.startWebhook();
    await untilAdmitting(world.client);
  });

  it('fault 31: with failurePolicy Ignore, a pod that was admitted while it was away runs here, and its user is ' +
    'told; other pods notice nothing', async () => {
    const policy = (failurePolicy: string): Promise<unknown> =>
      world.client.apply(
        MUTATING_WEBHOOK_CONFIGURATIONS,
        {
          metadata: { name: 'isthmus' }, webhooks: [{ name: 'pods.isthmus.multicluster.admiralty.io', failurePolicy }],
        } as never,
        'test',
      );
    await policy('Ignore');
    await webhook.stop();
    let missed: Pod | undefined;
    // until the API server has seen the policy
    for (let attempt = 0; missed === undefined && attempt < 100; attempt += 1) missed =
      (await createPod(world.client, elected(`missed-${attempt}`))).pod;
    assert.equal(missed?.spec.schedulerName, 'default-scheduler');
    webhook = await world.startWebhook();
    const isTold = async (): Promise<boolean> => {
      const events = (await world.client.list(EVENTS, { namespace: ELECTED_NAMESPACE })) as readonly (
        KubernetesObject & { reason?: string; regarding?: { name?: string } }
      )[];
      return events.some(
        ({ reason, regarding }) => reason === 'NotElected' && regarding?.name === missed?.metadata.name,
      );
    };
    await eventually('the Event within a minute', isTold, 60_000);
    await policy('Fail');
    await untilAdmitting(world.client);
  });
});
