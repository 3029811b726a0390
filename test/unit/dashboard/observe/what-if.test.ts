import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LiveState } from '../../../../cli/placement/live-state.ts';
import { whatIfState, type WhatIf } from '../../../../dashboard/observe/what-if.ts';
import { LONGEST_SPEC } from '../../../../dashboard/wire/routes.ts';
import { rulesFor } from '../../../../scheduler/snapshot/placement-rules.ts';
import { aPolicyIndex, aClusterPolicy, aPlace, aPolicy } from '../../../support/objects/placement.ts';
import { shownPod } from '../../../support/objects/seen-pods.ts';

const NOTHING: WhatIf = { without: '', policy: '', spec: '' };
const EU = { matchLabels: { region: 'eu' } };
const targets = [aPlace('eu'), aPlace('us')];
const pod = shownPod({ namespace: 'team-a', labels: { app: 'web' } });
const selected = { namespace: 'team-a', labels: { app: 'web' } };

const POLICIES =
  aPolicyIndex(aPolicy({ require: EU }), aPolicy({ podSelector: EU, forbid: EU }, 'q'), aClusterPolicy({}));

function stateWith(policies = POLICIES): LiveState {
  return {
    targets, targetsWithout: () => targets, sessions: {}, context: { policies }, sourceId: 's', inFlight: [],
  } as unknown as LiveState;
}
const suppose = (whatIf: Partial<WhatIf>, state = stateWith()) =>
  whatIfState(pod, state, { ...NOTHING, ...whatIf });
const unreadablePartOf = (whatIf: Partial<WhatIf>) => {
  const { state } = suppose(whatIf);
  assert.ok('advice' in state);
  return `${state.what}: ${state.why} ${state.advice}`;
};

describe('the state as a viewer supposes it', () => {
  it('is as it is while they suppose nothing, with policies to choose from', () => {
    const state = stateWith();
    const found = suppose({}, state);
    assert.equal(found.state, state);
    assert.deepEqual(found.choice, {
      policies: ['PlacementPolicy/p', 'PlacementPolicy/q', 'ClusterPlacementPolicy/cp'],
    });
  });

  it('has another policy, by its name, with its spec to change', () => {
    const { state, choice } = suppose({ policy: 'PlacementPolicy/q' });
    assert.ok('sessions' in state);
    assert.deepEqual(rulesFor(selected, state.context.policies).forbid.map(({ value }) => value), [EU]);
    assert.deepEqual(choice.whatIf, {
      title: 'PlacementPolicy team-a/q', isEdited: false, replaces: ['PlacementPolicy team-a/p'],
      keeps: ['ClusterPlacementPolicy cp'],
    });
    assert.equal(choice.spec?.split('\n')[0], 'podSelector:');
  });

  it('has a policy as it is written: one that there is, or a new one', () => {
    const spec = 'forbid: {matchLabels: {region: us}} # why not';
    for (const [policy, title] of [['PlacementPolicy/q', 'team-a/q'], ['', 'team-a/what-if']] as const) {
      const { choice } = suppose({ policy, spec });
      assert.deepEqual([choice.whatIf?.title, choice.whatIf?.isEdited], [`PlacementPolicy ${title}`, true]);
      assert.equal(choice.spec, spec, 'as it was typed');
    }
  });

  it('lacks a target as well', () => {
    const { state, choice } = suppose({ without: 'us', policy: 'PlacementPolicy/q' });
    assert.ok('sessions' in state);
    assert.deepEqual(state.targets.map(({ key }) => key), ['ClusterTarget/eu']);
    assert.equal(state.targetsWithout('u').length, 1);
    assert.equal(rulesFor(selected, state.context.policies).forbid.length, 1);
    assert.notEqual(choice.whatIf, undefined);
    const part = unreadablePartOf({ without: 'mars', policy: 'PlacementPolicy/q' });
    assert.match(part, /^the evaluation of targets without mars/);
  });

  for (const [what, whatIf, told] of [
    ['no such policy', { policy: 'PlacementPolicy/r' }, /There is no PlacementPolicy team-a\/r\. Choose/],
    ['a name without a kind', { policy: 'q' }, /"q" does not name a policy\. Enter PlacementPolicy\/NAME or/],
    ['markup', { policy: '<img src=x>' }, /"<img src=x>" does not name a policy/],
    ['a name in another namespace', { policy: 'PlacementPolicy/b/q' }, /does not name a policy/],
    ['a wrong spec', { policy: 'PlacementPolicy/q', spec: 'requires: {}' }, /spec\.requires is not a field/],
    ['a long spec', { spec: `# ${'x'.repeat(LONGEST_SPEC)}` }, /has 6006 bytes .* page, and at most 6000 are/],
    ['a spec of other letters', { spec: '\u4E2D'.repeat(2_000) },
      /has 18000 bytes .* Shorten it, or use "isthmus expl/],
  ] as const) {
    it(`cannot be for ${what}, and what was typed stays`, () => {
      assert.match(unreadablePartOf(whatIf), told);
      const { choice } = suppose(whatIf);
      const spec = 'spec' in whatIf ? whatIf.spec : undefined;
      assert.deepEqual([choice.spec, choice.whatIf, choice.policies.length], [spec, undefined, 3]);
    });
  }

  it('has at most 200 policies to choose from', () => {
    const many = Array.from({ length: 300 }, (_, index) => aPolicy({}, `p-${index}`));
    assert.equal(suppose({}, stateWith(aPolicyIndex(...many))).choice.policies.length, 200);
  });
});
