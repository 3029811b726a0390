// The shares of a target as they are watched, and what is written of them: a chaperon is admitted by shares that are
// known, and the status follows what is used.
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { PARENT_CLUSTER_LABEL } from '../../../../api/objects/keys.ts';
import type { ResourceShare, ResourceShareSpec } from '../../../../api/kinds/resource-share.ts';
import type { PodPhase } from '../../../../api/objects/core.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { RESOURCE_SHARES } from '../../../../api/resource-types.ts';
import {
  ResourceShares, type ResourceShareOptions,
} from '../../../../delegate-controller/resource-shares/resource-share-controller.ts';
import type { TargetPod } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { aChaperon, labelled, named, withRequests, withUid, type Change } from '../../../support/objects/builders.ts';
import { FakeCluster, startEachTest } from '../../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const SOURCE = 'c1';
const aShare = (spec: Partial<ResourceShareSpec>, more: Partial<ResourceShare> = {}): ResourceShare => ({
  metadata: { name: 'berlin', uid: 'share-uid', generation: 3 }, spec: { source: SOURCE, ...spec }, ...more,
});
const chaperon = (cpu: string, ...changes: readonly Change<PodChaperon>[]): PodChaperon =>
  aChaperon(labelled({ [PARENT_CLUSTER_LABEL]: SOURCE }), withRequests({ cpu }), ...changes);
const pod = (phase: PodPhase, chaperonUid = 'chaperon-uid'): TargetPod =>
  ({ key: 'team-a/web-abc', uid: 'p', phase, terminating: false, chaperonUid });
const KEY = 'team-a/web-abc';

let cluster: FakeCluster;
let stop: AbortController;
/** The clock of the process, in ms. */
let now = 0;
type PodListener = (key: string, before: TargetPod | undefined, after: TargetPod | undefined) => void;
let tellOfPod: PodListener = () => undefined;

async function started(...shares: readonly ResourceShare[]): Promise<ResourceShares> {
  for (const share of shares) cluster.put(RESOURCE_SHARES, share);
  const pods = { synced: Promise.resolve(), onChange: (listener: PodListener) => void (tellOfPod = listener) };
  const all = new ResourceShares({ client: cluster.client, pods, logger: SILENT } as unknown as ResourceShareOptions);
  all.run(stop.signal);
  await cluster.settled();
  return all;
}

interface WrittenStatus {
  readonly metadata: { readonly uid: string };
  readonly status: { readonly used: object; readonly limits: object; readonly observedGeneration: number };
}

/** Statuses that were written since the last call. */
const written = (): readonly WrittenStatus[] => cluster.writes.splice(0).map(({ body }) => body as WrittenStatus);

const withCluster = (): void => startEachTest(() => {
  cluster = new FakeCluster();
  stop = new AbortController();
  return { cluster, stop, now: () => now };
});

describe('a delegate is admitted', () => {
  withCluster();
  const NOT_FOUND = new ApiError(404, 'NotFound', 'the server could not find the requested resource');
  const FORBIDDEN = new ApiError(403, 'Forbidden', 'resourceshares is forbidden');
  for (const [what, refused, expected] of [
    ['where the kind is not served: there are no shares', NOT_FOUND, 'fits'],
    ['not before it is known whether there are', FORBIDDEN, 'unknown'],
  ] as const) it(what, async () => {
    cluster.refused.set('resourceshares', refused);
    const admission = (await started()).admit(KEY, chaperon('1'));
    assert.equal(admission === 'unknown' ? admission : admission.kind, expected);
  });

  it('not before the shares are listed', () => {
    const pods = { synced: Promise.resolve(), onChange: () => undefined };
    const all = new ResourceShares({ client: cluster.client, pods, logger: SILENT } as unknown as ResourceShareOptions);
    assert.equal(all.admit(KEY, chaperon('1')), 'unknown');
  });

  it('not before the size of the cluster is known that a share is a part of', async () => {
    const all = await started(aShare({ percentage: 50 }));
    assert.equal(all.admit(KEY, chaperon('1')), 'unknown');
    all.ledger.setTotal({ cpu: '4' });
    assert.deepEqual(all.admit(KEY, chaperon('1')), { kind: 'fits' });
  });

  it('by the share of its source, which is in a label', async () => {
    const all = await started(aShare({ limits: { cpu: '1' } }));
    const other = chaperon('2', labelled({ [PARENT_CLUSTER_LABEL]: 'c2' }));
    const admissions = [all.admit('a/x', chaperon('2')), all.admit('a/y', other)];
    assert.deepEqual(admissions.map((one) => (one === 'unknown' ? one : one.kind)), ['rejected', 'fits']);
  });

  it('by a share as it was changed, and by none once that is gone', async () => {
    const all = await started(aShare({ limits: { cpu: '1' } }));
    cluster.put(RESOURCE_SHARES, aShare({ limits: { cpu: '2' } }));
    await cluster.settled();
    assert.deepEqual(all.admit('a/x', chaperon('2')), { kind: 'fits' });
    cluster.remove(RESOURCE_SHARES, 'berlin');
    await cluster.settled();
    assert.deepEqual(all.admit('a/y', chaperon('2')), { kind: 'fits' });
  });
});

