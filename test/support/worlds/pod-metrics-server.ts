// A metrics server for a sandbox cluster, of which tests say what each pod uses: an aggregated API (Kubernetes "Extend
// the Kubernetes API with the aggregation layer") that the cluster's API server hands requests to once it has
// authorised them.
import { once } from 'node:events';
import { createServer } from 'node:https';
import { isIP, type AddressInfo } from 'node:net';
import { ENDPOINT_SLICES } from '../../../api/objects/endpoint-slice.ts';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { PodMetrics } from '../../../api/objects/pod-metrics.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { POD_METRICS, SERVICES } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';

interface ServiceCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

const API_SERVICES: ResourceType<
  KubernetesObject & { readonly status?: { readonly conditions?: readonly ServiceCondition[] } }
> = {
  group: 'apiregistration.k8s.io', version: 'v1', plural: 'apiservices', kind: 'APIService', namespaced: false,
};
const NAME = 'test-metrics-server';
const VERSION = `${POD_METRICS.group}/${POD_METRICS.version}`;

/** A server that the cluster asks. */
export interface PodMetricsServer {
  /** Who has read pods, as the API server says. */
  readonly readers: Set<string>;
  close(): void;
}

/** Starts to serve `metrics` in a cluster; resolves once its API server takes it for available. */
export async function servePodMetrics(
  client: ClusterClient, metrics: () => readonly PodMetrics[], signal: AbortSignal,
): Promise<PodMetricsServer> {
  const now = new Date();
  const authority = await createAuthority(NAME, 1, now);
  const { certificate: cert, key } =
    await authority.issue({ commonName: 'localhost', dnsNames: ['localhost'], days: 1, usages: ['server'] }, now);
  const readers = new Set<string>();
  const server = createServer({ cert, key }, (request, reply) => {
    reply.setHeader('content-type', 'application/json');
    if (request.url?.split('?')[0]?.endsWith('/pods') !== true) return reply.end(
      JSON.stringify({
        kind: 'APIResourceList', apiVersion: 'v1', groupVersion: VERSION,
        resources: [{ name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] }],
      }),
    );
    readers.add(String(request.headers['x-remote-user']));
    return reply.end(JSON.stringify({ kind: 'PodMetricsList', apiVersion: VERSION, metadata: {}, items: metrics() }));
  });
  await once(server.listen(0, 'localhost'), 'listening');
  await registerMetricsServer(client, { host: 'localhost', port: (server.address() as AddressInfo).port }, signal);
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { readers, close };
}

/**
 * Has an API server ask a server of this machine for metrics; resolves once it takes what answers there for available.
 * An API server of a cluster with real nodes goes by EndpointSlices, which take no loopback address.
 */
export async function registerMetricsServer(
  client: ClusterClient, { host, port }: { readonly host: string; readonly port: number }, signal: AbortSignal,
): Promise<void> {
  const namespace = 'kube-system';
  const name = `v1beta1.${POD_METRICS.group}`;
  const isAddress = isIP(host) !== 0;
  const apply = (type: Parameters<ClusterClient['apply']>[0], object: object) =>
    client.apply(type, object as KubernetesObject, 'isthmus-test', signal);
  const service = isAddress ? {} : { type: 'ExternalName', externalName: host };
  await apply(SERVICES, { metadata: { namespace, name: NAME }, spec: { ...service, ports: [{ port }] } });
  if (isAddress) await apply(ENDPOINT_SLICES, {
    metadata: { namespace, name: NAME, labels: { 'kubernetes.io/service-name': NAME } },
    addressType: 'IPv4', ports: [{ port }], endpoints: [{ addresses: [host] }],
  });
  const spec = {
    group: POD_METRICS.group, version: POD_METRICS.version, service: { namespace, name: NAME, port },
    insecureSkipTLSVerify: true, groupPriorityMinimum: 100, versionPriority: 100,
  };
  await apply(API_SERVICES, { metadata: { name }, spec });
  let said: string | undefined;
  const available = await pollUntil(async () => {
    const { status } = await client.get(API_SERVICES, { name }, signal);
    const condition = status?.conditions?.find(({ type }) => type === 'Available');
    said = condition?.message;
    return condition?.status === 'True' ? true : undefined;
  }, { forMs: 60_000, everyMs: 200 }, signal);
  if (available === undefined) throw new Error(`${name} did not become available: ${said}`);
}
