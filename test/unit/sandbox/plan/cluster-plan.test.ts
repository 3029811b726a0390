// What is decided about the clusters of a sandbox.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  apiServiceAddress, clusterFile, clusterNames, clusterPorts, maxTargets, planClusters, serverUrl,
} from '../../../../sandbox/plan/cluster-plan.ts';
import { samplePlans, sampleShape, sampleTarget } from '../sample-plan.ts';

describe('planClusters', () => {
  it('plans the source first, then the targets', () => {
    assert.deepEqual(samplePlans().map((plan) => plan.name), ['source', 'target-1', 'target-2']);
    assert.deepEqual(clusterNames(1), ['source', 'target-1']);
  });

  it('gives targets the nodes and the source its own number', () => {
    assert.deepEqual(samplePlans().map((plan) => plan.nodes), [0, 3, 3]);
    assert.deepEqual(samplePlans({ sourceNodes: 2 }).map((plan) => plan.nodes), [2, 3, 3]);
  });

  it('keeps each cluster in a folder of its own and its kubeconfig beside it', () => {
    const plan = sampleTarget();
    assert.equal(plan.directory, '/sandbox/target-1');
    assert.equal(plan.kubeconfigPath, '/sandbox/target-1.kubeconfig');
    assert.equal(clusterFile(plan, 'pki', 'ca.crt'), '/sandbox/target-1/pki/ca.crt');
  });

  it('never gives two clusters the same addresses, up to the most targets', () => {
    const plans = samplePlans({ targets: maxTargets });
    const ranges = plans.flatMap((plan) => [...plan.serviceCidrs, ...plan.podCidrs]);
    assert.equal(new Set(ranges).size, 2 * (maxTargets + 1));
    for (const range of ranges) assert.ok(Number(range.split('.')[1]) <= 255, range);
  });

  it('puts targets into different regions', () => {
    const regions = samplePlans({ targets: 3 }).map((plan) => plan.region);
    assert.equal(new Set(regions).size, 4);
  });

  it('hands the client limits on', () => {
    assert.deepEqual(sampleTarget({ clientLimits: { scheduler: 2_000 } }).clientLimits, { scheduler: 2_000 });
  });

  it('refuses to plan a cluster without ports', () => {
    assert.throws(() => planClusters(sampleShape, []), /No ports for cluster source/);
  });
});

describe('clusterPorts', () => {
  it('names the ports', () => {
    assert.deepEqual(
      clusterPorts([1, 2, 3]), { apiServer: 1, kubelet: 2, kwok: 3 },
    );
  });

  it('refuses too few', () => assert.throws(() => clusterPorts([1, 2]), /needs 3 ports, got 2/));
});

describe('addresses of a cluster', () => {
  it('the API server is on the loopback address', () => assert.equal(
    serverUrl(sampleTarget()), 'https://127.0.0.1:1011',
  ));

  it('the Service of the API server has the first address of the range', () => assert.equal(
    apiServiceAddress(sampleTarget()), '10.65.0.1',
  ));
});
