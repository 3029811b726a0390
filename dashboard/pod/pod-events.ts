// Events and conditions of a pod as rows.
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import type { ConditionRow, ContainerRow, EventRow } from '../wire/screens.ts';
import { containersOf, type ShownContainer } from './wait-reason.ts';

/** An Event, as far as it is shown: of `core/v1`, or of `events.k8s.io/v1`, which has other names for some. */
export interface PodEvent extends KubernetesObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly eventTime?: string | null;
  readonly lastTimestamp?: string | null;
  readonly note?: string;
  readonly deprecatedCount?: number;
  readonly deprecatedLastTimestamp?: string | null;
  readonly involvedObject?: { readonly uid?: string };
  readonly regarding?: { readonly uid?: string };
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
}

const MOST_EVENTS = 50;

/** Whether an Event is about this very pod, and not an earlier one of its name. */
export function isOfPod({ involvedObject, regarding }: PodEvent, pod: Pod | undefined): boolean {
  return pod !== undefined && (involvedObject ?? regarding)?.uid === pod.metadata.uid;
}

/** The newest, newest first. */
export function eventRows(events: readonly PodEvent[]): readonly EventRow[] {
  return events.map(eventRow)
    .toSorted(({ at: one = '' }, { at: other = '' }) => one === other ? 0 : one > other ? -1 : 1)
    .slice(0, MOST_EVENTS);
}

function eventRow(event: PodEvent): EventRow {
  const { type = '', reason = '', message = event.note ?? '', count = event.deprecatedCount ?? 1, series } = event;
  return { type, reason, message, count: series?.count ?? count, at: lastSeen(event) };
}

function lastSeen(
  { metadata, series, lastTimestamp, deprecatedLastTimestamp, eventTime }: PodEvent,
): string | undefined {
  return series?.lastObservedTime ?? lastTimestamp ?? deprecatedLastTimestamp ?? eventTime
    ?? metadata.creationTimestamp;
}

/** The conditions of a pod. */
export function conditionRows({ status }: Pod): readonly ConditionRow[] {
  return (status?.conditions ?? []).map(({ type, status, reason, message, lastTransitionTime: at }) => (
    { type, status, reason, message, at }
  ));
}

/** Containers by name, in the order of the pod. */
export function containerRows(pod: Pod): readonly ContainerRow[] {
  const statuses = new Map(containersOf(pod).map((container) => [container.name, container]));
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name, image }) => {
    const container: ShownContainer = statuses.get(name) ?? { name };
    const { ready = false, restartCount = 0, state } = container;
    return { name, image, ...stateOf(state), restarts: restartCount, isReady: ready };
  });
}

function stateOf(state: ShownContainer['state']): Pick<ContainerRow, 'state' | 'message'> {
  const { waiting, running, terminated } = state ?? {};
  if (running !== undefined) return { state: 'Running' };
  if (waiting !== undefined) {
    return { state: waiting.reason === undefined ? 'Waiting' : `Waiting: ${waiting.reason}`, message: waiting.message };
  }
  if (terminated === undefined) return { state: 'Not started' };
  const { reason = 'Terminated', exitCode, message } = terminated;
  return { state: `Terminated: ${reason}${exitCode === undefined ? '' : ` (${exitCode})`}`, message };
}
