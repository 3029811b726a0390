// An election that has no effect, as a user meets it: kubectl prints a warning at once, `isthmus lint` said so before,
// and pods that run here all the same get an Event.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import {
  DEFAULT_INSTALL_NAMESPACE, DELEGATE_NAME_ANNOTATION, ELECT_ANNOTATION, NAMESPACE_ELECT_LABEL, NAMESPACE_OPT_IN_LABEL,
  TARGET_ANNOTATION,
} from '../../../api/objects/keys.ts';
import { EVENTS, NAMESPACES, PODS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import { readObjects } from '../../../cli/plan/read-objects.ts';
import { lintObjects } from '../../../cli/lint/lint-objects.ts';
import { Packaging } from '../../support/peers/packaging.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';
import {
  createPod, ELECTED_NAMESPACE, PLAIN_NAMESPACE, shareWebhookWorld, untilAdmitting, type RunningWebhook,
  type WebhookWorld,
} from '../../support/worlds/webhook-world.ts';

const WRONG_LABEL = 'wrong-label';
const ALL_ELECTED = 'all-elected';
const elect = { [ELECT_ANNOTATION]: '' };
const containers = [{ name: 'main', image: 'example/main:1' }];

let world: WebhookWorld;
let webhook: RunningWebhook;
let tools: Packaging;
const enter = shareWebhookWorld(async (shared) => {
  tools = await Packaging.open(AbortSignal.timeout(600_000));
  world = shared;
  const labels =
    { [WRONG_LABEL]: { [NAMESPACE_OPT_IN_LABEL]: 'true' }, [ALL_ELECTED]: { [NAMESPACE_ELECT_LABEL]: 'all' } };
  for (const [name, given] of Object.entries(labels)) {
    await world.client.create(NAMESPACES, { metadata: { name, labels: given } });
  }
  const accounts = await new WatchedCollection(world.client, SERVICE_ACCOUNTS).start(world.signal);
  await accounts.until('each namespace has its ServiceAccount', (all) => Object.keys(labels).every(
    (name) => all.some(({ metadata }) => metadata.namespace === name),
  ));
}, () => webhook?.stop());

const pod = (namespace: string, name: string, metadata: Pod['metadata'] = { annotations: elect }): KubernetesObject =>
  ({
    apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name, ...metadata }, spec: { containers },
  }) as KubernetesObject;
const workload = (kind: string, namespace: string, own: Pod['metadata'], marks: Pod['metadata']): KubernetesObject => {
  const template = {
    metadata: { ...marks, labels: { app: 'x', ...marks.labels } },
    spec: { containers, ...(kind.endsWith('Job') && { restartPolicy: 'Never' }) },
  };
  const spec = kind === 'CronJob'
    ? { schedule: '@yearly', jobTemplate: { spec: { template } } }
    : kind === 'Job' ? { template } : { selector: { matchLabels: { app: 'x' } }, template };
  return {
    apiVersion: kind.endsWith('Job') ? 'batch/v1' : 'apps/v1', kind,
    metadata: { namespace, name: `x-${kind.toLowerCase()}`, ...own },
    spec: { ...spec, ...(kind === 'StatefulSet' && { serviceName: 'x' }) },
  } as KubernetesObject;
};
const namespaceWith = (labels: Readonly<Record<string, string>>): KubernetesObject =>
  ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new', labels } });

/** What kubectl prints when it would create the object: warnings, nothing else. */
async function warningsOf(object: KubernetesObject): Promise<string> {
  const { stderr, code } = await tools.kubectl(['create', '--dry-run=server', '-f', '-'], {
    kubeconfig: world.kubeconfigPath, input: stringify(object, { aliasDuplicateObjects: false }),
  });
  assert.equal(code, 0, stderr);
  return stderr;
}

/** What `isthmus lint` says of it, given with the Namespaces that there are. */
async function lintOf(object: KubernetesObject): Promise<string> {
  const namespaces = (await world.client.list(NAMESPACES))
    .map((namespace) => ({ ...namespace, apiVersion: 'v1', kind: 'Namespace' }));
  const read = readObjects(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...namespaces, object] }));
  assert.ok(read.kind === 'objects');
  const given = read.objects.map((each) => ({ path: 'x', object: each }));
  const title = `${object.kind}/${object.metadata.namespace ?? object.metadata.name}`;
  const found = lintObjects(given, 'default').filter((one) => one.object.startsWith(title) && one.level === 'error');
  return found.map(({ message }) => message).join('\n');
}

