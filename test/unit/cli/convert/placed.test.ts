// What is converted is placed as the other system would place it: the converted manifests are admitted and scheduled in
// a simulation, with the policies that were printed beside them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { stringify } from 'yaml';
import {
  CLUSTER_TARGET_NAME_LABEL, ELECT_ANNOTATION, PROVIDER_KEY, PROVIDER_VALUE,
} from '../../../../api/objects/keys.ts';
import type { StringMap, Taint } from '../../../../api/objects/core.ts';
import type { PlacementPolicy } from '../../../../api/kinds/placement-policy.ts';
import type { NamespaceElection } from '../../../../api/kinds/namespace-election.ts';
import { convertObjects } from '../../../../cli/convert/convert-objects.ts';
import { readObjects } from '../../../../cli/plan/read-objects.ts';
import { simulate, type RecordedState } from '../../../../cli/plan/plan-simulation.ts';
import { plannedPods } from '../../../../cli/plan/planned-pods.ts';
import { recordTarget } from '../../../../scheduler/explain/recorded-inputs.ts';
import { toKnownPolicy } from '../../../../scheduler/snapshot/placement-rules.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { withNodes } from '../../../support/objects/builders.ts';
import { aPlace, withNodeInfo } from '../../../support/objects/placement.ts';

const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', '..', 'test', 'golden', 'convert');

interface NamedObject {
  readonly metadata: { readonly name: string; readonly labels: StringMap };
}

const room = (pods: number) => withNodes({ cpu: '64', memory: '64Gi', pods: String(pods) });

/** A virtual node as the component makes it. */
const nodeOf = (name: string, taints: readonly Taint[] = []) => ({
  metadata: { labels: { [PROVIDER_KEY]: PROVIDER_VALUE, [CLUSTER_TARGET_NAME_LABEL]: name } }, spec: { taints },
});

/** A target with room for a number of pods. */
function target(name: string, labels: StringMap = {}, pods = 100): TargetSnapshot {
  return aPlace(name, labels, withNodeInfo({ labels, node: nodeOf(name) }), room(pods));
}

/** How many pods of a golden input go where; `+` more objects. */
function placed(input: string, targets: readonly TargetSnapshot[], more = ''): Readonly<Record<string, number>> {
  const read = readObjects(`${readFileSync(join(FOLDER, `${input}.input.yaml`), 'utf8')}---\n${more}`);
  assert.ok(read.kind === 'objects');
  const { objects } = convertObjects(read.objects);
  const ofKind = (kind: RegExp): readonly unknown[] => objects.filter((object) => kind.test(String(object['kind'])));
  const elections = new Map((ofKind(/^NamespaceElection$/) as readonly NamespaceElection[]).map(
    ({ metadata, spec }) => [metadata.namespace ?? '', { spec, selfTargets: [] }],
  ));
  const namespaces = new Map((ofKind(/^Namespace$/) as readonly NamedObject[]).map(
    ({ metadata }) => [metadata.name, { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name }],
  ));
  const policies = (ofKind(/PlacementPolicy$/) as readonly PlacementPolicy[]).map(toKnownPolicy);
  const world: RecordedState =
    { targets: targets.map(recordTarget), policies: { isComplete: true, policies, namespaces }, placed: [], elections };
  const text = objects.map((object) => stringify(object)).join('---\n');
  const { pods } = plannedPods([{ path: input, text }], 'default', (namespace) => elections.has(namespace));
  const counts: Record<string, number> = {};
  for (const pod of simulate(pods, world)) {
    const where = pod.kind === 'placed' ? pod.target.replace('ClusterTarget/', '') : pod.kind;
    counts[where] = (counts[where] ?? 0) + 1;
  }
  return counts;
}

const members = (...names: readonly string[]) => names.map((name) => target(name));
const DEDICATED: Taint = { key: 'dedicated', value: 'special-user', effect: 'NoSchedule' };
const POD = `apiVersion: v1
kind: Pod
metadata: {namespace: NS, name: web}
spec: {containers: [{name: main, image: x}]}
`;
const podIn = (namespace: string): string => POD.replace('NS', namespace);
const ELECTED = podIn('shop').replace('name: web}', `name: web, annotations: {${ELECT_ANNOTATION}: ""}}`);

