// Which Targets of a namespace are used, as their objects come and go in the source.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { METRICS } from '../../../process/metrics.ts';
import { observeRejection } from '../../../process/placement-metrics.ts';
import { DEFAULT_TENANT_SETTINGS, TenantRules } from '../../../targets/access/tenant-rules.ts';
import type { TargetCluster } from '../../../targets/target-cluster.ts';
import { TargetClusters } from '../../../targets/target-clusters.ts';
import { aPod, inPhase } from '../../support/objects/builders.ts';
import { ScriptedApiServer, SILENT, status, type Exchange } from '../../support/doubles/scripted-api-server.ts';

const MOST = 2;
const target = (name: string, second: number, namespace = 'team-a') => ({
  metadata: {
    namespace, name, uid: name, resourceVersion: String(second), generation: 1,
    creationTimestamp: `2026-01-01T00:00:0${second}Z`,
  },
  spec: { kubeconfigSecret: { name } },
});

describe('Targets beyond what a namespace may have', () => {
  let source: ScriptedApiServer;
  let stopped: AbortController;
  let targets: TargetClusters;
  let watch: Exchange | undefined;
  let served: ReturnType<typeof target>[];
  /** Names of the Secrets that were asked for, in order. */
  let secrets: string[];
  let running: Promise<void>;
  let heard: () => void = () => undefined;

  beforeEach(async () => {
    [source, stopped, secrets, watch] = [await ScriptedApiServer.start(), new AbortController(), [], undefined];
    const environment = {
      source: source.client, sourceConnection: source.connection(), sourceId: 's', installNamespace: 'i',
      userAgent: 'isthmus-test', logger: SILENT,
    };
    targets = new TargetClusters(
      { ...environment, tenants: new TenantRules({ ...DEFAULT_TENANT_SETTINGS, targetsPerNamespace: MOST }) },
    );
    targets.listen({ changed: () => heard(), removed: () => heard() });
    running = targets.run(stopped.signal);
    served = [target('c', 3), target('d', 4), target('a', 1), target('other', 5, 'team-b')];
    void serve(served);
    await untilUsed('a', 'c', 'other');
  });
  afterEach(async () => {
    stopped.abort();
    await running;
    await source.stop();
  });

  /** Answers lists with these Targets and nothing else, and keeps their watch. */
  async function serve(items: readonly ReturnType<typeof target>[]): Promise<void> {
    for (;;) {
      const exchange = await source.next().catch(() => undefined);
      if (exchange === undefined || stopped.signal.aborted) return;
      const isTargets = exchange.path.endsWith('/targets');
      if (exchange.path.endsWith('/secrets')) secrets.push(exchange.query.get('fieldSelector') ?? '');
      if (
        exchange.query.get('watch') !== 'true'
      ) exchange.answer(200, { metadata: { resourceVersion: '9' }, items: isTargets ? items : [] });
      else exchange.open();
      if (isTargets && exchange.query.get('watch') === 'true') watch = exchange;
      heard();
    }
  }

  const reasonOf = (name: string, namespace = 'team-a') => {
    const { availability } = targets.get(`Target/${namespace}/${name}`) ?? assert.fail(name);
    return availability.kind === 'ready' ? 'Ready' : availability.reason;
  };
  const usedNames = () => [...targets.all()].filter(
    ({ ref: { name, namespace } }: { ref: { name: string; namespace?: string } }) =>
      reasonOf(name, namespace) !== 'TooManyTargets',
  ).map(({ ref }) => ref.name).toSorted();
  const until = (condition: () => boolean) => new Promise<void>((resolve) => {
    heard = () => condition() && resolve();
    heard();
  });
  const untilUsed = (...names: readonly string[]) =>
    until(() => targets.hasSynced && watch !== undefined && JSON.stringify(usedNames()) === JSON.stringify(names));

  it('are not used, whatever order they came in, and their Secrets are not followed', async () => {
    const { availability } = targets.get('Target/team-a/d') ?? assert.fail();
    assert.deepEqual(availability, {
      kind: 'unavailable', reason: 'TooManyTargets',
      message:
        'a namespace may have 2 Targets, and this one is not among its 2 oldest; delete others, or ask the ' +
          'administrator to allow more',
    });
    await until(() => secrets.length >= 3);
    assert.ok(!secrets.includes('metadata.name=d'), String(secrets));
  });

  it('are used when older ones have gone', async () => {
    watch?.send('DELETED', { ...target('a', 1), metadata: { ...target('a', 1).metadata, resourceVersion: '10' } });
    await untilUsed('c', 'd', 'other');
    await until(() => secrets.includes('metadata.name=d'));
  });

  it('leave no series behind in any process when they have gone, such as those of a scheduler', async () => {
    observeRejection('Target/team-a/a');
    watch?.send('DELETED', { ...target('a', 1), metadata: { ...target('a', 1).metadata, resourceVersion: '10' } });
    await untilUsed('c', 'd', 'other');
    assert.ok(!(await METRICS.metrics()).includes('Target/team-a/a'));
  });

  it('are ranked anew when one was deleted and created again while the watch was away', async () => {
    const again = target('a', 9);
    served[2] = { ...again, metadata: { ...again.metadata, uid: 'a-again' } };
    watch?.send('ERROR', status(410, 'Expired', 'too old resource version'));
    await untilUsed('c', 'd', 'other');
  });

  it('are those that an older one has displaced', async () => {
    watch?.send('ADDED', { ...target('b', 2), metadata: { ...target('b', 2).metadata, resourceVersion: '10' } });
    await untilUsed('a', 'b', 'other');
    assert.equal(reasonOf('c'), 'TooManyTargets');
  });

  it('do not count where they are ClusterTargets, or of another namespace', () => assert.notEqual(
    reasonOf('other', 'team-b'), 'TooManyTargets',
  ));
});

