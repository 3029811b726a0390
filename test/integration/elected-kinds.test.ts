// Every kind of workload of docs/workloads.md on real control planes: what the page says is what happens.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { ADMIRALTY_PREFIX, ELECT_ANNOTATION, PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_SOURCES, CONFIG_MAPS, DEPLOYMENTS, PODS, SECRETS, SERVICE_ACCOUNTS,
} from '../../api/resource-types.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { runForAnnotation } from '../../sandbox/plan/kwok-stages.ts';
import { textOf } from '../support/docs/documented-blocks.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld,
} from '../support/worlds/isthmus-world.ts';

const NAMESPACE = 'workload-kinds';
const FOR_MS = 60_000;

const kind = (group: string, plural: string, name: string, namespaced = true): ResourceType =>
  ({ group, version: 'v1', plural, kind: name, namespaced });
const JOBS = kind('batch', 'jobs', 'Job');
const CRON_JOBS = kind('batch', 'cronjobs', 'CronJob');
const STATEFUL_SETS = kind('apps', 'statefulsets', 'StatefulSet');
const DAEMON_SETS = kind('apps', 'daemonsets', 'DaemonSet');
const PRIORITY_CLASSES = kind('scheduling.k8s.io', 'priorityclasses', 'PriorityClass', false);
const RUNTIME_CLASSES = kind('node.k8s.io', 'runtimeclasses', 'RuntimeClass', false);
const PERSISTENT_VOLUMES = kind('', 'persistentvolumes', 'PersistentVolume', false);
const DISRUPTION_BUDGETS = kind('policy', 'poddisruptionbudgets', 'PodDisruptionBudget');
const PERSISTENT_VOLUME_CLAIMS = kind('', 'persistentvolumeclaims', 'PersistentVolumeClaim');

let world: IsthmusWorld;
before(async () => {
  world = await startWorld({ targets: 2, nodes: 2, sourceNodes: 1, gpus: 2 });
  await makeNamespace(world, NAMESPACE);
  // as "isthmus peer" grants unless told otherwise
  for (const { client } of world.targets) {
    for (const { metadata: { name = '' } } of await client.list(CLUSTER_SOURCES)) {
      await client.patch(
        CLUSTER_SOURCES, { name }, { patchType: 'merge', patch: { spec: { podSecurity: 'baseline' } } },
      );
    }
  }
}, { timeout: 300_000 });
after(() => world?.stop());

const container = { name: 'main', image: 'example/main:1' };

function template(app: string, spec: object = {}, runsFor = '24h'): object {
  const annotations = { [ELECT_ANNOTATION]: '', [runForAnnotation]: runsFor };
  return { metadata: { labels: { app }, annotations }, spec: { containers: [container], ...spec } };
}

async function create(type: ResourceType, name: string, object: object): Promise<void> {
  const { metadata, ...rest } = object as Partial<KubernetesObject>;
  const at = type.namespaced ? { namespace: NAMESPACE, name } : { name };
  await world.source.client.create(type, { ...rest, metadata: { ...metadata, ...at } });
}

async function createInTargets(type: ResourceType, name: string, object: object): Promise<void> {
  for (const { client } of world.targets) await client.create(type, { ...object, metadata: { name } });
}

const createPod = (name: string, spec: object = {}): Promise<void> => create(PODS, name, template(name, spec));

const ON_LINUX = { nodeSelector: { 'kubernetes.io/os': 'linux' } };

function patchPod(name: string, spec: object): Promise<unknown> {
  return world.source.client.patch(PODS, { namespace: NAMESPACE, name }, { patchType: 'merge', patch: { spec } });
}

function proxies(app: string): readonly Pod[] {
  return inNamespace(world.source.pods.objects, NAMESPACE).filter(({ metadata }) => metadata.labels?.['app'] === app);
}

