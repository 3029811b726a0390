import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allowedToSource, identityStatus, type IdentityOutcome } from '../../../../peering/identity/identity-status.ts';
import type { SourceIdentity } from '../../../../peering/identity/source-identity.ts';

const account = { namespace: 'ns', name: 'sa' };
const looked = { generation: 3, now: '2026-01-01T00:00:00Z' };
const allows = { namespaces: 'all', podSecurity: 'baseline', streams: 'own delegates' } as const;
const conditionsOf = (identity: SourceIdentity, outcome: IdentityOutcome) =>
  identityStatus({}, { identity, outcome, allows }, looked).conditions ?? [];
const told = (identity: SourceIdentity, outcome: IdentityOutcome) =>
  conditionsOf(identity, outcome).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const failed = (status: number, reason: string): IdentityOutcome =>
  ({ kind: 'failed', error: { status, reason, message: 'what the server said' } });

describe('identityStatus', () => {
  const rows: readonly [string, SourceIdentity, IdentityOutcome, readonly string[]][] = [
    ['an identity in place', { name: 's', account, clusterId: 'uid' }, { kind: 'established' }, [
      'Ready=True Established', 'Guarded=True PolicyInPlace',
    ]],
    ['one of Admiralty, without a cluster', { name: 's', account }, { kind: 'established' }, [
      'Ready=True Established', 'Guarded=False ClusterUnknown',
    ]],
    ['nobody', { name: 's', clusterId: 'uid' }, { kind: 'nobody' }, [
      'Ready=False NoIdentity', 'Guarded=True PolicyInPlace',
    ]],
    ['a namespace that is not there', { name: 's', account }, failed(404, 'NotFound'), [
      'Ready=False NamespaceMissing', 'Guarded=False ClusterUnknown',
    ]],
    ['a refusal', { name: 's', account }, failed(403, 'Forbidden'), [
      'Ready=False Forbidden', 'Guarded=False ClusterUnknown',
    ]],
    ['an answer without a reason', { name: 's', userName: 'u' }, failed(500, ''), [
      'Ready=False ApplyFailed', 'Guarded=False ClusterUnknown',
    ]],
  ];
  for (const [what, identity, outcome, expected] of rows) {
    it(`tells of ${what}`, () => assert.deepEqual(told(identity, outcome), expected));
  }

  it('says what to change', () => {
    const messages = (identity: SourceIdentity, outcome: IdentityOutcome) =>
      conditionsOf(identity, outcome).map(({ message }) => message);
    assert.match(messages({ name: 's' }, { kind: 'nobody' })[0] ?? '', /Set spec\.serviceAccount or spec\.userName/);
    assert.match(
      messages({ namespace: 'n', name: 's' }, { kind: 'nobody' })[0] ?? '', /Set spec\.serviceAccountName or/,
    );
    assert.match(messages({ name: 's', account }, failed(404, 'NotFound'))[0] ?? '', /Create namespace ns/);
    assert.match(
      messages({ name: 's', account, userName: 'u' }, { kind: 'established' })[0] ?? '',
      /^ServiceAccount ns\/sa and user u may send pods/,
    );
  });

  it('is of the generation that was looked at, and the very same when nothing changed, so that nothing is written',
    () => {
    const identity = { name: 's', account, clusterId: 'uid' };
    const first = identityStatus({}, { identity, outcome: { kind: 'established' }, allows }, looked);
    assert.equal(first.observedGeneration, 3);
    assert.equal(
      identityStatus(first, { identity, outcome: { kind: 'established' }, allows: { ...allows } }, {
        ...looked, now: '2026-02-02T00:00:00Z',
      }),
      first,
    );
  });

  it('shows what the source may really do', () => {
    const first =
      identityStatus({}, { identity: { name: 's', account }, outcome: { kind: 'established' }, allows }, looked);
    assert.deepEqual(first.allows, allows);
    const rows: readonly [SourceIdentity, readonly string[], string, string][] = [
      [{ name: 's' }, [], 'all but kube-*, ours, ours-keys, ours-targets', 'privileged'],
      [{ namespace: 'team', name: 's', grants: { podSecurity: 'restricted' } }, [], 'team', 'restricted'],
      [{ name: 's', grants: { namespaces: 'OptedIn', podSecurity: 'baseline' } }, [], 'none yet', 'baseline'],
      [{ name: 's', grants: { namespaces: 'OptedIn' } }, ['b', 'a'], 'a, b', 'privileged'],
      [
        { name: 's', grants: { namespaces: 'OptedIn' } },
        Array.from({ length: 12 }, (_, index) => `n${String(index).padStart(2, '0')}`),
        'n00, n01, n02, n03, n04, n05, n06, n07, n08, n09 and 2 more', 'privileged',
      ],
    ];
    for (const [identity, allowed, namespaces, podSecurity] of rows) {
      const told = allowedToSource(identity, 'ours', allowed);
      assert.deepEqual([told.namespaces, told.podSecurity], [namespaces, podSecurity]);
    }
  });
});
