// Two clusters of a clusterset on real API servers: a broker in the first, a gateway and service discovery in each, all
// in this process. Both have the same pod range, so each sees the other's pods in its global range.
import { Resolver } from 'node:dns/promises';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import {
  SERVICE_EXPORTS, SERVICE_IMPORTS, SERVICE_NAME_LABEL, type ServiceExport, type ServiceImport,
} from '../../../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES, type EndpointSlice } from '../../../api/objects/endpoint-slice.ts';
import { NAMESPACES, SERVICES } from '../../../api/resource-types.ts';
import { applyObjects } from '../../../cli/clusters/apply-objects.ts';
import { join as joinClusterset } from '../../../cli/gateway/gateway-membership.ts';
import { installServiceDiscovery } from '../../../cli/install/install.ts';
import type { Broker } from '../../../gateway/broker/broker-server.ts';
import { startGateway, type GatewayProcess } from '../../../gateway/main.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { customResourceDefinitions } from '../../../manifests/objects/crds.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { startServiceDiscovery, type ServiceDiscovery } from '../../../service-discovery/main.ts';
import { startTestSandbox } from '../processes/stopped-with-process.ts';
import { BROKER_NAMESPACE, prepareBroker } from './test-broker.ts';

export const INSTALL_NAMESPACE = 'isthmus-system';
const POD_RANGE = '10.1.0.0/16';
const logger = pino({ level: 'silent' });

/** One member. */
export interface Member {
  readonly id: string;
  readonly client: ClusterClient;
  readonly kubeconfig: string;
  readonly resolver: Resolver;
  readonly discovery: ServiceDiscovery;
  gateway: { readonly process: GatewayProcess; readonly stop: AbortController };
}

/** The world; call {@link ClustersetWorld.stop} in `after`. */
export class ClustersetWorld {
  readonly sandbox: Sandbox;
  readonly members: readonly [Member, Member];
  readonly #stopped: AbortController;
  readonly #broker: () => Promise<Broker>;
  #running: Broker;

  constructor(
    sandbox: Sandbox, members: readonly [Member, Member],
    broker: { readonly running: Broker; readonly again: () => Promise<Broker> }, stopped: AbortController,
  ) {
    this.sandbox = sandbox;
    this.members = members;
    this.#running = broker.running;
    this.#broker = broker.again;
    this.#stopped = stopped;
  }

  async stopBroker(): Promise<void> {
    await this.#running.close();
  }

  async startBroker(): Promise<void> {
    this.#running = await this.#broker();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const { gateway } of this.members) gateway.stop.abort();
    await Promise.all(this.members.flatMap(({ gateway, discovery }) => [gateway.process.ended, discovery.ended]));
    await this.#running.close();
    await Promise.all(this.members.map(({ client }) => client.transport.close()));
    await this.sandbox.stop();
    await rmdir(this.sandbox.dir);
  }
}

/** What differs between worlds. */
export interface ClustersetOptions {
  /** Pod ranges of `eu` and `us`; the same one when missing. */
  readonly ranges?: readonly string[];
}

/** Starts all of it. */
export async function startClustersetWorld(
  { ranges = [POD_RANGE, POD_RANGE] }: ClustersetOptions = {},
): Promise<ClustersetWorld> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const sandbox = await startTestSandbox(
    { dir: await mkdtemp(join(tmpdir(), 'isthmus-clusterset-')), targets: 1, nodes: 0, gpus: 0, audit: false }, signal,
  );
  const clients = await Promise.all(
    sandbox.clusters.map(async ({ kubeconfigPath }) => (
      { kubeconfig: kubeconfigPath, client: (await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })).client }
    )),
  );
  const quiet = { tell: () => undefined, signal };
  for (const { client } of clients) {
    await applyObjects(client, [namespace(INSTALL_NAMESPACE), ...customResourceDefinitions()], 'test', quiet);
    await installServiceDiscovery(client, INSTALL_NAMESPACE, quiet);
  }
  const [brokerPort = 0, ...tunnels] = await freePorts(3);
  const first = clients[0]?.client;
  if (first === undefined) throw new Error('the sandbox has no cluster');
  await applyObjects(first, [namespace(BROKER_NAMESPACE)], 'test', quiet);
  const prepared = await prepareBroker(first, brokerPort, logger, signal);
  const running = await prepared.start();
  const members: Member[] = [];
  for (const [index, { client, kubeconfig }] of clients.entries()) {
    const id = ['eu', 'us'][index] ?? '';
    const token = await prepared.tokenFor(id);
    await joinClusterset(
      client,
      {
        token, clusterId: id, namespace: INSTALL_NAMESPACE, address: [`127.0.0.1:${tunnels[index]}`],
        clusterCidr: [ranges[index] ?? POD_RANGE], serviceCidr: [],
      },
      signal,
    );
    const gateway = await startMemberGateway(client, id, tunnels[index] ?? 0);
    const discovery = await startServiceDiscovery(
      { client, installNamespace: INSTALL_NAMESPACE, identity: id, dns: { host: '127.0.0.1', port: 0 }, logger },
      signal,
    );
    const resolver = new Resolver({ timeout: 5_000, tries: 1 });
    resolver.setServers([`127.0.0.1:${discovery.dnsPort}`]);
    members.push({ id, client, kubeconfig, resolver, discovery, gateway });
  }
  return new ClustersetWorld(
    sandbox, members as unknown as readonly [Member, Member], { running, again: () => prepared.start() }, stopped,
  );
}