describe('what is converted is placed', () => {
  const cases: Record<string, readonly [input: string, readonly TargetSnapshot[], Readonly<Record<string, number>>]> = {
    'KubeFed: three here, five there': [
      'kubefed-two-clusters', members('ap-south', 'eu-west', 'us-east'), { 'us-east': 3, 'eu-west': 5 },
    ],
    'KubeFed: a cluster that is full keeps its part waiting': [
      'kubefed-two-clusters', [target('us-east'), target('eu-west', {}, 4)], { 'us-east': 3, 'eu-west': 4, waits: 1 },
    ],
    'KubeFed: a cluster without a target leaves its part to the others': [
      'kubefed-two-clusters', members('us-east'), { 'us-east': 8 },
    ],
    'KubeFed: evenly': ['kubefed-preference-even', members('a', 'b', 'c'), { a: 3, b: 3, c: 3 }],
    'KubeFed: a third and two thirds': ['kubefed-preference-weights', members('a', 'b', 'c'), { a: 3, b: 6 }],
    'KubeFed: the rest may move': [
      'kubefed-preference-named', [target('a'), target('b', {}, 2), target('c')], { a: 7, b: 2 },
    ],
    'Karmada: one cluster': ['karmada-by-name', members('member0', 'member1'), { member1: 3 }],
    'Karmada: copies': ['karmada-duplicated', members('member0', 'member1', 'member2'), { member1: 3, member2: 3 }],
    'Karmada: weights': ['karmada-weights', members('member0', 'member1', 'member2'), { member1: 1, member2: 2 }],
    'Karmada: a single weight': ['karmada-weights-one', members('member0', 'member1'), { member1: 3 }],
    'Karmada: as few clusters as possible': [
      'karmada-aggregated', members('member0', 'member1', 'member2'), { member1: 3 },
    ],
    'Karmada: not the excluded one': [
      'karmada-names-but-one', members('member1', 'member3'), { member1: 3 },
    ],
    'Karmada: a taint that is tolerated': [
      'karmada-tolerations',
      [aPlace('member1', {}, withNodeInfo({ node: nodeOf('member1', [DEDICATED]) }), room(100))], { member1: 3 },
    ],
    'Karmada: a taint that is not tolerated': [
      'karmada-by-name', [aPlace('member1', {}, withNodeInfo({ node: nodeOf('member1', [DEDICATED]) }), room(100))],
      { waits: 3 },
    ],
  };
  for (const [what, [input, targets, counts]] of Object.entries(cases)) {
    it(what, () => assert.deepEqual(placed(input, targets), counts));
  }

  it('Karmada: by labels, and nowhere without them', () => {
    const targets = [target('us', { location: 'us' }), target('eu', { location: 'eu' })];
    assert.deepEqual(placed('karmada-labels', targets, ELECTED), { us: 1 });
    assert.deepEqual(placed('karmada-labels', members('us'), ELECTED), { waits: 1 });
  });
  it('Karmada: by fields, and nowhere without their labels', () => {
    const region = (value: string) => ({ provider: 'aws', 'topology.kubernetes.io/region': value });
    assert.deepEqual(placed('karmada-fields', [target('a', region('us-west-1'))], ELECTED), { waits: 1 });
    assert.deepEqual(placed('karmada-fields', [target('a', { provider: 'aws' })], ELECTED), { waits: 1 });
    assert.deepEqual(placed('karmada-fields', [target('a', region('us-west-2'))], ELECTED), { a: 1 });
  });
  it('Karmada: the first group that has room', () => {
    const targets = members('public-cloud-member1', 'local-member2', 'another');
    assert.deepEqual(placed('karmada-groups-local-cloud', targets, ELECTED), { 'local-member2': 1 });
    assert.deepEqual(
      placed('karmada-groups-local-cloud', members('another', 'public-cloud-member1'), ELECTED),
      { 'public-cloud-member1': 1 },
    );
    assert.deepEqual(placed('karmada-groups-local-cloud', members('another'), ELECTED), { waits: 1 });
  });
  it('Liqo: by the cluster, by both requirements, or by one of two terms', () => {
    const provider = members('provider-1', 'provider-2');
    assert.deepEqual(placed('liqo-cluster-id', provider, podIn('demo')), { 'provider-1': 1 });
    const staging = target('staging', { region: 'europe', staging: 'true' });
    assert.deepEqual(placed('liqo-region-not-staging', [staging], podIn('demo')), { waits: 1 });
    assert.deepEqual(placed('liqo-region-or-not-staging', [staging], podIn('demo')), { staging: 1 });
    const elsewhere = target('elsewhere', { staging: 'true' });
    assert.deepEqual(placed('liqo-region-or-not-staging', [elsewhere], podIn('demo')), { waits: 1 });
  });
});
