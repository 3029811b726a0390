// GitOps tools that wait for our objects see from their status when these are ready.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PlacementPolicy, PlacementPolicyStatus } from '../../../api/kinds/placement-policy.ts';
import { toResourceShareStatus } from '../../../delegate-controller/resource-shares/resource-share-status.ts';
import { identityStatus } from '../../../peering/identity/identity-status.ts';
import type { SourceIdentity } from '../../../peering/identity/source-identity.ts';
import { planPolicyStatus } from '../../../scheduler/policies/policy-status.ts';
import { toTargetStatus, type ObservedTarget } from '../../../virtual-node/node/target-status.ts';
import { kstatusOf } from '../../support/peers/kstatus.ts';

const NOW = '2026-01-01T00:00:00Z';
const OBSERVED: ObservedTarget = {
  problem: undefined, summary: { metadata: {}, free: {} }, clusterID: 'c', virtualNode: 'admiralty-c2', hasNode: true,
  isCordoned: false, generation: 2,
};
const target = (observed: Partial<ObservedTarget>) =>
  ({ metadata: { generation: 2 }, status: toTargetStatus({}, { ...OBSERVED, ...observed }, NOW) });
const IDENTITY = { account: { namespace: 'a', name: 'b' }, clusterId: 'c' } as SourceIdentity;
const source = (kind: 'established' | 'nobody') => ({
  metadata: { generation: 1 },
  status: identityStatus(
    {}, { identity: IDENTITY, outcome: { kind }, allows: { namespaces: '', podSecurity: 'baseline', streams: '' } },
    { generation: 1, now: NOW },
  ),
});
const policy = (problem?: string) => {
  const object: PlacementPolicy = { metadata: { namespace: 'a', name: 'p', generation: 2 }, spec: {} };
  const [command] = planPolicyStatus({ object, ...(problem !== undefined && { problem }) }, NOW);
  return { ...object, status: (command as unknown as { patch: { status: PlacementPolicyStatus } }).patch.status };
};
const share = (cpu: string) => ({
  metadata: { generation: 1 },
  status: toResourceShareStatus(
    {}, { source: '*', limits: { cpu } }, { limits: {}, used: {} }, { generation: 1, now: NOW },
  ),
});
/** Somebody has changed the spec, and no component has processed it yet. */
const changed = <T extends { readonly metadata: { readonly generation?: number } }>(object: T): T =>
  ({ ...object, metadata: { ...object.metadata, generation: 9 } });

describe('kstatus', () => {
  const rows = [
    ['a target that pods can be sent to', target({}), 'Current'],
    ['a target that cannot be reached', target({ problem: { reason: 'Unreachable', message: 'm' } }), 'InProgress'],
    ['a target without its virtual node', target({ hasNode: false }), 'InProgress'],
    ['a target that drains', { ...target({}), metadata: { generation: 2, deletionTimestamp: NOW } }, 'Terminating'],
    ['a source with its permissions', source('established'), 'Current'],
    ['a source that names nobody', source('nobody'), 'InProgress'],
    ['a policy in force', policy(), 'Current'],
    ['a policy that cannot be used', policy('has no spec'), 'InProgress'],
    ['a share in force', share('1'), 'Current'],
    ['a share whose limit is none', share('one'), 'InProgress'],
    ['a target whose spec has changed', changed(target({})), 'InProgress'],
    ['a source whose spec has changed', changed(source('established')), 'InProgress'],
    ['a policy whose spec has changed', changed(policy()), 'InProgress'],
    ['a share whose spec has changed', changed(share('1')), 'InProgress'],
  ] as const;
  for (const [what, object, expected] of rows) {
    it(`calls ${what} ${expected}`, () => assert.equal(kstatusOf(object), expected));
  }
});
