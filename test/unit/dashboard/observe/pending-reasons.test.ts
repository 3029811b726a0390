// Why pods wait: what is shown of a group, and that a failure is said and not shown as nothing.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { PendingReasons } from '../../../../dashboard/observe/pending-reasons.ts';
import type { SharedUse } from '../../../../dashboard/observe/shared.ts';
import type { SourceObservation } from '../../../../dashboard/observe/source-observation.ts';
import type { SchedulerInputs } from '../../../../dashboard/observe/scheduler-inputs.ts';
import { toSeenPod } from '../../../../dashboard/views/seen-pod.ts';
import type { PendingScreen } from '../../../../dashboard/wire/screens.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { aProxy, named, unschedulable, withUid } from '../../../support/objects/builders.ts';
import { aPolicyIndex, aPlace } from '../../../support/objects/placement.ts';

/** Pods that wait for a reason each, so that each is a group. */
const podsNamed = (count: number) => Array.from({ length: count }, (_, index) =>
  aProxy(named(`web-${index}`), withUid(`u${index}`), unschedulable(`reason ${index}`)));

interface Asked {
  readonly look: () => Promise<unknown>;
  readonly get?: () => Promise<unknown>;
  readonly pods?: number;
}

function aWorld(): unknown {
  const targets = [aPlace('eu')];
  return {
    targets, targetsWithout: () => targets, sourceId: 's', inFlight: [], cluster: {},
      sessions: { get: () => undefined },
    context: { policies: aPolicyIndex(), placed: { classes: () => [] } },
  };
}

/** The reasons of waiting pods, which end with the test, and what is released then. */
function reasonsOf(t: TestContext, { look, get, pods = 1 }: Asked) {
  const stored = podsNamed(pods);
  const asked: string[] = [];
  const client = {
    get: (_type: unknown, { name }: { readonly name: string }) => {
      asked.push(name);
      return get?.() ?? Promise.resolve(stored.find(({ metadata }) => metadata.name === name));
    },
  };
  const reading = { kind: 'read', records: stored.map(toSeenPod) };
  const none = { kind: 'read', records: [] };
  const source = { source: { pods: reading, targets: none, nodes: none, policies: none }, onChange: () => () =>
    undefined };
  let released = 0;
  const world =
    { value: { look, unreadable: undefined, onChange: () => () => undefined }, release: () => (released += 1) };
  const reasons = new PendingReasons(
    client as unknown as ClusterClient, source as unknown as SourceObservation,
      world as unknown as SharedUse<SchedulerInputs>, {},
  );
  const stop = new AbortController();
  const running = reasons.run(stop.signal);
  t.after(() => stop.abort());
  const next = () => new Promise<PendingScreen | undefined>((resolve) =>
    reasons.onChange(() => resolve(reasons.screen)));
  return { asked, next, end: async () => (stop.abort(), await running, released) };
}

describe('why pods wait', () => {
  it('is evaluated for the first pod of each of the ten largest groups, of which each is read once', async (t) => {
    const { asked, next } = reasonsOf(t, { look: async () => aWorld(), pods: 12 });
    const screen = await next();
    assert.deepEqual(screen?.unreadable, []);
    assert.deepEqual(asked.toSorted(), Array.from({ length: 10 }, (_, index) => `web-${index}`));
    assert.equal(screen?.total, 12);
  });
  it('is unreadable, with what went wrong, when the evaluation throws', async (t) => {
    const { next } = reasonsOf(t, { look: () => Promise.reject(new Error('a broken cache')) });
    assert.deepEqual((await next())?.unreadable.map(({ why }) => why), ['a broken cache']);
  });
  it('leaves out a pod that is gone meanwhile, and goes on with the others', async (t) => {
    const { next } = reasonsOf(t, { look: async () => aWorld(), get: () => Promise.reject(new Error('gone')) });
    assert.deepEqual((await next())?.unreadable, []);
  });
  it('is not evaluated any more once nobody looks, and its world is released once', async (t) => {
    const { end } = reasonsOf(t, { look: async () => undefined });
    assert.equal(await end(), 1);
  });
});
