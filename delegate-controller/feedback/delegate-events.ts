// What a target's Events say of delegates, as the source shows it on proxies: warnings only (what goes well is in the status, and costs no
// write), each reason once in a series, and a bounded number of reasons. What a target sends is data (design §8).
import type { KubernetesObject } from '../../api/objects/core.ts';
import { regardingPod, type EventRecord } from '../../model/proxy/event-record.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';

/** The fields of an Event (`events.k8s.io/v1`) that are looked at. */
export interface TargetEvent extends KubernetesObject {
  readonly type?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly regarding?: { readonly kind?: string; readonly namespace?: string; readonly name?: string; readonly uid?: string };
}

/** Which events of a target are followed. */
export const WARNINGS_OF_PODS = 'type=Warning,regarding.kind=Pod';

/** Different reasons that are shown of one proxy. */
const MAX_REASONS = 10;
const CAMEL_CASE = /^[A-Z][A-Za-z0-9]{0,63}$/;

/** Turns events into those of proxies. Remembers what it has shown of each. */
export class DelegateEvents {
  readonly #shown = new Map<string, Set<string>>();

  /** The event of the proxy; undefined when enough is shown of it already. */
  toProxyEvent(event: TargetEvent, proxy: ProxyPod, target: string): EventRecord | undefined {
    const { reason: said = '', note = '' } = event;
    const reason = CAMEL_CASE.test(said) ? said : 'DelegateWarning';
    const shown = this.#shown.get(proxy.uid) ?? new Set();
    if (!shown.has(reason) && shown.size >= MAX_REASONS) return undefined;
    this.#shown.set(proxy.uid, shown.add(reason));
    return { regarding: regardingPod(proxy), type: 'Warning', reason, action: 'ShowDelegateEvent', note: `${target}: ${printable(note)}` };
  }

  /** Forgets a proxy that has gone. */
  forget(uid: string): void {
    this.#shown.delete(uid);
  }
}

function printable(note: string): string {
  return note.slice(0, 1_024).replace(/\p{Cc}+/gu, ' ');
}
