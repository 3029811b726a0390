// A source and a target of which one is Admiralty's: what the pods of the one in the other must do, whoever made it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL, PROXY_SCHEDULER } from '../../../api/objects/keys.ts';
import {
  CONFIG_MAPS, DEPLOYMENTS, EVENTS, NODES, PODS, POD_CHAPERONS, SECRETS, SERVICES,
} from '../../../api/resource-types.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import type { OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { runForAnnotation } from '../../../sandbox/plan/kwok-stages.ts';
import { eventually } from '../history/eventually.ts';
import { JOBS } from '../objects/resource-types.ts';
import { remainsIn, deleteWorkloads } from './migrated-workloads.ts';

/** Admiralty looks at what it missed every 30 s, and waits up to 60 s for a verdict. */
const TIMEOUT_MS = 180_000;
const OUTAGE_MS = 20_000;

/** One cluster of a pair. */
export interface PairEnd {
  readonly cluster: Cluster;
  readonly opened: OpenCluster;
}

/** One step that was seen to hold, and how long it took in s. */
export interface Held {
  readonly step: string;
  readonly seconds: number;
}

/** A source, a target, and a namespace of their own. */
export class MixedPair {
  readonly held: Held[] = [];
  readonly #source: PairEnd;
  readonly #target: PairEnd;
  readonly #namespace: string;
  readonly #say: (line: string) => void;

  constructor(source: PairEnd, target: PairEnd, namespace: string, say: (line: string) => void) {
    this.#source = source;
    this.#target = target;
    this.#namespace = namespace;
    this.#say = say;
  }

  /** Runs all steps. Rejects with the first that does not hold. */
  async run(): Promise<void> {
    await this.#step('a virtual node is there', () => this.#hasNode());
    await this.#step('admission elects pods', () => this.#elects());
    await this.#make();
    await this.#step('bare pods and those of a Deployment run', () => this.#allRun(6));
    await this.#step('ConfigMap, Secret and Service have followed', () => this.#hasCopies('1'));
    await this.#settings('2');
    await this.#step('a changed ConfigMap has followed', () => this.#hasCopies('2'));
    await this.#step('a status of the delegate is shown', () => this.#showsRestarts());
    await this.#create(JOBS, 'job', { spec: { template: this.#template('job', { restartPolicy: 'Never' }, '2s') } });
    await this.#step('a Job completes', () => this.#completes());
    await this.#delete(PODS, 'bare-0');
    await this.#step('a pod that is deleted takes its delegate along', () => this.#isGone('bare-0'));
    for (const how of ['SIGSTOP', 'SIGKILL'] as const) await this.#outage(how, OUTAGE_MS);
    await deleteWorkloads(this.#source.opened, this.#namespace);
    await this.#step('nothing is left', () => this.#isEmpty());
  }

  async #step(step: string, holds: () => Promise<boolean>): Promise<void> {
    const start = performance.now();
    try {
      await eventually(step, holds, TIMEOUT_MS);
    } catch (error) {
      for (const { cluster, opened: { client } } of [this.#source, this.#target]) {
        for (const type of [PODS, POD_CHAPERONS, EVENTS]) {
          const all = await client.list(type, { namespace: this.#namespace });
          for (const object of all) this.#say(`${cluster.name} ${type.kind} ${JSON.stringify(object)}`);
        }
      }
      throw error;
    }
    const seconds = (performance.now() - start) / 1_000;
    this.held.push({ step, seconds });
    this.#say(`${this.#namespace}: ${step}: ${seconds.toFixed(1)} s`);
  }

  async #make(): Promise<void> {
    await this.#create(CONFIG_MAPS, 'settings', { data: { a: '1' } });
    await this.#create(SECRETS, 'password', { data: { p: 'cA==' } });
    await this.#create(SERVICES, 'web', { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } });
    for (const name of ['bare-0', 'bare-1', 'bare-2']) await this.#pod(name);
    const selector = { matchLabels: { app: 'web' } };
    await this.#create(DEPLOYMENTS, 'web', { spec: { replicas: 3, selector, template: this.#template('web') } });
  }

  #pod(name: string): Promise<void> {
    return this.#create(PODS, name, this.#template(name));
  }

  /** While nobody reaches the target, a pod is deleted and one made; after that all is as if there had been none. */
  async #outage(how: 'SIGSTOP' | 'SIGKILL', ms: number): Promise<void> {
    const name = `outage-${how.toLowerCase()}`;
    await this.#pod(name);
    await this.#step(`before ${how}: a pod runs`, () => this.#runs(name));
    const before = await this.#uids('web');
    await this.#target.cluster.stopComponent('kube-apiserver', how);
    try {
      await this.#delete(PODS, name);
      await this.#pod(`${name}-made`);
      await sleep(ms);
    } finally {
      await this.#target.cluster.startComponent('kube-apiserver');
    }
    await this.#step(`after ${how} of the target's API server: the deleted pod is gone`, () => this.#isGone(name));
    await this.#step(`after ${how}: the pod made meanwhile runs`, () => this.#runs(`${name}-made`));
    await this.#step(`after ${how}: the others are as they were`, async () =>
      JSON.stringify(await this.#uids('web')) === JSON.stringify(before));
  }

  #template(app: string, spec: object = {}, runsFor?: string): object {
    const annotations = { [ELECT_ANNOTATION]: '', ...(runsFor !== undefined && { [runForAnnotation]: runsFor }) };
    const containers = [{
      name: 'main', image: 'example/main:1', envFrom: [{ configMapRef: { name: 'settings' } }],
      env: [{ name: 'P', valueFrom: { secretKeyRef: { name: 'password', key: 'p' } } }],
    }];
    return { metadata: { labels: { app }, annotations }, spec: { containers, ...spec } };
  }

