// Converts Events about delegates in a target to Events about proxies: warnings only (success is in the status, and
// costs no write), one per reason, and a limited number of reasons. A target's texts are untrusted data.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { regardingPod, type EventRecord } from '../../model/proxy/event-record.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';

/** The fields of an Event (`events.k8s.io/v1`) that are read. */
export interface TargetEvent extends KubernetesObject {
  readonly type?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly regarding?: {
    readonly kind?: string; readonly namespace?: string; readonly name?: string; readonly uid?: string
  };
}

/** Field selector of the watched events. */
export const WARNINGS_OF_PODS = 'type=Warning,regarding.kind=Pod';

/** Maximum number of reasons per proxy. */
const MAX_REASONS = 10;
const CAMEL_CASE = /^[A-Z][A-Za-z0-9]{0,63}$/;

/** Converts events. Stores which reasons it has repeated for each proxy. */
export class DelegateEvents {
  readonly #shown = new Map<string, Set<string>>();

  /** The event about the proxy; undefined when its reason was repeated already or the limit is reached. */
  toProxyEvent(event: TargetEvent, proxy: ProxyPod, target: string): EventRecord | undefined {
    const { reason: said = '', note = '' } = event;
    const reason = CAMEL_CASE.test(said) ? said : 'DelegateWarning';
    const shown = this.#shown.get(proxy.uid) ?? new Set();
    if (!shown.has(reason) && shown.size >= MAX_REASONS) return undefined;
    this.#shown.set(proxy.uid, shown.add(reason));
    return {
      regarding: regardingPod(proxy), type: 'Warning', reason, action: 'ShowDelegateEvent',
      note: `${target}: ${printable(note)}`,
    };
  }

  /** Removes a proxy. */
  forget(uid: string): void {
    this.#shown.delete(uid);
  }
}

function printable(note: string): string {
  return note.slice(0, 1_024).replace(/\p{Cc}+/gu, ' ');
}
