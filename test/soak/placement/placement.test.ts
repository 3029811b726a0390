// `npm run soak -- placement`: bursts of a thousand pods over five real targets. Two namespaces get room in turns, and
// while targets refuse pods at random the merged history of all clusters holds the invariants (`docs/invariants.md`).
// Prints its figures as JSON.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL, TARGET_ANNOTATION } from '../../../api/objects/keys.ts';
import {
  NODES, PODS, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { delegateName, virtualNodeName } from '../../../model/naming/names.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld, type WorldCluster,
} from '../../support/worlds/isthmus-world.ts';
import { secondsOfSteps } from '../../support/history/placement-steps.ts';
import { seededRandom } from '../../support/objects/seeded-random.ts';
import { assertInvariants } from '../../support/history/world-invariants.ts';

const TARGETS = 5;
const NODES_EACH = 3;
const [ONE, OTHER] = ['team-a', 'team-b'];
const SOAK_MS = 180_000;
let world: IsthmusWorld;

before(async () => {
  world = await startWorld({ targets: TARGETS, nodes: NODES_EACH, clientQps: 2_000 });
  for (const namespace of [ONE, OTHER]) await makeNamespace(world, namespace);
});
after(() => world?.stop());

afterEach(async () => {
  const { client, pods } = world.source;
  const ours = (objects: readonly KubernetesObject[]) =>
    [ONE, OTHER].flatMap((namespace) => inNamespace(objects, namespace));
  await atOnce(
    ours(pods.objects),
    async ({ metadata: { namespace = '', name = '' } }) => client.delete(PODS, { namespace, name })
      .catch(() => undefined),
  );
  await pods.until('no pods', (all) => ours(all).length === 0, SOAK_MS);
  await Promise.all(
    world.targets.map((target) => target.pods.until('no delegates', (all) => ours(all).length === 0, SOAK_MS)),
  );
});

function tell(figures: object): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

/** Works on all items, 32 at a time. */
async function atOnce<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  await Promise.all(Array.from({ length: 32 }, async () => {
    for (const item of queue) await work(item);
  }));
}

