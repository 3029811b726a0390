// `npm run soak -- real-nodes`: pods as Kubernetes' conformance tests try them, each run natively on a node of the
// source and elected to a target, both real. They must end alike, in every field of their status.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import PQueue from 'p-queue';
import { PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { isProxyPod } from '../../../model/pod/pod.ts';
import { eventually } from '../../support/history/eventually.ts';
import { differences, statusShape } from '../../support/real-nodes/pod-shape.ts';
import { POD_CASES, type PodCase } from '../../support/real-nodes/real-node-cases.ts';
import { ELECTED, makePod, NATIVE, startRealWorld, untilPod } from '../../support/real-nodes/real-world.ts';
import type { IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { endWorld } from '../../support/history/world-invariants.ts';

/** How long one of the two may be behind: back-offs alternate between two reasons. In ms. */
const SETTLING_MS = 30_000;
/** Pods at once on three nodes of one machine. */
const AT_ONCE = 8;

let world: IsthmusWorld;
const found = new Map<string, Promise<readonly string[]>>();
const queue = new PQueue({ concurrency: AT_ONCE });

/** What differs in the end: one of the two may be a moment behind the other. */
async function settledDifferences(
  name: string, { fields, differs = [] }: Pick<PodCase, 'fields' | 'differs'>,
): Promise<readonly string[]> {
  const counts = (one: string): boolean =>
    !differs.some(({ found: known }) => known === one)
    && (fields === undefined || fields.some((field) => one.startsWith(`${field}:`)));
  const look = (): readonly string[] => {
    const [elected, native] = [ELECTED, NATIVE].map((namespace) => world.source.pods.get(`${namespace}/${name}`));
    assert.ok(elected !== undefined && native !== undefined && isProxyPod(elected) && !isProxyPod(native));
    return differences(statusShape(elected), statusShape(native)).filter(counts);
  };
  await eventually(name, async () => look().length === 0, SETTLING_MS).catch(() => undefined);
  const left = look();
  return left.length === 0 ? [] : [...left, ...behindDelegate(name)];
}

/** For whoever reads a failure: whether the proxy shows its delegate, which itself ended in another way. */
function behindDelegate(name: string): readonly string[] {
  const proxy = world.source.pods.get(`${ELECTED}/${name}`);
  const delegate = world.targets.flatMap(({ pods }) => pods.objects).find(
    ({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy?.metadata.uid,
  );
  if (proxy === undefined || delegate === undefined) return ['it has no delegate any more'];
  return differences(statusShape(proxy), statusShape(delegate)).map((one) => `proxy and delegate: ${one}`);
}

/** Runs a case twice; gives what differs. */
async function compare({ name, isDone, differs, fields, ...pod }: PodCase): Promise<readonly string[]> {
  await Promise.all([ELECTED, NATIVE].map((namespace) => makePod(world, namespace, { name, ...pod })));
  await Promise.all([ELECTED, NATIVE].map((namespace) => untilPod(world, namespace, name, isDone)));
  const differing = await settledDifferences(name, { ...(differs && { differs }), ...(fields && { fields }) });
  for (const namespace of [ELECTED, NATIVE]) {
    await world.source.client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 1 });
  }
  return differing;
}

before(async () => {
  world = await startRealWorld();
  for (const one of POD_CASES) {
    const comparing = queue.add(() => compare(one));
    comparing.catch(() => undefined); // its test says so
    found.set(one.name, comparing);
  }
});
after(async () => {
  await endWorld(world);
});

describe('ends natively and elected alike', () => {
  for (const { name } of POD_CASES) {
    it(name, async () => assert.deepEqual(await found.get(name), []));
  }
});
