import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ELECT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION, SCORE_WEIGHTS_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import type { PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import { planText } from '../../../../cli/plan/plan-text.ts';
import { plannedPods as plannedPodsOf } from '../../../../cli/plan/planned-pods.ts';
import { simulate, type RecordedState } from '../../../../cli/plan/plan-simulation.ts';
import { parseAdd, suppose } from '../../../../cli/plan/what-if.ts';
import { recordTarget } from '../../../../scheduler/explain/recorded-inputs.ts';
import type { PolicyIndex } from '../../../../scheduler/snapshot/placement-rules.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { withNodes } from '../../../support/objects/builders.ts';
import { aPolicyIndex, aPlace, aPolicy, full, placed, withNodeInfo } from '../../../support/objects/placement.ts';

const plannedPods = (text: string, namespace: string) => plannedPodsOf([{ path: 'app.yaml', text }], namespace);
const ELECTED = `annotations: {${ELECT_ANNOTATION}: ""}`;
const CONTAINERS = (cpu: string) => `containers: [{name: main, resources: {requests: {cpu: "${cpu}"}}}]`;
const deployment = (replicas: number, cpu = '1', annotations = ELECTED) => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team-a}
spec:
  replicas: ${replicas}
  template:
    metadata: {labels: {app: web}, ${annotations}}
    spec: {${CONTAINERS(cpu)}}
