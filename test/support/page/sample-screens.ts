// Screens with something of everything, made by the functions that make the real ones.
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import type { Node, Pod } from '../../../api/objects/core.ts';
import { PLACEMENT_ANNOTATION } from '../../../api/objects/keys.ts';
import { decisionScreen, decisionsScreen } from '../../../dashboard/views/decisions-view.ts';
import { podsScreen, workloadsScreen } from '../../../dashboard/views/pod-lists.ts';
import { podScreen, type SeenJourney } from '../../../dashboard/views/pod-view.ts';
import { pendingScreen, waitingGroups } from '../../../dashboard/views/pending-view.ts';
import { targetsScreen } from '../../../dashboard/views/targets-view.ts';
import { movesScreen } from '../../../dashboard/views/moves-view.ts';
import { policiesScreen, type SeenPolicies } from '../../../dashboard/views/policies-view.ts';
import { toSeenPod } from '../../../dashboard/views/seen-pod.ts';
import type { PolicyChoice } from '../../../dashboard/wire/placement-rows.ts';
import type { AnyScreen } from '../../../dashboard/wire/screens.ts';
import type { Explanation } from '../../../scheduler/explain/explain.ts';
import { movePolicy, seenPolicies, shownClusterPolicy, shownPolicy } from '../objects/seen-policies.ts';
import { nodeOfTarget, seenDiscoveries, seenSource, shownPod, unschedulable } from '../objects/seen-pods.ts';

const NO_ROOM = '0/3 targets can run this pod. ClusterTarget/eu-west: InsufficientRoom: no node has 4 nvidia.com/gpu ' +
  'free. ClusterTarget/us-east: UntoleratedTaint: the pod does not tolerate gpu=reserved. ClusterTarget/asia: ' +
  'Unreachable: its API server has not answered within 5 s.';
const PROPOSED = {
  discovery: 'argo', cluster: 'eu-north', entry: 'Secret argocd/cluster-eu-north',
  clusterId: '7f0c2a41-9d1e-4c55-8a35-0d1f6f7e2b90',
};
/** When the screens are of. */
export const SAMPLE_TIME = Date.parse('2026-01-01T12:00:00Z');
const ago = (seconds: number): string => new Date(SAMPLE_TIME - 1_000 * seconds).toISOString().replace(/\.\d+Z/, 'Z');

function target(name: string, change: Partial<NonNullable<ClusterTarget['status']>>): ClusterTarget {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: ago(9_000) } as const;
  return {
    metadata: { name }, spec: { prices: { cpu: '0.03' }, ...(name === 'us-east' && { gateway: { cluster: name } }) },
    status: {
      virtualNode: nodeOfTarget(name), conditions: [ready], delegation: 'PodChaperon', rtt: '12ms',
      free: { cpu: '42.5', memory: '180Gi', gpu: '0', pods: '310' }, ...change,
    },
  };
}

function pods(): readonly Pod[] {
  const owned = (kind: string, name: string, count: number, places: readonly (string | undefined)[]) =>
    Array.from({ length: count }, (_, index) => shownPod({
      name: `${name}-${index}`, owner: { kind, name }, createdAt: ago(400 + 61 * index),
      ...placed(places[index % places.length]),
    }));
  return [
    ...owned('StatefulSet', 'orders-db', 3, ['eu-west']),
    ...owned('ReplicaSet', 'checkout', 14, ['eu-west', 'us-east']),
    ...owned('Job', 'train-llm', 6, [undefined, 'eu-west', undefined]),
    ...owned('ReplicaSet', 'search', 9, ['us-east', 'asia']),
  ];
}

function placed(name: string | undefined): Parameters<typeof shownPod>[0] {
  return name === undefined ? { conditions: [unschedulable(NO_ROOM)] } : { target: `ClusterTarget/${name}` };
}

const EXPLANATION: Explanation = {
  targets: [
    { target: 'ClusterTarget/eu-west', checks: [
      { filter: 'Available', answer: 'passes' }, { filter: 'NodeSelector', answer: 'passes' },
      { filter: 'Room', answer: 'no', reason: 'InsufficientRoom', message: 'no node has 4 nvidia.com/gpu free' },
    ] },
    { target: 'ClusterTarget/us-east', checks: [
      { filter: 'Available', answer: 'passes' },
      { filter: 'Taints', answer: 'no', reason: 'UntoleratedTaint', message: 'the pod does not tolerate gpu=reserved' },
      { filter: 'Room', answer: 'passes' },
    ] },
  ],
  smallestChange: {
    target: 'ClusterTarget/eu-west',
    changes: [
      'InsufficientRoom: no node has 4 nvidia.com/gpu free; or lower the request of the pod to 2 nvidia.com/gpu ' +
        'instead of 4',
    ],
  },
};
const CHOSEN: Explanation = {
  chosen: 'ClusterTarget/eu-west', margin: { over: 'ClusterTarget/us-east', by: 'score', score: 0.21 },
  targets: [
    { target: 'ClusterTarget/eu-west', score: 0.81, checks: [{ filter: 'Room', answer: 'passes' }],
      scores: [{ name: 'leastAllocated', weight: 1, score: 0.81 }] },
    { target: 'ClusterTarget/us-east', score: 0.6, checks: [{ filter: 'Room', answer: 'passes' }],
      scores: [{ name: 'leastAllocated', weight: 1, score: 0.6 }] },
    { target: 'ClusterTarget/asia', checks: [
      { filter: 'Available', answer: 'no', reason: 'Unreachable', message: 'it has not answered within 5 s' },
    ] },
  ],
};

