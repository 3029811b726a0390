// GitOps tools that wait for our objects see from their status when these are ready.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { identityConditions } from '../../../peering/identity-conditions.ts';
import type { SourceIdentity } from '../../../peering/source-identity.ts';
import { toTargetStatus, type ObservedTarget } from '../../../virtual-node/target-status.ts';
import { kstatusOf } from '../../support/kstatus.ts';

const NOW = '2026-01-01T00:00:00Z';
const OBSERVED: ObservedTarget = { problem: undefined, summary: { metadata: {}, free: {} }, clusterID: 'c', virtualNode: 'admiralty-c2', hasNode: true, generation: 2 };
const target = (observed: Partial<ObservedTarget>) => ({ metadata: { generation: 2 }, status: toTargetStatus({}, { ...OBSERVED, ...observed }, NOW) });
const IDENTITY = { account: { namespace: 'a', name: 'b' }, clusterId: 'c' } as SourceIdentity;
const source = (kind: 'established' | 'nobody') => ({ metadata: { generation: 1 }, status: { conditions: identityConditions(IDENTITY, { kind }, { conditions: [], generation: 1, now: NOW }) } });

describe('kstatus', () => {
  const rows = [
    ['a target that pods can be sent to', target({}), 'Current'],
    ['a target that cannot be reached', target({ problem: { reason: 'Unreachable', message: 'm' } }), 'InProgress'],
    ['a target without its virtual node', target({ hasNode: false }), 'InProgress'],
    ['a target that drains', { ...target({}), metadata: { generation: 2, deletionTimestamp: NOW } }, 'Terminating'],
    ['a source with its rights', source('established'), 'Current'],
    ['a source that names nobody', source('nobody'), 'InProgress'],
  ] as const;
  for (const [what, object, expected] of rows) it(`calls ${what} ${expected}`, () => assert.equal(kstatusOf(object), expected));
});