`;

const UNKNOWN = 'is of a kind without a pod template; pods that its controller makes are not planned';

/** Both namespaces of the index have opted in. */
const optedIn = (policyIndex: PolicyIndex): PolicyIndex => ({
  ...policyIndex,
  namespaces:
    new Map([...policyIndex.namespaces].map(
      ([name, labels]) => [name, { ...labels, 'multicluster-scheduler': 'enabled' }],
    )),
});

function aWorld(targets: readonly TargetSnapshot[], spec: PlacementPolicySpec = {}): RecordedState {
  return { targets: targets.map(recordTarget), policies: optedIn(aPolicyIndex(aPolicy(spec))), placed: [] };
}

const outcomes = (text: string, world: RecordedState) =>
  simulate(plannedPods(text, 'team-a').pods, world).map((pod) => (pod.kind === 'placed' ? pod.target : pod.kind));
const four = withNodes({ cpu: '4', memory: '8Gi', pods: '110' });

describe('plannedPods', () => {
  it('makes as many pods as there are replicas, owned alike', () => {
    const { pods } = plannedPods(deployment(3), 'default');
    assert.deepEqual(
      pods.map(({ metadata }) => [metadata.namespace, metadata.name, metadata.ownerReferences?.[0]?.uid]),
      [0, 1, 2].map((index) => ['team-a', `web-${index}`, 'Deployment/team-a/web']),
    );
  });

  const kinds: Record<string, readonly [text: string, count: number]> = {
    'a Pod': [`apiVersion: v1\nkind: Pod\nmetadata: {name: one, ${ELECTED}}\nspec: {${CONTAINERS('1')}}`, 1],
    'a Job with parallelism': [
      'apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n' +
        `spec: {parallelism: 4, template: {metadata: {${ELECTED}}, spec: {${CONTAINERS('1')}}}}`,
      4,
    ],
    'a CronJob': [
      'apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\n' +
        `spec: {jobTemplate: {spec: {template: {metadata: {${ELECTED}}, spec: {${CONTAINERS('1')}}}}}}`,
      1,
    ],
    'a List': [
      'apiVersion: v1\nkind: List\nitems:\n' +
        `- {apiVersion: v1, kind: Pod, metadata: {name: one, ${ELECTED}}, spec: {${CONTAINERS('1')}}}`,
      1,
    ],
    'a workload scaled to 0': [deployment(0), 0],
    'several documents, empty ones too': [`${deployment(1)}---\n---\n${deployment(2)}`, 3],
  };
  for (const [sentence, [text, count]] of Object.entries(kinds)) {
    it(`reads ${sentence}`, () => assert.equal(plannedPods(text, 'default').pods.length, count));
  }

  it('takes the namespace that is given where the object names none', () => {
    assert.equal(plannedPods(kinds['a Pod']![0], 'other').pods[0]?.metadata.namespace, 'other');
    const named = kinds['a Pod']![0].replace('metadata: {', 'metadata: {namespace: , ');
    assert.equal(plannedPods(named, 'other').pods[0]?.metadata.namespace, 'other');
  });
  it('says what it passes over', () => {
    const service = 'apiVersion: v1\nkind: Service\nmetadata: {name: s}';
    const { pods, skipped } =
      plannedPods(`${service}\n---\n${deployment(1, '1', 'annotations: {}')}`, 'default');
    assert.deepEqual([pods.length, skipped.length], [0, 2]);
    assert.match(skipped.join(), /Service\/s makes no pods.*Deployment\/web: its pods lack the annotation/);
  });
  it('passes over templates that are not of pods', () => {
    const pool = 'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\n' +
      'spec: {template: {spec: {requirements: []}}}\n';
    const { pods, skipped } = plannedPods(`${pool}---\n${deployment(1)}`, 'default');
    assert.deepEqual([pods.length, skipped], [1, [`NodePool/gpu ${UNKNOWN}`]]);
  });
  it('says of kinds that others define that their controllers may make pods', () => {
    const text = 'apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec: {}';
    assert.deepEqual(plannedPods(text, 'default').skipped, [`RayCluster/r ${UNKNOWN}`]);
    const own = 'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}';
    assert.deepEqual(plannedPods(own, 'default').skipped, ['Ingress/i makes no pods']);
  });

  it('makes no pods of what is suspended', () => {
    const job = deployment(1).replace('Deployment', 'Job').replace('replicas: 1', 'suspend: true');
    const { pods, skipped } = plannedPods(job, 'default');
    assert.deepEqual([pods, skipped], [[], ['Job/web is suspended and makes no pods']]);
  });

  it('gives a name of its own to each object that the API server would name', () => {
    const pod = `apiVersion: v1\nkind: Pod\nmetadata: {generateName: run-, ${ELECTED}}\nspec: {${CONTAINERS('1')}}`;
    const job = deployment(1).replace('Deployment', 'Job').replace('name: web', 'generateName: batch-');
    const names = plannedPods([pod, pod, job].join('\n---\n'), 'default').pods.map(({ metadata }) => metadata.name);
    assert.deepEqual(names, ['run-0', 'run-1', 'batch-2-0']);
  });

  it('reads merge keys, and an anchor that many containers use', () => {
    const many = Array.from({ length: 14 }, (_value, index) => `{<<: *c, name: c${index}}`).join(', ');
    const containers = `containers: [&c {name: c, image: i, resources: {requests: {cpu: 1}}}, ${many}]`;
    const text = `apiVersion: v1\nkind: Pod\nmetadata: {name: one, ${ELECTED}}\nspec: {${containers}}`;
    const [pod] = plannedPods(text, 'default').pods;
    assert.deepEqual(pod?.spec.containers.at(-1), { name: 'c13', image: 'i', resources: { requests: { cpu: 1 } } });
  });
  it('reads the items of a list of any kind', () => {
    const items = `[{metadata: {name: one, ${ELECTED}}, spec: {${CONTAINERS('1')}}}]`;
    const list = 'apiVersion: v1\nkind: List\nitems:\n' +
      `- {apiVersion: v1, kind: PodList, metadata: {}, items: ${items}}\n`;
    assert.deepEqual(plannedPods(list, 'default').pods.map(({ metadata }) => metadata.name), ['one']);
  });
  it('reads JSON objects one after the other, and a byte order mark in a later document', () => {
    const pod = JSON.stringify({
      apiVersion: 'v1', kind: 'Pod',
      metadata: { name: 'one', annotations: { [ELECT_ANNOTATION]: '' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    }, undefined, 2);
    for (const text of [`${pod}\n${pod}`, `${pod}\n---\n\uFEFF${pod}`]) {
      assert.equal(plannedPods(text, 'default').pods.length, 2);
    }
  });
  it('refuses what is no YAML', () => assert.throws(() => plannedPods('a: [', 'default'), /not valid YAML/));
  const wrong: Record<string, readonly [text: string, pattern: RegExp]> = {
    'a text': ['hello world', /app\.yaml is not a manifest: it holds something that is not an object/],
    'an empty file': ['', /There is no object in app\.yaml\./],
    'comments alone': ['# nothing\n---\n', /There is no object in app\.yaml\./],
    'a mapping without a kind': ['a: 1', /an object in it has no kind/],
    'an object without apiVersion': ['kind: Pod\nmetadata: {name: a}', /a Pod without apiVersion/],
    'a pod without containers':
      ['apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}', /Pod\/a has no containers/],
    'a Deployment without containers': [
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {}}}',
      /Deployment\/a has no containers/,
    ],
    'an alias of nothing':
      ['apiVersion: v1\nkind: Pod\nmetadata: *nobody', /app\.yaml (is not valid YAML|uses aliases)/],
    'a List of texts': ['apiVersion: v1\nkind: List\nitems: [a]', /it holds something that is not an object/],
  };
  for (const [sentence, [text, pattern]] of Object.entries(wrong)) {
    it(`refuses ${sentence}`, () => assert.throws(() => plannedPods(text, 'default'), pattern));
  }
});

describe('simulate', () => {
  it('lets each pod hold its place for the next', () => {
    assert.deepEqual(outcomes(deployment(5, '2'), aWorld([aPlace('a', {}, four), aPlace('b', {}, four)])), [
      'ClusterTarget/a', 'ClusterTarget/b', 'ClusterTarget/a', 'ClusterTarget/b', 'waits',
    ]);
  });

  it('fills the nodes that a target may add, and no more', () => {
    const grows = withNodeInfo({ spec: { headroom: [{ count: 1, allocatable: { cpu: '8' } }] } });
    assert.deepEqual(outcomes(deployment(4, '3'), aWorld([aPlace('a', {}, four, grows)])), [
      'ClusterTarget/a', 'ClusterTarget/a', 'ClusterTarget/a', 'waits',
    ]);
  });

  it('takes null for none, as a template leaves it', () => {
    const text = deployment(1).replace('main,', 'main, volumeMounts: ,').replace('spec: {c', 'spec: {volumes: , c');
    assert.deepEqual(outcomes(text, aWorld([aPlace('a', {}, four)])), ['ClusterTarget/a']);
  });
  it('does not change the world that it is given', () => {
    const world = aWorld([aPlace('a', {}, four)]);
    assert.deepEqual(outcomes(deployment(3, '2'), world), outcomes(deployment(3, '2'), world));
  });

  it('asks policies, and counts replicas as it goes', () => {
    const share = (name: string, weight: number) => ({ targets: { matchLabels: { name } }, weight });
    const world = aWorld([aPlace('a', { name: 'a' }, four), aPlace('b', { name: 'b' }, four)], {
      replicas: { shares: [share('a', 3), share('b', 1)] },
    });
    assert.deepEqual(outcomes(deployment(4, '100m'), world).toSorted(), [
      'ClusterTarget/a', 'ClusterTarget/a', 'ClusterTarget/a', 'ClusterTarget/b',
    ]);
  });

  it('counts the pods that are there already', () => {
    const annotations =
      `annotations: {${ELECT_ANNOTATION}: "", ${PROXY_CONSTRAINTS_ANNOTATION}: '{"topologySpreadConstraints": ` +
        '[{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", ' +
        `"labelSelector": {}}]}'}`;
    const world = { ...aWorld([aPlace('a', {}, four), aPlace('b', {}, four)]), placed: [placed({ a: 2 })] };
    assert.deepEqual(outcomes(deployment(2, '100m', annotations), world), ['ClusterTarget/b', 'ClusterTarget/b']);
  });

  it('does not wait for tiers, and says how long a pod would', () => {
    const world = aWorld([aPlace('own', { tier: 'own' }, full()), aPlace('cloud', {}, four)], {
      tiers: [{ targets: { matchLabels: { tier: 'own' } }, waitSeconds: 30 }, { targets: {} }],
    });
    const [pod] = simulate(plannedPods(deployment(1), 'team-a').pods, world);
    assert.deepEqual(pod?.kind === 'placed' && [pod.target, pod.afterSeconds], ['ClusterTarget/cloud', 30]);
  });

  it('obeys the pod’s annotation of weights', () => {
    const annotations =
      `annotations: {${ELECT_ANNOTATION}: "", ${SCORE_WEIGHTS_ANNOTATION}: "leastAllocated=0,mostAllocated=1"}`;
    assert.deepEqual(
      outcomes(deployment(2, '1', annotations), aWorld(
        [aPlace('a', {}, withNodes({ cpu: '64', memory: '64Gi', pods: '9' })), aPlace('b', {}, four)],
      )),
      ['ClusterTarget/b', 'ClusterTarget/b'],
    );
  });

  it('tells of a pod that admission would deny', () => {
    const [pod] = simulate(
      plannedPods(
        deployment(1, '1', `annotations: {${ELECT_ANNOTATION}: "", ${PROXY_CONSTRAINTS_ANNOTATION}: "["}`), 'team-a',
      ).pods,
      aWorld([]),
    );
    assert.match(pod?.kind === 'denied' ? pod.message : '', /is not valid YAML/);
  });
});

