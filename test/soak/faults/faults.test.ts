// `npm run soak -- faults`: rows of the table of faults (docs/results/faults.md) on real control planes: API servers
// are killed, processes stopped, the network cut by a relay in front of each target. Each test is one row by its
// number, prints how long the recovery took, and is held to the row's limit; at the end the merged history of all
// clusters holds the invariants (`docs/invariants.md`).
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { CLUSTER_SUMMARY_NAME } from '../../../api/objects/own-names.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_SUMMARIES, CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS, ROLE_BINDINGS, SECRETS,
} from '../../../api/resource-types.ts';
import { installInto } from '../../../cli/install/install.ts';
import { ALL_COMPONENTS_ACCOUNT } from '../../../model/access/component-accounts.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import type { customResourceDefinitions } from '../../../manifests/objects/crds.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import { eventually } from '../../support/history/eventually.ts';
import { FaultWorld, placeOf, tell, within } from '../../support/faults/fault-world.ts';
import { secretOf } from '../../support/faults/faulty-network.ts';
import { RESOURCE_QUOTAS } from '../../support/objects/resource-types.ts';
import { isRunning, type WorldCluster } from '../../support/worlds/isthmus-world.ts';

const NAMESPACE = 'faults';
/** Longer than any watch needs to notice silence. */
const LONG_CUT_MS = 60_000;

/** A standby has read everything by then. */
const STANDBY_MS = 25_000;

type Binding = KubernetesObject
  & { readonly subjects?: readonly { readonly namespace?: string; readonly name: string }[] };

let faults: FaultWorld;

before(async () => {
  faults = await FaultWorld.start(NAMESPACE);
});
after(() => faults?.stop());


describe('a cluster that is away', () => {
  it('1: an API server of a target that is killed for 10 s costs nothing', () => faults.during(async () => {
    const pair = await faults.run('row-1', faults.first);
    await faults.first.cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await sleep(10_000);
    await faults.first.cluster.startComponent('kube-apiserver');
    await within('1', 15, () => faults.mirrors(pair, 1));
    await faults.assertSame(pair);
    await faults.run('row-1-after', faults.first); // the target's own scheduler is back as well: it may take longer
  }));

  it('2, 3, 10: a target that swallows all is noticed; what runs there stays, new pods go elsewhere, nothing runs twice',
    () => faults.during(async () => {
    const pair = await faults.run('row-3', faults.first);
    const path = faults.paths.get(faults.first)!;
    path.cut();
    try {
      await Promise.all([
        within('3: noticed', 45, () => faults.readyIs(faults.first, 'False', 'Unreachable')),
        within('2, 10: the proxy says that its target is lost', 45, () => faults.tellsLoss(pair, true)),
      ]);
      await within('2: a new pod elsewhere', 30, () => faults.run('row-3-new').then(
        ({ delegate }) =>
          assert.ok(faults.second.pods.objects.some(({ metadata }) => metadata.uid === delegate.metadata.uid)),
      ));
      await sleep(LONG_CUT_MS);
      await faults.assertSame(pair);
    } finally {
      path.heal();
    }
    await within('3: recovered', 60, () => faults.mirrors(pair, 1));
    await within('3: the proxy says no more of it', 1, () => faults.tellsLoss(pair, false));
    await faults.assertSame(pair);
  }));

  it('5: a source API server that is killed and starts again costs nothing', () => faults.during(async () => {
    const pair = await faults.run('row-5', faults.first);
    await faults.source.cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await faults.source.cluster.startComponent('kube-apiserver');
    await within('5', 20, () => faults.mirrors(pair, 1));
    await faults.assertSame(pair);
  }));

  it('6: both that are down, the target first back', () => faults.during(async () => {
    const pair = await faults.run('row-6', faults.first);
    await faults.source.cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await faults.first.cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await faults.first.cluster.startComponent('kube-apiserver');
    await sleep(5_000);
    await faults.source.cluster.startComponent('kube-apiserver');
    await within('6', 60, async () => {
      await faults.mirrors(pair, 1);
      await faults.run('row-6-new', faults.first);
    });
    await faults.assertSame(pair);
  }));
});

