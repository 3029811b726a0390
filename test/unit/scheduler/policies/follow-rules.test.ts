// Where objects that are copied to all targets may go: nothing is concluded from what is not known yet.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../api/objects/core.ts';
import { FollowRules } from '../../../../scheduler/policies/follow-rules.ts';
import type { PlacementInputs, PlacementInputsListener } from '../../../../scheduler/cache/placement-inputs.ts';
import type { PolicyIndex } from '../../../../scheduler/snapshot/placement-rules.ts';
import type { TargetClusters } from '../../../../targets/target-clusters.ts';
import { aPolicyIndex, aPolicy } from '../../../support/objects/placement.ts';

const EU = { ref: { kind: 'ClusterTarget', name: 'eu' } as const, nodeName: 'admiralty-eu' };
const POD = { namespace: 'team-a', labels: { app: 'web' } };
const OTHER = { namespace: 'team-a', labels: { app: 'db' } };
const inEurope = aPolicy({ require: { matchLabels: { region: 'eu' } } });
const nowhere = aPolicy({ require: { matchLabels: { region: 'mars' } } });

interface Given {
  readonly labels?: Readonly<Record<string, string>>;
  /** The virtual node; one without labels when it is not given. */
  readonly node?: Node | undefined;
}

function rulesOf(policyIndex: PolicyIndex, given: Given = {}) {
  const { labels = { region: 'eu' } } = given;
  const node: Node = { metadata: { name: EU.nodeName, labels: {} } };
  const listeners: PlacementInputsListener[] = [];
  const inputs = {
    policyIndex, nodes: { get: () => ('node' in given ? given.node : node) },
    listen: (listener: PlacementInputsListener) => void listeners.push(listener),
  };
  const rules = new FollowRules(inputs as unknown as PlacementInputs,
    { object: () => ({ labels }) } as unknown as TargetClusters);
  return { rules, listeners };
}

describe('an object that follows pods', () => {
  it('goes to every target without policies, also where its virtual node is not there yet', () => {
    assert.equal(rulesOf(aPolicyIndex()).rules.allow([POD], EU), true);
    assert.equal(rulesOf(aPolicyIndex(), { node: undefined }).rules.allow([POD], EU), true);
  });
  it('goes where a policy lets its pods run, and not where it lets none', () => {
    assert.equal(rulesOf(aPolicyIndex(inEurope)).rules.allow([POD], EU), true);
    assert.equal(rulesOf(aPolicyIndex(nowhere)).rules.allow([POD], EU), false);
    assert.equal(rulesOf(aPolicyIndex(inEurope), { labels: {} }).rules.allow([POD], EU), false);
  });
  it('goes where one of its pods may run, whatever holds for the others', () => {
    const onlyDb = aPolicy({ podSelector: { matchLabels: { app: 'db' } },
      require: { matchLabels: { region: 'mars' } } });
    const { rules } = rulesOf(aPolicyIndex(onlyDb));
    assert.deepEqual([rules.allow([OTHER], EU), rules.allow([OTHER, POD], EU), rules.allow([POD, OTHER], EU)],
      [false, true, true]);
  });
  it('without pods goes nowhere', () => assert.equal(rulesOf(aPolicyIndex()).rules.allow([], EU), false));
  it('is neither copied nor removed while the labels of the virtual node are not known', () =>
    assert.equal(rulesOf(aPolicyIndex(inEurope), { node: undefined }).rules.allow([POD], EU), 'unknown'));
  it('is neither copied nor removed while policies are not read', () =>
    assert.equal(rulesOf({ ...aPolicyIndex(inEurope), isComplete: false }).rules.allow([POD], EU), 'unknown'));
});

describe('whoever copies', () => {
  it('is told of changes of virtual nodes, policies and namespaces', () => {
    const { rules, listeners } = rulesOf(aPolicyIndex());
    let told = 0;
    rules.onChange(() => (told += 1));
    for (const listener of listeners) {
      listener.nodeChanged('admiralty-eu');
      listener.rulesChanged();
    }
    assert.equal(told, 2);
  });
});
