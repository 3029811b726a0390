// The Helm chart, the Kustomize files and the image: what they render, that API servers take it without a word, that
// applying it again changes nothing, and that the image's command line runs on its file set.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ELECTED_POD_RULES } from '../../api/admission-rules.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { WebhookConfiguration } from '../../api/resource-types.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { IMPORT_PORTS } from '../../gateway/local-end/import-listeners.ts';
import { customResourceDefinitions } from '../../manifests/objects/crds.ts';
import { gatewayManifests } from '../../manifests/objects/gateway.ts';
import {
  gatewayNetworkPolicy, serviceDiscoveryNetworkPolicy, uiNetworkPolicy,
} from '../../manifests/objects/network-policies.ts';
import { DEFAULT_POD_PLANE_IMAGE, podPlaneManifests } from '../../manifests/objects/pod-plane.ts';
import { serviceDiscoveryCrds } from '../../manifests/objects/crds.ts';
import { serviceDiscoveryManifests } from '../../manifests/objects/service-discovery.ts';
import { kustomizeFiles } from '../../manifests/kustomize.ts';
import { DEFAULT_IMAGE, uiManifests } from '../../manifests/objects/workloads.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import { environment } from '../../process/config.ts';
import { version } from '../../process/version.ts';
import { ensurePackagingTools } from '../../sandbox/build/packaging-tools.ts';
import { ensureForeignDefinitions } from '../support/peers/foreign-definitions.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { makeImageFiles } from '../support/real-nodes/image-files.ts';
import { isthmus } from '../support/processes/command-line.ts';
import { blocksOf, textOf } from '../support/docs/documented-blocks.ts';
import { ADMIRALTY_VALUES } from '../support/peers/admiralty-chart.ts';
import { CHART, documents, KUSTOMIZE, nameOf, Packaging, type Ended } from '../support/peers/packaging.ts';
import { startTestSandbox } from '../support/processes/stopped-with-process.ts';

const deadline = AbortSignal.timeout(300_000);
let tools: Packaging;
before(async () => { tools = await Packaging.open(deadline); });

type Deployment = KubernetesObject & {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string;
        readonly containers: readonly { readonly args: readonly string[]; readonly image: string }[]
      }
    }
  }
};

/** A pod as far as volumes go. */
interface MountingPod {
  readonly containers: readonly {
    readonly args: readonly string[]; readonly env: readonly { readonly name: string; readonly value?: string }[];
    readonly volumeMounts?: readonly { readonly mountPath: string }[];
  }[];
  readonly volumes?: readonly { readonly name: string }[];
}

/** A pod as far as values of Admiralty's chart say what it is like. */
interface WorkloadPod {
  readonly nodeSelector: unknown;
  readonly affinity: unknown;
  readonly tolerations: readonly { readonly key: string }[];
  readonly imagePullSecrets: unknown;
  readonly securityContext: { readonly runAsUser?: number };
  readonly containers: readonly [{
    readonly image: string; readonly imagePullPolicy: string;
    readonly resources: { readonly limits: { readonly cpu?: number } };
    readonly securityContext: { readonly runAsUser?: number }
  }];
}

const isDeployment = (object: KubernetesObject): object is Deployment => object.kind === 'Deployment';
const namesOf = (objects: readonly KubernetesObject[], kind: string): readonly string[] =>
  objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name ?? '').toSorted();
const argumentsOf = (objects: readonly KubernetesObject[], name: string): readonly string[] => objects
  .filter(isDeployment)
  .find(({ metadata }) => metadata.name === name)?.spec.template.spec.containers[0]?.args ?? [];

/** A cluster without nodes, and beside it so many others. */
async function startChartSandbox(targets: number): Promise<Sandbox> {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-chart-'));
  return startTestSandbox({ dir, targets, nodes: 0, gpus: 0, audit: false }, deadline);
}

/** What a release adds to our objects: its labels, and the annotation that keeps definitions. */
const OF_A_RELEASE =
  ['app.kubernetes.io/managed-by', 'app.kubernetes.io/instance', 'app.kubernetes.io/version', 'helm.sh/chart'];
function bare(object: KubernetesObject): unknown {
  const labels =
    Object.fromEntries(Object.entries(object.metadata.labels ?? {}).filter(([key]) => !OF_A_RELEASE.includes(key)));
  const { annotations = {}, ...metadata } = object.metadata;
  const others = Object.entries(annotations).filter(([key]) => key !== 'helm.sh/resource-policy');
  return {
    ...object, metadata: { ...metadata, labels, ...(others.length > 0 && { annotations: Object.fromEntries(others) }) },
  };
}
const byName = (objects: readonly KubernetesObject[]): ReadonlyMap<string, unknown> =>
  new Map(objects.map((object) => [nameOf(object), bare(object)]));

/** What the chart has and the Kustomize files have not. */
const CHART_ONLY = /isthmus-pre-delete$/;