/** Every screen by its address; texts of clusters begin with `mark`. */
export function sampleScreens(mark = ''): ReadonlyMap<string, AnyScreen> {
  const lost = {
    type: 'Ready', status: 'False', reason: 'Unreachable', lastTransitionTime: ago(130),
    message: `${mark}its API server has not answered within 5 s; check the network between the clusters`,
  } as const;
  const nodes = ['eu-west', 'us-east', 'asia'].map((name): Node => ({
    metadata: { name: nodeOfTarget(name), labels: {} }, spec: { unschedulable: name === 'us-east' },
    status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: ago(name === 'asia' ? 700 : 40) }] },
  }));
  const source = seenSource(pods(), {
    clusterTargets: { kind: 'read', records: [
      target('eu-west', { free: { cpu: '12', memory: '48Gi', gpu: '3', pods: '95' } }),
      target('us-east', { rtt: '86ms' }),
      target('asia', { conditions: [lost], free: {} }),
    ] },
    nodes: { kind: 'read', records: nodes },
  });
  const groups = waitingGroups(source, {}) ?? [];
  const moving = { ...source, pods: { kind: 'read', records: movingPods().map(toSeenPod) } } as const;
  const records = [toSeenPod(samplePodObject()), ...moving.pods.records];
  const decided = { ...moving, pods: { ...moving.pods, records } };
  const explanations = new Map(groups.map(({ pods: [first] }) => [first.uid, EXPLANATION]));
  return new Map([
    ['/targets', targetsScreen(source, seenDiscoveries([PROPOSED]))],
    ['/workloads', workloadsScreen(source, {})], ['/pods', podsScreen(source, {})],
    ['/pending', pendingScreen(source, groups, explanations)], ['/policies', policiesScreen(source, policies(), {})],
    ['/decisions', decisionsScreen(decided, {})],
    ['/decisions/shop/checkout-0', sampleDecision(mark)], ['/moves', movesScreen(moving, policies())],
    ['/pods/shop/checkout-0', samplePod(mark)],
    ['/pods/shop/checkout-0?without=eu-west', samplePod(mark, 'eu-west')],
    ['/pods/shop/checkout-0?policy=PlacementPolicy%2Fon-the-moon', sampleWhatIf(mark)],
    ['/pods/shop/checkout-0?replicas=10', sampleMorePods(mark)], ['/pods/shop/train-llm-0', sampleWaiting(mark)],
  ].flatMap(([address, screen]) => (screen === undefined ? [] : [[address as string, screen as AnyScreen] as const])));
}

/** One of each kind, one that leaves no target, and one of a move. */
function policies(): SeenPolicies {
  const no = { type: 'Ready', status: 'False', reason: 'NoTargetSelected', message: 'no target is selected' } as const;
  const region = (name: string) => ({ matchLabels: { region: name } });
  const nowhere = shownPolicy({ require: region('moon') }, { name: 'on-the-moon' });
  return seenPolicies([
    shownPolicy({ podSelector: { matchLabels: { app: 'checkout' } }, forbid: region('asia'), failover: 'Fenced' }),
    { ...nowhere, status: { conditions: [no] } }, movePolicy('checkout', 'us-east'),
  ], { clusterPolicies: { kind: 'read', records: [shownClusterPolicy({ tiers: [{ targets: region('eu') }] })] } });
}

/** Of a rollout, of a move, on a cordoned target, and away from one that was lost. */
function movingPods(): readonly Pod[] {
  const record = JSON.stringify({ target: 'ClusterTarget/us-east', not: { 'ClusterTarget/eu-west': 'Unreachable' } });
  return ['5f7d', '5f7d', '6c2b'].map((hash, index) => shownPod({
    name: `checkout-${hash}-${index}`, owner: { kind: 'ReplicaSet', name: `checkout-${hash}` },
    createdAt: ago(90 - index), labels: { 'pod-template-hash': hash, app: 'checkout' }, target: 'ClusterTarget/us-east',
    annotations: { [PLACEMENT_ANNOTATION]: record },
  }));
}

