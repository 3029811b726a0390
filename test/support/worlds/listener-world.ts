// A clusterset of three members without a pod plane: `us` imports, with service discovery and listeners at its gateway;
// `eu` and `asia` are gateways in
// namespaces of a second API server, and export what a test writes there. Both exporters have announced the same pod
// range: loopback.
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Resolver } from 'node:dns/promises';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { EXPORTED_SERVICES, OWN_EXPORT_LABEL } from '../../../api/kinds/service-discovery.ts';
import { applyObjects } from '../../../cli/clusters/apply-objects.ts';
import { join as joinClusterset } from '../../../cli/gateway/gateway-membership.ts';
import { installServiceDiscovery } from '../../../cli/install/install.ts';
import type { Broker } from '../../../gateway/broker/broker-server.ts';
import { IMPORT_PORTS } from '../../../gateway/local-end/import-listeners.ts';
import { startGateway, type GatewayProcess } from '../../../gateway/main.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { customResourceDefinitions } from '../../../manifests/objects/crds.ts';
import { exportedServiceName } from '../../../model/network/gateway-names.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { startServiceDiscovery, type ServiceDiscovery } from '../../../service-discovery/main.ts';
import { startTestSandbox } from '../processes/stopped-with-process.ts';
import { BROKER_NAMESPACE, prepareBroker } from './test-broker.ts';

const logger = pino({ level: 'silent' });
const NAMESPACES = { us: 'isthmus-system', eu: 'isthmus-eu', asia: 'isthmus-asia' } as const;

/** A member of this clusterset. */
export type MemberId = keyof typeof NAMESPACES;

/** A gateway that can be stopped. */
export interface RunningGateway {
  readonly process: GatewayProcess;
  stop(): Promise<void>;
}

interface WorldParts {
  readonly sandbox: Sandbox;
  /** Of the exporters. */
  readonly exporters: ClusterClient;
  readonly broker: Broker;
  readonly discovery: ServiceDiscovery;
  readonly stopped: AbortController;
  readonly ports: readonly number[];
}

/** The world; call {@link ListenerWorld.stop} in `after`. */
export class ListenerWorld {
  /** Of `us`. */
  readonly client: ClusterClient;
  readonly resolver: Resolver;
  readonly gateways: Record<MemberId, RunningGateway>;
  readonly #parts: WorldParts;

  constructor(
    client: ClusterClient, resolver: Resolver, gateways: Record<MemberId, RunningGateway>, parts: WorldParts,
  ) {
    this.client = client;
    this.resolver = resolver;
    this.gateways = gateways;
    this.#parts = parts;
  }