function delegatesOf(app: string): readonly Pod[] {
  const uids = new Set(proxies(app).map(({ metadata }) => metadata.uid));
  return world.targets.flatMap(({ pods }) => inNamespace(pods.objects, NAMESPACE))
    .filter(({ metadata }) => uids.has(metadata.labels?.[PARENT_UID_LABEL]));
}

const until = (what: string, holds: () => boolean): Promise<unknown> =>
  world.source.pods.until(what, holds, FOR_MS);

/** So many pods run on virtual nodes, each with one delegate. */
async function run(app: string, count = 1): Promise<void> {
  const isRemote = ({ spec }: Pod) => spec.nodeName?.startsWith('admiralty-') === true;
  await until(
    `${count} of ${app} run`, () => proxies(app).filter((pod) => isRunning(pod) && isRemote(pod)).length === count,
  );
  // the watch of a target may show them later than the proxies do
  await looked(
    `${count} delegates of ${app}`, async () => delegatesOf(app).filter(isRunning).length === count || undefined,
  );
}

/** No target takes the pod, and its condition says why. */
async function isRefused(app: string, why: RegExp): Promise<void> {
  const told = () => findCondition(proxies(app)[0]?.status?.conditions, 'PodScheduled');
  await until(`${app} is refused: ${why}`, () => told()?.status === 'False' && why.test(told()?.message ?? ''));
  assert.deepEqual(delegatesOf(app).filter(isRunning), []);
}

async function looked<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const found = await pollUntil(() => look().catch(() => undefined), { forMs: 2 * FOR_MS, everyMs: 200 }, world.signal);
  assert.ok(found !== undefined, what);
  return found;
}

const jobIsComplete = (name: string) => looked(`${name} is complete`, async () => {
  const jobs: readonly (KubernetesObject & Pick<Pod, 'status'>)[] =
    await world.source.client.list(JOBS, { namespace: NAMESPACE });
  return jobs.find(({ metadata, status }) => metadata.name?.startsWith(name) === true
    && findCondition(status?.conditions, 'Complete')?.status === 'True');
});

/** The object is in the target of the pod. */
const follows = (type: ResourceType, name: string) => looked(`${name} follows`, () =>
  Promise.any(world.targets.map(({ client }) => client.get(type, { namespace: NAMESPACE, name }))));

function unlessUnknownClass(error: unknown): undefined {
  assert.match(String(error), /no PriorityClass with name/);
}