function aPod(namespace: string, name: string): Pod {
  const resources = { requests: { cpu: '50m', memory: '32Mi' } };
  return {
    metadata: { namespace, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1', resources }] },
  };
}

const podsOf = (namespace: string, count: number) =>
  Array.from({ length: count }, (_, index) => aPod(namespace, `burst-${index}`));
const create = (pods: readonly Pod[]) => atOnce(pods, (pod) => world.source.client.create(PODS, pod));

async function untilRunning(count: number, since: number): Promise<void> {
  const areRunning = (all: readonly Pod[]) => [ONE, OTHER].flatMap((namespace) => inNamespace(all, namespace))
    .filter(isRunning).length === count;
  await world.source.pods.until(`${count} run`, areRunning, SOAK_MS);
  tell({ secondsOfSteps: secondsOfSteps(world, [ONE, OTHER], since) });
  tell({ pods: count, seconds: Math.round((performance.now() - since) / 100) / 10 });
}

/** Namespaces in the order in which their pods were first seen Running since `from`. */
function orderOfRunning(from: number): string[] {
  const seen = new Set<string>();
  const order: string[] = [];
  for (const { at, key, after: pod } of world.source.pods.history) {
    if (
      at < from || pod === undefined || !isRunning(pod) || seen.has(pod.metadata.uid ?? '') || ![ONE, OTHER]
        .includes(pod.metadata.namespace ?? '')
    ) continue;
    seen.add(pod.metadata.uid ?? '');
    order.push(key.split('/')[0] ?? '');
  }
  return order;
}

/** Of each tenth of the pods that got Running, the share that is of the first namespace. */
function sharesByTenth(order: readonly string[]): number[] {
  const tenth = order.length / 10;
  return Array.from(
    { length: 10 },
    (_, i) => order.slice(i * tenth, (i + 1) * tenth).filter((namespace) => namespace === ONE).length / tenth,
  );
}

function assertInterleaved(what: string, order: readonly string[]): void {
  const shares = sharesByTenth(order);
  tell({ what, pods: order.length, shareOfFirstNamespaceByTenth: shares });
  // The last tenth takes what is left of either.
  for (const [i, share] of shares.slice(0, 9).entries()) {
    assert.ok(share >= 0.25 && share <= 0.75, `of tenth ${i + 1} ${share * 100} % are of ${ONE}`);
  }
  const lasts = [ONE, OTHER].map((namespace) => order.lastIndexOf(namespace));
  assert.ok(
    Math.min(...lasts) >= order.length * 0.9, `the last of one is number ${Math.min(...lasts)} of ${order.length}`,
  );
}

async function cordonTargets(unschedulable: boolean): Promise<void> {
  const names = world.targets.map(({ cluster }) => virtualNodeName({ kind: 'ClusterTarget', name: cluster.name }));
  await Promise.all(names.map(
    (name) => world.source.client.patch(NODES, { name }, { patchType: 'merge', patch: { spec: { unschedulable } } }),
  ));
}

describe('all targets full, and one pod frees its place', () => {
  it('runs the waiting pod within 5 s', async () => {
    const wide = (name: string): Pod => {
      const { metadata, spec } = aPod(ONE, name);
      // one on a node
      return {
        metadata,
        spec: {
          containers: spec.containers.map((container) => ({ ...container, resources: { requests: { cpu: '20' } } })),
        },
      };
    };
    const placed = TARGETS * NODES_EACH;
    await create(Array.from({ length: placed }, (_, index) => wide(`full-${index}`)));
    await untilRunning(placed, performance.now());
    await create([wide('waiting')]);
    const waits = (pod: Pod) => pod.metadata.name === 'waiting' && (
      pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False') ?? false
    );
    await world.source.pods.until('one waits', (all) => all.some(waits), SOAK_MS);
    const freed = performance.now();
    await world.source.client.delete(PODS, { namespace: ONE, name: 'full-7' });
    await world.source.pods.until(
      'it runs', (all) => all.some((pod) => pod.metadata.name === 'waiting' && isRunning(pod)), SOAK_MS,
    );
    const seconds = (performance.now() - freed) / 1_000;
    tell({ what: 'all full, one frees', targets: TARGETS, secondsToRunning: seconds });
    assert.ok(seconds <= 5, `${seconds} s`);
  });
});

describe('two bursts of 500 pods from two namespaces', () => {
  it('that come at once finish interleaved', async () => {
    const from = performance.now();
    await Promise.all([create(podsOf(ONE, 500)), create(podsOf(OTHER, 500))]);
    await untilRunning(1_000, from);
    assertInterleaved('at once, room for all', orderOfRunning(from));
  });

  it('that wait for room get it in turns, though one came before the other', async () => {
    await cordonTargets(true);
    await create(podsOf(ONE, 500));
    await create(podsOf(OTHER, 500));
    const waits = (pod: Pod) =>
      pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False') ?? false;
    await world.source.pods.until(
      'all wait', (all) => [ONE, OTHER].every((namespace) => inNamespace(all, namespace).every(waits)), SOAK_MS,
    );
    const from = performance.now();
    await cordonTargets(false);
    await untilRunning(1_000, from);
    assertInterleaved('one after the other, then room', orderOfRunning(from));
  });
});

/**
 * Last digits of delegates' names that a target refuses: an eighth of all, others in each target, so that each pod
 * finds a place.
 */
const refusedDigits = (target: number) => '0123456789abcdef'.slice(target * 2, target * 2 + 2);

async function refuseAtRandom({ client }: WorldCluster, target: number): Promise<void> {
  const name = 'random-refusals';
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints:
      { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }] },
    validations: [
      { expression: `!object.metadata.name.matches('-[0-9a-f]{9}[${refusedDigits(target)}]$')`, message: 'not today' },
    ],
  };
  await client.apply(VALIDATING_ADMISSION_POLICIES, { metadata: { name }, spec } as KubernetesObject, 'isthmus-test');
  await client.apply(
    VALIDATING_ADMISSION_POLICY_BINDINGS,
    { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } } as KubernetesObject,
    'isthmus-test',
  );
  await untilRefused(client, refusedDigits(target));
}

