// Where pods count as placed, the groups that they are placed with, and the pods that wait until something changes.
import { isTerminal } from '../../model/pod/pod.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { PlacedPods } from '../snapshot/placed-pods.ts';
import { PodGroups, type MemberState } from './pod-groups.ts';
import { WaitingPods } from './waiting-pods.ts';

/** Tracks on which virtual node each pod of the source counts; each change enqueues the pods that it concerns. */
export class PodTracker {
  readonly placed = new PlacedPods();
  /** Pod groups: their pods are placed all or none. */
  readonly groups = new PodGroups();
  /** Pods that fit no target. */
  readonly #waiting = new WaitingPods();
  /** Pods whose decision depends on where other pods are. */
  readonly #waitingOnPods = new WaitingPods();
  readonly #enqueue: (key: string) => void;

  /** `enqueue` requests a reconcile of a pod. */
  constructor(enqueue: (key: string) => void) {
    this.#enqueue = enqueue;
  }

  /** Counts a pod on a node, or nowhere. `stateOf` gives its state as a member of its group, if it has one. */
  count(proxy: ProxyPod, nodeName: string | undefined, stateOf: () => MemberState): void {
    this.#move(() => {
      if (nodeName === undefined || isTerminal(proxy.phase)) this.placed.remove(proxy.uid);
      else this.placed.place(proxy, nodeName);
    });
    this.#noteMember(proxy, stateOf);
  }

  #noteMember(proxy: ProxyPod, stateOf: () => MemberState): void {
    const { group } = proxy;
    if (group === undefined) return this.enqueueAll(this.groups.remove(proxy.uid));
    const { nodeName, terminating, schedulingGated, phase } = proxy;
    // one with a scheduling gate cannot be placed with the others: its gate may stay for hours
    const isOut = nodeName === undefined && (terminating || schedulingGated || isTerminal(phase));
    this.enqueueAll(isOut ? this.groups.remove(proxy.uid) : this.groups.put({ ...proxy, group }, stateOf()));
  }

  /** No target has anything of the pod any more. */
  displace(uid: string): void {
    this.#move(() => this.placed.remove(uid));
    this.enqueueAll(this.groups.displace(uid));
  }

  /** The pod is gone. */
  forget({ uid, key }: ProxyPod): void {
    this.#move(() => this.placed.remove(uid));
    this.enqueueAll(this.groups.remove(uid));
    for (const waiting of [this.#waiting, this.#waitingOnPods]) waiting.delete(key);
  }

  /**
   * No target fits the pod now. It is enqueued again on a change; with `dependsOnPods` also when other pods are placed
   * or end.
   */
  wait(proxy: ProxyPod, { dependsOnPods }: { readonly dependsOnPods: boolean }): void {
    this.#waiting.add(proxy);
    if (dependsOnPods) this.#waitingOnPods.add(proxy);
  }

  /** Enqueues all pods that wait for capacity, in scheduling order. */
  wakeWaiting(): void {
    this.enqueueAll(this.#waiting.takeAll());
  }

  /** Enqueues pods. */
  enqueueAll(keys: Iterable<string>): void {
    for (const key of keys) this.#enqueue(key);
  }

  /** A change of a pod that neither moves it nor counts it differently wakes nobody: each pod has many. */
  #move(change: () => void): void {
    const before = this.placed.changes;
    change();
    if (this.placed.changes !== before) this.enqueueAll(this.#waitingOnPods.takeAll());
  }
}
