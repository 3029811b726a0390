// Pods for tests of the scheduling loop, and how their targets answer.
import type { TestContext } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import { toProxyPodRecord } from '../../../model/proxy/proxy-pod.ts';
import { aProxy, named, withRequests, withSpec, withUid, type Change } from './builders.ts';
import { aSchedulingWorld, type SchedulingWorld, type FakeTarget } from '../doubles/scheduling-world.ts';

/** Room for anything. */
export const ROOM = { cpu: '64', memory: '256Gi', pods: '110' };
/** The target's scheduler has found a node. */
export const SCHEDULED = { conditions: [{ type: 'PodScheduled', status: 'True' as const }] };
/** It has found none. */
export const REJECTED = { conditions: [
  { type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable', message: '0/3 nodes are available' },
] };
/** A quota of the target. */
export const FORBIDDEN = new ApiError(403, 'Forbidden', 'exceeded quota');
/** A pod with this UID that asks for one CPU. */
export const aPodOf = (uid: string, ...changes: Change<Pod>[]): Pod =>
  aProxy(named('web'), withUid(uid), withRequests({ cpu: '1' }), ...changes);
/** It must not be scheduled yet. */
export const gated = withSpec({ schedulingGates: [{ name: 'g' }] });

/** Names of the targets that have anything of a pod. */
export function homesOf(world: SchedulingWorld, uid: string, names: readonly string[] = ['a', 'b']): readonly string[] {
  return names.filter((name) => world.target(name)?.holds.includes(uid));
}

/** The same as it is remembered. */
export const aPodRecord = (uid: string) => toProxyPodRecord(aPodOf(uid))!;
/** What was written in the source. */
export const writesOf = ({ writes }: SchedulingWorld): readonly string[] => writes.map(({ what }) => what);

/** A pod that was sent to `a`, the first of two equal targets. */
export async function sent(t: TestContext, ...changes: Change<Pod>[]) {
  const world = await aSchedulingWorld(t, ['a', 'b']);
  await world.put(aPodOf('u', ...changes));
  return { world, a: world.target('a'), b: world.target('b') };
}

/** A pod before it is sent; `prepare` moves the targets first. */
export async function before(t: TestContext, prepare: (a: FakeTarget, b: FakeTarget) => void) {
  const world = await aSchedulingWorld(t, ['a', 'b']);
  prepare(world.target('a'), world.target('b'));
  await world.put(aPodOf('u'));
  return { world, a: world.target('a'), b: world.target('b') };
}