/** A policy takes a moment until it is in force. */
async function untilRefused(client: ClusterClient, digits: string): Promise<void> {
  const name = `probe-000000000${digits[0]}`;
  for (;;) {
    const refused = await client.create(PODS, { ...aPod(ONE, name), metadata: { namespace: ONE, name } })
      .then(() => false, () => true);
    if (refused) return;
    await client.delete(PODS, { namespace: ONE, name }).catch(() => undefined);
  }
}

/** Pods of a target's own that come and go while the burst runs. */
async function churn({ client }: WorldCluster, random: () => number, signal: AbortSignal): Promise<void> {
  for (let i = 0; !signal.aborted; i += 1) {
    const name = `own-${i % 40}`;
    const cpu = `${1 + Math.floor(random() * 4)}`;
    const own = {
      metadata: { namespace: 'default', name },
      spec: { containers: [{ name: 'own', image: 'own:1', resources: { requests: { cpu } } }] },
    };
    await client.create(PODS, own)
      .catch(() => client.delete(PODS, { namespace: 'default', name }).catch(() => undefined));
    await new Promise((resolve) => setTimeout(resolve, 500 * random())); // the pace of the churn, nothing is waited for
  }
}

describe('a burst of 1,000 pods over five targets that refuse pods at random', () => {
  it('holds the invariants throughout, and nearly every first choice is the one that takes the pod', async () => {
    await Promise.all(world.targets.map(refuseAtRandom));
    const done = new AbortController();
    const random = seededRandom(6);
    const churning = world.targets.map((target) => churn(target, random, done.signal));
    const from = performance.now();
    await create(podsOf(ONE, 1_000));
    await untilRunning(1_000, from);
    done.abort();
    await Promise.all(churning);
    const choices = inNamespace(world.source.pods.objects, ONE).map((pod) => choiceOf(pod, from));
    const refused = choices.filter(({ isRefused }) => isRefused).length;
    const free = choices.filter(({ isRefused }) => !isRefused);
    const hits = free.filter(({ first, taken }) => first === taken).length;
    tell({
      pods: choices.length, firstChoiceRefusedOnPurpose: refused, others: free.length, hits,
      hitRate: hits / free.length,
    });
    assert.ok(refused > 50, `targets refused only ${refused} on purpose`);
    assert.ok(hits / free.length >= 0.9, `${hits} of ${free.length} first choices took the pod`);
    assertInvariants(world);
  });
});

interface FirstChoice {
  /** Where its first chaperon was, and where it was bound. */
  readonly first: string | undefined;
  readonly taken: string | undefined;
  /** The first one's policy refuses it. */
  readonly isRefused: boolean;
}

function choiceOf({ metadata: { uid = '', name = '', annotations } }: Pod, from: number): FirstChoice {
  const asked = world.targets.flatMap(({ cluster, chaperons }, index) => {
    const seen = chaperons.history.find(
      ({ at, after: chaperon }) => at >= from && chaperon?.metadata.labels?.[PARENT_UID_LABEL] === uid,
    );
    return seen === undefined ? [] : [{ at: seen.at, name: cluster.name, index }];
  });
  const [first] = asked.toSorted((one, other) => one.at - other.at);
  const isRefused = first !== undefined && refusedDigits(first.index).includes(delegateName(name, uid).at(-1) ?? '');
  return { first: first?.name, taken: annotations?.[TARGET_ANNOTATION]?.replace('ClusterTarget/', ''), isRefused };
}
