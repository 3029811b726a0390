// A migration and its rollback whose calls fail, one after the other, each in every way in which a call can fail: the
// command is typed again, and then all is as if nothing had failed. Nothing is lost or there twice in between.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { PARENT_CLUSTER_LABEL } from '../../../../api/objects/keys.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, POD_CHAPERONS, PODS, SECRETS } from '../../../../api/resource-types.ts';
import { installOptions } from '../../../../cli/install/install.ts';
import { returnSteps, takeoverSteps } from '../../../../cli/migrate/migration-steps.ts';
import type { Step } from '../../../../cli/migrate/migration.ts';
import { ApiError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import type { Call } from '../../../../kubernetes/http/transport.ts';
import { WEBHOOK_CONFIGURATION_NAME } from '../../../../manifests/objects/webhook-configuration.ts';
import { admiraltyClusters, storedIn, type AdmiraltyClusters } from '../../../support/doubles/memory-admiralty.ts';
import { virtualWaits } from '../../../support/doubles/virtual-waits.ts';

const INSTALL = installOptions({ namespace: 'isthmus-system' });
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations /mc';
const TAKEOVER = takeoverSteps({ install: INSTALL, isSource: true, targetsLater: false });
const ROLLBACK = returnSteps(true);

/** How a call fails: before it is done, or after; and whether all later ones fail as well. */
interface Fault {
  readonly error: Error;
  readonly isDone: boolean;
  readonly isEnd: boolean;
}

const killed = new Error('killed');
const FAULTS: Readonly<Record<string, Fault>> = {
  'is answered with 500': { error: new ApiError(500, 'InternalError', 'etcd'), isDone: false, isEnd: false },
  'is answered with 409': { error: new ApiError(409, 'Conflict', 'changed'), isDone: false, isEnd: false },
  'loses its connection once it is done': { error: new UnreachableError('reset'), isDone: true, isEnd: false },
  'is the last of its process, and not done': { error: killed, isDone: false, isEnd: true },
  'is the last of its process': { error: killed, isDone: true, isEnd: true },
};

/** Makes the n-th call fail; resolves with the number of calls, and the error with which the command has ended. */
async function run(
  clusters: AdmiraltyClusters, steps: readonly Step[], nth = Infinity, fault?: Fault,
): Promise<{ readonly calls: number; readonly error?: unknown }> {
  let calls = 0;
  const failed = (isDone: boolean): Error | undefined => {
    const isDue = (calls === nth && fault?.isDone === isDone) || (calls > nth && fault?.isEnd === true);
    return isDue ? fault?.error : undefined;
  };
  for (const cluster of [clusters.source, clusters.target]) {
    cluster.before = (call: Call) => {
      calls += 1;
      return failed(false) ?? (call.query?.['dryRun'] === undefined ? undefined : clusters.admit(call));
    };
    cluster.after = ({ method }: Call) => {
      if (method !== 'GET') clusters.act();
      return failed(true);
    };
  }
  const migration = clusters.begin();
  try {
    for (const step of steps) await step.run(migration);
    return { calls };
  } catch (error) {
    return { calls, error };
  }
}

/** Runs the steps, which must not fail. */
async function runWhole(clusters: AdmiraltyClusters, steps: readonly Step[]): Promise<number> {
  const { calls, error } = await run(clusters, steps);
  assert.equal(error, undefined);
  return calls;
}

const stateOf = ({ source, target }: AdmiraltyClusters) => ({ source: storedIn(source), target: storedIn(target) });
/** What must be there at every moment. */
const kept = ({ source, target }: AdmiraltyClusters) => ({
  proxies: source.names(PODS).filter((name) => !name.endsWith('/going')),
  delegates: target.names(PODS).filter((name) => /runs|bound-there/.test(name)),
  chaperons: target.names(POD_CHAPERONS).filter((name) => /runs|bound-there/.test(name)),
  secrets: [...source.names(SECRETS), ...target.names(SECRETS)],
});

async function everyCallFails(t: TestContext, fault: Fault, before: readonly Step[], steps: readonly Step[]) {
  const time = virtualWaits(t);
  const made = async () => {
    const clusters = admiraltyClusters();
    time.during = () => clusters.act();
    await runWhole(clusters, before);
    return clusters;
  };
  const whole = await made();
  const calls = await runWhole(whole, steps);
  const expected = stateOf(whole);
  for (let nth = 1; nth <= calls; nth += 1) {
    const clusters = await made();
    const whatIs = kept(clusters);
    const { error } = await run(clusters, steps, nth, fault);
    assert.deepEqual(kept(clusters), whatIs, `after call ${nth}`);
    if (error !== undefined) await runWhole(clusters, steps);
    assert.deepEqual(stateOf(clusters), expected, `call ${nth} of ${calls}`);
  }
}

for (const [what, fault] of Object.entries(FAULTS)) {
  describe(`where any call ${what}`, () => {
    it('a migration ends as it should when it is typed again', (t) => everyCallFails(t, fault, [], TAKEOVER));
    it('a rollback ends as it should when it is typed again', (t) => everyCallFails(t, fault, TAKEOVER, ROLLBACK));
  });
}

/** What Admiralty needs to go on: all but annotations, and what the takeover leaves to be kept or used again. */
const essence = (clusters: AdmiraltyClusters) => {
  const { source, target } = stateOf(clusters);
  const plain = (state: typeof source) => Object.entries(state).filter(([key]) => !/isthmus-kubeconfig/.test(key)).map(
    ([key, { metadata: { labels = {}, finalizers = [], name }, spec, ...object }]) => {
      const { [PARENT_CLUSTER_LABEL]: _parent, ...rest } = key.includes('/pods ') ? labels : { ...labels };
      const { schedulerName: _scheduler, ...kept } = (spec ?? {}) as Readonly<Record<string, unknown>>;
      const held = key.includes('/podchaperons ') || key.includes('/secrets ') ? [] : finalizers;
      const { apiVersion: _version, ...others } = object;
      return [key, { name, labels: rest, finalizers: held, spec: kept, ...others }] as const;
    },
  );
  return [plain(source), plain(target)];
};

describe('a migration that was interrupted', () => {
  it('is rolled back from wherever it stopped', async (t) => {
    const time = virtualWaits(t);
    const fault: Fault = { error: killed, isDone: true, isEnd: true };
    const made = () => {
      const clusters = admiraltyClusters();
      time.during = () => clusters.act();
      return clusters;
    };
    const whole = made();
    const calls = await runWhole(whole, TAKEOVER);
    await runWhole(whole, ROLLBACK);
    const expected = essence(whole);
    for (let nth = 1; nth <= calls; nth += 1) {
      const clusters = made();
      await run(clusters, TAKEOVER, nth, fault);
      await runWhole(clusters, ROLLBACK);
      assert.deepEqual(essence(clusters), expected, `call ${nth} of ${calls}`);
    }
  });

  it('is rolled back where Isthmus never ran, as when its image cannot be pulled', async (t) => {
    const clusters = admiraltyClusters({ runsIsthmus: false });
    virtualWaits(t).during = () => clusters.act();
    const { source: before } = stateOf(clusters);
    await assert.rejects(runWhole(clusters, TAKEOVER), /our webhook serves/);
    await runWhole(clusters, ROLLBACK);
    const { source } = stateOf(clusters);
    const record = '/api/v1/configmaps isthmus-system/isthmus-migration';
    assert.deepEqual(Object.keys(source).filter((key) => before[key] === undefined), [record]);
    assert.deepEqual(source[WEBHOOKS]?.['webhooks'], before[WEBHOOKS]?.['webhooks']);
  });
});

describe('a target that is migrated and rolled back', () => {
  it('has its webhook again as Helm wrote it', async (t) => {
    const clusters = admiraltyClusters();
    virtualWaits(t).during = () => clusters.act();
    clusters.source.drop(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME }); // no source
    const before = clusters.source.find(MUTATING_WEBHOOK_CONFIGURATIONS, 'mc')?.['webhooks'];
    await runWhole(clusters, takeoverSteps({ install: INSTALL, isSource: false, targetsLater: false }));
    await runWhole(clusters, returnSteps(false));
    assert.deepEqual(clusters.source.find(MUTATING_WEBHOOK_CONFIGURATIONS, 'mc')?.['webhooks'], before);
  });
});
