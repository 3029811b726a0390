// What is concluded from a target's caches and from the errors of its API server, without any server: whether a
// candidate may exist.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CONFIRM_BEFORE_ANNOTATION, PARENT_UID_LABEL } from '../../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { ApiError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { NotLeaderError, type Fence } from '../../../../kubernetes/flow/fence.ts';
import { CONFIRM_MARGIN_MS } from '../../../../model/delegate/confirmation.ts';
import {
  candidateStateOf, createCandidate, findCandidate, hasEnded, unobservedTargets,
} from '../../../../scheduler/cycle/candidate-writer.ts';
import { PodState } from '../../../../scheduler/cycle/pod-state.ts';
import type { TargetCluster } from '../../../../targets/target-cluster.ts';
import type { TargetClusters } from '../../../../targets/target-clusters.ts';
import {
  aChaperonRecord, aDelegateRecord, annotated, inPhase, withUid,
} from '../../../support/objects/builders.ts';

describe('createCandidate', () => {
  const chaperon: PodChaperon = {
    kind: 'PodChaperon', metadata: { namespace: 'n', name: 'p', labels: { [PARENT_UID_LABEL]: 'u' } },
    spec: { containers: [] },
  };
  const there = (uid: string) => ({ ...chaperon,
    metadata: { labels: { [PARENT_UID_LABEL]: uid }, resourceVersion: '9' } });
  const asked = async (onCreate: unknown, onGet: unknown, isRetry: boolean,
    mode: 'Pod' | 'PodChaperon' = 'PodChaperon') => {
    const answer = (what: unknown): Promise<unknown> =>
      (what instanceof Error ? Promise.reject(what) : Promise.resolve(what));
    const calls: string[] = [];
    const client = {
      metadataOnly: () => client,
      create: ({ kind }: { readonly kind: string }) => (calls.push(`create ${kind}`), answer(onCreate)),
      get: ({ kind }: { readonly kind: string }) => (calls.push(`get ${kind}`), answer(onGet)),
    };
    const outcome = await createCandidate(
      { client: client as unknown as ClusterClient, mode, isRetry }, chaperon, new AbortController().signal,
    ).catch((error: unknown) => error);
    if (outcome instanceof Error) return ['thrown', calls.join(', ')];
    const { kind, ...rest } = outcome as { kind: string; resourceVersion?: number; rejection?: { reason: string } };
    return [`${kind} ${rest.resourceVersion ?? rest.rejection?.reason}`, calls.join(', ')];
  };
  const EXISTS = new ApiError(409, 'AlreadyExists', 'it exists');
  const NONE = new ApiError(404, 'NotFound', 'there is none');
  const DENIED = new ApiError(403, 'Forbidden', 'quota');
  const LOST = new ApiError(504, 'Timeout', 'gave up');
  const UNSENT = new UnreachableError('no route', { isUnsent: true });
  const NOT_LEADER = new NotLeaderError({} as Fence);
  const [C, G] = ['create PodChaperon', 'create PodChaperon, get PodChaperon'];
  const rows: Record<string, readonly [unknown, unknown, isRetry: boolean, outcome: string, calls: string]> = {
    'made': [there('u'), NONE, false, 'created 9', C],
    'there already': [EXISTS, there('u'), false, 'created 9', G],
    'there already, of another pod': [EXISTS, there('other'), false, 'rejected NameCollision', G],
    'there already, and gone when it is looked for: nobody knows': [EXISTS, NONE, false, 'thrown', G],
    'rejected': [DENIED, NONE, false, 'rejected Forbidden', C],
    'rejected after an earlier one: nothing is there': [DENIED, NONE, true, 'rejected Forbidden', G],
    'rejected after an earlier one, which was done': [DENIED, there('u'), true, 'created 9', G],
    'rejected after an earlier one, and of another pod': [DENIED, there('other'), true, 'rejected NameCollision', G],
    'rejected after an earlier one, and nobody can be asked': [DENIED, LOST, true, 'thrown', G],
    'lost': [LOST, NONE, false, 'thrown', C],
    'lost in the network': [new UnreachableError('reset'), NONE, false, 'thrown', C],
    'not sent': [UNSENT, NONE, false, 'unreachable Unreachable', C],
    'not sent after an earlier one': [UNSENT, NONE, true, 'thrown', C],
    'not sent, because this process does not lead: the leader may have sent it': [NOT_LEADER, NONE, false, 'thrown', C],
    'something that nobody has thought of': [new Error('bug'), NONE, false, 'thrown', C],
  };
  for (const [what, [onCreate, onGet, isRetry, outcome, calls]] of Object.entries(rows)) {
    it(`${what}: ${outcome}`, async () => assert.deepEqual(await asked(onCreate, onGet, isRetry), [outcome, calls]));
  }
  it('asks for a pod where the target does not serve our kinds', async () => assert.deepEqual(
    await asked(EXISTS, there('u'), false, 'Pod'), ['created 9', 'create Pod, get Pod'],
  ));
});

