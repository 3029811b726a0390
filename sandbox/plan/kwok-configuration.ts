// kwok's configuration file: the stages, enough parallelism not to distort measurements, and responses to logs, exec,
// attach and port-forward for every pod. Pure.
import { stringify } from 'yaml';
import { clusterFile, type ClusterPlan } from './cluster-plan.ts';
import { nodeStages, podStages } from './kwok-stages.ts';

/** Workers of kwok for each kind of write; its own defaults are 4, its client has no rate limit. */
const parallelism = 32;

/** Where a pod's container log is read from, below the cluster's folder. */
export const containerLogFile = 'container.log';

const everyPod = (kind: string, spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
  apiVersion: 'kwok.x-k8s.io/v1alpha1',
  kind,
  metadata: { name: 'every-pod' },
  spec,
});

function options(): Readonly<Record<string, unknown>> {
  return {
    apiVersion: 'config.kwok.x-k8s.io/v1alpha1',
    kind: 'KwokConfiguration',
    options: {
      podPlayStageParallelism: parallelism,
      nodePlayStageParallelism: parallelism,
      nodeLeaseParallelism: parallelism,
      enableDebuggingHandlers: true, // kwok's own default does not hold once a configuration is given
      enableProfilingHandler: false,
    },
  };
}

/**
 * The text of kwok's configuration for one cluster, several YAML documents. Exec runs the command on this machine, in
 * the cluster's folder, and only for a container named `execContainer`, a secret of the kubelet proxy; port-forward
 * echoes what it is sent.
 */
export function kwokConfiguration(plan: ClusterPlan, execContainer: string): string {
  const logsFile = clusterFile(plan, containerLogFile);
  const documents = [
    options(),
    ...nodeStages,
    ...podStages,
    everyPod('ClusterLogs', { logs: [{ logsFile, previousLogsFile: logsFile, follow: true }] }),
    everyPod('ClusterAttach', { attaches: [{ logsFile }] }),
    everyPod('ClusterExec', { execs: [{ containers: [execContainer], local: { workDir: plan.directory } }] }),
    everyPod('ClusterPortForward', { forwards: [{ command: ['cat'] }] }),
  ];
  return documents.map((document) => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
}

/** The container log that every pod of a cluster answers with, in the CRI's log format, written at `now`. */
export function containerLog(clusterName: string, now: Date): string {
  const lines = [`This is the log of a simulated container in cluster ${clusterName}.`, 'It started.', 'It is ready.'];
  return lines.map((line) => `${now.toISOString()} stdout F ${line}\n`).join('');
}

/** An audit policy that records who asked for what, also of our own clients' user agents, once per answered request. */
export function auditPolicy(): string {
  return stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted', 'Panic'],
    rules: [{ level: 'Metadata' }],
  });
}
