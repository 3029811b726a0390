// Virtual nodes as one component of a process, and their kubelet API as another, which every replica serves, leader or
// not.
import type { Logger } from 'pino';
import { onAbort } from '../kubernetes/flow/abort.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { followClientAuthority, readClientAuthority } from './kubelet/client-authority-controller.ts';
import { keepKubeletCertificate, selfSignedCertificate } from './kubelet/kubelet-certificate-controller.ts';
import { startKubeletServer, type KubeletServer, type KubeletServerOptions } from './kubelet/kubelet-server.ts';
import type { SourceControllerOptions } from '../targets/proxy-pods.ts';
import { startTargetRemoval } from './node/target-removal-controller.ts';
import { startVirtualNodes, type VirtualNodeOptions } from './node/virtual-node-controller.ts';

/** Starts the component; the caller runs the targets and may share them. */
export function startVirtualNode(options: VirtualNodeOptions & SourceControllerOptions, signal: AbortSignal): void {
  startVirtualNodes(options, signal);
  startTargetRemoval(options, signal);
}

/** Options of the kubelet API. */
export interface KubeletApiOptions extends Omit<KubeletServerOptions, 'certificate' | 'clientAuthority'> {
  /** Address where the API server reaches it. */
  readonly address: string;
  /** Signer of its serving certificate; self-signed when missing. */
  readonly signer?: string | undefined;
  /** File with the CAs for client certificates (PEM); the bundle that the cluster publishes when missing. */
  readonly clientAuthorityFile?: string | undefined;
}

/** Starts to listen when the client CAs are known. Throws what listening and {@link readClientAuthority} throw. */
export async function startKubeletApi(options: KubeletApiOptions, signal: AbortSignal): Promise<KubeletServer> {
  const { source, address, signer, clientAuthorityFile } = options;
  const logger = options.logger.child({ component: 'kubelet-api' });
  const certificate = await selfSignedCertificate(address);
  const authority = clientAuthorityFile === undefined ? new FollowedAuthority({ source, logger }, signal) : undefined;
  const clientAuthority =
    authority === undefined ? await readClientAuthority(clientAuthorityFile ?? '') : await authority.first(signal);
  const started = await startKubeletServer({ ...options, certificate, clientAuthority });
  authority?.handTo(started);
  void keepKubeletCertificate(
    { source, address, signer, logger, serve: (pair) => started.use({ certificate: pair }) }, certificate, signal,
  );
  return started;
}

/** Provides the cluster's bundle to a server that cannot start without one. */
class FollowedAuthority {
  #latest: string | undefined;
  #server: KubeletServer | undefined;
  #arrived: () => void = () => undefined;

  constructor(options: { readonly source: ClusterClient; readonly logger: Logger }, signal: AbortSignal) {
    followClientAuthority(options, (pem) => {
      this.#latest = pem;
      this.#arrived();
      this.#server?.use({ clientAuthority: pem });
    }, signal);
  }

  /** Waits for a bundle; rejects with the signal's reason. */
  async first(signal: AbortSignal): Promise<string> {
    while (this.#latest === undefined) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
        onAbort(signal, resolve);
      });
      signal.throwIfAborted();
    }
    return this.#latest;
  }

  handTo(server: KubeletServer): void {
    this.#server = server;
    if (this.#latest !== undefined) server.use({ clientAuthority: this.#latest });
  }
}