function evict(client: ClusterClient, name: string): Promise<unknown> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}/eviction`;
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace: NAMESPACE, name } };
  return client.transport.call({ method: 'POST', path, body });
}

const isHeldUp = (error: unknown): boolean => error instanceof ApiError && error.status === 429;

/** What each row of the page is like: the workload is made, and what the page says is awaited. */
const WORKLOADS: Readonly<Record<string, () => Promise<void>>> = {
  'bare pod': async () => {
    await createPod('bare', ON_LINUX);
    await run('bare');
    await assert.rejects(patchPod('bare', ON_LINUX), /pod updates may not change fields/);
    await world.source.client.delete(PODS, { namespace: NAMESPACE, name: 'bare' });
    await until('it is gone', () => proxies('bare').length === 0);
  },
  'Deployment': async () => {
    const selector = { matchLabels: { app: 'web' } };
    await create(DEPLOYMENTS, 'web', { spec: { replicas: 3, selector, template: template('web') } });
    await run('web', 3);
    const [first] = proxies('web');
    await world.source.client.delete(PODS, { namespace: NAMESPACE, name: first?.metadata.name ?? '' });
    await until('another pod', () => proxies('web').every(({ metadata }) => metadata.uid !== first?.metadata.uid));
    await run('web', 3);
  },
  'StatefulSet': async () => {
    const selector = { matchLabels: { app: 'db' } };
    await create(STATEFUL_SETS, 'db', { spec: { replicas: 2, serviceName: 'db', selector, template: template('db') } });
    await run('db', 2);
    assert.deepEqual(new Set(proxies('db').map(({ metadata }) => metadata.name)), new Set(['db-0', 'db-1']));
  },
  'Job': async () => {
    await create(
      JOBS, 'job', { spec: { completions: 2, template: template('job', { restartPolicy: 'Never' }, '1s') } },
    );
    await jobIsComplete('job');
  },
  'CronJob': async () => {
    const jobTemplate = { spec: { template: template('cron', { restartPolicy: 'Never' }, '1s') } };
    await create(CRON_JOBS, 'cron', { spec: { schedule: '* * * * *', concurrencyPolicy: 'Forbid', jobTemplate } });
    await jobIsComplete('cron-');
  },
  'DaemonSet': async () => {
    const of = (app: string, pod: object) => ({ spec: { selector: { matchLabels: { app } }, template: pod } });
    await create(
      DAEMON_SETS, 'agent', of('agent', { metadata: { labels: { app: 'agent' } }, spec: { containers: [container] } }),
    );
    await until('one pod, on the node of the source', () => proxies('agent').filter(isRunning).length === 1);
    assert.ok(proxies('agent').every(({ spec }) => spec.nodeName?.startsWith('admiralty-') === false));
    await create(DAEMON_SETS, 'elected-agent', of('elected-agent', template('elected-agent')));
    await looked(
      'it is told', async () => (await eventsAbout('DaemonSet')).find(
        ({ note }) => /elected-agent belongs to one node of this cluster/.test(note ?? ''),
      ),
    );
    assert.deepEqual(proxies('elected-agent'), []);
  },
  'init containers and sidecars': async () => {
    const sidecar = { name: 'sidecar', image: 'example/sidecar:1', restartPolicy: 'Always' };
    await createPod('inits', { initContainers: [{ name: 'first', image: 'example/first:1' }, sidecar] });
    await run('inits');
    const shown = proxies('inits')[0]?.status?.initContainerStatuses?.map(({ name }) => name);
    assert.deepEqual(shown, ['first', 'sidecar']);
  },
  'pod with scheduling gates': async () => {
    await createPod('gated', { schedulingGates: [{ name: 'example.com/wait' }] });
    const isGated = () => findCondition(proxies('gated')[0]?.status?.conditions, 'PodScheduled')?.reason;
    await until('it is gated', () => isGated() === 'SchedulingGated');
    assert.deepEqual(world.targets.flatMap(({ chaperons }) => inNamespace(chaperons.objects, NAMESPACE))
      .filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxies('gated')[0]?.metadata.uid), []);
    await patchPod('gated', ON_LINUX);
    await patchPod('gated', { schedulingGates: [] });
    await run('gated');
    assert.equal(delegatesOf('gated')[0]?.spec.nodeSelector, undefined);
  },
  'PodDisruptionBudget': async () => {
    await createPod('guarded');
    await run('guarded');
    const [delegate] = delegatesOf('guarded');
    const target = world.targets.find(({ pods }) => pods.objects.includes(delegate!))!;
    const budget = (key: string): object =>
      ({ spec: { minAvailable: 1, selector: { matchLabels: { [key]: 'guarded' } } } });
    await create(DISRUPTION_BUDGETS, 'guarded', budget('app'));
    await assert.rejects(evict(world.source.client, 'guarded'), isHeldUp);
    const name = delegate?.metadata.name ?? '';
    const metadata = { namespace: NAMESPACE, name: 'guarded' };
    await target.client.create(DISRUPTION_BUDGETS, { ...budget(`${ADMIRALTY_PREFIX}app`), metadata });
    await assert.rejects(evict(target.client, name), isHeldUp);
    await target.client.delete(DISRUPTION_BUDGETS, metadata);
    await evict(target.client, name);
    await until('it is gone', () => proxies('guarded').length === 0);
  },
  'pod with `nodeName`': () =>
    assert.rejects(createPod('named', { nodeName: 'some-node' }), /spec\.nodeName is set.*remove spec\.nodeName/),
  'pod with GPUs': async () => {
    const resources = { limits: { 'nvidia.com/gpu': '2' } };
    await createPod('gpus', { containers: [{ ...container, resources }] });
    await run('gpus');
    const more = { limits: { 'nvidia.com/gpu': '3' } };
    await createPod('more-gpus', { containers: [{ ...container, resources: more }] });
    await isRefused('more-gpus', /InsufficientResources/);
  },
  'pod with a PersistentVolumeClaim': async () => {
    await createPod('claims', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] });
    await isRefused('claims', /persistentvolumeclaim "data" not found/);
    const size = { storage: '1Gi' };
    const { client } = world.targets[1];
    await client.create(PERSISTENT_VOLUMES, {
      metadata: { name: 'data' },
      spec: {
        capacity: size, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' }, storageClassName: '',
        claimRef: { namespace: NAMESPACE, name: 'data' },
      },
    } as KubernetesObject);
    await client.create(PERSISTENT_VOLUME_CLAIMS, {
      metadata: { namespace: NAMESPACE, name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', volumeName: 'data', resources: { requests: size } },
    } as KubernetesObject);
    await run('claims');
  },
  'pod with `hostPath`': async () => {
    await createPod('host-path', { volumes: [{ name: 'host', hostPath: { path: '/' } }] });
    await isRefused('host-path', /PodSecurity/);
  },
  'pod with `hostNetwork`': async () => {
    await createPod('host-network', { hostNetwork: true });
    await isRefused('host-network', /PodSecurity/);
  },
  'ServiceAccount that the target lacks': async () => {
    await create(SERVICE_ACCOUNTS, 'builder', {});
    await createPod('account', { serviceAccountName: 'builder' });
    await isRefused('account', /serviceaccount "builder" not found/);
  },
  'PriorityClass that the target lacks': async () => {
    await create(PRIORITY_CLASSES, 'urgent', { value: 1_000, preemptionPolicy: 'Never' });
    // the admission of an API server learns of a class a moment after it was made
    const made = await pollUntil(
      () => createPod('priority', { priorityClassName: 'urgent' }).then(() => true, unlessUnknownClass),
      { forMs: FOR_MS, everyMs: 100 }, world.signal,
    );
    assert.ok(made, 'the class is known');
    await isRefused('priority', /no PriorityClass with name urgent was found/);
    await createInTargets(PRIORITY_CLASSES, 'urgent', { value: 7 }); // which preempts, as the source's does not
    await run('priority');
  },
  'RuntimeClass that the target lacks': async () => {
    await create(RUNTIME_CLASSES, 'sealed', { handler: 'sealed', overhead: { podFixed: { cpu: '250m' } } });
    await createPod('runtime', { runtimeClassName: 'sealed' });
    await isRefused('runtime', /RuntimeClass "sealed" not found/);
    await createInTargets(RUNTIME_CLASSES, 'sealed', { handler: 'sealed', overhead: { podFixed: { cpu: '100m' } } });
    await run('runtime');
    assert.deepEqual(delegatesOf('runtime')[0]?.spec.overhead, { cpu: '100m' });
  },
  'pull Secret that the source lacks': async () => {
    await createPod('pulls', { imagePullSecrets: [{ name: 'registry' }] });
    await run('pulls');
    const data = { '.dockerconfigjson': Buffer.from('{"auths":{}}').toString('base64') };
    await create(SECRETS, 'registry', { type: 'kubernetes.io/dockerconfigjson', data });
    await follows(SECRETS, 'registry');
  },
  'ConfigMap that the source lacks': async () => {
    await createPod(
      'configured', { containers: [{ ...container, envFrom: [{ configMapRef: { name: 'settings' } }] }] },
    );
    await looked('it is sent', async () => delegatesOf('configured').length === 1 || undefined);
    await create(CONFIG_MAPS, 'settings', { data: { a: '1' } });
    await follows(CONFIG_MAPS, 'settings');
  },
  'pod with resource claims': async () => {
    const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 'one-gpu' }];
    await createPod('claimant', { resourceClaims });
    const uid = () => proxies('claimant')[0]?.metadata.uid;
    const asked = () => world.targets.filter(({ chaperons }) =>
      chaperons.history.some(({ after: sent }) => sent?.metadata.labels?.[PARENT_UID_LABEL] === uid()));
    await looked('each target is asked in turn', async () => (asked().length === 2 ? true : undefined));
    const told = () => findCondition(proxies('claimant')[0]?.status?.conditions, 'PodScheduled')?.reason;
    await until('it is told what it waits for', () => told() === 'AwaitingVerdict');
  },
  '`kubectl debug` of an elected pod': async () => {
    await createPod('debugged');
    await run('debugged');
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/debugged/ephemeralcontainers`;
    const body = { spec: { ephemeralContainers: [{ name: 'debug', image: 'example/debug:1' }] } };
    const contentType = 'application/strategic-merge-patch+json';
    await assert.rejects(
      world.source.client.transport.call({ method: 'PATCH', path, body, contentType }),
      /ephemeral containers are not carried/,
    );
    // what kubectl makes of --copy-to NAME --keep-annotations --keep-labels
    const { metadata: { labels, annotations }, spec: { nodeName: _nodeName, ...spec } } = proxies('debugged')[0]!;
    const containers = [...spec.containers, { name: 'debug', image: 'example/debug:1' }];
    await create(PODS, 'copy', {
      metadata: { labels: { ...labels, app: 'copy' }, annotations }, spec: { ...spec, containers },
    });
    await run('copy');
  },
  'in-place resize of an elected pod': async () => {
    const resources = { requests: { cpu: '100m' } };
    await createPod('resized', { containers: [{ ...container, resources }] });
    await run('resized');
    // A kubelet that can resize tells what containers have; API servers ask for that.
    const [delegate] = delegatesOf('resized');
    const target = world.targets.find(({ pods }) => pods.objects.includes(delegate!));
    const [main] = delegate?.status?.containerStatuses ?? [];
    await target?.client.patch(
      PODS, { namespace: NAMESPACE, name: delegate?.metadata.name ?? '', subresource: 'status' },
      { patchType: 'strategic', patch: { status: { containerStatuses: [{ ...main, resources }] } } },
    );
    await until('it is shown', () => JSON.stringify(proxies('resized')[0]?.status?.containerStatuses).includes('100m'));
    await world.source.client.patch(PODS, { namespace: NAMESPACE, name: 'resized', subresource: 'resize' }, {
      patchType: 'strategic', patch: {
        spec: { containers: [{ name: 'main', resources: { requests: { cpu: '200m' } } }] },
      },
    });
    await looked('it is resized', async () => (
      delegatesOf('resized')[0]?.spec.containers[0]?.resources?.requests?.['cpu'] === '200m' ? true : undefined));
  },
};

interface Told extends KubernetesObject {
  readonly note?: string;
  readonly regarding?: { readonly kind?: string };
}

async function eventsAbout(about: string): Promise<readonly Told[]> {
  const type: ResourceType<Told> = {
    group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event', namespaced: true,
  };
  const events = await world.source.client.list(type, { namespace: NAMESPACE });
  return events.filter(({ regarding }) => regarding?.kind === about);
}

describe('a workload', { concurrency: true, timeout: 240_000 }, () => {
  for (const [workload, holds] of Object.entries(WORKLOADS)) it(`${workload}: is as the page says`, holds);
});

it('the page of workloads has a row for each that is tested, and for no other', () => {
  const [table = ''] = textOf('docs/workloads.md').split('\n## ', 1);
  const [, ...rows] = [...table.matchAll(/^\| (.+?) \|/gm)].map(([, first]) => first);
  assert.deepEqual(rows, Object.keys(WORKLOADS));
});