describe('the chart', () => {
  it('says the same as the Kustomize files for a source that is a target too', async () => {
    const files = Object.entries(kustomizeFiles()).filter(
      ([path]) =>
        ['common/', 'components/permissions-', 'components/source/', 'components/discovery/']
          .some((folder) => path.startsWith(folder)),
    );
    const expected = byName(
      [...customResourceDefinitions(), ...files.flatMap(([, file]) => ('objects' in file ? file.objects : []))].filter(
        ({ kind, metadata }) => (kind !== 'Namespace' || metadata.name !== 'isthmus-system') && nameOf(
          { kind, metadata } as KubernetesObject,
        ) !== 'ServiceAccount isthmus-system/isthmus',
      ),
    );
    const objects = await tools.render(['discovery.enabled=true']);
    const rendered = byName(objects.filter((object) => !CHART_ONLY.test(nameOf(object))));
    assert.deepEqual([...rendered.keys()].toSorted(), [...expected.keys()].toSorted());
    for (const [name, object] of expected) assert.deepEqual(rendered.get(name), object, name);
  });

  it('lets the scheduler publish targets where that is asked for, and nowhere else', async () => {
    const values = ['clusterProfiles.namespaces={kueue-system,inventory}'];
    for (const [deploy, account] of [['PerComponent', 'isthmus-scheduler'], ['AllInOne', 'isthmus']] as const) {
      const objects = await tools.render([...values, `deploy=${deploy}`]);
      const bindings = objects.filter(({ metadata }) => metadata.name === 'isthmus-cluster-profiles');
      assert.deepEqual(bindings.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`), [
        'RoleBinding kueue-system', 'RoleBinding inventory',
      ]);
      assert.ok(bindings.every((binding) => JSON.stringify(binding).includes(`"name":"${account}"`)));
      assert.match(argumentsOf(objects, account).join(' '), / --cluster-profiles kueue-system,inventory\b/);
    }
    assert.doesNotMatch(JSON.stringify(await tools.render([])), /--cluster-profiles|isthmus-cluster-profiles"/);
    await assert.rejects(tools.render([...values, 'source.enabled=false']), /set source\.enabled=true/);
  });

  it('says the same of the gateway', async () => {
    const expected = byName([
      ...gatewayManifests({ namespace: 'isthmus-system', image: DEFAULT_IMAGE }),
      gatewayNetworkPolicy('isthmus-system'),
    ]);
    const rendered = byName(await tools.render(['gateway.enabled=true']));
    for (const [name, object] of expected) assert.deepEqual(rendered.get(name), object, name);
  });

  it('has the gateway read an existing Submariner where that is asked for, with the right to look and no other',
    async () => {
    const rendered = await tools.render(['gateway.enabled=true', 'gateway.submariner.enabled=true']);
    assert.deepEqual(
      argumentsOf(rendered, 'isthmus-gateway').slice(-2), ['--submariner-namespace', 'submariner-operator'],
    );
    const there = rendered.filter(({ metadata }) => metadata.namespace === 'submariner-operator') as readonly (
      KubernetesObject & { readonly rules?: readonly object[] }
    )[];
    assert.deepEqual(there.map(({ kind }) => kind), ['Role', 'RoleBinding']);
    assert.deepEqual(there.find(({ kind }) => kind === 'Role')?.rules, [
      { apiGroups: ['submariner.io'], resources: ['clusters', 'endpoints', 'gateways'], verbs: ['list', 'watch'] },
    ]);
  });

  it('has the gateway listen for imports at the address of its pod where that is asked for, and lets pods of all ' +
    'namespaces in', async () => {
    const rendered =
      await tools.render(['gateway.enabled=true', 'gateway.imports.enabled=true', 'networkPolicy.enabled=true']);
    assert.deepEqual(argumentsOf(rendered, 'isthmus-gateway').slice(-2), ['--import-address', '$(POD_IP)']);
    const policy = rendered.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'isthmus-gateway',
    ) as KubernetesObject & { readonly spec: { readonly ingress: readonly object[] } };
    assert.deepEqual(policy.spec.ingress.at(-1), {
      ports: [{ port: IMPORT_PORTS.first, endPort: IMPORT_PORTS.last }], from: [{ namespaceSelector: {} }],
    });
    assert.ok(
      !argumentsOf(await tools.render(['gateway.enabled=true']), 'isthmus-gateway').includes('--import-address'),
    );
  });

  it('lets in what is served and nothing else, in one Deployment as in five, unless that is turned off', async () => {
    type Policy = KubernetesObject & {
      readonly spec: {
        readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
        readonly ingress: readonly { readonly ports: readonly { readonly port: unknown }[] }[]
      }
    };
    const openIn = async (values: readonly string[], app: string): Promise<readonly string[]> => {
      const policies = (await tools.render(values)).filter(
        ({ kind }) => kind === 'NetworkPolicy',
      ) as readonly unknown[] as readonly Policy[];
      const labels: Readonly<Record<string, string>> =
        { 'app.kubernetes.io/name': app, 'app.kubernetes.io/part-of': 'isthmus' };
      const selected = policies.filter(
        ({ spec }) => Object.entries(spec.podSelector.matchLabels).every(([key, value]) => labels[key] === value),
      );
      return selected.flatMap(({ spec }) => spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => String(port))))
        .toSorted((one, other) => one.localeCompare(other));
    };
    for (
      const [app, ports] of Object.entries({
        'isthmus-webhook': ['health', 'webhook'], 'isthmus-virtual-node': ['health', 'kubelet'],
        'isthmus-scheduler': ['health'],
      })
    ) assert.deepEqual(await openIn([], app), ports, app);
    assert.deepEqual(await openIn(['deploy=AllInOne'], 'isthmus'), ['health', 'kubelet', 'webhook']);
    assert.deepEqual(await openIn(['networkPolicy.enabled=false'], 'isthmus-webhook'), []);
  });

  it('says the same of the page, which gets no right and no token', async () => {
    const expected = byName([
      ...uiManifests({ namespace: 'isthmus-system', image: DEFAULT_IMAGE }), uiNetworkPolicy('isthmus-system'),
    ]);
    const objects = await tools.render(['ui.enabled=true']);
    const rendered = byName(objects);
    for (const [name, object] of expected) assert.deepEqual(rendered.get(name), object, name);
    const bindings = objects.filter(({ kind }) => kind?.endsWith('RoleBinding'));
    assert.ok(bindings.length > 0 && !JSON.stringify(bindings).includes('isthmus-ui'));
    const more = await tools.render(['ui.enabled=true', 'ui.hosts={isthmus.example.com}', 'ui.tlsSecretName=mine']);
    assert.deepEqual(argumentsOf(more, 'isthmus-ui').slice(-2), ['--host', 'isthmus.example.com']);
    assert.ok(JSON.stringify(more).includes('"secretName":"mine"'));
  });

  it('says the same of service discovery, kinds and all', async () => {
    const expected = byName([
      ...serviceDiscoveryCrds(), ...serviceDiscoveryManifests({ namespace: 'isthmus-system', image: DEFAULT_IMAGE }),
      serviceDiscoveryNetworkPolicy('isthmus-system'),
    ]);
    const rendered = byName(await tools.render(['gateway.enabled=true', 'serviceDiscovery.enabled=true']));
    for (const [name, object] of expected) assert.deepEqual(rendered.get(name), object, name);
    assert.deepEqual(
      namesOf(
        await tools.render(['gateway.enabled=true', 'serviceDiscovery.enabled=true', 'serviceDiscovery.crds=false']),
        'CustomResourceDefinition',
      ).filter((name) => name.endsWith('x-k8s.io')),
      [],
    );
  });

  it('says the same of the pod plane, which is the only thing that is privileged', async () => {
    const expected = byName(podPlaneManifests({ installNamespace: 'isthmus-system', image: DEFAULT_POD_PLANE_IMAGE }));
    const objects =
      await tools.render(['podPlane.enabled=true', 'gateway.enabled=true', 'serviceDiscovery.enabled=true']);
    const rendered = byName(objects);
    for (const [name, object] of expected) assert.deepEqual(rendered.get(name), object, name);
    assert.deepEqual(objects.filter((object) => JSON.stringify(object).includes('"privileged":true')).map(nameOf), [
      'DaemonSet isthmus-pod-plane/isthmus-pod-plane',
    ]);
    assert.ok(!JSON.stringify(await tools.render()).includes('"privileged":true'));
    const args = JSON.stringify(await tools.render(
      ['gateway.enabled=true', 'podPlane.enabled=true', 'podPlane.addresses[0]=gw.example:51820', 'podPlane.mtu=1400'],
    ));
    assert.match(args, /"--address","gw\.example:51820","--mtu","1400"/);
  });

  it('runs in a target what a target needs, and gives no other permissions', async () => {
    const objects = await tools.render(['source.enabled=false']);
    assert.deepEqual(namesOf(objects, 'Deployment'), ['isthmus-delegate-controller', 'isthmus-peering']);
    assert.deepEqual(namesOf(objects, 'MutatingWebhookConfiguration'), []);
    assert.deepEqual(
      namesOf(objects, 'ServiceAccount'), ['isthmus-delegate-controller', 'isthmus-peering', 'isthmus-pre-delete'],
    );
    for (const role of [
      'isthmus-scheduler', 'isthmus-virtual-node', 'isthmus-followed-reader', 'isthmus-target-secret-reader',
    ]) assert.ok(!namesOf(objects, 'ClusterRole').includes(role), role);
    assert.ok(!argumentsOf(objects, 'isthmus-delegate-controller').includes('--no-target'));
  });

  it('tells the components of a mere source that nobody runs pods there', async () => {
    const objects = await tools.render(['target.enabled=false']);
    for (const { metadata: { name = '' } } of objects.filter(isDeployment)) {
      assert.ok(argumentsOf(objects, name).includes('--no-target'), name);
    }
    assert.ok(!namesOf(objects, 'ClusterRole').includes('isthmus-source'));
  });

  it('has elected pods refused from the installation on when asked to', async () => {
    const rulesOf = async (...values: string[]): Promise<readonly unknown[]> => {
      const configuration: WebhookConfiguration
        | undefined = (await tools.render(values)).find(({ kind }) => kind === 'MutatingWebhookConfiguration');
      return (configuration?.webhooks ?? []).slice(0, 2).map(({ rules }) => rules);
    };
    assert.deepEqual(await rulesOf(), [undefined, undefined]);
    assert.deepEqual(await rulesOf('webhook.refuseUntilReached=true'), [ELECTED_POD_RULES, ELECTED_POD_RULES]);
  });

  it('runs everything in one Deployment when asked to', async () => {
    const objects = await tools.render(['deploy=AllInOne']);
    const [deployment, ...more] = objects.filter(isDeployment);
    assert.deepEqual(
      [deployment?.metadata.name, deployment?.spec.template.spec.serviceAccountName, more], ['isthmus', 'isthmus', []],
    );
    assert.deepEqual(argumentsOf(objects, 'isthmus').slice(0, 3), [
      'run', '--components', 'webhook,scheduler,delegate-controller,virtual-node,kubelet-api,peering',
    ]);
    assert.deepEqual(namesOf(objects, 'ServiceAccount'), ['isthmus', 'isthmus-pre-delete']);
  });

  it('gives the one Deployment what controllerManager says', async () => {
    const objects = await tools.render(['deploy=AllInOne', 'controllerManager.resources.limits.cpu=2']);
    const pod = objects.find(isDeployment)?.spec.template.spec as unknown as WorkloadPod;
    assert.equal(pod.containers[0].resources.limits.cpu, 2);
  });

  it("runs a component from its own tag, also where a digest is named for all", async () => {
    const objects = await tools.render(['image.digest=sha256:abc', 'scheduler.image.tag=debug']);
    const images = objects.filter(isDeployment).map(({ metadata, spec }) =>
      `${metadata.name} ${spec.template.spec.containers[0]?.image}`);
    assert.ok(images.includes('isthmus-scheduler isthmus:debug'), images.join());
    assert.ok(images.includes('isthmus-webhook isthmus@sha256:abc'), images.join());
  });

  it('makes no PodDisruptionBudget that would hold up every drain', async () => {
    const budgets = async (...values: string[]): Promise<readonly string[]> =>
      namesOf(await tools.render(values), 'PodDisruptionBudget');
    assert.equal((await budgets()).length, 5);
    assert.deepEqual(await budgets('defaults.replicas=1'), []);
    assert.deepEqual(await budgets('defaults.replicas=1', 'podDisruptionBudget.minAvailable=50%'), []);
    assert.deepEqual(await budgets('podDisruptionBudget.minAvailable=2', 'webhook.replicas=3'), ['isthmus-webhook']);
    assert.deepEqual(await budgets('podDisruptionBudget.minAvailable=60%', 'webhook.replicas=3'), ['isthmus-webhook']);
    assert.deepEqual(await budgets('podDisruptionBudget.minAvailable=100%'), []);
    assert.equal((await budgets('podDisruptionBudget.minAvailable=50%')).length, 5);
  });

  it('lets the webhook go on serving for as long as is set', async () => {
    const grace = async (...values: string[]) => new Map((await tools.render(values)).filter(isDeployment).map(
      ({ metadata, spec }) =>
        [metadata.name, (spec.template.spec as { readonly terminationGracePeriodSeconds?: number })
          .terminationGracePeriodSeconds],
    ));
    assert.deepEqual([...(await grace()).values()], Array.from({ length: 5 }, () => 30));
    const longer = await grace('webhook.drainSeconds=60');
    assert.deepEqual([longer.get('isthmus-webhook'), longer.get('isthmus-scheduler')], [80, 30]);
    assert.equal((await grace('webhook.drainSeconds=60', 'deploy=AllInOne')).get('isthmus'), 80);
  });

  it('says what the Job before an uninstall is like under its own name, and under that of Admiralty', async () => {
    const job = (
      await tools.render([
        'postDeleteJob.nodeSelector.disk=ssd', 'postDeleteJob.resources.limits.cpu=1',
        'preDeleteCheck.resources.limits.cpu=2',
      ])
    ).find(({ kind }) => kind === 'Job');
    const { nodeSelector, containers: [container] } =
      (job as unknown as Deployment).spec.template.spec as unknown as WorkloadPod;
    assert.deepEqual([nodeSelector, container.resources.limits.cpu], [{ disk: 'ssd' }, 2]);
  });

  it('gives the Job before an uninstall what all pods need to start in the cluster', async () => {
    const job = (
      await tools.render([
        'defaults.podSecurityContext.runAsUser=4242', 'defaults.securityContext.runAsGroup=17',
        'defaults.nodeSelector.pool=system', 'defaults.tolerations[0].key=dedicated',
        'defaults.podAnnotations.mesh=off', 'defaults.podLabels.team=platform',
      ])
    ).find(({ kind }) => kind === 'Job') as unknown as { readonly spec: { readonly template: KubernetesObject } };
    const { metadata: { annotations, labels }, spec } =
      job.spec.template as KubernetesObject & { readonly spec: WorkloadPod };
    const { nodeSelector, tolerations, securityContext, containers: [container] } = spec;
    assert.deepEqual({ annotations, team: labels?.['team'], nodeSelector, tolerations }, {
      annotations: { mesh: 'off' }, team: 'platform', nodeSelector: { pool: 'system' },
      tolerations: [{ key: 'dedicated' }],
    });
    assert.equal(securityContext.runAsUser, 4242);
    assert.ok(JSON.stringify(container.securityContext).includes('"runAsGroup":17'));
  });

  it("takes every value of Admiralty's that means the same, and it does what it says", async () => {
    const objects = await tools.render(
      [...ADMIRALTY_VALUES.taken.map(([path, value]) => `${path}=${value}`), 'serviceMonitor.enabled=true'],
    );
    const deployments = new Map(objects.filter(isDeployment).map((object) => [object.metadata.name, object.spec]));
    assert.deepEqual([...deployments].map(([name, { replicas }]) => `${name}=${replicas}`).toSorted(), [
      'isthmus-delegate-controller=3', 'isthmus-scheduler=4', 'isthmus-virtual-node=3', 'isthmus-webhook=3',
    ]);
    const preDelete = objects.find(({ kind }) => kind === 'Job') as unknown as Deployment | undefined;
    for (const [name, { template }] of [...deployments, ['the Job before an uninstall', preDelete!.spec] as const]) {
      const { nodeSelector, affinity, tolerations, imagePullSecrets, securityContext, containers: [container] } =
        template.spec as unknown as WorkloadPod;
      assert.deepEqual(
        { nodeSelector, affinity, imagePullSecrets },
        { nodeSelector: { disk: 'ssd' }, affinity: { nodeAffinity: { x: 'y' } }, imagePullSecrets: [{ name: 'pull' }] },
        name,
      );
      assert.ok(tolerations.some(({ key }) => key === 'dedicated'), name);
      assert.deepEqual(
        [container.image, container.imagePullPolicy, container.resources.limits.cpu],
        ['mirror/isthmus:v9', 'Always', 2], name,
      );
      assert.equal({ ...securityContext, ...container.securityContext }.runAsUser, 4242, name);
    }
    assert.deepEqual(
      namesOf(objects, 'Deployment').filter((name) => name.endsWith('peering')), [], 'sourceController.enabled=false',
    );
    const text = JSON.stringify(objects);
    assert.ok(argumentsOf(objects, 'isthmus-virtual-node').join(' ').includes(
      '--kubelet-signer beta.eks.amazonaws.com/app-serving',
    ));
    assert.ok(text.includes('"reinvocationPolicy":"Never"') && text.includes('"replacement":"c1"'));
  });

  it("refuses every other value of Admiralty's, and names it", async () => {
    for (const [path, value] of ADMIRALTY_VALUES.refused) {
      const named = path.split('.')
        .find((part) => !['controllerManager', 'scheduler', 'postDeleteJob', 'image'].includes(part)) ?? path;
      await assert.rejects(tools.render([`${path}=${value}`]), new RegExp(named), path);
    }
  });

  it('has cert-manager make the certificate, or takes a Secret', async () => {
    const objects = await tools.render(['webhook.certificate.source=CertManager']);
    assert.ok(argumentsOf(objects, 'isthmus-webhook').join(' ').endsWith('--webhook-certificate-secret isthmus-cert'));
    const annotated = objects.filter(({ kind }) => kind?.endsWith('WebhookConfiguration'))
      .map(({ metadata }) => metadata.annotations);
    assert.deepEqual(
      annotated, [0, 1].map(() => ({ 'cert-manager.io/inject-ca-from': 'isthmus-system/isthmus-webhook' })),
    );
    assert.deepEqual(
      [namesOf(objects, 'Issuer'), namesOf(objects, 'Certificate')], [['isthmus-selfsigned'], ['isthmus-webhook']],
    );
    const named = await tools.render([
      'webhook.certificate.source=CertManager', 'webhook.certificate.issuerRef.kind=ClusterIssuer',
      'webhook.certificate.issuerRef.name=ca',
    ]);
    assert.deepEqual(namesOf(named, 'Issuer'), []);
    assert.deepEqual(namesOf(await tools.render(['webhook.certificate.source=Secret']), 'Certificate'), []);
  });

  it('says where a webhook outside of the cluster is', async () => {
    const text = JSON.stringify(await tools.render(['webhook.url=https://hook.example:9443/mutate--v1-pod']));
    for (const path of ['mutate--v1-pod', 'validate--targets', 'validate--resourceshares']) {
      assert.ok(text.includes(`"url":"https://hook.example:9443/${path}"`), path);
    }
  });

  const refused: readonly [string, string, RegExp][] = [
    ['a value that does not exist', 'scheduler.replica=3', /replica/],
    ['a value of another type', 'defaults.replicas=many', /replicas/],
    ['a choice that there is not', 'webhook.failurePolicy=Maybe', /failurePolicy/],
    ['a webhook without TLS', 'webhook.url=http://hook', /url/],
    ['a broker beside a gateway', 'broker.enabled=true', /release and a namespace of its own/],
    [
      'a pod plane without the gateway', 'podPlane.enabled=true',
      /podPlane works through the gateway: set gateway.enabled=true/,
    ],
    [
      'service discovery without the gateway', 'serviceDiscovery.enabled=true',
      /serviceDiscovery works through the gateway/,
    ],
    ['a name of the page with a port', 'ui.enabled=true,ui.hosts[0]=isthmus.example.com:443', /hosts/],
    ['a name of the page with an empty label', 'ui.enabled=true,ui.hosts[0]=isthmus..com', /hosts/],
    ['a score that there is not', 'scheduler.scoreWeights.cheapest=2', /cheapest/],
    ['a weight above the highest', 'scheduler.scoreWeights.cost=101', /100/],
    [
      'what one Deployment would ignore', 'deploy=AllInOne,webhook.resources.limits.cpu=2',
      /webhook\.resources would be ignored: set controllerManager\.resources/,
    ],
    [
      'replicas of a scheduler that one Deployment would ignore', 'deploy=AllInOne,scheduler.replicas=3',
      /scheduler\.replicas would be ignored/,
    ],
  ];
  for (const [what, values, message] of refused) {
    it(`refuses ${what}`, () => assert.rejects(tools.render(values.split(',')), message));
  }

  it('tells the next command after an installation', async () => {
    const { stdout } = await tools.helm([
      'install', 'isthmus', CHART, '--namespace', 'isthmus-system', '--dry-run=client', '--hide-notes=false', '--set',
      'crds.enabled=false',
    ]);
    assert.match(stdout, /NOTES:[^]*isthmus invite[^]*isthmus join TOKEN[^]*kubectl label namespace/);
  });

  it('gives exec plugins a home, their names and what they are mounted from', async () => {
    const objects = await tools.render([
      'clusterTargets.execPlugins={aws,/opt/kubelogin}', 'clusterTargets.execEnvironment={NAMED}',
      'clusterTargets.tokenFolders={/var/run/secrets/targets}', 'serviceAccountAnnotations.role=reader',
      'defaults.extraVolumes[0].name=opt', 'defaults.extraVolumeMounts[0].name=opt',
      'defaults.extraVolumeMounts[0].mountPath=/opt',
    ]);
    const pods = objects.filter(isDeployment).map(({ spec }) => spec.template.spec as unknown as MountingPod);
    assert.equal(pods.length, 5);
    for (const { containers: [container], volumes } of pods) {
      const words = container?.args.join(' ') ?? '';
      assert.match(words, /--exec-plugins aws,\/opt\/kubelogin --exec-environment NAMED --token-folders \/var\/run/);
      assert.ok(container?.env.some(({ name, value }) => name === 'HOME' && value === '/tmp'));
      assert.deepEqual(container?.volumeMounts?.map(({ mountPath }) => mountPath), ['/opt', '/tmp']);
      assert.deepEqual(volumes?.map(({ name }) => name), ['opt', 'plugins-home']);
    }
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount')
      .filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined);
    assert.deepEqual(accounts.map(({ metadata }) => metadata.annotations), pods.map(() => ({ role: 'reader' })));
    const plain = await tools.render([]);
    assert.doesNotMatch(JSON.stringify(plain), /exec-plugins|plugins-home|"HOME"/);
  });

  it('gives the log level to every process', async () => {
    const one = ['gateway', 'serviceDiscovery', 'podPlane', 'ui', 'discovery'].map((part) => `${part}.enabled=true`);
    const broker = [
      'broker.enabled=true', ...['source', 'target', 'crds'].map((part) => `${part}.enabled=false`),
    ];
    const all = await Promise.all([one, [...one, 'deploy=AllInOne'], broker].map(
      (values) => tools.render([...values, 'logLevel=debug']),
    ));
    const ours = all.flat().filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet');
    assert.ok(ours.length >= 12, String(ours.length));
    for (const object of ours) {
      const args = (object as Deployment).spec.template.spec.containers[0]?.args ?? [];
      assert.equal(args[args.indexOf('--log-level') + 1], 'debug', object.metadata.name);
    }
  });

  it('passes helm lint', async () => {
    const { stdout, code } = await tools.helm(['lint', '--strict', CHART]);
    assert.equal(code, 0, stdout);
  });
});

const NEVER = new AbortController().signal;

describe('on a real API server', () => {
  let sandbox: Sandbox;
  let kubeconfig: string;
  const kubectl = (args: readonly string[], input?: string): Promise<Ended> =>
    tools.kubectl(args, { kubeconfig, ...(input !== undefined && { input }) });
  const succeeded = async (run: Promise<Ended>): Promise<Ended> => {
    const end = await run;
    assert.equal(end.code, 0, end.stderr);
    return end;
  };

  before(async () => {
    sandbox = await startChartSandbox(0);
    kubeconfig = sandbox.clusters[0]!.kubeconfigPath;
    await succeeded(kubectl(['create', 'namespace', 'isthmus-system']));
    await succeeded(
      kubectl([
        'label', 'namespace', 'isthmus-system', 'pod-security.kubernetes.io/enforce=restricted',
        'pod-security.kubernetes.io/warn=restricted',
      ]),
    );
    // what a dry run creates is not there for the objects in it
    for (const name of ['isthmus-pod-plane', 'isthmus-system-keys', 'isthmus-system-targets']) {
      await succeeded(kubectl(['create', 'namespace', name]));
    }
  });
  after(async () => {
    await sandbox?.stop();
    if (sandbox !== undefined) await rmdir(sandbox.dir);
  });

  const rendered = async (...values: string[]): Promise<string> => (await succeeded(
    tools.helm(['template', 'isthmus', CHART, '-n', 'isthmus-system', ...values.flatMap((value) => ['--set', value])]),
  )).stdout;
  const DRY_RUN = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];

  for (const values of [
    [],
    ['deploy=AllInOne', 'gateway.enabled=true', 'serviceDiscovery.enabled=true', 'webhook.url=https://hook.example'],
    ['ui.enabled=true'],
  ]) {
    it(`takes the chart with ${values.join(' ') || 'its defaults'} without an error or a warning, under PSS restricted`,
      async () => {
      const { stderr } = await succeeded(kubectl(DRY_RUN, await rendered(...values)));
      assert.equal(stderr, '');
    });
  }

  describe('that serves kinds of cert-manager and of the Prometheus operator', () => {
    before(async () => {
      const files = await ensureForeignDefinitions(environment(), deadline);
      await succeeded(kubectl(['create', ...files.flatMap((file) => ['-f', file])]));
      await succeeded(
        kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...files.flatMap((file) => ['-f', file])]),
      );
    });

    const MONITORING = [
      'serviceMonitor.enabled=true', 'serviceMonitor.labels.release=prometheus', 'prometheusRule.enabled=true',
      'prometheusRule.labels.release=prometheus', 'clusterName=here',
    ];
    const CERTIFICATE = ['webhook.certificate.source=CertManager'];
    const rows: Record<string, readonly [values: readonly string[], kinds: readonly string[]]> = {
      'metrics and alerts': [MONITORING, ['PrometheusRule', 'ServiceMonitor']],
      "cert-manager's certificate with an issuer of the chart": [CERTIFICATE, ['Certificate', 'Issuer']],
      'one with an issuer of the cluster': [
        [...CERTIFICATE, 'webhook.certificate.issuerRef.kind=ClusterIssuer', 'webhook.certificate.issuerRef.name=ca'],
        ['Certificate'],
      ],
    };
    for (const [what, [values, kinds]] of Object.entries(rows)) {
      it(`takes ${what} by the schemas of their owners, without an error or a warning`, async () => {
        const text = await rendered(...values);
        const foreign = documents(text).filter(({ apiVersion = '' }) => /cert-manager|coreos/.test(apiVersion))
          .map(({ kind }) => kind);
        assert.deepEqual(new Set(foreign), new Set(kinds));
        assert.equal((await succeeded(kubectl(DRY_RUN, text))).stderr, '');
      });
    }

    it("takes the Kustomize overlay with cert-manager's certificate likewise", async () => {
      const { stdout } = await succeeded(kubectl(['kustomize', join(KUSTOMIZE, 'overlays', 'both-cert-manager')]));
      assert.deepEqual(['Certificate', 'Issuer'].map((kind) => namesOf(documents(stdout), kind).length), [1, 1]);
      assert.equal((await succeeded(kubectl(DRY_RUN, stdout))).stderr, '');
    });

    const broken: Record<string, readonly [right: string, wrong: string, values: readonly string[], message: RegExp]> =
      {
      'a field of a ServiceMonitor that there is not': ['endpoints:', 'endpoint:', MONITORING, /endpoint/],
      'a duration of a PrometheusRule that is none': ['for: ', 'for: a while or ', MONITORING, /for/],
      'a field of a Certificate that there is not':
        ['secretName: isthmus-cert', 'secret: isthmus-cert', CERTIFICATE, /secret/],
      'an Issuer that issues in no way': ['spec: {selfSigned: {}}', 'spec: {selfSignd: {}}', CERTIFICATE, /selfSignd/],
    };
    for (const [what, [right, wrong, values, message]] of Object.entries(broken)) {
      it(`would refuse ${what}`, async () => {
        const text = await rendered(...values);
        assert.ok(text.includes(right), right);
        const { code, stderr } = await kubectl(DRY_RUN, text.replaceAll(right, wrong));
        assert.notEqual(code, 0);
        assert.match(stderr, message);
      });
    }
  });

  for (const overlay of ['source', 'target', 'both', 'gateway', 'clusterset', 'pod-plane']) {
    it(`takes the Kustomize overlay ${overlay} likewise`, async () => {
      const { stdout } = await succeeded(kubectl(['kustomize', join(KUSTOMIZE, 'overlays', overlay)]));
      assert.equal((await succeeded(kubectl(DRY_RUN, stdout))).stderr, '');
      assert.equal(
        documents(stdout).filter(isDeployment).every(
          ({ spec }) => spec.template.spec.containers[0]?.args.includes('--no-target') === (overlay === 'source'),
        ),
        true,
      );
    });
  }

  it('does not change when the same is applied again', async () => {
    const text = await rendered();
    const apply = ['apply', '--server-side', '--field-manager=gitops', '-f', '-'];
    const versions = async (): Promise<ReadonlyMap<string, unknown>> => {
      const { stdout } = await succeeded(kubectl([...apply, '-o', 'json'], text));
      const { items } = JSON.parse(stdout) as { readonly items: readonly KubernetesObject[] };
      // The status of definitions and deployments is written by others, who change the version; the generation follows
      // the spec.
      return new Map(
        items.map((object) => [nameOf(object), object.metadata.generation ?? object.metadata.resourceVersion]),
      );
    };
    const first = await versions();
    assert.ok(first.size > 50);
    assert.deepEqual(await versions(), first);
  });

  it('keeps the path that the webhook wrote into a URL, and another URL takes its place', async () => {
    const base = 'https://hook.example:9443';
    const kept = `${base}/${'0'.repeat(48)}/mutate--v1-pod`;
    const urlsOf = (text: string): readonly (string | undefined)[] => documents(text)
      .filter((object): object is WebhookConfiguration => object.kind === 'MutatingWebhookConfiguration')
      .flatMap(({ webhooks = [] }) => webhooks.map(({ clientConfig }) => clientConfig.url));
    const configuration = (await tools.render([`webhook.url=${base}`])).filter(
      ({ kind }) => kind === 'MutatingWebhookConfiguration',
    );
    const stored = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: configuration })
      .replace(`${base}/mutate--v1-pod"`, `${kept}"`);
    await succeeded(kubectl(['delete', 'mutatingwebhookconfigurations', '--all']));
    await succeeded(kubectl(['apply', '--server-side', '-f', '-'], stored));
    const upgraded = async (url: string): Promise<readonly (string | undefined)[]> => {
      const { stdout } = await succeeded(tools.helm(
        [
          'template', 'isthmus', CHART, '--namespace', 'isthmus-system', '--is-upgrade', '--dry-run=server', '--set',
          `webhook.url=${url}`,
        ],
        { kubeconfig },
      ));
      return urlsOf(stdout);
    };
    assert.deepEqual((await upgraded(base)).filter((url) => url?.includes('000')), [kept]);
    assert.ok((await upgraded(`${base}/mutate--v1-pod`)).includes(kept));
    assert.ok((await upgraded('https://other.example')).includes('https://other.example/mutate--v1-pod'));
  });

  it('explains every kind, and shows its columns', async () => {
    for (const { spec: { names } } of customResourceDefinitions()) {
      // An API server publishes the schema of a new kind in its own time.
      const { stdout } = await pollUntil(
        async () => (({ code, ...end }) => (code === 0 ? end : undefined))(await kubectl(['explain', names.plural])),
        { forMs: 60_000, everyMs: 200 }, NEVER,
      ) ?? { stdout: '' };
      assert.match(stdout, /DESCRIPTION:\n\s+\S/, names.plural);
      assert.doesNotMatch(stdout, /<empty>|<no description>/, names.plural);
      const { stdout: table } = await succeeded(kubectl(['get', names.plural, '-A', '-o', 'json']));
      assert.equal(JSON.parse(table).kind, 'List');
    }
  });
});

describe('a cluster of "isthmus install"', () => {
  let sandbox: Sandbox;
  let kubeconfig: string;
  const typed = (line: string, file = kubeconfig): Promise<Ended> =>
    tools.helm(line.replace('manifests/helm/isthmus', CHART).split(' ').slice(1), { kubeconfig: file });
  const [step = ''] = blocksOf(textOf('docs/install.md')).map(({ text }) => text.trim())
    .filter((text) => text.includes('--take-ownership'));
  const [take, force] = [' --take-ownership', ' --force-conflicts'];
  /** UIDs of what a change of hands must not recreate. */
  const uids = async (): Promise<string> => {
    const kinds = 'crds,clusterroles,mutatingwebhookconfigurations,validatingadmissionpolicies';
    const selector = Object.entries(PART_OF).map(([key, value]) => `${key}=${value}`).join(',');
    const path = 'jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid}{"\\n"}{end}';
    return (await tools.kubectl(['get', kinds, '-l', selector, '-o', path], { kubeconfig })).stdout;
  };

  before(async () => {
    sandbox = await startChartSandbox(1);
    kubeconfig = sandbox.clusters[0]!.kubeconfigPath;
    assert.equal((await isthmus('install', '--kubeconfig', kubeconfig)).code, 0);
  });
  after(async () => {
    await sandbox?.stop();
    if (sandbox !== undefined) await rmdir(sandbox.dir);
  });

  it('becomes one of the chart by the command of the page, each flag of which it needs', async () => {
    assert.ok(step.includes(take) && step.includes(force), step);
    const before = await uids();
    assert.ok(before.split('\n').length > 20, before);
    assert.match((await typed(step.replace(take, ''))).stderr, /cannot be imported into the current release/);
    assert.match((await typed(step.replace(force, ''))).stderr, /conflict with "isthmus-install"/);
    const { code, stderr } = await typed(step);
    assert.equal(code, 0, stderr);
    assert.equal(await uids(), before);
  });

  it('is upgraded without a flag, but for a value that "isthmus install" has written', async () => {
    const upgrade = step.replace(take, '').replace(force, '');
    assert.equal((await typed(upgrade)).code, 0);
    const changed = `${upgrade} --set webhook.failurePolicy=Ignore`;
    assert.match((await typed(changed)).stderr, /conflicts? with "isthmus-install"/);
    assert.equal((await typed(changed + force)).code, 0);
    assert.equal((await typed(changed)).code, 0, 'the field is of the release now');
  });

  describe('beside it, one in which helm is killed', () => {
    const blocks = blocksOf(textOf('docs/install.md')).map(({ text }) => text.trim());
    const [uninstall = '', rollback = ''] = blocks.find((text) => text.includes('helm rollback'))?.split('\n') ?? [];
    const install = step.replace(take, '').replace(force, '');
    const there = (line: string): Promise<Ended> => typed(line, sandbox.clusters[1]!.kubeconfigPath);
    /** Kills helm as soon as its record of the release says that it works. */
    const killed = async (status: string): Promise<void> => {
      const { kubeconfigPath } = sandbox.clusters[1]!;
      const [program, tool] = (await ensurePackagingTools(environment(), () => undefined, deadline)).helm;
      const [, ...words] = install.replace('manifests/helm/isthmus', CHART).split(' ');
      const child = spawn(program, [tool, ...words, '--create-namespace', '--kubeconfig', kubeconfigPath]);
      const pending = ['get', 'secrets', '-n', 'isthmus-system', '-l', `owner=helm,status=${status}`, '-o', 'name'];
      const look = async () => (await tools.kubectl(pending, { kubeconfig: kubeconfigPath })).stdout || undefined;
      await pollUntil(look, { forMs: 60_000, everyMs: 10 }, NEVER);
      child.kill('SIGKILL');
      await once(child, 'close');
      assert.ok(await look(), `helm ended before it was killed while ${status}`);
    };

    for (const [status, remedy] of [['pending-install', uninstall], ['pending-upgrade', rollback]] as const) {
      it(`goes on after ${status} by "${remedy}"`, async () => {
        await killed(status);
        assert.match((await there(install)).stderr, /another operation \(install\/upgrade\/rollback\) is in progress/);
        for (const line of [remedy, install]) {
          const { code, stderr } = await there(line);
          assert.equal(code, 0, `${line}: ${stderr}`);
        }
      });
    }
  });
});

describe('the file set of the image', () => {
  let folder: string;
  let command: Awaited<ReturnType<typeof makeImageFiles>>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'isthmus-image-'));
    command = await makeImageFiles(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('has the packages that run and no others', async () => {
    const { dependencies, devDependencies } = JSON.parse(
      await readFile(join(folder, 'package.json'), 'utf8'),
    ) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
    const isThere = (name: string): boolean => existsSync(join(folder, 'node_modules', name, 'package.json'));
    assert.deepEqual(Object.keys(dependencies).filter((name) => !isThere(name)), []);
    // types of others come along with packages that run
    assert.deepEqual(Object.keys(devDependencies).filter((name) => isThere(name) && !name.startsWith('@types/')), []);
    assert.deepEqual(
      (await readdir(join(folder, 'build'))).filter((name) => name === 'test' || name === 'benchmarks'), [],
    );
  });

  it('prints the version with the command line of the image', async () => {
    const [program, ...args] = command(['version']);
    const { stdout } = await promisify(execFile)(program, args, { cwd: '/', env: { NODE_ENV: 'production' } });
    assert.equal(stdout.trim(), version());
  });
});
