// Events for users, as data: pure code says what happened, `kubernetes/controller/event-recorder.ts` writes it.
import type { ProxyPod } from './proxy-pod.ts';

/** What an event is about (`core/v1` ObjectReference). */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/** Something that happened. `reason` and `action` are CamelCase. */
export interface EventRecord {
  readonly regarding: Regarding;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  /** For people; cut to 1,024 bytes as the API server demands. */
  readonly note: string;
}

/** A proxy pod as events name it. */
export function regardingPod({ namespace, name, uid }: Pick<ProxyPod, 'namespace' | 'name' | 'uid'>): Regarding {
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid };
}
