// What pods do whose target is lost while it lives on: with `failover: Fenced` they are stopped there first, then run
// elsewhere; others stay.
// It runs in the world of another suite. The lease of that world's source is short: see `--failover-lease-seconds`
// there.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { ELECT_ANNOTATION, FENCED_AT_ANNOTATION, PARENT_UID_LABEL, TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import type { PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { PLACEMENT_POLICIES, PODS, SOURCE_LEASES } from '../../api/resource-types.ts';
import { isCandidateLease } from '../../model/delegate/confirmation.ts';
import { auditedLives, type AuditedLives, type Life } from '../support/history/audited-lives.ts';
import { eventually } from '../support/history/eventually.ts';
import { inNamespace, isRunning, type IsthmusWorld, type WorldCluster } from '../support/worlds/isthmus-world.ts';
import { RelayToTarget } from '../support/faults/lost-target.ts';
import { WatchedCollection } from '../support/history/watched-collection.ts';
import { assertInvariants } from '../support/history/world-invariants.ts';

const LONG_MS = 90_000;
const apps = (plural: string, kind: string): ResourceType =>
  ({ group: 'apps', version: 'v1', plural, kind, namespaced: true });
const REPLICA_SETS = apps('replicasets', 'ReplicaSet');
const STATEFUL_SETS = apps('statefulsets', 'StatefulSet');

/** Where the suite runs. `world` gives one with audit logs, whose targets are labelled `site: own`, `site: cloud`. */
export interface FailoverSetting {
  readonly world: () => IsthmusWorld;
  readonly namespace: string;
}

/** Declares the suite. */
export function failoverContract({ world, namespace }: FailoverSetting): void {
  describe('a target that is lost while it lives on', () => {
    it('stops the pods that may leave it, and only then do they run elsewhere; others stay, and it is tidied when it ' +
      'is back', async () => {
      const { source, targets: [own, cloud], signal } = world();
      const since = performance.now();
      const relay = await RelayToTarget.divert(world(), own);
      const leases = await new WatchedCollection(own.client, SOURCE_LEASES, { namespace }).start(signal);
      const here = (pods: readonly Pod[]) => inNamespace(pods, namespace);
      try {
        await source.client.create(PLACEMENT_POLICIES, policy(namespace));
        const policies = await new WatchedCollection(source.client, PLACEMENT_POLICIES, { namespace }).start(signal);
        await policies.until(
          'the scheduler knows the policy', ([known]) => known?.status?.conditions?.[0]?.status === 'True', LONG_MS,
        );
        await source.client.create(REPLICA_SETS, controlled(namespace, 'web', 2));
        await source.client.create(STATEFUL_SETS, controlled(namespace, 'db', 1));
        await source.client.create(
          PODS,
          { metadata: { namespace, name: 'bare', ...template('bare').metadata }, spec: template('bare').spec } as Pod,
        );
        const first = here(await source.pods.until(
          'four run in the first target', (pods) => here(pods).filter(isRunning).filter(isIn('target-1')).length === 4,
          LONG_MS,
        ));
        // Two answers after the first word: then the source knows that it is fenced there.
        const renewals = () => new Set(
          leases.history.flatMap(({ after }) => (after?.status?.state === 'Held' ? [after.spec.renewTime] : [])),
        ).size;
        await leases.until('the target has seen the lease to be renewed', () => renewals() >= 4, LONG_MS);
        const uidOf = (name: string) => first.find(({ metadata }) => metadata.name === name)?.metadata.uid ?? '';

        const lostAt = performance.now();
        await relay.lose('refuse');
        await own.pods.until('only the bare pod is left there', (pods) => here(pods).length === 1, LONG_MS);
        const moved = here(await source.pods.until(
          'three run in the second target',
          (pods) => here(pods).filter(isRunning).filter(isIn('target-2')).length === 3, LONG_MS,
        ));
        assert.deepEqual(
          moved.filter(isIn('target-1')).map(({ metadata }) => metadata.name), ['bare'],
          'the bare pod waits for its target',
        );
        assert.ok(
          first.filter(({ metadata }) => metadata.name !== 'bare')
            .every(({ metadata }) => moved.every((pod) => pod.metadata.uid !== metadata.uid)),
          'no pod was moved, they are others',
        );
        await assertStoppedFirst(world(), first.filter(({ metadata }) => metadata.name !== 'bare'));
        const dbs =
          [uidOf('db-0'), moved.find(({ metadata }) => metadata.name === 'db-0')?.metadata.uid ?? ''] as const;
        const [before, after] = [
          delegateIn(own, await livesIn(own), dbs[0]), delegateIn(cloud, await livesIn(cloud), dbs[1]),
        ];
        assert.ok(
          before !== undefined && after !== undefined && before.until < after.from,
          'the pod of the StatefulSet has never run twice at a time',
        );
        assert.ok(
          (await own.chaperons.caughtUp()).objects.filter(
            (chaperon) => chaperon.metadata.annotations?.[FENCED_AT_ANNOTATION] !== undefined,
          ).length === 3,
          'each is marked, so that none is made anew',
        );

        await relay.heal();
        await own.chaperons.until(
          'chaperons of pods that left are taken back', (all) => inNamespace(all, namespace).length === 1, LONG_MS,
        );
        const bare = here(source.pods.objects).find(({ metadata }) => metadata.name === 'bare');
        assert.deepEqual([bare?.metadata.uid, bare?.status?.phase], [uidOf('bare'), 'Running']);
        assertInvariants(world(), { since, outages: [{ from: lostAt, until: performance.now() }] });
        await leases.until(
          'no lease is held where no pod needs one, but that of candidates',
          (all) => all.length <= 1 && all.every(({ metadata }) => isCandidateLease(metadata)), LONG_MS,
        );
      } finally {
        const gone = (type: ResourceType, name: string) =>
          source.client.delete(type, { namespace, name }, { propagation: 'Background' }).catch(() => undefined);
        await Promise.all([gone(REPLICA_SETS, 'web'), gone(STATEFUL_SETS, 'db')]);
        await relay.restore();
      }
    });
  });
}