describe('kubectl, and isthmus lint', { timeout: 300_000 }, () => {
  before(enter, { timeout: 600_000 });
  before(async () => {
    const warns = async (): Promise<boolean> =>
      (await warningsOf(pod(PLAIN_NAMESPACE, 'probe'))).includes('has not opted in');
    while (!(await warns())) world.signal.throwIfAborted(); // until the API server has compiled the policy
  });

  const rows: readonly (readonly [what: string, object: KubernetesObject, warning: RegExp])[] = [
    ...['Deployment', 'StatefulSet', 'Job', 'CronJob'].map((kind) =>
      [
        `an annotation on a ${kind} in place of its template`,
        workload(kind, ELECTED_NAMESPACE, { annotations: elect }, {}),
        new RegExp(`of a ${kind} elects nothing: it belongs in the annotations of the pod template`),
      ] as const),
    [
      'a label on a template', workload('Deployment', ELECTED_NAMESPACE, {}, { labels: elect }),
      /label multicluster.admiralty.io\/elect elects nothing/,
    ],
    ['a label on a pod', pod(ELECTED_NAMESPACE, 'labelled', { labels: elect }), /it has to be an annotation/],
    [
      'a label on a pod of a namespace that has not opted in', pod(PLAIN_NAMESPACE, 'labelled', { labels: elect }),
      /it has to be an annotation/,
    ],
    [
      'a pod in a namespace that has not opted in', pod(PLAIN_NAMESPACE, 'stays'),
      /kubectl label namespace team-b multicluster-scheduler=enabled/,
    ],
    [
      'a Deployment in a namespace that has not opted in',
      workload('Deployment', PLAIN_NAMESPACE, {}, { annotations: elect }), /namespace team-b has not opted in/,
    ],
    [
      'a CronJob in a namespace that has not opted in',
      workload('CronJob', PLAIN_NAMESPACE, {}, { annotations: elect }), /namespace team-b has not opted in/,
    ],
    ['a pod in a namespace whose label has another value', pod(WRONG_LABEL, 'stays'), /has not opted in/],
    ['a pod in kube-system', pod('kube-system', 'stays'), /pods of namespace kube-system are never elected/],
    ['a pod in the install namespace', pod(DEFAULT_INSTALL_NAMESPACE, 'stays'), /are never elected/],
    [
      'a DaemonSet', workload('DaemonSet', ELECTED_NAMESPACE, {}, { annotations: elect }),
      /pods of a DaemonSet belong to nodes of this cluster/,
    ],
    [
      'a namespace whose label has another value', namespaceWith({ [NAMESPACE_OPT_IN_LABEL]: 'true' }),
      /label multicluster-scheduler=true has no effect: the value has to be enabled/,
    ],
    [
      'a namespace whose electing label has another value', namespaceWith({ [NAMESPACE_ELECT_LABEL]: 'true' }),
      /label isthmus.dev\/elect=true has no effect: the value has to be all/,
    ],
  ];
  for (const [what, object, warning] of rows) {
    it(`says of ${what} that it has no effect`, async () => {
      const said = await warningsOf(object);
      assert.match(said, warning);
      assert.equal(said.trimEnd().split('\n').length, 1, said);
      assert.match(await lintOf(object), object.kind === 'DaemonSet' ? /DaemonSetPod/ : warning);
    });
  }

  const silent: readonly (readonly [what: string, object: KubernetesObject])[] = [
    ['a workload that is not elected', workload('Deployment', PLAIN_NAMESPACE, {}, {})],
    ['a workload that is elected as it should be', workload(
      'Deployment', ELECTED_NAMESPACE, { annotations: elect }, { annotations: elect },
    )],
    ['a workload that says no', workload(
      'Deployment', PLAIN_NAMESPACE, {}, { annotations: { [ELECT_ANNOTATION]: 'false' } },
    )],
    ['a CronJob of a namespace that elects all', workload('CronJob', ALL_ELECTED, {}, { annotations: elect })],
    ['a namespace with the right labels', namespaceWith(
      { [NAMESPACE_OPT_IN_LABEL]: 'enabled', [NAMESPACE_ELECT_LABEL]: 'all' },
    )],
    ['a pod that is not elected', pod(PLAIN_NAMESPACE, 'right', {})],
    ['a namespace that opts out', namespaceWith({ [NAMESPACE_OPT_IN_LABEL]: 'disabled' })],
  ];
  for (const [what, object] of silent) {
    it(`says nothing of ${what}`, async () => {
      assert.equal(await warningsOf(object), '');
      assert.equal(await lintOf(object), '');
    });
  }
});

