// Converts Events about delegates in a target to Events about proxies: warnings only (success is in the status, and
// costs no write), one per reason and message as a kubelet writes them, and a limited number of both. A target's
// texts are untrusted data.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { contentDigest } from '../../model/objects/canonical-json.ts';
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
/** Maximum number of messages per proxy; more are counted under one message for each reason. */
const MAX_MESSAGES = 20;
const FURTHER = 'more warnings with this reason; see the Events of its delegate';
const CAMEL_CASE = /^[A-Z][A-Za-z0-9]{0,63}$/;

/** What was shown of a proxy: reasons, and digests of messages. */
interface Shown {
  readonly reasons: Set<string>;
  readonly messages: Set<string>;
}

/** Converts events. Stores which reasons and messages it has repeated for each proxy. */
export class DelegateEvents {
  readonly #shown = new Map<string, Shown>();

  /** The event about the proxy; undefined when the limit of reasons is reached. */
  toProxyEvent(event: TargetEvent, proxy: ProxyPod, target: string): EventRecord | undefined {
    const { reason: reported = '', note = '' } = event;
    const reason = CAMEL_CASE.test(reported) ? reported : 'DelegateWarning';
    const { reasons, messages } = this.#shown.get(proxy.uid) ?? { reasons: new Set(), messages: new Set() };
    if (!reasons.has(reason) && reasons.size >= MAX_REASONS) return undefined;
    this.#shown.set(proxy.uid, { reasons: reasons.add(reason), messages });
    const message = contentDigest([reason, note]);
    const isShown = messages.has(message) || messages.size < MAX_MESSAGES;
    if (isShown) messages.add(message);
    return {
      regarding: regardingPod(proxy), type: 'Warning', reason, action: 'ShowDelegateEvent',
      note: `${target}: ${isShown ? note.slice(0, 1_024).replace(/\p{Cc}+/gu, ' ') : FURTHER}`, perNote: true,
    };
  }

  /** Removes a proxy. */
  forget(uid: string): void {
    this.#shown.delete(uid);
  }
}
