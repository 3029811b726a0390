// The controller of policies: it writes what is decided beside it, when something changes that the decision depends on.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { PlacementPolicyStatus } from '../../../../api/kinds/placement-policy.ts';
import type { KubernetesObject, StringMap } from '../../../../api/objects/core.ts';
import { EXPIRES_AFTER_ANNOTATION, MOVE_LABEL } from '../../../../api/objects/keys.ts';
import type { PlacementInputs, PlacementInputsListener } from '../../../../scheduler/cache/placement-inputs.ts';
import { startPolicyStatus } from '../../../../scheduler/policies/policy-status-controller.ts';
import { toKnownPolicy } from '../../../../scheduler/snapshot/placement-rules.ts';
import type { TargetClusters } from '../../../../targets/target-clusters.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import { StoredObjects } from '../../../support/doubles/stored-objects.ts';

const OWN = '/apis/isthmus.dev/v1alpha1/namespaces/shop/placementpolicies';
type Stored = Parameters<typeof toKnownPolicy>[0];
type TargetListener = { readonly changed: () => void };
interface FakeTarget {
  readonly name: string;
  readonly labels: StringMap;
  /** The namespace of a Target; a ClusterTarget has none. */
  readonly namespace?: string;
}

/** A world with these policies and targets, whose virtual nodes are known unless they are left out. */
async function start(
  t: TestContext, policies: readonly Stored[], { targets = [], nodes = targets.map(({ name }) => name) }: {
    targets?: readonly FakeTarget[]; nodes?: readonly string[]
  } = {},
) {
  const known = new Set(nodes.map((name) => `admiralty-${name}`));
  const pathOf = (policy: Stored): string => `${OWN}/${policy.metadata.name}`;
  const stored = await StoredObjects.start(t,
    Object.fromEntries(policies.map((policy) => [pathOf(policy), policy as KubernetesObject])));
  const ending = new AbortController();
  t.after(() => ending.abort());
  const listeners: PlacementInputsListener[] = [];
  const targetListeners: TargetListener[] = [];
  const byKey = new Map(policies.map((policy) => {
    const { namespace, name = '' } = policy.metadata;
    return [namespace === undefined ? name : `${namespace}/${name}`, { ...toKnownPolicy(policy), object: policy }];
  }));
  const informer = {
    get: (key: string) => byKey.get(key), keys: () => byKey.keys(),
    onChange: (listener: (key: string) => void) => { for (const key of byKey.keys()) listener(key); },
  };
  const inputs = {
    policies: [informer], untilReadOrBroken: async () => undefined,
    nodes: { get: (name: string) => (known.has(name) ? { metadata: { name } } : undefined) },
    listen: (listener: PlacementInputsListener) => void listeners.push(listener),
  };
  const refs = targets.map(({ name, namespace }) => ({
    ref: { kind: namespace === undefined ? 'ClusterTarget' : 'Target', name, namespace }, nodeName: `admiralty-${name}`,
  }));
  const clusters = {
    all: () => refs, object: ({ name }: { readonly name: string }) => targets.find((one) => one.name === name),
    untilSynced: async () => undefined, listen: (listener: TargetListener) => void targetListeners.push(listener),
  };
  startPolicyStatus({
    source: stored.client, logger: SILENT,
    inputs: inputs as unknown as PlacementInputs, targets: clusters as unknown as TargetClusters,
  }, ending.signal);
  const readyOf = (name: string): string => {
    const { conditions = [] } = (stored.get(`${OWN}/${name}/status`)?.['status'] ?? {}) as PlacementPolicyStatus;
    const ready = conditions.find(({ type }) => type === 'Ready');
    return `${ready?.status} ${ready?.reason}`;
  };
  const written = (count: number): Promise<void> => stored.until((writes) => writes.length >= count);
  return { stored, listeners, targetListeners, known, written, readyOf };
}

const policy = (name: string, spec: object, metadata: object = {}): Stored =>
  ({ metadata: { namespace: 'shop', name, uid: `uid-${name}`, generation: 1, ...metadata }, spec });
const EU: FakeTarget = { name: 'eu', labels: { region: 'eu' } };
const IN_EUROPE = { require: { matchLabels: { region: 'eu' } } };

describe('the status of policies', { timeout: 60_000 }, () => {
  it('is written for each: that it is in force, blocks everything, or is invalid', async (t) => {
    const { written, readyOf } = await start(t, [
      policy('good', IN_EUROPE), policy('nowhere', { require: { matchLabels: { region: 'us' } } }),
      policy('bad', { tiers: 'x' }),
    ], { targets: [EU] });
    await written(3);
    assert.deepEqual(['good', 'nowhere', 'bad'].map(readyOf),
      ['True Accepted', 'False NoTargetSelected', 'False Invalid']);
  });
  it('says nothing of targets while the virtual node of one of them is not known, and then it does', async (t) => {
    const { known, listeners, written, readyOf } =
      await start(t, [policy('p', { require: { matchLabels: { region: 'us' } } })], { targets: [EU], nodes: [] });
    await written(1);
    assert.equal(readyOf('p'), 'True Accepted');
    known.add('admiralty-eu');
    for (const listener of listeners) listener.nodeChanged('admiralty-eu');
    await written(2);
    assert.equal(readyOf('p'), 'False NoTargetSelected');
  });
  it('does not look at Targets of other namespaces, which its pods cannot use', async (t) => {
    const theirs = { ...EU, namespace: 'other' };
    const { written, readyOf } = await start(t, [policy('p', IN_EUROPE)],
      { targets: [theirs, { name: 'us', labels: { region: 'us' } }] });
    await written(1);
    assert.equal(readyOf('p'), 'False NoTargetSelected');
  });
  it('looks at Targets of its own namespace', async (t) => {
    const { written, readyOf } = await start(t, [policy('p', IN_EUROPE)], { targets: [{ ...EU, namespace: 'shop' }] });
    await written(1);
    assert.equal(readyOf('p'), 'True Accepted');
  });
  it('is written again after an error, and a policy that has gone meanwhile is none', async (t) => {
    const { stored, written, targetListeners } = await start(t, [policy('p', IN_EUROPE)], { targets: [EU] });
    let calls = 0;
    stored.refuse = () => ((calls += 1) === 1 ? [500, 'InternalError'] : [404, 'NotFound']);
    await written(2);
    for (const { changed } of targetListeners) changed();
    await written(3);
    assert.equal(stored.writes.length, 3, 'a missing object is not tried again by itself');
  });
});

describe('the policy of a move', { timeout: 60_000 }, () => {
  const ofMove = (made: string) => policy('move', IN_EUROPE, {
    creationTimestamp: made, labels: { [MOVE_LABEL]: 'true' }, annotations: { [EXPIRES_AFTER_ANNOTATION]: '60' },
  });

  it('is not deleted before the time of its API server is known to be over', async (t) => {
    const { stored, written } = await start(t, [ofMove('2999-01-01T00:00:00Z')], { targets: [EU] });
    await written(1);
    assert.deepEqual(stored.deletes, []);
  });
});
