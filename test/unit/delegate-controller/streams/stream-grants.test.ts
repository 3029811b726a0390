import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import type { SourceRule } from '../../../../delegate-controller/target-cache/source-rules.ts';
import {
  streamManifests, toRequestedStreams, wantedRoles, type RequestedStreams,
} from '../../../../delegate-controller/streams/stream-grants.ts';
import type { BindingObject, RoleObject } from '../../../../model/access/rbac-objects.ts';

const source = (more: Partial<SourceRule> = {}): SourceRule => ({
  name: 'berlin', uid: 'u', namespace: undefined, clusterId: 'c1', podSecurity: 'baseline',
  account: 'isthmus-system/berlin', userName: undefined, streams: 'OwnDelegates', ...more,
});
const asked = (name: string, more: Partial<RequestedStreams> = {}): RequestedStreams =>
  ({ key: `shop/${name}`, chaperonUid: `of-${name}`, clusterId: 'c1', requestedAt: 't', ...more });
const granted = (
  all: readonly RequestedStreams[], sources: readonly SourceRule[],
  madeFrom = (key: string): string | undefined => `of-${key.slice(5)}`,
) =>
  Object.fromEntries(
    [...wantedRoles({ namespace: 'shop', asked: all, madeFrom, sources })].map(([name, { pods }]) => [name, pods]),
  );
const ROLE = 'admiralty-streams-of-cluster-berlin';

describe('the right to streams', () => {
  const rows: readonly [string, object, object][] = [
    ['is given for what was asked for', granted([asked('b'), asked('a')], [source()]), { [ROLE]: ['a', 'b'] }],
    ['is not given where nothing was asked for', granted([], [source()]), {}],
    ['is not given for a pod that is not there', granted([asked('a')], [source()], () => undefined), {}],
    [
      'is not given for a pod that has the name and is another\'s',
      granted([asked('a')], [source()], () => 'of-a-stranger'), {},
    ],
    [
      'is not given for a chaperon without identity', granted([asked('a', { chaperonUid: '' })], [source()], () => ''),
      {},
    ],
    [
      'is given to its own source alone',
      granted([asked('a'), asked('b', { clusterId: 'c2' })], [source(), source({ name: 'rome', clusterId: 'c2' })]),
      { [ROLE]: ['a'], 'admiralty-streams-of-cluster-rome': ['b'] },
    ],
    [
      'is given to a source that does not say its cluster, for what is no other\'s',
      granted([asked('a'), asked('b', { clusterId: 'x' }), asked('c', { clusterId: undefined })], [
        source({ clusterId: undefined }), source({ name: 'rome' }),
      ]),
      { [ROLE]: ['b', 'c'], 'admiralty-streams-of-cluster-rome': ['a'] },
    ],
    ['is not given to a Source of another namespace', granted([asked('a')], [source({ namespace: 'other' })]), {}],
    ['is given to a Source of this one', granted([asked('a')], [source({ namespace: 'shop' })]), {
      'admiralty-streams-of-namespace-berlin': ['a'],
    }],
    ['is not given where streams are off', granted([asked('a')], [source({ streams: 'None' })]), {}],
    ['is not given where all are allowed anyway', granted([asked('a')], [source({ streams: 'All' })]), {}],
  ];
  for (const [what, actual, expected] of rows) it(what, () => assert.deepEqual(actual, expected));

  it('is given for the last five hundred', () => {
    const names = Array.from({ length: 501 }, (_, index) => `p${String(index).padStart(3, '0')}`);
    const pods = granted(names.map((name) => asked(name)), [source()])[ROLE] ?? [];
    assert.deepEqual([pods.length, pods[0]], [500, 'p001']);
  });

  it('names pods in every rule, for a rule without names is about all', () => {
    const [role, binding] =
      streamManifests('shop', source({ userName: 'jane' }), ['a']) as unknown as [RoleObject, BindingObject];
    for (const { resourceNames } of role.rules) assert.deepEqual(resourceNames, ['a']);
    assert.deepEqual(
      binding.subjects.map(({ kind, name }) => `${kind} ${name}`), ['ServiceAccount berlin', 'User jane'],
    );
    assert.deepEqual(role.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid]), [['ClusterSource', 'u']]);
  });
});

describe('a PodChaperon', () => {
  const chaperon = (metadata: object) => ({
    metadata: { namespace: 'shop', name: 'a', uid: 'u', labels: {}, ...metadata }, spec: {},
  }) as unknown as PodChaperon;
  const annotations = { 'isthmus.dev/streams-asked': 't' };
  it('asks by an annotation, until it goes', () => {
    assert.deepEqual(toRequestedStreams(chaperon({ annotations })), {
      key: 'shop/a', chaperonUid: 'u', clusterId: undefined, requestedAt: 't',
    });
    assert.equal(toRequestedStreams(chaperon({})), undefined);
    assert.equal(toRequestedStreams(chaperon({ annotations, deletionTimestamp: 'now' })), undefined);
  });
});