describe('what a target has of a pod', () => {
  const pod = { key: 'team-a/web', uid: 'proxy-uid' };
  const [chaperon, delegate] = [aChaperonRecord(), aDelegateRecord()];
  const found = (session: object | undefined, owns: (made: unknown) => boolean = () => true) =>
    findCandidate({ session, owns } as unknown as TargetCluster, pod);
  const having = (what: object, hasSynced = true) => ({ hasSynced, find: () => what });

  it('is unknown without a session, and until that has listed everything', () => {
    assert.equal(found(undefined), 'unknown');
    assert.equal(found(having({ chaperon, delegate: undefined }, false)), 'unknown');
  });
  it('is nothing where it has neither', () => assert.equal(
    found(having({ chaperon: undefined, delegate: undefined })), 'nothing',
  ));
  it('may be a delegate alone, while its chaperon has gone', () => assert.deepEqual(
    found(having({ chaperon: undefined, delegate })), { chaperon: undefined, delegate },
  ));
  it('is not what was made through another target for the same cluster', () => {
    assert.equal(found(having({ chaperon, delegate }), () => false), 'nothing');
    assert.notEqual(found(having({ chaperon, delegate }), (made) => made === chaperon), 'nothing');
    assert.notEqual(found(having({ chaperon: undefined, delegate }), (made) => made === delegate), 'nothing');
  });
});

describe('the state of a candidate', () => {
  const before = 1_000_000;
  const due = aChaperonRecord(annotated({ [CONFIRM_BEFORE_ANNOTATION]: new Date(before).toISOString() }));
  const stateAt = (latest: number | undefined, chaperon = due,
    prepare: (podState: PodState) => void = () => undefined) => {
    const podState = new PodState('u');
    prepare(podState);
    const session = latest === undefined ? undefined : { client: { transport: { clock: { latest: () => latest } } } };
    return candidateStateOf(chaperon, { target: { key: 't', session } as unknown as TargetCluster, podState, now: 0 });
  };
  const late = { isCloseToDeadline: true };
  const rows: Record<string, readonly [state: object, expected: object]> = {
    'is not late while its confirmation can arrive in time': [stateAt(before - CONFIRM_MARGIN_MS), {}],
    'is late from then on': [stateAt(before - CONFIRM_MARGIN_MS + 1), late],
    'is late where the clock of its target is not known': [stateAt(undefined), late],
    'is never late without a deadline': [stateAt(Infinity, aChaperonRecord()), {}],
    'is abandoned for good': [stateAt(0, due, (podState) => podState.abandonedIn.add('t')), { isAbandoned: true }],
    'is not abandoned where another was': [stateAt(0, due, (podState) => podState.abandonedIn.add('other')), {}],
    'tells its delete':
      [stateAt(0, due, (podState) => podState.noteDeletion('t', due.uid, 'sent')), { deletion: 'sent' }],
    'does not tell the delete of an earlier one':
      [stateAt(0, due, (podState) => podState.noteDeletion('t', 'earlier', 'done')), {}],
  };
  for (const [sentence, [state, expected]] of Object.entries(rows)) it(sentence,
    () => assert.deepEqual(state, expected));
});

describe('targets that cannot be observed', () => {
  const world = (targets: Record<string, { readonly synced?: boolean; readonly worked?: boolean }>) => {
    const all = Object.entries(targets).map(([key, { synced }]) => (
      { key, ref: { kind: 'ClusterTarget', name: key },
        session: synced === undefined ? undefined : { hasSynced: synced } }
    ));
    return {
      all: () => all, get: (key: string) => all.find((target) => target.key === key),
      object: ({ name }: { readonly name: string }) => (
        targets[name]?.worked === undefined ? undefined : { status: targets[name].worked ? { clusterID: 'id' } : {} }
      ),
    } as unknown as TargetClusters;
  };
  const podStateOf = (...keys: string[]): PodState => {
    const podState = new PodState('u');
    for (const key of keys) podState.targets.add(key);
    return podState;
  };
  const targets = world({
    listed: { synced: true, worked: true }, opening: { synced: false, worked: true }, closed: { worked: true },
    fresh: { synced: false, worked: false }, unknown: { synced: false },
  });
  it('are those that worked once, for a pod that another process may have sent', () => assert.deepEqual(
    unobservedTargets(targets, podStateOf(), new Set(['listed'])), ['opening', 'closed'],
  ));
  it('are also those whose watches were not open since then', () => assert.deepEqual(
    unobservedTargets(targets, podStateOf(), new Set()), ['listed', 'opening', 'closed'],
  ));
  it('are none for a new pod', () => assert.deepEqual(unobservedTargets(targets, podStateOf(), undefined), []));
  it('are those that it was sent to, whether they worked or not', () => assert.deepEqual(
    unobservedTargets(targets, podStateOf('listed', 'opening', 'fresh', 'unknown', 'removed'), undefined),
    ['opening', 'fresh', 'unknown'],
  ));
});

describe('hasEnded', () => {
  it('is for good, and only of a delegate that there is', () => assert.deepEqual(
    [undefined, aDelegateRecord(withUid('d')), ...(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] as const)
      .map((phase) => aDelegateRecord(inPhase(phase)))].map(hasEnded),
    [false, false, false, false, true, true, false],
  ));
});
