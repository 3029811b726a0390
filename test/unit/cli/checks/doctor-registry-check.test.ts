import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DiscoveredCluster, TargetDiscovery } from '../../../../api/registry/target-discovery.ts';
import type { Condition } from '../../../../api/objects/core.ts';
import type { DoctorFacts } from '../../../../cli/checks/doctor-facts.ts';
import { checkRegistries } from '../../../../cli/checks/doctor-registry-check.ts';

const condition = (type: string, status: Condition['status'], message = 'm'): Condition => ({ type, status, message });
const read = condition('Ready', 'True');
const discovery = (conditions: readonly Condition[], clusters: readonly DiscoveredCluster[] = []): TargetDiscovery => ({
  metadata: { name: 'argo' }, spec: { from: { argoCD: {} } },
  status: { conditions, clusters, found: 2, targets: 1 },
});
const check = (...discoveries: readonly TargetDiscovery[]) => checkRegistries({ discoveries } as unknown as DoctorFacts)
  .map(({ severity, subject, message }) => `${severity} ${subject}: ${message}`);

describe('the check of registries', () => {
  const refused: DiscoveredCluster = { entry: 'Secret argocd/x', name: 'x', state: 'Refused', message: 'it runs sh' };
  const rows: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['there is none', check(), ['ok this cluster: no registry is followed']],
    ['all is well', check(discovery([read])), ['ok TargetDiscovery argo: 1 of 2 entries are targets']],
    [
      'nothing follows it', check({ metadata: { name: 'argo' }, spec: { from: { argoCD: {} } } }),
      ['error TargetDiscovery argo: nothing follows it'],
    ],
    [
      'it cannot be read', check(discovery([condition('Ready', 'False', 'no CRD')])),
      ['error TargetDiscovery argo: no CRD'],
    ],
    [
      'removals are held', check(discovery([read, condition('RemovalsHeld', 'True', 'nine')])),
      ['warning TargetDiscovery argo: nine'],
    ],
    [
      'a cluster is in two lists', check(discovery([read, condition('Duplicates', 'True', 'two')])),
      ['warning TargetDiscovery argo: two'],
    ],
    [
      'an entry is refused', check(discovery([read], [refused])),
      ['warning TargetDiscovery argo: Secret argocd/x: it runs sh'],
    ],
  ];
  for (const [what, actual, expected] of rows) it(`says so when ${what}`, () => assert.deepEqual(actual, expected));

  it('tells of a few entries alone', () => {
    assert.equal(check(discovery([read], Array.from({ length: 50 }, () => refused))).length, 5);
  });
});
