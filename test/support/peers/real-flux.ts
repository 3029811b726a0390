// Flux's own kustomize-controller in the source of a world, from a program and definitions that somebody else has built
// and gives by their paths. The source of its manifests is a server of the test, in place of Flux's source-controller.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { tarArchive, type ArchivedFile } from '../../../cli/doctor/tar-archive.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import type { DiscoveryWorld } from '../worlds/discovery-world.ts';

/** Flux's namespace. */
export const FLUX = 'flux-system';
const GIT_REPOSITORIES: ResourceType = {
  group: 'source.toolkit.fluxcd.io', version: 'v1', plural: 'gitrepositories', kind: 'GitRepository', namespaced: true,
};

/** A GitRepository whose revisions the test makes. */
export class ServedSource {
  readonly name = 'apps';
  readonly #client: ClusterClient;
  readonly #server: Server;
  #archive: Buffer = Buffer.alloc(0);
  #revisions = 0;

  private constructor(client: ClusterClient, server: Server) {
    this.#client = client;
    this.#server = server;
  }

  /** Creates it; there is nothing in it before the first {@link publish}. */
  static async start(client: ClusterClient): Promise<ServedSource> {
    const server = createServer((_request, response) => void response.end(source.#archive));
    const source = new ServedSource(client, server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const spec = { interval: '10m', url: 'https://git.example/apps' };
    await client.create(
      GIT_REPOSITORIES, { metadata: { namespace: FLUX, name: source.name }, spec } as KubernetesObject,
    );
    return source;
  }

  /** Makes these files the latest revision, as source-controller tells of it. */
  async publish(files: readonly ArchivedFile[]): Promise<void> {
    const now = new Date();
    this.#archive = tarArchive(files, now.getTime());
    this.#revisions += 1;
    const sha = createHash('sha256').update(this.#archive).digest('hex');
    const { port } = this.#server.address() as AddressInfo;
    const artifact = {
      path: 'apps.tar.gz', url: `http://127.0.0.1:${port}/${this.#revisions}.tar.gz`, digest: `sha256:${sha}`,
      revision: `main@sha1:${createHash('sha1').update(String(this.#revisions)).digest('hex')}`,
      lastUpdateTime: now.toISOString(), size: this.#archive.length,
    };
    const condition = {
      type: 'Ready', status: 'True', reason: 'Succeeded', message: 'stored', lastTransitionTime: now.toISOString(),
    };
    const status = { artifact, conditions: [condition], observedGeneration: 1 };
    await this.#client.patch(GIT_REPOSITORIES, { namespace: FLUX, name: this.name, subresource: 'status' }, {
      patchType: 'merge', patch: { status },
    });
  }

  /** Ends the server. */
  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Starts the controller, which Flux installs with all permissions. */
export async function startFlux({ sandbox }: DiscoveryWorld, program: string): Promise<ComponentProcess> {
  const { kubeconfigPath, directory } = sandbox.clusters[0]!;
  const [metrics = 0, health = 0] = await freePorts(2);
  return startComponent({
    name: 'kustomize-controller', cwd: directory, logPath: join(directory, 'flux.log'),
    env: { KUBECONFIG: kubeconfigPath, RUNTIME_NAMESPACE: FLUX },
    command: [
      program, '--watch-all-namespaces=true', '--enable-leader-election=false', '--log-level=info',
      `--metrics-addr=127.0.0.1:${metrics}`, `--health-addr=127.0.0.1:${health}`,
    ],
  });
}
