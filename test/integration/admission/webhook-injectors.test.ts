// Isthmus beside the sidecar injectors of Istio, Linkerd and Vault: whichever comes first, and whoever is asked again,
// the proxy pod has no sidecar and the manifest never holds one. The injectors are played by a small webhook under
// their real names and with their rules.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Container, KubernetesObject, Pod, StringMap } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../../api/resource-types.ts';
import { restoreSourcePod } from '../../../model/proxy/admission-record.ts';
import { ForeignWebhook } from '../../support/doubles/foreign-webhook.ts';
import {
  createPod, ELECTED_NAMESPACE, shareAdmittingWorld, type WebhookWorld,
} from '../../support/worlds/webhook-world.ts';

/** An injector as its own documentation describes it. */
interface Injector {
  readonly configuration: string;
  readonly webhook: string;
  /** Keys by which a user asks for its sidecar. */
  readonly wish: { readonly labels?: StringMap; readonly annotations?: StringMap };
  readonly isWanted: (pod: Pod) => boolean;
  readonly mark: StringMap;
  readonly sidecar: Container;
  readonly init: Container;
  readonly volume: string;
}

const INJECTORS: Readonly<Record<string, Injector>> = {
  istio: {
    configuration: 'istio-sidecar-injector',
    webhook: 'rev.namespace.sidecar-injector.istio.io',
    wish: { labels: { 'sidecar.istio.io/inject': 'true' } },
    isWanted: ({ metadata: { labels = {} } }) => labels['sidecar.istio.io/inject'] !== 'false',
    mark: {
      'sidecar.istio.io/status':
        '{"initContainers":["istio-init"],"containers":["istio-proxy"],"volumes":["istio-envoy"]}',
    },
    sidecar: { name: 'istio-proxy', image: 'example/istio:1' },
    init: { name: 'istio-init', image: 'example/istio:1' },
    volume: 'istio-envoy',
  },
  linkerd: {
    configuration: 'linkerd-proxy-injector-webhook-config',
    webhook: 'linkerd-proxy-injector.linkerd.io',
    wish: { annotations: { 'linkerd.io/inject': 'enabled' } },
    isWanted: ({ metadata: { annotations = {} } }) => annotations['linkerd.io/inject'] === 'enabled',
    mark: { 'linkerd.io/proxy-version': 'edge-1', 'linkerd.io/created-by': 'linkerd/proxy-injector' },
    sidecar: { name: 'linkerd-proxy', image: 'example/linkerd:1' },
    init: { name: 'linkerd-init', image: 'example/linkerd:1' },
    volume: 'linkerd-identity-end-entity',
  },
  vault: {
    configuration: 'vault-agent-injector-cfg',
    webhook: 'vault.hashicorp.com',
    wish: { annotations: { 'vault.hashicorp.com/agent-inject': 'true' } },
    isWanted: ({ metadata: { annotations = {} } }) => annotations['vault.hashicorp.com/agent-inject'] === 'true',
    mark: { 'vault.hashicorp.com/agent-inject-status': 'injected' },
    sidecar: { name: 'vault-agent', image: 'example/vault:1' },
    init: { name: 'vault-agent-init', image: 'example/vault:1' },
    volume: 'vault-secrets',
  },
};

/** Annotation with which the foreign webhook marks every pod that it sees, so that the API server asks others again. */
const SEEN = 'example.com/seen-by';

/** What the foreign webhook makes of a pod. */
function inject(pod: Pod, injector: Injector, seen: string): Pod {
  const annotations = { ...pod.metadata.annotations, [SEEN]: seen };
  const isInjected = Object.keys(injector.mark).some((key) => Object.hasOwn(annotations, key));
  if (isInjected || !injector.isWanted(pod)) return { ...pod, metadata: { ...pod.metadata, annotations } };
  const mount = { name: injector.volume, mountPath: '/sidecar' };
  const { spec } = pod;
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations: { ...annotations, ...injector.mark } },
    spec: {
      ...spec,
      containers: [
        ...spec.containers.map(
          (container) => ({ ...container, volumeMounts: [...(container.volumeMounts ?? []), mount] }),
        ),
        injector.sidecar,
      ],
      initContainers: [...(spec.initContainers ?? []), injector.init],
      volumes: [...(spec.volumes ?? []), { name: injector.volume, emptyDir: {} } as { name: string }],
    },
  };
}

let world: WebhookWorld;
let foreign: ForeignWebhook | undefined;

const enter = shareAdmittingWorld(async (shared) => {
  world = shared;
  foreign = await ForeignWebhook.start((pod, path) => {
    const [, name = '', seen = ''] = path.split('/');
    const { metadata, spec } = inject(pod, INJECTORS[name]!, seen);
    return { metadata, spec };
  });
}, () => foreign?.stop());

