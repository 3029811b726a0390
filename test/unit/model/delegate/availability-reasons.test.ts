import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { serverStateOf, type ServerState } from '../../../../model/delegate/availability-reasons.ts';
import { toProfileStatus, type PublishedTarget } from '../../../../scheduler/publishing/cluster-profile.ts';
import { ROOT } from '../../../support/docs/documented-blocks.ts';
import { toTargetStatus } from '../../../../virtual-node/node/target-status.ts';

const NOW = '2026-07-01T12:00:00Z';

/** Each reason, with condition Reachable of the target and the health of its ClusterProfile. */
const REASONS: Readonly<Record<string, readonly [state: ServerState, reachable: string, healthy: string]>> = {
  AdmiraltyActive: ['answers', 'True', 'True'],
  AnotherCluster: ['reached', 'True', 'Unknown'],
  ApiServerError: ['fails', 'False', 'False'],
  Connecting: ['not-tried', 'Unknown', 'Unknown'],
  ControllerSilent: ['answers', 'True', 'True'],
  CredentialsUnavailable: ['not-tried', 'Unknown', 'Unknown'],
  DuplicateCluster: ['reached', 'True', 'Unknown'],
  Forbidden: ['answers', 'True', 'True'],
  InvalidSpec: ['not-tried', 'Unknown', 'Unknown'],
  KubeconfigInvalid: ['not-tried', 'Unknown', 'Unknown'],
  KubeconfigRefused: ['not-tried', 'Unknown', 'Unknown'],
  LeftRegistry: ['reached', 'True', 'Unknown'],
  LimitExceeded: ['reached', 'True', 'Unknown'],
  LoopToSource: ['reached', 'True', 'Unknown'],
  NameTooLong: ['reached', 'True', 'Unknown'],
  NotInstalled: ['answers', 'True', 'True'],
  Removing: ['reached', 'True', 'Unknown'],
  SecretKeyMissing: ['not-tried', 'Unknown', 'Unknown'],
  SecretMissing: ['not-tried', 'Unknown', 'Unknown'],
  SecretUnreadable: ['not-tried', 'Unknown', 'Unknown'],
  TooManyTargets: ['not-tried', 'Unknown', 'Unknown'],
  Unauthorized: ['reached', 'True', 'Unknown'],
  Unreachable: ['fails', 'False', 'False'],
  BadInput: ['unknown', 'False', 'Unknown'],
};

function reachableFor(reason: string): string | undefined {
  const { conditions } = toTargetStatus({}, {
    problem: { reason, message: 'm' }, summary: undefined, clusterID: undefined, virtualNode: 'admiralty-c',
    hasNode: true, isCordoned: false, generation: 1,
  }, NOW);
  return conditions?.find(({ type }) => type === 'Reachable')?.status;
}

function healthyFor(reason: string): string | undefined {
  const target: PublishedTarget = {
    name: 'c', uid: 'u', labels: {}, spec: {}, clusterId: undefined, isSynced: false, properties: undefined,
    availability: { kind: 'unavailable', reason, message: 'm' }, secretRef: undefined, endpoint: undefined,
  };
  return toProfileStatus({}, target, NOW).conditions.find(({ type }) => type === 'ControlPlaneHealthy')?.status;
}

describe('what a reason tells of the API server', () => {
  for (const [reason, expected] of Object.entries(REASONS)) {
    it(`${reason}: ${expected.join(', ')}`, () => {
      assert.deepEqual([serverStateOf(reason), reachableFor(reason), healthyFor(reason)], expected);
    });
  }

  it('is known for each reason that may stand in condition Ready of a target, and listed here', () => {
    /** Told by other conditions or of the virtual node, and while a working target is set up. */
    const others = ['Accepted', 'Answers', 'NoSummary', 'NodeMissing', 'Ready', 'TargetServed'];
    const page = readFileSync(join(ROOT, 'docs/reasons.md'), 'utf8');
    const section = page.split(/^## /m).find((text) => text.includes('| `LoopToSource` |')) ?? '';
    const reasonsIn = (text: string) => [...text.matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, reason = '']) => reason);
    const documented = reasonsIn(section).filter((reason) => !others.includes(reason));
    const known = Object.keys(REASONS).filter((reason) => serverStateOf(reason) !== 'unknown');
    assert.ok(documented.length > 15);
    assert.deepEqual(documented.filter((reason) => !known.includes(reason)), []);
    assert.deepEqual(known.filter((reason) => !reasonsIn(page).includes(reason)), []);
  });
});
