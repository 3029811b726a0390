import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explanationMatrix } from '../../../../cli/placement/explanation-matrix.ts';
import { explainPod } from '../../../../scheduler/explain/explain.ts';
import { unavailable, withNodes } from '../../../support/objects/builders.ts';
import { aPlace, aPodWithConstraints, full } from '../../../support/objects/placement.ts';

describe('explanationMatrix', () => {
  const large = aPlace('large', {}, withNodes({ cpu: '64', memory: '64Gi', pods: '9' }));
  const gone = aPlace('gone', {}, unavailable('Unreachable', 'no route'));
  const matrixOf = (...places: Parameters<typeof explainPod>[1]) =>
    explanationMatrix(explainPod(aPodWithConstraints({ weights: { rtt: 3 } }), places));

  it('has a row for each target and a column for each check and score', () => assert.deepEqual(
    matrixOf(gone, large, aPlace('small'), aPlace('full', {}, full())).split('\n'),
    [
      'ClusterTarget/large leads ClusterTarget/small by 0.018.',
      '',
      'TARGET                  Available   VirtualNode   Taints   Summary   Resources   leastAllocated×1   rtt×3   SCORE',
      '→ ClusterTarget/large   ✓           ✓             ✓        ✓         ✓           0.620              0.000   0.155',
      'ClusterTarget/small     ✓           ✓             ✓        ✓         ✓           0.547              0.000   0.137',
      'ClusterTarget/full      ✓           ✓             ✓        ✓         ✗           -                  -       -',
      'ClusterTarget/gone      ✗           ✓             ✓        ✓         ✓           -                  -       -',
      '',
      'ClusterTarget/full',
      '  ✗ Resources: InsufficientResources: no node has 1 pods and 1 cpu free',
      'ClusterTarget/gone',
      '  ✗ Available: Unreachable: no route',
    ],
  ));

  it('has no columns of scores where no target passes, and names the smallest change', () => {
    const text = matrixOf(gone);
    assert.match(text, /^None of 1 targets can take the pod\.\nSmallest change .* in ClusterTarget\/gone:\n/);
    assert.match(text, /\nTARGET +Available +VirtualNode .* Resources +SCORE\nClusterTarget\/gone +✗ .* -\n/);
  });

  it('has no reasons where every target passes', () => assert.match(matrixOf(large), /0\.155$/));

  it('has no table without targets', () => {
    assert.equal(matrixOf(), 'There is no target for this namespace.');
  });
});