describe('a pod', { timeout: 300_000 }, () => {
  before(enter, { timeout: 600_000 });
  before(async () => {
    for (
      const [namespace, metadata] of [
        [WRONG_LABEL, { annotations: elect }], [PLAIN_NAMESPACE, { labels: elect }],
      ] as const
    ) {
      assert.ok((await createPod(world.client, pod(namespace, 'runs-here', metadata))).pod);
    }
    webhook = await world.startWebhook();
    await untilAdmitting(world.client);
  });

  it('that runs here for want of the right label is told by an Event', async () => {
    const events = await new WatchedCollection(world.client, EVENTS).start(world.signal);
    const told = (all: readonly KubernetesObject[]): readonly string[] =>
      (
        all as readonly (KubernetesObject & {
          readonly reason?: string; readonly regarding?: { readonly namespace?: string; readonly name?: string }
        })[]
      )
        .filter(({ reason }) => reason === 'NotElected')
          .map(({ regarding }) => `${regarding?.namespace}/${regarding?.name}`)
          .toSorted();
    const wanted = [`${PLAIN_NAMESPACE}/runs-here`, `${WRONG_LABEL}/runs-here`].toSorted();
    await events.until('both pods have their Event', (all) => wanted.every((name) => told(all).includes(name)));
  });

  it('with elect: "false" stays here, also in a namespace that elects all', async () => {
    for (const namespace of [ELECTED_NAMESPACE, ALL_ELECTED]) {
      const { pod: stored } =
        await createPod(world.client, pod(namespace, 'says-no', { annotations: { [ELECT_ANNOTATION]: 'false' } }));
      assert.equal(stored?.spec.schedulerName, 'default-scheduler', namespace);
    }
  });

  it('that is annotated is elected in a namespace that elects all and has no other label', async () => {
    const { pod: stored } = await createPod(world.client, pod(ALL_ELECTED, 'annotated'));
    assert.equal(stored?.spec.schedulerName, 'admiralty-proxy');
  });
});

describe('kubectl debug of an elected pod', { timeout: 300_000 }, () => {
  before(enter, { timeout: 600_000 });
  const debug = (name: string) => tools.kubectl(
    ['debug', name, '-n', ELECTED_NAMESPACE, '--image', 'example/debug:1', '--profile', 'general', '--attach=false'],
    { kubeconfig: world.kubeconfigPath },
  );

  it('is refused at once, with what to do: no kubelet runs the proxy pod', async () => {
    assert.ok((await createPod(world.client, pod(ELECTED_NAMESPACE, 'proxy'))).pod);
    const { stderr, code } = await debug('proxy');
    assert.notEqual(code, 0);
    assert.match(stderr, /pod proxy runs in another cluster, where ephemeral containers are not carried/);
    const annotations = { [TARGET_ANNOTATION]: 'ClusterTarget/eu', [DELEGATE_NAME_ANNOTATION]: 'd-1' };
    const bound = { metadata: { annotations } };
    const at = { namespace: ELECTED_NAMESPACE, name: 'proxy' };
    await world.client.patch(PODS, at, { patchType: 'merge', patch: bound });
    assert.match((await debug('proxy')).stderr, /: debug pod d-1 in ClusterTarget\/eu/);
  });

  it('is as ever of a pod that runs here', async () => {
    assert.ok((await createPod(world.client, pod(ELECTED_NAMESPACE, 'local', {}))).pod);
    const { stderr, code } = await debug('local');
    assert.equal(code, 0, stderr);
  });
});