describe('what admission does', () => {
  const [a] = [aPlace('a', {}, four)];
  const [world, bare] = [aWorld([a]), { ...aWorld([a]), policies: aPolicyIndex() }];
  const first = (text: string, on: RecordedState, rejected?: Parameters<typeof simulate>[2]) =>
    simulate(plannedPods(text, 'team-a').pods, on, rejected)[0];

  it('a DaemonSet is refused', () => {
    const pod =
      first(deployment(1).replace('kind: Deployment', 'kind: DaemonSet').replace('  replicas: 1\n', ''), world);
    assert.match(
      pod?.kind === 'denied' ? pod.message : '',
      /^DaemonSetPod: a pod of DaemonSet web belongs to one node of this cluster/,
    );
  });

  it('a namespace that does not exist takes no pod', () => {
    const pod = first(deployment(1).replace('namespace: team-a', 'namespace: nowhere'), world);
    assert.match(pod?.kind === 'denied' ? pod.message : '', /namespace nowhere does not exist in this cluster/);
  });

  it('a namespace that has not opted in keeps its pods', () => {
    const pod = first(deployment(1), bare);
    assert.match(
      pod?.kind === 'local' ? pod.message : '', /namespace team-a has no label multicluster-scheduler=enabled/,
    );
    assert.match(
      planText([pod!], [], false),
      /^0 of 1 pods would be placed\.\n1 pod \(team-a\/web-0\) would run in this cluster: namespace team-a/,
    );
  });

  it('a namespace that elects all of its pods elects those without the annotation, as its strategy says', () => {
    const text = deployment(1, '1', 'annotations: {}');
    const elections = (strategy: 'Remote' | 'Local') =>
      ({ ...bare, elections: new Map([['team-a', { spec: { strategy }, selfTargets: [] }]]) });
    const { pods } = plannedPodsOf([{ path: 'app.yaml', text }], 'team-a', (namespace) => namespace === 'team-a');
    assert.deepEqual((['Remote', 'Local'] as const).map((strategy) => simulate(pods, elections(strategy))[0]?.kind), [
      'placed', 'local',
    ]);
  });

  it('a target that refuses the namespace gets none of its pods', () => {
    const rejected = new Map([
      ['team-a', new Map(
        [['ClusterTarget/a', { reason: 'NamespaceMissing', message: 'namespace team-a does not exist there' }]],
      )],
    ]);
    const pod = first(deployment(1), world, rejected);
    assert.match(
      pod?.kind === 'waits' ? planText([pod], [], false) : '',
      /NotRejected: NamespaceMissing: namespace team-a does not exist there/,
    );
  });
});