/** Bound, with the record of the decision. */
function samplePodObject(): Pod {
  const types = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'];
  const conditions = (offset: number) => types.map((type, index) => (
    { type, status: 'True', lastTransitionTime: ago(70 - offset - index) } as const
  ));
  const status = { phase: 'Running', containerStatuses: [
    { name: 'web', image: 'web:1', ready: true, restartCount: 1, state: { running: { startedAt: ago(66) } } },
  ] } as const;
  const not = { 'ClusterTarget/asia': 'Unreachable', 'ClusterTarget/us-east': 'InsufficientRoom' };
  return shownPod({
    name: 'checkout-0', target: 'ClusterTarget/eu-west', owner: { kind: 'ReplicaSet', name: 'checkout' },
    createdAt: ago(73), status: { ...status, conditions: conditions(1) },
    annotations: { [PLACEMENT_ANNOTATION]: JSON.stringify({ target: 'ClusterTarget/eu-west', score: 0.78, not }) },
  });
}

function sampleJourney(mark: string, without?: string): SeenJourney {
  const pod = samplePodObject();
  const delegate: Pod = {
    metadata: { namespace: 'shop', name: 'checkout-0-9wz5k', creationTimestamp: ago(72), uid: 'd' },
    spec: { containers: [{ name: 'web' }], nodeName: 'gpu-node-7' }, status: pod.status ?? {},
  };
  return {
    namespace: 'shop', without, pod: { kind: 'read', records: [pod] },
    events: { kind: 'read', records: [{
      metadata: {}, type: 'Normal', reason: 'Scheduled', lastTimestamp: ago(69),
      message: `${mark}Successfully assigned shop/checkout-0 to admiralty-eu-west: eu-west is the best feasible target`,
    }] },
    targetSide: { kind: 'found', target: 'ClusterTarget/eu-west', sentAt: Date.parse(ago(72)), delegate, events: [
      {
        metadata: {}, type: 'Warning', reason: 'Unhealthy', eventTime: ago(65),
        note: `${mark}Readiness probe failed: HTTP 503`,
      },
    ] },
    explanation: without === undefined ? CHOSEN : EXPLANATION, choice: CHOICE,
  };
}

const ON_THE_MOON: Explanation = {
  targets: ['asia', 'eu-west', 'us-east'].map((name) => ({ target: `ClusterTarget/${name}`, checks: [
    {
      filter: 'Policy', answer: 'no', reason: 'PolicyRequires',
      message: 'PlacementPolicy shop/on-the-moon requires targets with region=moon; label the ClusterTarget or ' +
        'Target if it qualifies',
    },
    name === 'asia' ? { filter: 'Room', answer: 'not-asked' } : { filter: 'Room', answer: 'passes' },
  ] })),
};

const CHOICE: PolicyChoice = {
  policies: ['PlacementPolicy/in-europe', 'PlacementPolicy/on-the-moon', 'ClusterPlacementPolicy/everywhere'],
};

/** A policy that does not apply to the pod. */
function sampleWhatIf(mark: string): AnyScreen | undefined {
  return podScreen({ ...sampleJourney(mark), explanation: ON_THE_MOON, choice: {
    ...CHOICE, spec: 'require:\n  matchLabels:\n    region: moon',
    whatIf: {
      title: 'PlacementPolicy shop/on-the-moon', isEdited: false, replaces: ['PlacementPolicy shop/in-europe'],
      keeps: ['ClusterPlacementPolicy everywhere'],
    },
  } });
}

function samplePod(mark: string, without?: string): AnyScreen | undefined {
  return podScreen(sampleJourney(mark, without));
}

/** Eight of ten more pods are placed. */
function sampleMorePods(mark: string): AnyScreen | undefined {
  const shown = { kind: 'placed', pod: 'shop/checkout-0', afterScaleUp: false, afterSeconds: 0 } as const;
  const placed = Array.from({ length: 8 }, (_, index) => (
    { ...shown, target: `ClusterTarget/${index % 4 === 3 ? 'us-east' : 'eu-west'}` }
  ));
  const waits = { kind: 'waits', pod: 'shop/checkout-0', explanation: EXPLANATION } as const;
  return podScreen({ ...sampleJourney(mark), planned: [...placed, waits, waits] });
}

function sampleDecision(mark: string): AnyScreen | undefined {
  return decisionScreen(sampleJourney(mark));
}

function sampleWaiting(mark: string): AnyScreen | undefined {
  const pod = shownPod({ name: 'train-llm-0', conditions: [unschedulable(`${mark}${NO_ROOM}`)], createdAt: ago(500) });
  return podScreen({
    namespace: 'shop', pod: { kind: 'read', records: [pod] }, events: { kind: 'read', records: [] },
    targetSide: { kind: 'none' }, explanation: EXPLANATION,
  });
}
