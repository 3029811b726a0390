// What of a pod's status must be alike wherever it ran: all but who it is, where and when.
import type { Pod } from '../../../api/objects/core.ts';

/** Fields of a status whose values name one pod, one node or one moment. */
export const OWN_FIELDS: ReadonlySet<string> = new Set([
  'containerID', 'finishedAt', 'hostIP', 'hostIPs', 'lastProbeTime', 'lastTransitionTime', 'observedGeneration',
  'podIP', 'podIPs', 'startTime', 'startedAt',
]);
/** What kubelet makes of a cgroup of version 1 without a limit, on some looks and not on others. */
const NO_LIMIT = '9007199254740988Ki';
/** Counts that grow on while one looks. */
const GROWING: ReadonlySet<string> = new Set(['restartCount', 'lastState']);

/** Texts that name the pod: kubelet puts name, namespace and UID into some messages. */
function withoutNames(text: string): string {
  return text
    .replace(/pod=\S+/g, 'pod=…')
    .replace(/pod: "[^"]+"/g, 'pod: …')
    .replace(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access')
    .replace(/back-off \d+m?\d*s/g, 'back-off …')
    .replace(/\b(elected|native)\b/g, 'namespace')
    .replace(/198\.18\.\d+\.\d+(:\d+)?/g, 'REGISTRY')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID');
}

function isNoLimit(value: unknown): boolean {
  if (value === NO_LIMIT) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 1
    && (value as Readonly<Record<string, unknown>>)['memory'] === NO_LIMIT;
}

function shapeOf(value: unknown, isEnded: boolean): unknown {
  if (typeof value === 'string') return withoutNames(value);
  if (Array.isArray(value)) return value.map((one: unknown) => shapeOf(one, isEnded));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name, one]) =>
    !OWN_FIELDS.has(name) && (isEnded || !GROWING.has(name)) && !isNoLimit(one));
  return Object.fromEntries(entries.map(([name, one]) => [name, shapeOf(one, isEnded)]));
}

/**
 * The comparable status; conditions by their types. What kubelet reads from the cgroup of an ended pod depends on
 * whether it is still there, so that an ended pod's resources are left out.
 */
export function statusShape({ status }: Pod): Readonly<Record<string, unknown>> {
  const { conditions = [], ...rest } = status ?? {};
  const isEnded = ['Succeeded', 'Failed'].includes(status?.phase ?? '');
  const byType = Object.fromEntries(conditions.map(({ type, ...one }) => [type, shapeOf(one, isEnded)]));
  const shown = Object.entries(rest).filter(([name]) => !(isEnded && name === 'resources'));
  return { ...shapeOf(Object.fromEntries(shown), isEnded) as object, conditions: byType };
}

/** A place where two values differ, as `path: one ≠ other`. */
export function differences(one: unknown, other: unknown, path = ''): readonly string[] {
  if (typeof one === 'object' && typeof other === 'object' && one !== null && other !== null) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted();
    const [left, right] = [one, other] as readonly Readonly<Record<string, unknown>>[];
    return names.flatMap((name) => differences(left?.[name], right?.[name], `${path}.${name}`));
  }
  return Object.is(one, other) ? [] : [`${path.slice(1)}: ${JSON.stringify(one)} ≠ ${JSON.stringify(other)}`];
}
