import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podName } from '../../../../cli/placement/explain-command.ts';
import { explanationText } from '../../../../cli/placement/explanation-text.ts';
import { explainPod } from '../../../../scheduler/explain/explain.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { unavailable, withNodes } from '../../../support/objects/builders.ts';
import { aPlace, aPodWithConstraints, full, rulesOf } from '../../../support/objects/placement.ts';

describe('podName', () => {
  for (const argument of ['pod/web', 'pods/web', 'po/web', 'web']) {
    it(`takes ${argument}`, () => assert.equal(podName(argument), 'web'));
  }
  for (const argument of ['deploy/web', 'pod/', 'pod/a/b', '']) {
    it(
      `refuses ${JSON.stringify(argument)}`, () => assert.throws(() => podName(argument), /A pod is NAME or pod\/NAME/),
    );
  }
});

describe('isthmus explain', () => {
  it('stops reading a policy that has no end', async () => {
    const { stderr, code } = await isthmusHere('explain', 'pod/web', '--with-policy', '/dev/zero');
    assert.deepEqual([code, stderr], [1, 'isthmus: error (BadInput): /dev/zero has more than 64 MiB.\n']);
  });
});

describe('explanationText', () => {
  const large = aPlace('large', {}, withNodes({ cpu: '64', memory: '64Gi', pods: '9' }));

  it('says what comes first, what is next and by how much, then what each has', () => {
    const text = explanationText(
      explainPod(
        aPodWithConstraints(), [large, aPlace('small'), aPlace('gone', {}, unavailable('Unreachable', 'no route'))],
      ),
      false,
    );
    assert.deepEqual(text.split('\n'), [
      'ClusterTarget/large leads ClusterTarget/small by 0.073.',
      '',
      '→ ClusterTarget/large  score 0.620',
      'ClusterTarget/small  score 0.547',
      'ClusterTarget/gone',
      '  ✗ Available: Unreachable: no route',
    ]);
  });

  it('shows checks and scores when there is room for them', () => {
    const text = explanationText(explainPod(aPodWithConstraints({ weights: { rtt: 3 } }), [large]), true);
    assert.match(text, /^ClusterTarget\/large is the only target that can take the pod\.\n/);
    assert.match(text, /\n {2}✓ Available, VirtualNode, Taints, Summary, Resources\n {2}leastAllocated 0\.620 × 1\n/);
    assert.match(text, /\n {2}rtt 0\.000 × 3$/);
  });

  it('names the smallest change where nothing can take the pod', () => {
    assert.match(
      explanationText(explainPod(aPodWithConstraints(), [aPlace('a', {}, full())]), false),
      /^None of 1 targets can take the pod\.\nSmallest change that would place it in ClusterTarget\/a:\n {2}- InsufficientResources: no node has 1 pods and 1 cpu free\n/,
    );
  });

  it('says so where there is no target', () => assert.match(
    explanationText(explainPod(aPodWithConstraints(), []), false), /There is no target for this namespace/,
  ));

  it('shows tiers and growth', () => {
    const rules = rulesOf({ tiers: [{ targets: { matchLabels: { a: 'b' } } }, { targets: {} }] });
    assert.match(explanationText(explainPod(aPodWithConstraints({ rules }), [large]), false), /score 0\.620, tier 2/);
  });
});
