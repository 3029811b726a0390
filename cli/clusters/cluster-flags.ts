// Flags that select a command's cluster, and the lifetime of its connection.
import type { Command } from 'commander';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import { openCluster, userAgent, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import { requireLabel, requireObjectName } from '../output/object-names.ts';

/** Which cluster a command works on. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** For {@link withClusterFlags} of a process that may run in a pod. */
export const OR_OWN_ACCOUNT = "that of kubectl, or the pod's ServiceAccount";

/** Adds `--kubeconfig` and `--context`; `which` and `otherwise` are for the help. */
export function withClusterFlags(command: Command, which = 'this cluster', otherwise = 'that of kubectl'): Command {
  return command
    .option('--kubeconfig <file>', `kubeconfig of ${which}; default: ${otherwise}`)
    .option('--context <name>', 'context within the kubeconfig; default: its current-context');
}

/** Adds `--namespace`, with what is in it: `of the pod`. */
export function withNamespace(command: Command, what: string): Command {
  return command.option(
    '-n, --namespace <name>', `namespace ${what}; default: that of the kubeconfig's context, or default`,
  );
}

/** The namespace that a command works in, as kubectl chooses it. */
export function namespaceIn({ connection }: Pick<OpenCluster, 'connection'>, given: string | undefined): string {
  return given ?? connection.namespace ?? 'default';
}

/** Adds `--install-namespace`. */
export function withInstallNamespace(command: Command): Command {
  return command.option(
    '--install-namespace <name>', 'namespace that Isthmus is installed in', DEFAULT_INSTALL_NAMESPACE,
  );
}

/** Connects to the cluster, runs `use` until it is done or interrupted, and disconnects. */
export async function withCluster<T>(
  flags: ClusterFlags, command: string, use: (cluster: OpenCluster, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const cluster =
    await openCluster({ kubeconfigPath: flags.kubeconfig, context: flags.context, userAgent: userAgent(command) });
  const signal = untilStopped();
  try {
    return await use(cluster, signal);
  } catch (error) {
    throw interruptionOr(error, signal);
  } finally {
    await cluster.client.transport.close();
  }
}

/** The user's interruption instead of the errors of calls that it aborted; errors with advice stay. */
export function interruptionOr(error: unknown, signal: AbortSignal): unknown {
  return signal.aborted && !(error instanceof AppError) ? signal.reason : error;
}

/** `NAME` is a ClusterTarget, `NAMESPACE/NAME` a Target. Throws AppError `BadInput` for anything else. */
export function parseTarget(argument: string): TargetRef {
  const [first = '', second, ...rest] = argument.split('/');
  if (rest.length > 0) throw new AppError(
    'BadInput', `A target is NAME (a ClusterTarget) or NAMESPACE/NAME (a Target), not ${JSON.stringify(argument)}.`,
  );
  requireObjectName('The name of a target', second ?? first);
  if (second === undefined) return { kind: 'ClusterTarget', name: first };
  requireLabel('The namespace of a target', first);
  return { kind: 'Target', namespace: first, name: second };
}

/** The text that {@link parseTarget} reads. */
export function targetText(ref: TargetRef): string {
  return ref.kind === 'ClusterTarget' ? ref.name : `${ref.namespace}/${ref.name}`;
}

/** A day. The annotation with the expiry of a move's policy is computed from it, and has at most nine digits. */
const LONGEST_SECONDS = 86_400;

/** Parses `--timeout-seconds`. Throws AppError `BadInput` unless it is a number above 0, and a day at most. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && seconds > 0 && seconds <= LONGEST_SECONDS) return seconds;
  throw new AppError(
    'BadInput',
    `--timeout-seconds must be a number of seconds above 0 and at most ${LONGEST_SECONDS} (a day), not "${text}".`,
  );
}
