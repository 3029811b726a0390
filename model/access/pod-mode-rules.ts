// What a source may do with pods in a target where it creates them itself (Pod mode), whether Isthmus is installed
// there or not. Its other permissions depend on that: manifests/objects/rbac.ts, peering/access/pod-mode-access.ts.
import { rule, type PolicyRule } from './rbac-objects.ts';

/** What kubectl exec, attach and port-forward use. */
export const STREAM_SUBRESOURCES = ['pods/exec', 'pods/attach', 'pods/portforward'];

/** Logs and streams of pods. An exec over a WebSocket is a GET. */
export const STREAM_RULES: readonly PolicyRule[] =
  [rule('', ['pods/log'], ['get']), rule('', STREAM_SUBRESOURCES, ['create', 'get'])];

/** Pods, their streams, and the nodes of which free capacity is computed. */
export const POD_MODE_RULES: readonly PolicyRule[] = [
  rule('', ['pods'], ['get', 'list', 'watch', 'create', 'patch', 'delete']),
  rule('', ['pods/status', 'pods/resize'], ['patch']), // readiness gates, changes of running pods
  rule('', ['nodes'], ['list', 'watch']),
  ...STREAM_RULES,
];
