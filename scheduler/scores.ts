// How good a target is for a pod, in [0,1].
import { CPU, PODS, type ResourceAmounts } from '../model/resources.ts';
import type { TargetCapacity } from './target-capacity.ts';

const ALWAYS_SCORED = [CPU, 'memory'];

/**
 * Share of the target that would still be free with the pod on it: the mean over CPU, memory and every other
 * resource that the pod asks for (kube-scheduler `NodeResourcesFit`, LeastAllocated, over the whole target).
 */
export function leastAllocated(capacity: TargetCapacity, requests: ResourceAmounts): number {
  const resources = new Set([...ALWAYS_SCORED, ...requests.keys()]);
  resources.delete(PODS);
  let sum = 0;
  for (const resource of resources) {
    const total = capacity.allocatable.get(resource) ?? 0;
    const left = (capacity.free.get(resource) ?? 0) - (requests.get(resource) ?? 0);
    sum += total > 0 ? Math.min(Math.max(0, left) / total, 1) : 0; // a target that claims more free than it has is not better for it
  }
  return sum / resources.size;
}
