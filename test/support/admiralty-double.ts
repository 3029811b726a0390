// Admiralty 0.17 as a source, as far as a migration meets it: its chart's objects, a Lease for each process that has replicas, a webhook that makes proxies,
// a scheduler that makes a candidate and binds, and controllers that end what is deleted. Facts of its behaviour, none of its code.
// Its controllers know proxies that are there: what is made for one that went while they were stopped, they find when they start.
import { createServer, type Server } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject, Lease, Pod } from '../../api/objects/core.ts';
import { DEPLOYMENTS, LEASES, MUTATING_WEBHOOK_CONFIGURATIONS, NODES, POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { Deployment } from '../../cli/migrate/admiralty-installation.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { createAuthority } from '../../process/crypto/certificate-authority.ts';
import { admiraltyChaperon, admiraltyProxy } from './admiralty-pods.ts';

const P = 'multicluster.admiralty.io/';
const EVERY_MS = 300;
/** The real one says 15; a process that was killed is waited for so long. */
const LEASE_SECONDS = 2;

/** Where it works. */
export interface DoubleOptions {
  readonly source: ClusterClient;
  /** Namespace and name of its release, which is installed already. */
  readonly release: { readonly namespace: string; readonly name: string };
  /** Where pods of a namespace go, and, for a namespaced Target, the finalizer that they get. */
  readonly placeOf: (namespace: string) => { readonly target: ClusterClient; readonly nodeName: string; readonly finalizers: readonly string[] };
  readonly namespaces: readonly string[];
}

/** Works until {@link AdmiraltyDouble.stop}. */
export class AdmiraltyDouble {
  readonly #options: DoubleOptions;
  readonly #server: Server;
  readonly #stopped = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  /** What went wrong in a round; the next one tries again. */
  readonly errors: string[] = [];

  private constructor(options: DoubleOptions, server: Server) {
    this.#options = options;
    this.#server = server;
  }

  /** Serves the webhook, has its configuration lead there, and begins to work. */
  static async start(options: DoubleOptions): Promise<AdmiraltyDouble> {
    const authority = await createAuthority('admiralty', 1, new Date());
    const pair = await authority.issue({ commonName: 'admiralty', ipAddresses: ['127.0.0.1'], days: 1, usages: ['server'] }, new Date());
    const server = createServer({ cert: pair.certificate, key: pair.key });
    const double = new AdmiraltyDouble(options, server);
    server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => response.setHeader('content-type', 'application/json').end(double.#review(Buffer.concat(parts).toString())));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { name } = options.release;
    const { webhooks } = await options.source.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name });
    const clientConfig = { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/mutate--v1-pod`, caBundle: Buffer.from(authority.keyPair.certificate).toString('base64') };
    await options.source.patch(MUTATING_WEBHOOK_CONFIGURATIONS, { name }, { patchType: 'merge', patch: { webhooks: webhooks?.map((webhook) => ({ ...webhook, clientConfig })) } });
    for (const namespace of options.namespaces) await double.#makeNode(options.placeOf(namespace).nodeName);
    double.#loop = double.#work();
    return double;
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #review(text: string): string {
    const { apiVersion, kind, request: { uid, object, namespace } } = JSON.parse(text) as { readonly apiVersion: string; readonly kind: string; readonly request: { readonly uid: string; readonly object: Pod; readonly namespace: string } };
    const isElected = object.metadata.annotations?.[`${P}elect`] !== undefined;
    const { metadata, spec } = admiraltyProxy({ namespace, name: object.metadata.name ?? '', finalizers: this.#options.placeOf(namespace).finalizers });
    const patch = [
      { op: 'add', path: '/metadata/labels', value: { ...object.metadata.labels, ...metadata.labels } }, { op: 'add', path: '/metadata/annotations', value: { ...object.metadata.annotations, ...metadata.annotations } },
      { op: 'add', path: '/metadata/finalizers', value: metadata.finalizers }, { op: 'add', path: '/spec/schedulerName', value: spec.schedulerName },
      { op: 'add', path: '/spec/nodeSelector', value: spec.nodeSelector }, { op: 'add', path: '/spec/tolerations', value: spec.tolerations },
    ];
    return JSON.stringify({ apiVersion, kind, response: { uid, allowed: true, ...(isElected && { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }) } });
  }

  async #work(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await this.#round().catch((error: unknown) => this.errors.push(String(error)));
      await sleep(EVERY_MS);
    }
  }

  async #round(): Promise<void> {
    const { source, release: { namespace } } = this.#options;
    const deployments = await source.list(DEPLOYMENTS as ResourceType<Deployment>, { namespace });
    const running = new Set(deployments.filter(({ spec }) => spec.replicas !== 0).map(({ spec }) => spec.template.metadata?.labels?.['component'] ?? ''));
    for (const component of running) await this.#renew(`admiralty-${component}`);
    const proxies = await source.list(PODS, { fieldSelector: 'spec.schedulerName=admiralty-proxy' });
    if (running.has('controller-manager')) await this.#control(proxies);
    if (running.has('proxy-scheduler')) for (const proxy of proxies) await this.#schedule(proxy);
  }

  /** Without its virtual node a bound proxy is collected as garbage. */
  async #makeNode(name: string): Promise<void> {
    const labels = { 'virtual-kubelet.io/provider': 'admiralty', type: 'virtual-kubelet' };
    const taints = [{ key: 'virtual-kubelet.io/provider', value: 'admiralty', effect: 'NoSchedule' }];
    await this.#options.source.apply(NODES, { metadata: { name, labels }, spec: { taints } } as KubernetesObject, 'admiralty');
  }

  async #renew(name: string): Promise<void> {
    const { source, release: { namespace } } = this.#options;
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name }, spec: { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime: new Date().toISOString().replace('Z', '000Z') } };
    await source.apply(LEASES as ResourceType<Lease>, lease as Lease, 'admiralty');
  }

  /** Its feedback controllers: they strip finalizers that they do not know, delete what was made for proxies that go or are gone, and then let them go. */
  async #control(proxies: readonly Pod[]): Promise<void> {
    for (const namespace of this.#options.namespaces) await this.#controlIn(namespace, proxies.filter(({ metadata }) => metadata.namespace === namespace));
  }

  async #controlIn(namespace: string, proxies: readonly Pod[]): Promise<void> {
    const { source, placeOf } = this.#options;
    const { target, finalizers: known } = placeOf(namespace);
    const chaperons = (await target.list(POD_CHAPERONS, { namespace, labelSelector: `${P}parent-cluster-name=` })).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    for (const { metadata: { name = '', labels = {} } } of chaperons) {
      const proxy = proxies.find(({ metadata }) => metadata.uid === labels[`${P}parent-uid`]);
      if (proxy === undefined || proxy.metadata.deletionTimestamp !== undefined) await target.delete(POD_CHAPERONS, { namespace, name }, {}).catch(() => undefined);
    }
    for (const { metadata: { name = '', uid, finalizers = [], deletionTimestamp } } of proxies) {
      const isHeld = chaperons.some(({ metadata }) => metadata.labels?.[`${P}parent-uid`] === uid);
      const kept = finalizers.filter((one) => !one.startsWith(P) || (known.includes(one) && (deletionTimestamp === undefined || isHeld)));
      if (kept.length < finalizers.length) await source.patch(PODS, { namespace, name }, { patchType: 'merge', patch: { metadata: { uid, finalizers: kept } } });
    }
  }

  /** A candidate, its reservation, the choice, and the bind once its delegate has a node: one step in each round. */
  async #schedule(proxy: Pod): Promise<void> {
    const { source, placeOf } = this.#options;
    const { namespace = '', name = '', uid, deletionTimestamp } = proxy.metadata;
    if ((proxy.spec.nodeName ?? '') !== '' || deletionTimestamp !== undefined) return;
    const { target, nodeName } = placeOf(namespace);
    const [found] = await target.list(POD_CHAPERONS, { namespace, labelSelector: `${P}parent-uid=${uid}` });
    if (found === undefined) {
      const { metadata: { annotations: { [`${P}is-reserved`]: _reserved, [`${P}is-allowed`]: _allowed, ...annotations } = {}, ...metadata }, spec } = admiraltyChaperon(proxy, '');
      await target.create(POD_CHAPERONS, { metadata: { ...metadata, annotations }, spec } as typeof found & object);
      return;
    }
    const { metadata: { name: candidate = '', annotations = {} }, status } = found;
    if (annotations[`${P}is-reserved`] === undefined) return;
    if (annotations[`${P}is-allowed`] === undefined) await target.patch(POD_CHAPERONS, { namespace, name: candidate }, { patchType: 'merge', patch: { metadata: { annotations: { [`${P}is-allowed`]: 'true' } } } });
    if (status?.conditions?.some(({ type, status: is }) => type === 'PodScheduled' && is === 'True') !== true) return;
    await source.post(PODS, { namespace, name, subresource: 'binding' }, { apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name, uid }, target: { apiVersion: 'v1', kind: 'Node', name: nodeName } });
  }
}