describe('what is supposed', () => {
  const targets = [aPlace('a', {}, four), aPlace('b', {}, four)].map(recordTarget);
  const base = { policies: optedIn(aPolicyIndex()), placed: [] };

  it('reads GPUs as one node, and resources as so many', () => {
    assert.deepEqual(parseAdd('4xH100'), {
      count: 1, resources: { cpu: '64', memory: '512Gi', 'nvidia.com/gpu': '4', pods: '110' },
      labels: { 'nvidia.com/gpu.product': 'H100' },
    });
    assert.deepEqual(parseAdd('3xcpu=16,memory=64Gi@b'), {
      count: 3, resources: { pods: '110', cpu: '16', memory: '64Gi' }, labels: {}, target: 'b',
    });
  });
  for (const text of ['H100', '0xH100', '4x', '2xcpu=many', '2xcpu=1,memory', 'x']) {
    it(`refuses --add ${text}`, () => assert.throws(() => parseAdd(text), /--add takes 4xH100/));
  }

  it('takes targets away', () => assert.deepEqual(
    suppose(targets, ['a'], []).map(({ key }) => key), ['ClusterTarget/b'],
  ));
  it('knows targets by key as well', () => assert.equal(suppose(targets, ['ClusterTarget/a'], []).length, 1));
  it('refuses a target that there is not', () => assert.throws(
    () => suppose(targets, ['z'], []), /no target z; there are ClusterTarget\/a, ClusterTarget\/b/,
  ));

  it('adds nodes to all targets, or to one', () => {
    const large = deployment(1, '16');
    assert.deepEqual(outcomes(large, { ...base, targets }), ['waits']);
    assert.deepEqual(
      outcomes(large, { ...base, targets: suppose(targets, [], [parseAdd('1xcpu=16,memory=64Gi@b')]) }),
      ['ClusterTarget/b'],
    );
    assert.deepEqual(
      outcomes(large, { ...base, targets: suppose(targets, ['b'], [parseAdd('1xcpu=16,memory=64Gi')]) }),
      ['ClusterTarget/a'],
    );
  });

  it('gives added GPUs to pods that ask for them', () => {
    const pod =
      `apiVersion: v1\nkind: Pod\nmetadata: {name: one, ${ELECTED}}\n` +
        'spec: {nodeSelector: {nvidia.com/gpu.product: H100}, ' +
        'containers: [{name: main, resources: {limits: {nvidia.com/gpu: 4}}}]}';
    assert.deepEqual(
      [outcomes(pod, { ...base, targets }), outcomes(
        pod, { ...base, targets: suppose(targets, [], [parseAdd('4xH100@a')]) },
      )],
      [['waits'], ['ClusterTarget/a']],
    );
  });
});

describe('planText', () => {
  it('groups pods that fare alike', () => {
    const planned = simulate(plannedPods(deployment(3, '4'), 'team-a').pods, aWorld([aPlace('a', {}, four)]));
    const lines = planText(planned, ['Service/s makes no pods'], false).split('\n');
    assert.deepEqual([lines[0], lines[1], lines[2], lines.at(-1)], [
      '1 of 3 pods would be placed.', '1 pod (team-a/web-0) → ClusterTarget/a',
      '2 pods (team-a/web-1, …) would wait: None of 1 targets can take the pod.', 'Service/s makes no pods',
    ]);
  });
});
