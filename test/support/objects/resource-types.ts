// Kinds of Kubernetes that only tests read and write.
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { DEPLOYMENTS } from '../../../api/resource-types.ts';

export const DAEMON_SETS: ResourceType = { ...DEPLOYMENTS, plural: 'daemonsets', kind: 'DaemonSet' };
export const STATEFUL_SETS: ResourceType = { ...DEPLOYMENTS, plural: 'statefulsets', kind: 'StatefulSet' };
export const JOBS: ResourceType = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true };
export const RESOURCE_QUOTAS: ResourceType =
  { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota', namespaced: true };
/** Events of the old API. */
export const CORE_EVENTS: ResourceType =
  { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };
