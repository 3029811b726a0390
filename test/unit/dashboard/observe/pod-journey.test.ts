import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { LiveState } from '../../../../cli/placement/live-state.ts';
import type { PlannedPod } from '../../../../cli/plan/plan-simulation.ts';
import { PodJourney } from '../../../../dashboard/observe/pod-journey.ts';
import type { SharedUse } from '../../../../dashboard/observe/shared.ts';
import type { Simulate } from '../../../../dashboard/observe/simulations.ts';
import type { SchedulerInputs } from '../../../../dashboard/observe/scheduler-inputs.ts';
import { ViewerPermissions } from '../../../../dashboard/permissions/viewer-permissions.ts';
import type { SeenJourney } from '../../../../dashboard/views/pod-view.ts';
import { aProxy, inNamespace, named } from '../../../support/objects/builders.ts';
import { aPolicyIndex, aPlace, aPolicy } from '../../../support/objects/placement.ts';
import { ScriptedApiServer, skipBackoff } from '../../../support/doubles/scripted-api-server.ts';

const POD = aProxy(inNamespace('team-a'), named('web'));
const AT = { namespace: 'team-a', name: 'web', without: '', replicas: 2, policy: '', spec: '' };

function leased<T>(value: T): SharedUse<T> {
  return { value, release: () => undefined };
}

/** A state with this policy; nothing is asked of its target. */
function stateOf(policy: string): LiveState {
  const targets = [aPlace('eu')];
  return {
    targets, targetsWithout: () => targets, sourceId: 's', inFlight: [], cluster: {},
    sessions: { get: () => undefined },
    context: { policies: aPolicyIndex(aPolicy({}, policy)), placed: { classes: () => [] } },
  } as unknown as LiveState;
}

/** Serves this pod alone; never resolves. */
async function serve(server: ScriptedApiServer): Promise<never> {
  for (;;) {
    const exchange = await server.next();
    const { method, path, query } = exchange;
    const items = path.endsWith('/pods') ? [POD] : [];
    if (method === 'POST') exchange.answer(201, { metadata: {}, status: { allowed: false } });
    else if (query.get('watch') === 'true') exchange.open();
    else exchange.answer(200, { kind: 'List', metadata: { resourceVersion: '1' }, items });
  }
}

/** A server with the pod, which ends with the test, and what the pod's journey becomes in this state. */
async function openJourney(test: TestContext, inputs: Pick<SchedulerInputs, 'look'>, simulate: Simulate) {
  skipBackoff(test);
  const [server, ended] = [await ScriptedApiServer.start(), new AbortController()];
  void serve(server).catch(() => undefined); // nothing more is asked
  const seen = { unreadable: undefined, targets: undefined, onChange: () => () => undefined,
    ...inputs } as unknown as SchedulerInputs;
  const permissions = leased(new ViewerPermissions(server.client, 'team-a'));
  const journey = new PodJourney(server.client, AT, { permissions, inputs: leased(seen), simulate });
  const running = journey.run(ended.signal);
  test.after(async () => {
    ended.abort();
    await running;
    await server.stop();
  });
  return (isWanted: (seen: SeenJourney) => boolean) => new Promise<SeenJourney>((resolve) => {
    const forget = journey.onChange(() => {
      if (!isWanted(journey.journey)) return;
      forget();
      resolve(journey.journey);
    });
  });
}

const neverAsked: Simulate = () => assert.fail('nothing is simulated');

describe('a pod whose evaluation fails', () => {
  it('says why, where a mistake of ours would otherwise look like one that is not ready yet', async (test) => {
    const until = await openJourney(test, { look: () => Promise.reject(new Error('a broken cache')) }, neverAsked);
    const { explanation } = await until((seen) => seen.explanation !== undefined);
    assert.ok(explanation !== undefined && 'advice' in explanation);
    assert.equal(explanation.why, 'a broken cache');
  });

  it('keeps the evaluation of targets where only more pods could not be simulated', async (test) => {
    const simulate: Simulate = () => Promise.reject(new Error('a namespace is not readable'));
    const until = await openJourney(test, { look: async () => stateOf('p') }, simulate);
    const { explanation, planned } = await until((seen) => seen.planned !== undefined);
    assert.ok(explanation !== undefined && 'targets' in explanation);
    assert.ok(planned !== undefined && 'advice' in planned);
    assert.equal(planned.why, 'a namespace is not readable');
  });
});

describe('a pod that is looked at', () => {
  it('shows no plan of a state that has been replaced', async (test) => {
    skipBackoff(test);
    const [server, ended] = [await ScriptedApiServer.start(), new AbortController()];
    test.after(() => {
      ended.abort();
      return server.stop();
    });
    void serve(server).catch(() => undefined); // nothing more is asked
    const plan: readonly PlannedPod[] = [{ kind: 'local', pod: 'team-a/web', message: 'it is not elected' }];
    const after = stateOf('after');
    let [current, changed, resume] = [stateOf('before'), (): void => undefined, (): void => undefined];
    const inputs = {
      unreadable: undefined, targets: undefined, look: async () => current, onChange: (listener: () => void) => {
        changed = listener;
        return () => undefined;
      },
    } as unknown as SchedulerInputs;
    const waits = new Promise<void>((resolve) => void (resume = resolve));
    const simulate = (async () => {
      if (current === after) await waits;
      return plan;
    }) as unknown as Simulate;
    const permissions = leased(new ViewerPermissions(server.client, 'team-a'));
    const journey = new PodJourney(server.client, AT, { permissions, inputs: leased(inputs), simulate });
    const seen = (policy: string) => new Promise<SeenJourney['planned']>((resolve) => {
      const forget = journey.onChange(() => {
        const { choice, planned } = journey.journey;
        if (choice?.policies[0] !== `PlacementPolicy/${policy}`) return;
        if (policy === 'before' && planned === undefined) return;
        forget();
        resolve(planned);
      });
    });
    const running = journey.run(ended.signal);
    assert.deepEqual(await seen('before'), plan);
    const first = seen('after');
    current = after;
    changed();
    assert.equal(await first, undefined, 'the simulation in the new state has not ended');
    resume();
    ended.abort();
    await running;
  });
});