describe('a partition between source and target', () => {
  const cutFor = (act: () => Promise<void>) => faults.cutOff(faults.first, act);

  it('7: an end in the meantime arrives after it, and the pod is not run again', async () => {
    const pair = await faults.run('row-7', faults.first, { restartPolicy: 'Never' });
    await cutFor(async () => void (
      await faults.first.client.patch(PODS, { ...placeOf(pair.delegate), subresource: 'status' }, {
        patchType: 'merge', patch: { status: { phase: 'Succeeded' } },
      })
    ));
    await within('7', 60, () => faults.proxyIs(pair.proxy, 'Succeeded', (it) => it?.status?.phase === 'Succeeded'));
    assert.equal(faults.everMade(pair.proxy), 1);
  });

  it('8: a proxy that is deleted in the meantime stays until its delegate has gone', async () => {
    const pair = await faults.run('row-8', faults.first);
    await cutFor(async () => {
      await faults.source.client.delete(PODS, placeOf(pair.proxy));
      await sleep(5_000);
      assert.ok(faults.source.pods.get(`${NAMESPACE}/row-8`) !== undefined, 'the proxy stays');
    });
    await within('8', 30, () => faults.goneEverywhere(pair.proxy));
  });

  it('9: the delegate of a proxy that is taken away by force is swept', async () => {
    const pair = await faults.run('row-9', faults.first);
    await cutFor(async () => {
      faults.forced.add(pair.proxy.metadata.uid ?? '');
      await faults.source.client.delete(PODS, placeOf(pair.proxy), { gracePeriodSeconds: 0 });
      await faults.source.client.patch(
        PODS, placeOf(pair.proxy), { patchType: 'merge', patch: { metadata: { finalizers: null } } },
      );
      await faults.proxyIs(pair.proxy, 'gone', (it) => it === undefined);
    });
    await within('9', 60, () => faults.goneEverywhere(pair.proxy));
  });
});

describe('controllers', () => {
  const GATE = 'example.com/not-yet';

  /** Five pods that wait for a word. */
  async function gatedPods(row: string): Promise<readonly Pod[]> {
    const pods = Array.from(
      { length: 5 }, (_, index) => faults.aPod(`${row}-${index}`, undefined, { schedulingGates: [{ name: GATE }] }),
    );
    for (const pod of pods) await faults.create(pod);
    return pods;
  }

  /** The word; resolves when they run. */
  async function runGated(pods: readonly Pod[]): Promise<void> {
    for (const pod of pods) await faults.source.client.patch(
      PODS, placeOf(pod), { patchType: 'merge', patch: { spec: { schedulingGates: null } } },
    );
    await Promise.all(pods.map((pod) => faults.proxyIs(pod, 'Running', (it) => it !== undefined && isRunning(it))));
  }

  const madeFor = (pods: readonly Pod[]): number[] =>
    pods.map((pod) => faults.everMade(faults.source.pods.get(`${NAMESPACE}/${pod.metadata.name}`)!));

  /** A second replica, which follows by the time that this resolves, and says nothing until it leads. */
  async function startStandby(): Promise<ComponentProcess> {
    const { spec } = faults.processes.get(faults.source)!.current;
    const [program, command] = spec.command;
    const standby = await startComponent({
      ...spec, name: 'standby', logPath: `${faults.source.cluster.directory}/standby.log`,
      command: [
        program, command!, 'run', '--kubeconfig', faults.source.cluster.kubeconfigPath, '--components',
        'scheduler,delegate-controller,virtual-node', '--no-target',
      ],
    });
    await sleep(STANDBY_MS);
    return standby;
  }

  it('12: a leader that is stopped and goes on after another one took over writes nothing',
    () => faults.during(async () => {
    const pods = await gatedPods('row-12');
    const old = faults.processes.get(faults.source)!;
    const standby = await startStandby();
    try {
      old.current.pause();
      await within('12: another one leads', 30, () => runGated(pods));
      old.current.resume();
      await within('12: the old one ends', 30, () => old.current.exited);
      assert.deepEqual(madeFor(pods), [1, 1, 1, 1, 1]);
    } finally {
      old.current.resume();
      await standby.stop();
      await old.restart();
    }
  }));

  it('17: a leader that may not renew its lease any more stops writing, and another one takes over',
    () => faults.during(async () => {
    const pods = await gatedPods('row-17');
    const standby = await startStandby();
    const isLeaders = ({ subjects = [] }: Binding) => subjects.some(({ name }) => name === ALL_COMPONENTS_ACCOUNT);
    const bindings = (
      (await faults.source.client.list(ROLE_BINDINGS, { namespace: DEFAULT_INSTALL_NAMESPACE })) as Binding[]
    ).filter(isLeaders);
    assert.ok(bindings.length > 0, 'the leader has its lease by a RoleBinding');
    try {
      for (const binding of bindings) await faults.source.client.delete(ROLE_BINDINGS, placeOf(binding));
      const revokedAt = Date.now();
      await sleep(10_000); // what the old one did by then was its right
      await within('17: another one is active, 10 s later', 10, () => runGated(pods));
      await sleep(Math.max(0, revokedAt + 20_000 - Date.now()));
      const last = Math.max(revokedAt, ...(await writesOf(faults.source, ALL_COMPONENTS_ACCOUNT)));
      tell({ row: '17: last write of the old one', seconds: (last - revokedAt) / 1_000, limit: 10 });
      assert.ok(last - revokedAt <= 10_000, `it wrote ${last - revokedAt} ms later`);
      assert.deepEqual(madeFor(pods), [1, 1, 1, 1, 1]);
    } finally {
      // Objects of a list do not say of which kind they are.
      for (const { metadata: { namespace, name, labels }, ...rest } of bindings) await faults.source.client.apply(
        ROLE_BINDINGS,
        {
          ...rest, apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding',
          metadata: { namespace, name, labels },
        } as KubernetesObject,
        'isthmus-test',
      );
      await standby.stop();
      await faults.processes.get(faults.source)!.restart();
    }
  }));

  it('49: a proxy that is deleted before its delegate is made leaves nothing', () => faults.during(async () => {
    const pod = faults.aPod('row-49', faults.first);
    await faults.processes.get(faults.first)!.stop();
    try {
      await eventually('the webhook', () => faults.source.client.create(PODS, pod));
      await faults.first.chaperons.until(
        'its chaperon', (all) => all.some(({ metadata }) => metadata.name?.startsWith('row-49-')), 60_000,
      );
      await faults.source.client.delete(PODS, placeOf(pod));
    } finally {
      await faults.processes.get(faults.first)!.restart();
    }
    await faults.readyIs(faults.first, 'True');
    await within('49', 10, () => faults.goneEverywhere(pod));
    const { history } = faults.first.pods;
    assert.ok(!history.some(({ key }) => key.startsWith(`${NAMESPACE}/row-49-`)), 'a delegate was made');
  }));
});