describe('a delegate counts', () => {
  withCluster();
  const uses = (all: ResourceShares) =>
    all.ledger.statusOf({ name: 'berlin', spec: { source: SOURCE } }).used['cpu'];
  const rows: Readonly<Record<string, readonly [
    chaperon: PodChaperon | undefined, pod: TargetPod | undefined, cpu: string | undefined,
  ]>> = {
    'while it runs': [chaperon('1'), pod('Running'), '1'],
    'while it waits for a node': [chaperon('1'), pod('Pending'), '1'],
    'while nobody hears of its node': [chaperon('1'), pod('Unknown'), '1'],
    'no more once it has ended': [chaperon('1'), pod('Succeeded'), undefined],
    'no more once it has failed': [chaperon('1'), pod('Failed'), undefined],
    'not before it is asked for, when only its chaperon is there': [chaperon('1'), undefined, undefined],
    'not for a chaperon that it was not made from':
      [chaperon('1', withUid('a-later-one')), pod('Running'), undefined],
  };
  for (const [what, [owner, delegate, cpu]] of Object.entries(rows)) it(what, async () => {
    const all = await started();
    all.observe(KEY, owner, delegate);
    assert.equal(uses(all), cpu);
  });

  it('from its admission on, until chaperon and pod are gone', async () => {
    const all = await started();
    all.admit(KEY, chaperon('1'));
    for (const [owner, delegate, cpu] of [
      [chaperon('1'), undefined, '1'], [chaperon('1'), pod('Pending'), '1'], [undefined, pod('Running'), '1'],
      [undefined, undefined, undefined],
    ] as const) {
      all.observe(KEY, owner, delegate);
      assert.equal(uses(all), cpu, `${owner?.metadata.name} ${delegate?.phase}`);
    }
  });
});

describe('the status of a share', () => {
  withCluster();
  it('is written as soon as the share is known, of this very object', async () => {
    await started(aShare({ limits: { cpu: '2' } }));
    const [status, ...more] = written();
    assert.deepEqual([status?.metadata, status?.status.limits, status?.status.used, more], [
      { uid: 'share-uid' }, { cpu: '2' }, {}, [],
    ]);
    assert.equal(status?.status.observedGeneration, 3);
  });

  it('is not written again while it says what is stored', async () => {
    await started(aShare({ limits: { cpu: '2' } }));
    const [{ status } = assert.fail()] = written();
    cluster.put(RESOURCE_SHARES, aShare({ limits: { cpu: '2' } }, { status } as Partial<ResourceShare>));
    await cluster.settled();
    mock.timers.tick(60_000);
    await cluster.settled();
    assert.deepEqual(cluster.takeWrites(), []);
  });

  it('follows what is used, at most every five seconds', async () => {
    const all = await started(aShare({ limits: { cpu: '2' } }));
    assert.equal(written().length, 1);
    for (const name of ['x', 'y']) {
      all.admit(`a/${name}`, chaperon('500m', named(name)));
      tellOfPod(`a/${name}`, undefined, pod('Pending'));
      await cluster.settled();
    }
    assert.deepEqual(written(), []);
    now += 5_000;
    mock.timers.tick(5_000);
    await cluster.settled();
    assert.deepEqual(written().map(({ status }) => status.used), [{ cpu: '1', pods: '2' }]);
  });

  for (const [what, before, after] of [
    ['that is no delegate', undefined, { ...pod('Running'), chaperonUid: undefined }],
    ['whose phase is as it was', pod('Running'), pod('Running')],
  ] as const) it(`is not looked at for a pod ${what}`, async () => {
    const all = await started(aShare({ limits: { cpu: '2' } }));
    const [{ status } = assert.fail()] = written();
    cluster.put(RESOURCE_SHARES, aShare({ limits: { cpu: '2' } }, { status } as Partial<ResourceShare>));
    await cluster.settled();
    mock.timers.tick(60_000);
    await cluster.settled();
    all.admit('a/x', chaperon('1'));
    tellOfPod('a/x', before, after as TargetPod | undefined);
    await cluster.settled();
    assert.deepEqual(cluster.takeWrites(), []);
  });

  it('that is gone meanwhile is no failure', async () => {
    cluster.failures.push(new ApiError(404, 'NotFound', 'resourceshares "berlin" not found'));
    await started(aShare({ limits: { cpu: '2' } }));
    assert.equal(written().length, 1);
    cluster.remove(RESOURCE_SHARES, 'berlin');
    await cluster.settled();
    mock.timers.tick(60_000);
    await cluster.settled();
    assert.deepEqual(cluster.takeWrites(), []);
  });

  it('is told to nobody: what is published changes with the spec alone', async () => {
    const all = await started(aShare({ limits: { cpu: '2' } }));
    let told = 0;
    all.onChange(() => (told += 1));
    cluster.put(RESOURCE_SHARES, aShare({ limits: { cpu: '2' } }, { status: { used: { cpu: '1' } } }));
    await cluster.settled();
    assert.equal(told, 0);
    cluster.put(RESOURCE_SHARES, aShare({ limits: { cpu: '2' }, cordoned: true }));
    await cluster.settled();
    assert.equal(told, 1);
    cluster.remove(RESOURCE_SHARES, 'berlin');
    await cluster.settled();
    assert.equal(told, 2);
  });
});