  /** A webhook that has just started may not answer yet. */
  async #create(type: ResourceType, name: string, object: object): Promise<void> {
    const { metadata, ...rest } = object as Partial<KubernetesObject>;
    const whole = { metadata: { ...metadata, namespace: this.#namespace, name }, ...rest };
    await eventually(`${type.kind} ${name} is made`, async () => {
      await this.#source.opened.client.create(type, whole);
      return true;
    });
  }

  async #delete(type: ResourceType, name: string): Promise<void> {
    await this.#source.opened.client.delete(type, { namespace: this.#namespace, name });
  }

  async #settings(a: string): Promise<void> {
    const at = { namespace: this.#namespace, name: 'settings' };
    await this.#source.opened.client.patch(CONFIG_MAPS, at, { patchType: 'merge', patch: { data: { a } } });
  }

  /** A pod made before the webhook is registered would stay in the source. */
  async #elects(): Promise<boolean> {
    const { metadata, spec } = this.#template('dry') as Pod;
    const pod: Pod = { metadata: { ...metadata, namespace: this.#namespace, name: 'dry' }, spec };
    const { spec: stored } = await this.#source.opened.client.dryRunCreate(PODS, pod);
    return stored.schedulerName === PROXY_SCHEDULER;
  }

  async #hasNode(): Promise<boolean> {
    const nodes = await this.#source.opened.client.list(NODES);
    return nodes.some(({ metadata }) => metadata.name?.startsWith('admiralty-') === true);
  }

  #proxies(): Promise<readonly Pod[]> {
    return this.#source.opened.client.list(PODS, { namespace: this.#namespace });
  }

  #delegates(): Promise<readonly Pod[]> {
    return this.#target.opened.client.list(PODS, { namespace: this.#namespace, labelSelector: PARENT_UID_LABEL });
  }

  async #allRun(count: number): Promise<boolean> {
    const [proxies, delegates] = await Promise.all([this.#proxies(), this.#delegates()]);
    const run = (pods: readonly Pod[]) => pods.filter(({ status }) => status?.phase === 'Running').length;
    return run(proxies) === count && run(delegates) === count && delegates.length === count;
  }

  async #runs(name: string): Promise<boolean> {
    const [proxies, delegates] = await Promise.all([this.#proxies(), this.#delegates()]);
    const proxy = proxies.find(({ metadata }) => metadata.name === name);
    const own = delegates.filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy?.metadata.uid);
    return proxy?.status?.phase === 'Running' && own.length === 1 && own[0]?.status?.phase === 'Running';
  }

  /** The proxy has gone, and no delegate is of a pod that is none of the source's. */
  async #isGone(name: string): Promise<boolean> {
    const [proxies, delegates] = await Promise.all([this.#proxies(), this.#delegates()]);
    const uids = new Set(proxies.map(({ metadata }) => metadata.uid));
    return proxies.every(({ metadata }) => metadata.name !== name)
      && delegates.every(({ metadata }) => uids.has(metadata.labels?.[PARENT_UID_LABEL]));
  }

  async #uids(app: string): Promise<readonly string[]> {
    const proxies = new Set(
      (await this.#proxies()).filter(
        ({ metadata }) => metadata.labels?.['app'] === app,
      ).map(({ metadata }) => metadata.uid),
    );
    return (await this.#delegates())
      .filter(({ metadata }) => proxies.has(metadata.labels?.[PARENT_UID_LABEL]))
      .map(({ metadata }) => metadata.uid ?? '').toSorted((one, other) => (one < other ? -1 : 1));
  }

  async #hasCopies(a: string): Promise<boolean> {
    const { client } = this.#target.opened;
    const at = (name: string) => ({ namespace: this.#namespace, name });
    const [settings] = await Promise.all([
      client.get(CONFIG_MAPS, at('settings')), client.get(SECRETS, at('password')), client.get(SERVICES, at('web')),
    ]);
    return (settings as { readonly data?: Readonly<Record<string, string>> }).data?.['a'] === a;
  }

  async #showsRestarts(): Promise<boolean> {
    const proxy = (await this.#proxies()).find(({ metadata }) => metadata.name === 'bare-1');
    const delegate = (await this.#delegates())
      .find(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy?.metadata.uid);
    const [container] = delegate?.status?.containerStatuses ?? [];
    if (delegate === undefined || container === undefined) return false;
    const at = { namespace: this.#namespace, name: delegate.metadata.name ?? '', subresource: 'status' } as const;
    const patch = { status: { containerStatuses: [{ ...container, restartCount: 3 }] } };
    await this.#target.opened.client.patch(PODS, at, { patchType: 'strategic', patch });
    return JSON.stringify(proxy?.status?.containerStatuses ?? []).includes('"restartCount":3');
  }

  async #completes(): Promise<boolean> {
    const job: KubernetesObject & Pick<Pod, 'status'> =
      await this.#source.opened.client.get(JOBS, { namespace: this.#namespace, name: 'job' });
    return job.status?.conditions?.some(({ type, status }) => type === 'Complete' && status === 'True') === true;
  }

  async #isEmpty(): Promise<boolean> {
    const left = await Promise.all(
      [this.#source, this.#target].map(({ cluster, opened }) => remainsIn(opened, cluster.name, this.#namespace)),
    );
    const chaperons = await this.#target.opened.client.list(POD_CHAPERONS, { namespace: this.#namespace });
    return left.flat().length === 0 && chaperons.length === 0;
  }
}