async function startMemberGateway(client: ClusterClient, id: string, port: number): Promise<Member['gateway']> {
  const stop = new AbortController();
  const process = await startGateway(
    {
      client, namespace: INSTALL_NAMESPACE, name: `gateway-${id}`, identity: `gateway-${id}`, services: new Map(),
      listen: { host: '127.0.0.1', port }, connect: { host: '127.0.0.1', port: 0 }, drainMs: 0, logger,
    },
    stop.signal,
  );
  return { process, stop };
}

function namespace(name: string): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

/** Makes a namespace in each of these clusters. */
export async function makeNamespaces(clients: readonly ClusterClient[], name: string): Promise<void> {
  for (const client of clients) await client.apply(NAMESPACES, namespace(name), 'test');
}

/** Makes a Service without selector, and one endpoint of it, as a cluster's own controllers would for pods. */
export async function makeService(
  client: ClusterClient,
  { namespace: at, name, spec = {}, address = '10.1.0.5', ready = true }: {
    readonly namespace: string; readonly name: string; readonly spec?: object; readonly address?: string;
    readonly ready?: boolean
  },
): Promise<void> {
  await client.apply(
    SERVICES,
    {
      metadata: { namespace: at, name },
      spec: { ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }], ...spec },
    } as KubernetesObject,
    'test',
  );
  await setEndpoint(client, { namespace: at, name, address, ready });
}

/** Sets the one endpoint of a Service. */
export async function setEndpoint(client: ClusterClient, { namespace: at, name, address, ready, ports = ['http'] }: {
  readonly namespace: string; readonly name: string; readonly address: string; readonly ready: boolean;
  readonly ports?: readonly string[]
}): Promise<void> {
  const slice: EndpointSlice = {
    metadata: { namespace: at, name: `${name}-1`, labels: { [SERVICE_NAME_LABEL]: name } }, addressType: 'IPv4',
    ports: ports.map((called, index) => ({ name: called, protocol: 'TCP', port: 8080 + index })),
    endpoints: [{ addresses: [address], conditions: { ready } }],
  };
  await client.apply(ENDPOINT_SLICES, slice, 'test');
}

/** The import of a name in a cluster, read from it; undefined when there is none. */
export async function importOf({ client }: Member, at: string, name: string): Promise<ServiceImport | undefined> {
  return (await client.list(SERVICE_IMPORTS, { namespace: at })).find(({ metadata }) => metadata.name === name);
}

/** The conditions of an export as `Type=Status/Reason`. */
export async function conditionsOf({ client }: Member, at: string, name: string): Promise<readonly string[]> {
  const found: ServiceExport | undefined =
    (await client.list(SERVICE_EXPORTS, { namespace: at })).find(({ metadata }) => metadata.name === name);
  return (found?.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`);
}

/** Waits until a look gives what is wanted, as JSON; gives how long it took in ms. Throws with what was there last. */
export async function untilEqual(
  what: string, look: () => Promise<unknown>, wanted: unknown, ms = 20_000,
): Promise<number> {
  const begin = performance.now();
  const text = (value: unknown) => JSON.stringify(value) ?? 'undefined';
  let last = '';
  while (performance.now() - begin < ms) {
    last = text(await look().catch((error: unknown) => String(error)));
    if (last === text(wanted)) return performance.now() - begin;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`in vain for ${ms} ms: ${what}: it is ${last}, not ${text(wanted)}`);
}
