// The kubelet API of virtual nodes in `isthmus run`: its flags, and the address that nodes announce.
import type { Command } from 'commander';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { environment } from '../../process/config.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import type { ShutdownStep } from '../../process/lifecycle.ts';
import type { startKubeletApi } from '../../virtual-node/main.ts';
import type { KubeletEndpoint } from '../../virtual-node/node/virtual-node.ts';
import { parsePort } from '../clusters/run-flags.ts';
import { EVERY_ADDRESS, hostPort } from '../../model/network/socket-address.ts';
import type { SourceControllerOptions } from '../../targets/proxy-pods.ts';

/** What kubelets listen on. */
const DEFAULT_PORT = 10_250;

/** The options, as they were given. */
export interface KubeletFlags {
  readonly kubeletHost: string;
  readonly kubeletPort: number;
  readonly kubeletAddress?: string;
  readonly kubeletSigner?: string;
  readonly kubeletClientCaFile?: string;
}

/** Adds the options to a command. */
export function withKubeletOptions(command: Command): Command {
  return command
    .option('--kubelet-host <address>', 'address that the kubelet API of virtual nodes listens on', EVERY_ADDRESS)
    .option(
      '--kubelet-port <number>', 'port that it listens on, and that virtual nodes report',
      parsePort('--kubelet-port', 1), DEFAULT_PORT,
    )
    .option(
      '--kubelet-address <address>',
      "address that virtual nodes report, for kubectl logs and exec: of a Service or a pod; default: the pod's own " +
        "(POD_IP); without either, the kubelet API is not served",
    )
    .option(
      '--kubelet-signer <name>',
      'signer of its serving certificate, for example kubernetes.io/kubelet-serving; the request needs approval; ' +
        'default: self-signed',
    )
    .option(
      '--kubelet-client-ca-file <file>',
      'CA of client certificates (PEM); default: the one that the cluster publishes',
    );
}

/** The announced address of the kubelet API; undefined when it is not served. */
export function announcedKubelet(
  { kubeletAddress = environment().podAddress, kubeletPort: port }: KubeletFlags,
): KubeletEndpoint | undefined {
  return kubeletAddress === undefined ? undefined : { address: kubeletAddress, port };
}

/** What it is served with. */
export interface KubeletService extends SourceControllerOptions {
  /** The component; undefined where another process runs it. */
  readonly component: { readonly startKubeletApi: typeof startKubeletApi } | undefined;
  /** Not fenced. */
  readonly source: ClusterClient;
  /** The port is in use, or a file is missing: this process must exit. */
  readonly onFatalError: (error: AppError) => void;
}

/**
 * Serves in the background, once the cluster's client CA is known; returns a function that stops it. Leaders and
 * standbys serve alike.
 */
export function serveKubeletApi(
  flags: KubeletFlags, { component, onFatalError, ...service }: KubeletService, signal: AbortSignal,
): ShutdownStep | undefined {
  if (component === undefined) return undefined;
  const announced = announcedKubelet(flags);
  if (announced === undefined) {
    service.logger.warn(
      'virtual nodes have no kubelet API, so kubectl logs and exec do not reach their pods: set --kubelet-address or ' +
        'POD_IP',
    );
    return undefined;
  }
  const { kubeletHost: host, kubeletPort: port, kubeletSigner: signer, kubeletClientCaFile: clientAuthorityFile } =
    flags;
  const starting = component.startKubeletApi(
    { ...service, host, port, address: announced.address, signer, clientAuthorityFile }, signal,
  ).catch((error: unknown) => {
    if (!signal.aborted) {
      onFatalError(error instanceof AppError ? error : new AppError(
        'StartFailed', `The kubelet API cannot be served on ${hostPort(host, port)}: ${messageOf(error)}`,
        { cause: error },
      ));
    }
    return undefined;
  });
  return { name: 'kubelet API', stop: async () => (await starting)?.close() };
}
