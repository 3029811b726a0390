// Events as data: pure code describes them, `kubernetes/controller/event-recorder.ts` writes them.
import type { ProxyPod } from './proxy-pod.ts';

/** The object of an event (`core/v1` ObjectReference). */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/** An event. `reason` and `action` are CamelCase. */
export interface EventRecord {
  readonly regarding: Regarding;
  /** Another object that it is about; each has an event of its own. */
  readonly related?: Omit<Regarding, 'uid'>;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  /** The message; truncated to 1,024 bytes, the API server's limit. */
  readonly note: string;
  /** Each note has an event of its own, as a kubelet's have; otherwise another note is a repetition of the first. */
  readonly perNote?: true;
}

/** A proxy pod as the object of an event. */
export function regardingPod({ namespace, name, uid }: Pick<ProxyPod, 'namespace' | 'name' | 'uid'>): Regarding {
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid };
}