  /** A second gateway of `us`; its pods would reach it under this address, and tests under {@link hostOf} it. */
  startAnother(address: string): Promise<RunningGateway> {
    return startMember(this.client, 'us', { port: this.#parts.ports[3] ?? 0, address, name: 'another' });
  }

  /**
   * What a cluster tells the others of a Service, as its service discovery would: loopback endpoints, which no
   * EndpointSlice may have.
   */
  async tell(cluster: 'eu' | 'asia', { namespace, name, ports }: {
    readonly namespace: string; readonly name: string; readonly ports: readonly number[]
  }): Promise<void> {
    const object = {
      metadata: {
        namespace: NAMESPACES[cluster], name: exportedServiceName(cluster, namespace, name),
        labels: { [OWN_EXPORT_LABEL]: 'true' },
      },
      spec: {
        clusterID: cluster, namespace, name,
        exportedAt: '2026-01-01T00:00:00Z', type: 'ClusterSetIP', ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
        slices: ports.map(
          (port) => ({
            addressType: 'IPv4', ports: [{ name: 'http', protocol: 'TCP', port }],
            endpoints: [{ address: '127.0.0.1', ready: true }],
          }),
        ),
      },
    };
    await this.#parts.exporters.apply(EXPORTED_SERVICES, object, 'test');
  }

  /** Ends an export. */
  async withdraw(cluster: 'eu' | 'asia', namespace: string, name: string): Promise<void> {
    await this.#parts.exporters.delete(
      EXPORTED_SERVICES, { namespace: NAMESPACES[cluster], name: exportedServiceName(cluster, namespace, name) },
    );
  }

  async stop(): Promise<void> {
    const { stopped, discovery, broker, sandbox, exporters } = this.#parts;
    stopped.abort();
    await Promise.all([...Object.values(this.gateways).map((gateway) => gateway.stop()), discovery.ended]);
    await broker.close();
    await Promise.all([this.client, exporters].map(({ transport }) => transport.close()));
    await sandbox.stop();
    await rmdir(sandbox.dir);
  }
}

/** Starts all of it. */
export async function startListenerWorld(): Promise<ListenerWorld> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const sandbox = await startTestSandbox(
    { dir: await mkdtemp(join(tmpdir(), 'isthmus-listeners-')), targets: 1, nodes: 0, gpus: 0, audit: false }, signal,
  );
  const [client, exporters] = (
    await Promise.all(sandbox.clusters.map(
      async ({ kubeconfigPath }) => (await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })).client,
    ))
  ) as [ClusterClient, ClusterClient];
  const quiet = { tell: () => undefined, signal };
  const namespaces = [...Object.values(NAMESPACES), BROKER_NAMESPACE, 'production'].map(
    (name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
  );
  for (const one of [client, exporters]) {
    await applyObjects(one, [...namespaces, ...customResourceDefinitions()], 'test', quiet);
  }
  await installServiceDiscovery(client, NAMESPACES.us, quiet);
  const [brokerPort = 0, ...ports] = await freePorts(5);
  const prepared = await prepareBroker(client, brokerPort, logger, signal);
  const broker = await prepared.start();
  const start = async (id: MemberId, port = 0, clusterCidr = '127.0.0.0/8', address?: string) => {
    const token = await prepared.tokenFor(id);
    const own = id === 'us' ? client : exporters;
    await joinClusterset(
      own,
      {
        token, clusterId: id, namespace: NAMESPACES[id], address: [`127.0.0.1:${port}`], clusterCidr: [clusterCidr],
        serviceCidr: [],
      },
      signal,
    );
    return startMember(own, id, { port, name: `gateway-${id}`, ...(address !== undefined && { address }) });
  };
  const gateways = {
    us: await start('us', ports[0], '10.1.0.0/16', '10.77.0.1'), eu: await start('eu', ports[1]),
    asia: await start('asia', ports[2]),
  };
  const discovery = await startServiceDiscovery(
    { client, installNamespace: NAMESPACES.us, identity: 'us', dns: { host: '127.0.0.1', port: 0 }, logger }, signal,
  );
  const resolver = new Resolver({ timeout: 5_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${discovery.dnsPort}`]);
  return new ListenerWorld(client, resolver, gateways, { sandbox, exporters, broker, discovery, stopped, ports });
}

async function startMember(client: ClusterClient, id: MemberId, { port, address, name }: {
  readonly port: number; readonly address?: string; readonly name: string
}): Promise<RunningGateway> {
  const stop = new AbortController();
  const imports = address === undefined ? undefined : { host: hostOf(address), address, ports: IMPORT_PORTS };
  const process = await startGateway(
    {
      client, namespace: NAMESPACES[id], name, identity: name, services: new Map(), listen: { host: '127.0.0.1', port },
      connect: { host: '127.0.0.1', port: 0 }, imports, drainMs: imports === undefined ? 0 : 20_000, logger,
    },
    stop.signal,
  );
  return {
    process,
    stop: () => {
      stop.abort();
      return process.ended;
    },
  };
}

/** Where a gateway listens whose address is told to pods: no EndpointSlice may have an address of loopback. */
export function hostOf(address: string): string {
  return address.replace('10.77', '127.0');
}

/** An HTTP server that answers with its name and what it was sent. */
export interface NamedServer {
  readonly port: number;
  close(): void;
}

/** Starts one on loopback. */
export async function startNamedServer(name: string): Promise<NamedServer> {
  const server: Server = createServer((asked, answer) => {
    asked.setEncoding('utf8');
    let body = '';
    asked.on('data', (text: string) => (body += text))
      .once('end', () => answer.end(`${name} ${asked.url} ${body.length}`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Posts to a port of loopback, or of another host, over a connection of its own; gives the answer's body. */
export function post(port: number, path: string, body: string, host = '127.0.0.1'): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({
      host, port, path, method: 'POST', agent: new Agent({ keepAlive: false }), timeout: 10_000,
    }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on(
        'data', (part: string) => (text += part),
      ).once('end', () => resolve(text)).once('error', reject);
    });
    asked.once('error', reject).once('timeout', () => asked.destroy(new Error('no answer in time'))).end(body);
  });
}
