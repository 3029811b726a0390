// The permissions for streams as they are written and withdrawn: never for another pod than was asked for, and always
// withdrawn before its name can be another's.
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { PARENT_CLUSTER_LABEL, STREAMS_REQUESTED_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { ROLES } from '../../../../api/resource-types.ts';
import { STREAM_LABELS } from '../../../../delegate-controller/streams/stream-grants.ts';
import {
  StreamGrants, type StreamGrantsOptions,
} from '../../../../delegate-controller/streams/stream-grants-controller.ts';
import type { SourceRule } from '../../../../delegate-controller/target-cache/source-rules.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { PolicyRule, RoleObject } from '../../../../model/access/rbac-objects.ts';
import {
  aChaperon, annotated, inNamespace, labelled, named, terminating, withUid, type Change,
} from '../../../support/objects/builders.ts';
import { FakeCluster, startEachTest } from '../../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const HOUR_MS = 3_600_000;
const ROLE = 'admiralty-streams-of-cluster-berlin';
const GRANTED = [`apply roles team-a/${ROLE}`, `apply rolebindings team-a/${ROLE}`];
const WITHDRAWN = [`delete rolebindings team-a/${ROLE}`, `delete roles team-a/${ROLE}`];
const SOURCE: SourceRule = {
  name: 'berlin', uid: 'u', namespace: undefined, clusterId: 'c1', podSecurity: 'baseline',
  account: 'isthmus-system/berlin', userName: undefined, streams: 'OwnDelegates',
};
const aRole = (rules: readonly PolicyRule[] | null, name = ROLE): RoleObject =>
  ({ metadata: { namespace: 'team-a', name, labels: STREAM_LABELS }, rules }) as RoleObject;
const of = (...resourceNames: readonly string[]): PolicyRule =>
  ({ apiGroups: [''], resources: ['pods/log'], verbs: ['get'], resourceNames });
/** A chaperon whose source asks for streams in these words. */
const asking = (requestedAt = 't', ...changes: readonly Change<PodChaperon>[]): PodChaperon =>
  aChaperon(
    annotated({ [STREAMS_REQUESTED_ANNOTATION]: requestedAt }), labelled({ [PARENT_CLUSTER_LABEL]: 'c1' }), ...changes,
  );

let cluster: FakeCluster;
let stop: AbortController;
let now = 0;

/** Grants that run, beside a pod of each chaperon. */
async function started(sources: readonly SourceRule[] | 'unknown' = [SOURCE]) {
  const pods = new Map([['team-a/web-abc', 'chaperon-uid'], ['team-a/b', 'uid-b'], ['team-b/web-abc', 'chaperon-uid']]);
  const said = { sources: (): void => undefined };
  const podListeners: ((key: string, before: object | undefined, after: object | undefined) => void)[] = [];
  const all = sources === 'unknown' ? undefined : sources;
  const known = { all, onChange: (listener: () => void) => void (said.sources = listener) };
  const grants = new StreamGrants({
    client: cluster.client, logger: SILENT, sources: known,
    pods: {
      synced: Promise.resolve(), onChange: (listener: never) => void podListeners.push(listener),
      get: (key: string) => ({ chaperonUid: pods.get(key) }),
    },
  } as unknown as StreamGrantsOptions);
  grants.run(Promise.resolve(), stop.signal);
  await cluster.settled();
  return {
    grants,
    observe: async (chaperon: PodChaperon, key = `${chaperon.metadata.namespace}/${chaperon.metadata.name}`) => {
      grants.observe(key, chaperon);
      await cluster.settled();
      return cluster.takeWrites();
    },
    replacePod: async (key: string, chaperonUid: string) => {
      pods.set(key, chaperonUid);
      for (const listener of podListeners) listener(key, { uid: 'one' }, { uid: 'other' });
      await cluster.settled();
      return cluster.takeWrites();
    },
    useSources: async (next: readonly SourceRule[]) => {
      known.all = next;
      said.sources();
      await cluster.settled();
      return cluster.takeWrites();
    },
  };
}

/** What is asked for within this time, in ms. */
async function within(ms: number): Promise<string[]> {
  now += ms;
  mock.timers.tick(ms);
  await cluster.settled();
  return cluster.takeWrites();
}

const withCluster = (): void => startEachTest(() => {
  cluster = new FakeCluster();
  stop = new AbortController();
  now = 10 * HOUR_MS;
  return { cluster, stop, now: () => now };
});

describe('streams that a source asks for', () => {
  withCluster();
  it('are permitted once, with the names of its pods', async () => {
    const { observe } = await started();
    assert.deepEqual(await observe(asking()), GRANTED);
    assert.deepEqual(await observe(asking()), []);
    assert.deepEqual(await observe(asking('t', named('web-abc'), labelled({ more: 'x' }))), [], 'what else changes');
  });

  it('are permitted again when it asks again: somebody may have taken the permission away', async () => {
    const { observe } = await started();
    await observe(asking());
    assert.deepEqual(await observe(asking('later')), GRANTED);
  });

  it('name all pods of a namespace, those of others not', async () => {
    const { observe } = await started();
    await observe(asking());
    cluster.writes.splice(0);
    await observe(asking('t', inNamespace('team-b')));
    assert.deepEqual(cluster.writes, []);
    const { grants } = await started();
    grants.observe('team-a/web-abc', asking());
    grants.observe('team-a/b', asking('t', named('b'), withUid('uid-b')));
    await cluster.settled();
    const role = cluster.writes.map(({ body }) => body as RoleObject).findLast(({ rules }) => Array.isArray(rules));
    assert.deepEqual(role?.rules.map(({ resourceNames }) => resourceNames), [['b', 'web-abc'], ['b', 'web-abc']]);
  });

  it('are not permitted for a chaperon that goes', async () => {
    const { observe } = await started();
    assert.deepEqual(await observe(asking('t', terminating())), []);
    await observe(asking());
    assert.deepEqual(await observe(asking('t', terminating())), WITHDRAWN);
  });

  it('wait until all sources are known', async () => {
    const { observe, useSources } = await started('unknown');
    assert.deepEqual(await observe(asking()), []);
    assert.deepEqual(await useSources([SOURCE]), GRANTED);
  });

  for (const [what, sources] of [
    ['has left', []], ['has turned them off', [{ ...SOURCE, streams: 'None' }]],
    ['has become another cluster', [{ ...SOURCE, clusterId: 'c2' }]],
  ] as const) it(`are withdrawn once their source ${what}`, async () => {
    const { observe, useSources } = await started();
    await observe(asking());
    assert.deepEqual(await useSources(sources), WITHDRAWN);
  });

  it('are withdrawn when another pod has the name', async () => {
    const { observe, replacePod } = await started();
    await observe(asking());
    assert.deepEqual(await replacePod('team-a/web-abc', 'uid-of-a-stranger'), WITHDRAWN);
  });

  it('are withdrawn an hour after they were last asked for', async () => {
    const { observe } = await started();
    await observe(asking());
    assert.deepEqual(await within(HOUR_MS / 2), []);
    await observe(asking('again'));
    assert.deepEqual(await within(HOUR_MS / 2), []);
    assert.deepEqual(await within(HOUR_MS / 2), WITHDRAWN);
  });
});

describe('Roles that were there before', () => {
  withCluster();
  it('are removed where nobody asks for them, and what is gone already is no failure', async () => {
    cluster.put(ROLES, aRole([of('web-abc')]));
    cluster.failures.push(new ApiError(404, 'NotFound', '-'), new ApiError(404, 'NotFound', '-'));
    await started();
    assert.deepEqual(cluster.takeWrites(), WITHDRAWN);
  });

  for (const [what, rules] of [['no names', [of()]], ['no rules', []], ['rules that are null', null]] as const) {
    it(`with ${what} permit nothing and are left alone`, async () => {
      const { grants } = await started();
      cluster.put(ROLES, aRole(rules));
      await cluster.settled();
      assert.deepEqual(cluster.takeWrites(), []);
      assert.equal(grants.release('team-a/web-abc'), true);
    });
  }

  it('are emptied in the cache when somebody takes their rules away', async () => {
    const { grants } = await started('unknown');
    cluster.put(ROLES, aRole([of('web-abc')]));
    await cluster.settled();
    assert.equal(grants.release('team-a/web-abc'), false);
    cluster.put(ROLES, aRole(null));
    await cluster.settled();
    assert.equal(grants.release('team-a/web-abc'), true);
  });
});

describe('a pod that is to be deleted', () => {
  withCluster();
  it('may go at once where nothing was permitted', async () => {
    assert.equal((await started()).grants.release('team-a/web-abc'), true);
  });

  it('waits until its permission is withdrawn, and API servers know', async () => {
    const { grants, observe } = await started();
    await observe(asking());
    assert.equal(grants.release('team-a/web-abc'), false);
    await cluster.settled();
    assert.deepEqual(cluster.takeWrites(), WITHDRAWN);
    assert.equal(grants.release('team-a/web-abc'), false);
    now += 999;
    assert.equal(grants.release('team-a/web-abc'), false);
    now += 1;
    assert.equal(grants.release('team-a/web-abc'), true);
  });

  it('does not wait for another of its name, in another namespace or beside it', async () => {
    const { grants, observe } = await started();
    await observe(asking());
    const others = ['team-b/web-abc', 'team-a/web', 'team-a/b'];
    assert.deepEqual(others.map((key) => grants.release(key)), [true, true, true]);
  });

  it('waits while the API server has not confirmed, whatever is wanted by then', async () => {
    const { grants, observe } = await started();
    cluster.failures.push(new ApiError(500, 'InternalError', 'it may have been written all the same'));
    await observe(asking());
    assert.equal(grants.release('team-a/web-abc'), false);
  });

  it('waits where the withdrawal itself fails, until that is done', async () => {
    const { grants, observe } = await started();
    await observe(asking());
    cluster.failures.push(new ApiError(500, 'InternalError', '-'));
    grants.release('team-a/web-abc');
    await cluster.settled();
    now += HOUR_MS;
    assert.equal(grants.release('team-a/web-abc'), false);
    assert.deepEqual((await within(60_000)).slice(-2), WITHDRAWN);
    now += 1_000;
    assert.equal(grants.release('team-a/web-abc'), true);
  });
});
