// Our webhook beside that of Liqo 1.2: a namespace may have both while it goes over (docs/from-liqo.md). Liqo's is
// played by a small webhook under its name, with its rules and with what it does to a pod of strategy Remote.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { KubernetesObject, Pod, Toleration } from '../../../api/objects/core.ts';
import { NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, PROXY_SCHEDULER } from '../../../api/objects/keys.ts';
import type { NodeSelectorTerm } from '../../../api/objects/selectors.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES } from '../../../api/resource-types.ts';
import { restoreSourcePod } from '../../../model/proxy/admission-record.ts';
import { ForeignWebhook } from '../../support/doubles/foreign-webhook.ts';
import {
  createPod, ELECTED_NAMESPACE, PLAIN_NAMESPACE, shareAdmittingWorld, type WebhookWorld,
} from '../../support/worlds/webhook-world.ts';

const LIQO_LABEL = { 'liqo.io/scheduling-enabled': 'true' };
const LIQO_TOLERATION: Toleration =
  { key: 'virtual-node.liqo.io/not-allowed', operator: 'Exists', effect: 'NoExecute' };
const LIQO_TERM: NodeSelectorTerm =
  { matchExpressions: [{ key: 'liqo.io/type', operator: 'In', values: ['virtual-node'] }] };

let world: WebhookWorld;
let liqo: ForeignWebhook | undefined;
let asked = 0;

/** What Liqo's webhook makes of a pod without affinity: it adds its toleration, and requires its nodes. */
function asLiqo({ spec }: Pod): Pod['spec'] {
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [LIQO_TERM] } };
  return { ...spec, tolerations: [...(spec.tolerations ?? []), LIQO_TOLERATION], affinity: { nodeAffinity } };
}

const enter = shareAdmittingWorld(async (shared) => {
  world = shared;
  liqo = await ForeignWebhook.start((pod) => {
    asked += 1;
    return { spec: asLiqo(pod) };
  });
  await label('given');
  await world.client.create(MUTATING_WEBHOOK_CONFIGURATIONS, {
    metadata: { name: 'liqo-webhook' },
    webhooks: [{
      name: 'pod.mutate.liqo.io',
      clientConfig: liqo.clientConfig('/mutate/pod'),
      rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
      namespaceSelector: { matchLabels: LIQO_LABEL }, failurePolicy: 'Fail', sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    }],
  } as KubernetesObject);
  await untilLiqoIsAsked();
}, async () => {
  await world.client.delete(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'liqo-webhook' });
  await label('taken');
  liqo?.stop();
});

/** Gives the namespaces the labels of Liqo, and the first that of ours, or takes them away. */
async function label(what: 'given' | 'taken'): Promise<void> {
  const [liqos, ours] = [LIQO_LABEL, { [NAMESPACE_ELECT_LABEL]: NAMESPACE_ELECT_VALUE }];
  for (const [name, given] of [[ELECTED_NAMESPACE, { ...liqos, ...ours }], [PLAIN_NAMESPACE, liqos]] as const) {
    const labels = what === 'taken' ? Object.fromEntries(Object.keys(given).map((key) => [key, null])) : given;
    await world.client.patch(NAMESPACES, { name }, { patchType: 'merge', patch: { metadata: { labels } } });
  }
}

const podIn = (namespace: string, name: string): Pod =>
  ({ metadata: { namespace, name }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } });
const tolerates = ({ spec }: Pod): boolean =>
  spec.tolerations?.some(({ key }) => key === LIQO_TOLERATION.key) === true;

async function untilLiqoIsAsked(): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { pod } = await createPod(world.client, podIn(PLAIN_NAMESPACE, 'probe'), { dryRun: 'All' });
    if (pod !== undefined && tolerates(pod)) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  throw new Error("the API server does not ask Liqo's webhook");
}

describe('a namespace that Liqo offloads and Isthmus elects', () => {
  before(enter, { timeout: 600_000 });
  it("has pods of ours alone, with nothing of Liqo's in the proxy or in what becomes the delegate", async () => {
    const before = asked;
    const { pod: proxy, error } = await createPod(world.client, podIn(ELECTED_NAMESPACE, 'web'));
    assert.equal(error, undefined);
    assert.ok(asked > before, "Liqo's webhook was asked");
    assert.equal(proxy.spec.schedulerName, PROXY_SCHEDULER);
    assert.equal(proxy.spec.affinity, undefined);
    assert.ok(!tolerates(proxy));
    const restored = restoreSourcePod(proxy);
    assert.equal(restored.kind, 'restored');
    if (restored.kind !== 'restored') return;
    assert.equal(restored.pod.spec.affinity, undefined);
    assert.ok(!tolerates(restored.pod));
  });

  it("has pods of Liqo's where they decline election, as one that Isthmus does not elect", async () => {
    const declined = podIn(ELECTED_NAMESPACE, 'declined');
    const annotations = { 'multicluster.admiralty.io/elect': 'false' };
    for (const pod of [{ ...declined, metadata: { ...declined.metadata, annotations } }, podIn(PLAIN_NAMESPACE, 'a')]) {
      const { pod: stored, error } = await createPod(world.client, pod);
      assert.equal(error, undefined);
      assert.ok(tolerates(stored));
      assert.notEqual(stored.spec.schedulerName, PROXY_SCHEDULER);
    }
  });
});