type Policy = 'Never' | 'IfNeeded';

interface Combination {
  readonly order: 'before' | 'after';
  readonly foreignPolicy: Policy;
  readonly ownPolicy: Policy;
}

const COMBINATIONS: readonly Combination[] = (['before', 'after'] as const).flatMap((order) =>
  (['Never', 'IfNeeded'] as const).flatMap(
    (foreignPolicy) => (['Never', 'IfNeeded'] as const).map((ownPolicy) => ({ order, foreignPolicy, ownPolicy })),
  ));

/** API servers call configurations in the order of their names; ours is `isthmus`. */
function configurationName({ configuration }: Injector, order: 'before' | 'after'): string {
  return order === 'before' ? `a-${configuration}` : configuration;
}

/** Registers the injector, and waits until the API server asks it in this combination. */
async function register(
  name: string, { order, foreignPolicy, ownPolicy }: Combination, seen: string,
): Promise<() => Promise<void>> {
  const { client } = world;
  const injector = INJECTORS[name]!;
  const at = { name: configurationName(injector, order) };
  await client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, {
    metadata: { name: 'isthmus' },
    webhooks: [{ name: 'pods.isthmus.multicluster.admiralty.io', reinvocationPolicy: ownPolicy }],
  } as never, 'test');
  await client.create(MUTATING_WEBHOOK_CONFIGURATIONS, {
    metadata: at,
    webhooks: [{
      name: injector.webhook,
      clientConfig: foreign!.clientConfig(`/${name}/${seen}`),
      rules:
        [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: 'Namespaced' }],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': ELECTED_NAMESPACE } },
      failurePolicy: 'Fail', reinvocationPolicy: foreignPolicy, sideEffects: 'None', admissionReviewVersions: ['v1'],
    }],
  } as KubernetesObject);
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { pod } = await createPod(client, userPod(injector, 'probe', false), { dryRun: 'All' });
    if (pod?.metadata.annotations?.[SEEN] === seen) return () => client.delete(MUTATING_WEBHOOK_CONFIGURATIONS, at);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  throw new Error('the API server does not ask the foreign webhook');
}

function userPod({ wish }: Injector, name: string, isElected: boolean): Pod {
  const annotations = { ...wish.annotations, ...(isElected && { [ELECT_ANNOTATION]: '' }) };
  return {
    metadata: { namespace: ELECTED_NAMESPACE, name, ...(wish.labels && { labels: wish.labels }), annotations },
    spec: {
      containers: [{ name: 'main', image: 'example/main:1' }],
      initContainers: [{ name: 'setup', image: 'example/setup:1' }],
    },
  };
}

const names = (containers: readonly { readonly name: string }[] = []): string[] => containers.map(({ name }) => name);

for (const [name, injector] of Object.entries(INJECTORS)) {
  describe(`with ${name}`, { timeout: 60_000 }, () => {
    before(enter, { timeout: 600_000 });
    for (const [index, combination] of COMBINATIONS.entries()) {
      const { order, foreignPolicy, ownPolicy } = combination;
      it(`${order} us, itself asked again ${foreignPolicy} and we ${ownPolicy}: only pods that stay here are injected`,
        async () => {
        const unregister = await register(name, combination, `${name}-${index}`);
        try {
          const { pod: plain } = await createPod(world.client, userPod(injector, `plain-${name}-${index}`, false));
          assert.deepEqual(names(plain?.spec.containers), ['main', injector.sidecar.name], 'the injector works');

          const { pod: proxy, error } =
            await createPod(world.client, userPod(injector, `elected-${name}-${index}`, true));
          assert.equal(error, undefined);
          assert.deepEqual(names(proxy.spec.containers), ['main']);
          assert.deepEqual(names(proxy.spec.initContainers), ['setup']);
          assert.ok(!names(proxy.spec.volumes).includes(injector.volume));
          assert.ok(!injector.isWanted(proxy), 'it carries the opt-out');
          assert.equal(proxy.spec.schedulerName, 'admiralty-proxy');
          assert.equal(proxy.spec.tolerations?.length, 4);
          assert.equal(proxy.metadata.annotations?.[SEEN], `${name}-${index}`);

          const opened = restoreSourcePod(proxy);
          assert.ok(opened.kind === 'restored');
          assert.deepEqual(names(opened.pod.spec.containers), ['main']);
          assert.deepEqual(names(opened.pod.spec.initContainers), ['setup']);
          assert.ok(!JSON.stringify(opened.pod).includes(injector.volume), 'nothing of the sidecar');
          assert.ok(injector.isWanted(opened.pod), 'the target is to inject it');
          for (const mark of Object.keys(injector.mark)) {
            assert.ok(!Object.hasOwn(opened.pod.metadata.annotations ?? {}, mark));
          }
        } finally {
          await unregister();
        }
      });
    }
  });
}