function policy(namespace: string): PlacementPolicy {
  const tier = (site: string) => ({ targets: { matchLabels: { site } } });
  return {
    metadata: { namespace, name: 'failover' }, spec: { tiers: [tier('own'), tier('cloud')], failover: 'Fenced' },
  };
}

function template(app: string): Pick<Pod, 'metadata' | 'spec'> {
  const spec = {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu: '100m' } } }],
  };
  return { metadata: { labels: { app }, annotations: { [ELECT_ANNOTATION]: '' } }, spec };
}

function controlled(namespace: string, app: string, replicas: number): KubernetesObject {
  return {
    metadata: { namespace, name: app },
    spec: { replicas, serviceName: app, selector: { matchLabels: { app } }, template: template(app) },
  } as KubernetesObject;
}

function isIn(target: string): (pod: Pod) => boolean {
  return ({ metadata }) => metadata.annotations?.[TARGET_ANNOTATION] === `ClusterTarget/${target}`;
}

/** When a cluster surely had each of its pods, by its audit log. */
async function livesIn({ cluster: { name, auditLog = '' } }: WorldCluster): Promise<AuditedLives> {
  return auditedLives([{ cluster: name, log: await readFile(auditLog, 'utf8'), counts: () => true }]);
}

/** The life of the delegate of a proxy; a watch tells its name. */
function delegateIn({ pods }: WorldCluster, lives: AuditedLives, proxyUid: string): Life | undefined {
  const made = pods.history.find(({ after }) => after?.metadata.labels?.[PARENT_UID_LABEL] === proxyUid);
  return lives.get(made?.key ?? '')?.[0];
}

/**
 * No proxy that left was let go, which is the last write to it, before the last write to its delegate: the one that
 * removed it. An audit log is complete a moment after the answers.
 */
async function assertStoppedFirst({ source, targets: [own] }: IsthmusWorld, left: readonly Pod[]): Promise<void> {
  for (const { metadata: { uid = '', namespace, name } } of left) {
    const key = `${namespace}/${name}`;
    await eventually(`the delegate of ${key} went before it`, async () => {
      const [proxy] = (await livesIn(source)).get(key) ?? [];
      const delegate = delegateIn(own, await livesIn(own), uid);
      return proxy !== undefined && delegate !== undefined && delegate.until > 0 && delegate.until <= proxy.until;
    });
  }
}