describe('what an administrator does', () => {
  it('30: permissions that are revoked in the target', () => faults.during(async () => {
    const pair = await faults.run('row-30', faults.first);
    await faults.processes.get(faults.first)!.stop(); // it would give them back at once
    try {
      const bindings = (await faults.first.client.list(CLUSTER_ROLE_BINDINGS)) as Binding[];
      const ours = bindings.filter(
        ({ metadata, subjects = [] }) => !metadata.name?.startsWith('system:') && subjects
          .some(({ namespace, name }) => namespace === DEFAULT_INSTALL_NAMESPACE && !name.startsWith('isthmus')),
      );
      for (const { metadata: { name = '' } } of ours) await faults.first.client.delete(CLUSTER_ROLE_BINDINGS, { name });
      faults.paths.get(faults.first)!.heal(); // watches that are open go on without permissions: they end here
      await faults.readyIs(faults.first, 'False', 'Forbidden');
      await sleep(15_000); // the last of the quick attempts of a watch comes ten seconds after its first
      const before = await deniedRequests(faults.first);
      await sleep(60_000);
      const tries = (await deniedRequests(faults.first)) - before;
      tell({ row: '30: denied requests in 60 s', tries });
      assert.ok(tries <= 2, `${tries} denied requests in 60 s`);
      await faults.assertSame(pair);
    } finally {
      await faults.processes.get(faults.first)!.restart();
    }
    await within('30', 30, () => faults.readyIs(faults.first, 'True'));
    await faults.assertSame(pair);
  }));

  it('41: a target whose kubeconfig points to another cluster is refused, and nothing there is adopted',
    () => faults.during(async () => {
    const pair = await faults.run('row-41', faults.first);
    const where = await secretOf(faults.source.client, faults.first.cluster.name);
    const [own, other] = await Promise.all([
      faults.source.client.get(SECRETS, where),
      faults.source.client.get(SECRETS, await secretOf(faults.source.client, faults.second.cluster.name)),
    ]);
    const use = (data: unknown) => faults.source.client.patch(SECRETS, where, { patchType: 'merge', patch: { data } });
    try {
      await use(other.data);
      await within('41: refused', 45, () => faults.readyIs(faults.first, 'False'));
      await faults.assertSame(pair);
    } finally {
      await use(own.data);
    }
    await within('41: back', 60, () => faults.readyIs(faults.first, 'True'));
    await faults.assertSame(pair);
  }));

  it('42: a virtual node that is deleted is made again, and its proxies stay', async () => {
    const pair = await faults.run('row-42', faults.first);
    const name = virtualNodeName({ kind: 'ClusterTarget', name: faults.first.cluster.name });
    const { metadata: { uid } } = await faults.source.client.get(NODES, { name });
    await faults.source.client.delete(NODES, { name });
    await within('42', 20, () => eventually(
      'the node', async () => (await faults.source.client.get(NODES, { name })).metadata.uid !== uid,
    ));
    await sleep(50_000); // pod garbage collection takes those of nodes that are missing for 40 s
    await faults.assertSame(pair);
  });

  it('53: Events that cannot be written hold nothing up', async () => {
    const hard = { 'count/events': '0', 'count/events.events.k8s.io': '0' };
    await faults.source.client.create(
      RESOURCE_QUOTAS, { metadata: { namespace: NAMESPACE, name: 'no-events' }, spec: { hard } } as KubernetesObject,
    );
    await within('53', 20, () => faults.run('row-53', faults.first));
    await faults.source.client.delete(RESOURCE_QUOTAS, { namespace: NAMESPACE, name: 'no-events' });
  });

  it('56: kinds of ours that are missing in a target: it says so, deletes nothing, and recovers when they are back',
    () => faults.during(async () => {
    const pair = await faults.run('row-56', faults.second);
    const name = 'clustersummaries.multicluster.admiralty.io';
    await faults.second.client.delete(CUSTOM_RESOURCE_DEFINITIONS, { name });
    await within('56: told', 90, () => faults.readyIs(faults.second, 'False'));
    await faults.assertSame(pair);
    await installAgain(faults.second);
    await within('56: recovered', 90, () => faults.readyIs(faults.second, 'True'));
    await faults.assertSame(pair);
  }));

  // What it publishes is refused meanwhile: after 150 s it counts as silent (row 51).
  it('56: a kind of an older version: what runs stays, pods go on to run, and figures come again after an installation',
    () => faults.during(async () => {
    const pair = await faults.run('row-56-before', faults.second);
    await withdrawFields(faults.second, ['free', 'largestFree', 'nodeGroups', 'gpus', 'commonLabels']);
    await faults.processes.get(faults.second)!.restart();
    await within('56: a pod in a target with an older kind', 60, () => faults.run('row-56-older', faults.second));
    await faults.assertSame(pair);
    const installedAt = new Date().toISOString();
    await installAgain(faults.second);
    await within('56: figures come again', 90, () => eventually(
      'a summary',
      async () => (
        (await faults.second.client.get(CLUSTER_SUMMARIES, { name: CLUSTER_SUMMARY_NAME })).observed?.time ?? ''
      ) > installedAt,
    ));
    await faults.readyIs(faults.second, 'True');
    await faults.assertSame(pair);
  }));
});