const CLUSTER = 'the-cluster';
const clusterTarget = (name: string, second: number, spec: object, status = {}) => {
  const { metadata: { namespace: _none, ...metadata } } = target(name, second);
  return { metadata, spec, status };
};

describe('a second ClusterTarget for one cluster', () => {
  /** The first one is not identified in this process: its kubeconfig is gone. */
  const first = clusterTarget('first', 1, { kubeconfigSecret: { name: 'gone' } }, { clusterID: CLUSTER });
  const second = clusterTarget('second', 2, { self: true });

  it('is not used while the first one is not identified yet, which has its pods', { timeout: 30_000 }, async (t) => {
    const { until, remove } = await startTargets(t, [first, second]);
    const untilSecond = (isSo: (target: TargetCluster) => boolean) => until('second', isSo);
    await untilSecond(({ availability }) =>
      availability.kind === 'unavailable' && availability.reason === 'DuplicateCluster');
    const isUsed = untilSecond(({ session }) => session !== undefined);
    remove({ ...first, metadata: { ...first.metadata, resourceVersion: '10' } });
    await isUsed;
  });
});

describe('a target that was another cluster before', () => {
  const moved = clusterTarget('moved', 1, { self: true }, { clusterID: 'before' });
  const reasonOf = ({ availability }: TargetCluster) => (availability.kind === 'ready' ? '' : availability.reason);
  const boundPods: Record<string, readonly [pods: readonly Pod[] | 'denied', isUsed: boolean]> = {
    'a running pod': [[aPod(inPhase('Running'))], false],
    'pods that it may not read': ['denied', false],
    'a pod that has ended': [[aPod(inPhase('Succeeded'))], true],
    'no pod': [[], true],
  };
  for (const [what, [pods, isUsed]] of Object.entries(boundPods)) {
    it(`and has ${what} is ${isUsed ? '' : 'not '}used`, { timeout: 30_000 }, async (t) => {
      const { targets, until, podsAsked } = await startTargets(t, [moved], pods);
      await until('moved', (target) => (isUsed ? target.clusterId === CLUSTER : reasonOf(target) === 'AnotherCluster'));
      assert.deepEqual(podsAsked, ['spec.nodeName=admiralty-moved']);
      const { clusterId, session } = targets.get('ClusterTarget/moved') ?? assert.fail();
      assert.deepEqual([clusterId, session !== undefined], [isUsed ? CLUSTER : undefined, isUsed]);
    });
  }
});

/** Serves these targets, and in the same place the cluster that they lead to; `pods` are those of the source. */
async function startTargets(
  t: TestContext, served: readonly KubernetesObject[], pods: readonly Pod[] | 'denied' = [],
) {
  const source = await ScriptedApiServer.start();
  const stopped = new AbortController();
  const targets = new TargetClusters({
    source: source.client, sourceConnection: source.connection(), sourceId: CLUSTER, installNamespace: 'i',
    userAgent: 'isthmus-test', logger: SILENT,
  });
  const running = targets.run(stopped.signal);
  t.after(async () => {
    stopped.abort();
    await running;
    await source.stop();
  });
  let watch: Exchange | undefined;
  const podsAsked: string[] = [];
  const answerList = (exchange: Exchange): void => {
    const bound = exchange.path.endsWith('/api/v1/pods') ? exchange.query.get('fieldSelector') : null;
    if (bound !== null) podsAsked.push(bound);
    if (bound !== null && pods === 'denied') return exchange.answer(403, status(403, 'Forbidden', 'no'));
    const items = exchange.path.endsWith('/clustertargets') ? served : bound === null ? [] : pods;
    exchange.answer(200, { metadata: { resourceVersion: '9' }, items });
  };
  void (async () => {
    for (;;) {
      const exchange = await source.next();
      const isTargets = exchange.path.endsWith('/clustertargets');
      if (exchange.path.endsWith('/kube-system')) exchange.answer(200, { metadata: { uid: CLUSTER } });
      else if (exchange.query.get('watch') !== 'true') answerList(exchange);
      else exchange.open();
      if (isTargets && exchange.query.get('watch') === 'true') watch = exchange;
    }
  })().catch(() => undefined);
  const until = (name: string, isSo: (target: TargetCluster) => boolean) => new Promise<void>((resolve) => {
    targets.listen({ changed: (target) => target.ref.name === name && isSo(target) && resolve() });
  });
  const remove = (object: KubernetesObject) => watch?.send('DELETED', object);
  return { targets, podsAsked, until, remove };
}
