// `npm run soak -- workloads`: what users run ends as it would in one cluster. The same manifests are applied twice in
// the source, in a namespace whose pods are elected and in one whose pods stay and run on nodes of the source's own,
// the same is done to both, and what the controllers of Kubernetes say of them in the end is compared.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { DEPLOYMENTS, NAMESPACES, PODS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { isProxyPod } from '../../../model/pod/pod.ts';
import { runForAnnotation } from '../../../sandbox/plan/kwok-stages.ts';
import { inNamespace, startWorld, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { endWorld } from '../../support/history/world-invariants.ts';

const ELECTED = 'elected';
const CONTROL = 'one-cluster';
const MANAGER = 'isthmus-test';
const POLLING = { forMs: 300_000, everyMs: 250 };

const JOBS = kind('batch', 'jobs', 'Job');
const CRON_JOBS = kind('batch', 'cronjobs', 'CronJob');
const STATEFUL_SETS = kind('apps', 'statefulsets', 'StatefulSet');
const REPLICA_SETS = kind('apps', 'replicasets', 'ReplicaSet');
const SERVICES = kind('', 'services', 'Service');

function kind(group: string, plural: string, name: string): ResourceType<Made> {
  return { group, version: 'v1', plural, kind: name, namespaced: true };
}

/** What a controller says of an object. */
interface Made extends KubernetesObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

let world: IsthmusWorld;

before(async () => {
  world = await startWorld({ targets: 2, nodes: 3, sourceNodes: 3 });
  const { client } = world.source;
  await client.apply(
    NAMESPACES, { metadata: { name: ELECTED, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } }, MANAGER,
  );
  await client.apply(NAMESPACES, { metadata: { name: CONTROL } }, MANAGER);
  for (const target of world.targets) await target.client.apply(NAMESPACES, { metadata: { name: ELECTED } }, MANAGER);
});
after(() => endWorld(world));

/**
 * A template whose pods are elected in the one namespace and not in the other: the annotation says it, and only there
 * it counts.
 */
function template(
  app: string, more: { readonly runFor?: string; readonly version?: number; readonly spec?: object } = {},
) {
  const { runFor, version = 1, spec } = more;
  const annotations = { [ELECT_ANNOTATION]: '', ...(runFor !== undefined && { [runForAnnotation]: runFor }) };
  const container =
    { name: 'main', image: `example/main:${version}`, resources: { requests: { cpu: '50m', memory: '32Mi' } } };
  return { metadata: { labels: { app }, annotations }, spec: { containers: [container], ...spec } };
}

/** Makes the same in both namespaces. */
async function applyBoth<T extends KubernetesObject>(type: ResourceType<T>, object: T): Promise<void> {
  for (const namespace of [ELECTED, CONTROL]) {
    await world.source.client.apply(type, { ...object, metadata: { ...object.metadata, namespace } }, MANAGER);
  }
}

/** What `look` gives of each namespace once `isDone` holds of both; the control run last. */
async function inBoth<T>(
  what: string, look: (namespace: string) => Promise<T>, isDone: (seen: T) => boolean,
): Promise<readonly [elected: T, control: T]> {
  const ends: T[] = [];
  for (const namespace of [ELECTED, CONTROL]) {
    let last: T | undefined;
    const end =
      await pollUntil(async () => (isDone((last = await look(namespace))) ? last : undefined), POLLING, world.signal);
    assert.ok(end !== undefined, `${namespace}: not ${what}, but ${JSON.stringify(last)}`);
    ends.push(end);
  }
  return [ends[0]!, ends[1]!];
}

const read = (type: ResourceType<Made>, name: string) =>
  (namespace: string) => world.source.client.get(type, { namespace, name });
const podsOf = (namespace: string, app: string): Pod[] =>
  inNamespace(world.source.pods.objects, namespace).filter(({ metadata }) => metadata.labels?.['app'] === app);

interface ContainerState {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: object;
}

/** What of a pod must be alike in both: not who it is, where it is or when. */
function shapeOf({ metadata, spec, status }: Pod, named: boolean): object {
  return {
    ...(named && { name: metadata.name }),
    owners: metadata.ownerReferences?.map((owner) => owner.kind),
    images: spec.containers.map(({ image }) => image),
    phase: status?.phase,
    conditions: Object.fromEntries((status?.conditions ?? []).map(({ type, status: value }) => [type, value])),
    containers: status?.containerStatuses?.map((container) => {
      const { name, ready, restartCount, state } = container as ContainerState;
      return { name, ready, restartCount, state: Object.keys(state ?? {}) };
    }),
  };
}

function shapes(namespace: string, app: string, { named = false } = {}): object[] {
  const texts = podsOf(namespace, app).map((pod) => JSON.stringify(shapeOf(pod, named)));
  return texts.toSorted().map((text) => JSON.parse(text) as object);
}

/** Both have ended alike: what the controllers say, and the pods that are there. */
function assertAlike(app: string, ends: readonly [unknown, unknown], options: { readonly named?: boolean } = {}): void {
  assert.deepEqual(ends[0], ends[1]);
  assert.deepEqual(shapes(ELECTED, app, options), shapes(CONTROL, app, options));
  assert.ok(podsOf(ELECTED, app).every(isProxyPod), 'those of the one run elsewhere');
  assert.ok(!podsOf(CONTROL, app).some(isProxyPod), 'those of the other run here');
}

/** Resolves once the pods of an app are as many as should be, each in that phase. */
async function untilPods(app: string, count: number, phase: string): Promise<void> {
  await inBoth(
    `${count} ${phase}`, async (namespace) => podsOf(namespace, app).map(({ status }) => status?.phase),
    (phases) => phases.length === count && phases.every((one) => one === phase),
  );
}

const pick = <F extends string>(object: Readonly<Record<string, unknown>> | undefined, ...fields: F[]) =>
  Object.fromEntries(fields.map((field) => [field, object?.[field]])) as Record<F, unknown>;
const trueConditions = (status: Made['status']) => (
  (status?.['conditions'] ?? []) as { type: string; status: string }[]
).filter((one) => one.status === 'True').map(({ type }) => type).toSorted();

function told(what: string, end: unknown): void {
  process.stdout.write(`${JSON.stringify({ what, end })}\n`);
}

describe('what ends as in one cluster', () => {
  it('a Job with 50 completions', async () => {
    const spec = {
      completions: 50, parallelism: 10, backoffLimit: 0,
      template: template('job', { runFor: '1s', spec: { restartPolicy: 'Never' } }),
    };
    await applyBoth(JOBS, { metadata: { name: 'job' }, spec });
    const look = async (namespace: string) => {
      const { status } = await read(JOBS, 'job')(namespace);
      return { ...pick(status, 'succeeded', 'failed', 'active', 'ready'), true: trueConditions(status) };
    };
    const ends = await inBoth('complete', look, (end) => end.true.includes('Complete'));
    await untilPods('job', 50, 'Succeeded');
    assertAlike('job', ends);
    told('Job with 50 completions', ends[0]);
  });

  it('a Job with indexed completions, whose pods keep their index', async () => {
    const spec = {
      completions: 5, parallelism: 5, completionMode: 'Indexed', backoffLimit: 0,
      template: template('indexed', { runFor: '1s', spec: { restartPolicy: 'Never' } }),
    };
    await applyBoth(JOBS, { metadata: { name: 'indexed' }, spec });
    const look = async (namespace: string) =>
      pick((await read(JOBS, 'indexed')(namespace)).status, 'succeeded', 'completedIndexes', 'failed');
    const ends = await inBoth('complete', look, (end) => end['succeeded'] === 5);
    await untilPods('indexed', 5, 'Succeeded');
    assertAlike('indexed', ends);
  });

  it('a StatefulSet with five replicas that is rolled twice', async () => {
    await applyBoth(SERVICES, {
      metadata: { name: 'db' }, spec: { clusterIP: 'None', selector: { app: 'db' }, ports: [{ port: 80 }] },
    });
    for (const version of [1, 2, 3]) {
      const spec = {
        replicas: 5, serviceName: 'db', selector: { matchLabels: { app: 'db' } }, template: template('db', { version }),
      };
      await applyBoth(STATEFUL_SETS, { metadata: { name: 'db' }, spec });
      const look = async (namespace: string) => {
        const { metadata, status } = await read(STATEFUL_SETS, 'db')(namespace);
        const { currentRevision, updateRevision, observedGeneration } = status ?? {};
        return {
          ...pick(status, 'replicas', 'readyReplicas', 'availableReplicas', 'updatedReplicas', 'currentReplicas'),
          seen: observedGeneration === (metadata as { generation?: number }).generation,
          rolled: currentRevision === updateRevision,
        };
      };
      const ends = await inBoth(
        `version ${version}`, look,
        (end) => end.seen && end.rolled && end['readyReplicas'] === 5 && end['updatedReplicas'] === 5,
      );
      await untilPods('db', 5, 'Running');
      assertAlike('db', ends, { named: true });
      told(`StatefulSet, version ${version}`, ends[0]);
    }
  });

  it('a Deployment that is rolled twice', async () => {
    for (const version of [1, 2, 3]) {
      const spec = { replicas: 6, selector: { matchLabels: { app: 'web' } }, template: template('web', { version }) };
      await applyBoth(DEPLOYMENTS as ResourceType<Made>, { metadata: { name: 'web' }, spec });
      const look = async (namespace: string) => {
        const { metadata, status } = (await world.source.client.get(DEPLOYMENTS, { namespace, name: 'web' })) as Made;
        const sets = inNamespace(await world.source.client.list(REPLICA_SETS, { namespace }), namespace).filter(
          (set) => set.metadata.labels?.['app'] === 'web',
        );
        return {
          ...pick(status, 'replicas', 'readyReplicas', 'availableReplicas', 'updatedReplicas'),
          true: trueConditions(status),
          seen: status?.['observedGeneration'] === (metadata as { generation?: number }).generation,
          revision: metadata.annotations?.['deployment.kubernetes.io/revision'],
          sets: sets.map((set) => Number(set.status?.['replicas'] ?? 0)).toSorted((one, other) => one - other),
        };
      };
      const ends = await inBoth(
        `version ${version}`, look,
        (end) =>
          end.seen && end['updatedReplicas'] === 6 && end['readyReplicas'] === 6 && end['replicas'] === 6
            && end.sets.at(-1) === 6,
      );
      await untilPods('web', 6, 'Running');
      assertAlike('web', ends);
      told(`Deployment, version ${version}`, ends[0]);
    }
  });

  it('a CronJob', async () => {
    const jobTemplate =
      { spec: { backoffLimit: 0, template: template('cron', { runFor: '1s', spec: { restartPolicy: 'Never' } }) } };
    await applyBoth(CRON_JOBS, {
      metadata: { name: 'cron' }, spec: { schedule: '* * * * *', successfulJobsHistoryLimit: 1, jobTemplate },
    });
    const look = async (namespace: string) => {
      const { status } = await read(CRON_JOBS, 'cron')(namespace);
      const jobs = (await world.source.client.list(JOBS, { namespace })).filter(
        ({ metadata }) => metadata.name?.startsWith('cron-'),
      );
      return {
        successes: status?.['lastSuccessfulTime'] !== undefined,
        jobs: jobs.map((job) => ({ ...pick(job.status, 'succeeded', 'failed'), true: trueConditions(job.status) })),
      };
    };
    const ends = await inBoth(
      'a success', look,
      (end) => end.successes && end.jobs.length === 1 && end.jobs[0]?.true.includes('Complete') === true,
    );
    assert.deepEqual(ends[0], ends[1]);
    for (const namespace of [ELECTED, CONTROL]) await world.source.client.patch(
      CRON_JOBS, { namespace, name: 'cron' }, { patchType: 'merge', patch: { spec: { suspend: true } } },
    );
    told('CronJob', ends[0]);
  });

  it('a bare pod', async () => {
    const { metadata, spec } = template('bare');
    for (const namespace of [ELECTED, CONTROL]) {
      await world.source.client.create(PODS, { metadata: { ...metadata, namespace, name: 'bare' }, spec } as Pod);
    }
    await untilPods('bare', 1, 'Running');
    assertAlike('bare', [true, true], { named: true });
  });

  it('a bare pod that ends', async () => {
    const { metadata, spec } = template('ends', { runFor: '1s', spec: { restartPolicy: 'OnFailure' } });
    for (const namespace of [ELECTED, CONTROL]) {
      await world.source.client.create(PODS, { metadata: { ...metadata, namespace, name: 'ends' }, spec } as Pod);
    }
    await untilPods('ends', 1, 'Succeeded');
    assertAlike('ends', [true, true], { named: true });
  });

  it('a pod with scheduling gates, which waits until they are gone', async () => {
    const { metadata, spec } =
      template('gated', { spec: { schedulingGates: [{ name: 'example.com/quota' }, { name: 'example.com/order' }] } });
    for (const namespace of [ELECTED, CONTROL]) {
      await world.source.client.create(PODS, { metadata: { ...metadata, namespace, name: 'gated' }, spec } as Pod);
    }
    const reason = async (namespace: string) =>
      podsOf(namespace, 'gated')[0]?.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.reason;
    const waiting = await inBoth('gated', reason, (one) => one === 'SchedulingGated');
    assertAlike('gated', waiting, { named: true });
    for (const gates of [[{ name: 'example.com/order' }], []]) {
      for (const namespace of [ELECTED, CONTROL]) await world.source.client.patch(
        PODS, { namespace, name: 'gated' }, { patchType: 'merge', patch: { spec: { schedulingGates: gates } } },
      );
      if (gates.length > 0) {
        assert.deepEqual(await Promise.all([ELECTED, CONTROL].map(reason)), ['SchedulingGated', 'SchedulingGated']);
      }
    }
    await untilPods('gated', 1, 'Running');
    assertAlike('gated', [true, true], { named: true });
  });

  it('all of it, when it is deleted', async () => {
    const { client } = world.source;
    for (const namespace of [ELECTED, CONTROL]) {
      for (
        const [type, name] of [
          [JOBS, 'job'], [JOBS, 'indexed'], [STATEFUL_SETS, 'db'], [DEPLOYMENTS, 'web'], [CRON_JOBS, 'cron'],
        ] as const
      ) {
        await client.delete(type, { namespace, name }, { propagation: 'Background' });
      }
      for (const name of ['bare', 'ends', 'gated']) await client.delete(PODS, { namespace, name });
    }
    await inBoth(
      'empty', async (namespace) => inNamespace(world.source.pods.objects, namespace).length, (left) => left === 0,
    );
    for (const { pods, chaperons } of world.targets) {
      await pods.until('no delegates', (all) => inNamespace(all, ELECTED).length === 0, POLLING.forMs);
      await chaperons.until('no chaperons', (all) => inNamespace(all, ELECTED).length === 0, POLLING.forMs);
    }
  });
});