const installAgain = ({ client }: WorldCluster) => installInto(
  client, { installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl: undefined },
  { tell: () => undefined, signal: faults.world.signal },
);

/** The definition of ClusterSummary as it was before it had these fields. */
async function withdrawFields({ client }: WorldCluster, fields: readonly string[]): Promise<void> {
  const name = 'clustersummaries.multicluster.admiralty.io';
  const { spec } =
    (await client.get(CUSTOM_RESOURCE_DEFINITIONS, { name })) as ReturnType<typeof customResourceDefinitions>[number];
  const versions = spec.versions.map((version) => {
    const { openAPIV3Schema: schema } = version.schema;
    const properties =
      Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([field]) => !fields.includes(field)));
    return { ...version, schema: { openAPIV3Schema: { ...schema, properties } } };
  });
  await client.patch(CUSTOM_RESOURCE_DEFINITIONS, { name }, { patchType: 'merge', patch: { spec: { versions } } });
  await eventually(
    'the older kind',
    async () => (await client.get(CLUSTER_SUMMARIES, { name: CLUSTER_SUMMARY_NAME })).free === undefined,
  );
}

/** Requests that the API server of a target has denied, by its audit log. */
async function deniedRequests({ cluster }: WorldCluster): Promise<number> {
  const lines = (await readFile(cluster.auditLog ?? '', 'utf8')).split('\n');
  return lines.filter(
    (line) => line.includes('"stage":"ResponseComplete"') && line.includes('"code":403') && line.includes(
      DEFAULT_INSTALL_NAMESPACE,
    ),
  ).length;
}

/** When an account of the install namespace wrote something that was done, in ms since the epoch, by the audit log. */
async function writesOf({ cluster }: WorldCluster, account: string): Promise<number[]> {
  const user = `system:serviceaccount:${DEFAULT_INSTALL_NAMESPACE}:${account}"`;
  const lines = (await readFile(cluster.auditLog ?? '', 'utf8')).split('\n')
    .filter((line) => line.includes('"stage":"ResponseComplete"') && line.includes(user));
  const events = lines.map((line) => JSON.parse(line) as {
    readonly verb: string; readonly stageTimestamp: string; readonly responseStatus?: { readonly code?: number }
  });
  return events.filter(
    ({ verb, responseStatus }) =>
      ['create', 'update', 'patch', 'delete'].includes(verb) && (responseStatus?.code ?? 500) < 300,
  ).map(({ stageTimestamp }) => Date.parse(stageTimestamp));
}
