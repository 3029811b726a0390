// Virtual nodes as one part of a process, and the kubelet API of virtual nodes as another: every replica serves it, leader or not.
import type { Logger } from 'pino';
import { onAbort } from '../kubernetes/flow/abort.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { followClientAuthority, readClientAuthority } from './kubelet/client-authority-controller.ts';
import { keepKubeletCertificate, selfSignedCertificate } from './kubelet/kubelet-certificate-controller.ts';
import { startKubeletServer, type KubeletServer, type KubeletServerOptions } from './kubelet/kubelet-server.ts';
import { startTargetRemoval, type RemovalOptions } from './node/target-removal-controller.ts';
import { startVirtualNodes, type VirtualNodeOptions } from './node/virtual-node-controller.ts';

/** Starts the component; targets are run by the caller, who may share them. */
export function startVirtualNode(options: VirtualNodeOptions & RemovalOptions, signal: AbortSignal): void {
  startVirtualNodes(options, signal);
  startTargetRemoval(options, signal);
}

/** What the kubelet API is started with. */
export interface KubeletApiOptions extends Omit<KubeletServerOptions, 'certificate' | 'clientAuthority'> {
  /** Address by which the API server reaches it. */
  readonly address: string;
  /** Signer of its serving certificate; self-signed when missing. */
  readonly signer?: string | undefined;
  /** File (PEM) of the authorities of client certificates; what the cluster publishes when missing. */
  readonly clientAuthorityFile?: string | undefined;
}

/** Starts to listen as soon as it is known whose client certificates to believe. Throws what listening and {@link readClientAuthority} throw. */
export async function startKubeletApi(options: KubeletApiOptions, signal: AbortSignal): Promise<KubeletServer> {
  const { source, address, signer, clientAuthorityFile } = options;
  const logger = options.logger.child({ component: 'kubelet-api' });
  const certificate = await selfSignedCertificate(address);
  const authority = clientAuthorityFile === undefined ? new FollowedAuthority({ source, logger }, signal) : undefined;
  const clientAuthority = authority === undefined ? await readClientAuthority(clientAuthorityFile ?? '') : await authority.first(signal);
  const started = await startKubeletServer({ ...options, certificate, clientAuthority });
  authority?.handTo(started);
  void keepKubeletCertificate({ source, address, signer, logger, serve: (pair) => started.use({ certificate: pair }) }, certificate, signal);
  return started;
}

/** Stands between the cluster's bundle and a server that cannot start without one. */
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
