// A cluster plan to try pure functions of the sandbox on.
import { clusterPorts, planClusters, type ClusterPlan, type SandboxShape } from '../../../sandbox/plan/cluster-plan.ts';

/** A shape with two targets of three nodes. */
export const sampleShape: SandboxShape = {
  directory: '/sandbox',
  targets: 2,
  nodes: 3,
  sourceNodes: 0,
  gpus: 0,
  audit: false,
  clientLimits: {},
};

/** The plans of a shape, with ports 1001… for the source, 1011… for the first target and so on. */
export function samplePlans(change: Partial<SandboxShape> = {}): readonly ClusterPlan[] {
  const shape = { ...sampleShape, ...change };
  const ports = Array.from(
    { length: shape.targets + 1 }, (_, index) => clusterPorts([1, 2, 3].map((port) => 1_000 + 10 * index + port)),
  );
  return planClusters(shape, ports);
}

/** The plan of the first target of a shape. */
export function sampleTarget(change: Partial<SandboxShape> = {}): ClusterPlan {
  return samplePlans(change)[1]!;
}
