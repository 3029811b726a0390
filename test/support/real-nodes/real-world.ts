// A source with one real node of its own and targets with real nodes, and the namespaces in which tests run the same
// thing twice: elected, and natively in the source.
import type { Pod } from '../../../api/objects/core.ts';
import {
  ALL_SOURCES, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, SOURCES_LABEL,
} from '../../../api/objects/keys.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { NAMESPACES, PODS } from '../../../api/resource-types.ts';
import { busyboxImage, makeImage } from '../../../sandbox/images/own-images.ts';
import { findProgram } from '../../../sandbox/real-nodes/machine-facts.ts';
import { join } from 'node:path';
import { startWorld, type IsthmusWorld, type StartIn, type WorldOptions } from '../worlds/isthmus-world.ts';
import { PRIVATE_IMAGE } from './real-node-cases.ts';

/** Pods of this namespace of the source run in targets. */
export const ELECTED = 'elected';
/** Pods of this one run on the source's own node. */
export const NATIVE = 'native';
/** How long kubelets take at most: image pulls back off, and a busy machine is slow. In ms. */
export const TIMEOUT_MS = 120_000;

const CREDENTIALS = 'reader:let-me-in';

/** Any object that a test applies. */
export interface AnyObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: { readonly name?: string; readonly namespace?: string; readonly [more: string]: unknown };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly [more: string]: unknown;
}

/** A namespaced kind by its names in the API. */
export function kindOf(group: string, plural: string, kind: string): ResourceType<AnyObject> {
  return { group, version: 'v1', plural, kind, namespaced: true };
}

/** Kinds that tests make. */
export const KINDS = {
  configMaps: kindOf('', 'configmaps', 'ConfigMap'),
  secrets: kindOf('', 'secrets', 'Secret'),
  services: kindOf('', 'services', 'Service'),
  events: kindOf('', 'events', 'Event'),
  jobs: kindOf('batch', 'jobs', 'Job'),
  deployments: kindOf('apps', 'deployments', 'Deployment'),
  statefulSets: kindOf('apps', 'statefulsets', 'StatefulSet'),
} as const;

function pullSecret(): AnyObject {
  const auths = { 'private.example': { auth: Buffer.from(CREDENTIALS).toString('base64') } };
  return {
    metadata: { name: 'registry' }, type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': JSON.stringify({ auths }) },
  };
}

/** Adds an image that wants a password. */
async function addPrivateImage({ sandbox }: IsthmusWorld): Promise<void> {
  const busybox = await findProgram('busybox');
  if (busybox === undefined) throw new Error('real nodes need busybox');
  const image = await makeImage(busyboxImage(PRIVATE_IMAGE, busybox, ['sh']), join(sandbox.dir, 'images'));
  sandbox.registry?.add({ ...image, credentials: CREDENTIALS });
}

/** Starts the clusters with Isthmus in them; call `endWorld` in `after`. */
export async function startRealWorld(
  options: Pick<WorldOptions, 'nodes' | 'families'> = {}, start?: StartIn,
): Promise<IsthmusWorld> {
  const world = await startWorld({ targets: 2, nodes: 1, sourceNodes: 1, real: true, ...options }, start);
  const { client } = world.source;
  const optedIn = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await client.apply(NAMESPACES, { metadata: { name: ELECTED, labels: optedIn } }, 'isthmus-test');
  await client.apply(NAMESPACES, { metadata: { name: NATIVE } }, 'isthmus-test');
  for (const target of world.targets) {
    const labels = { [SOURCES_LABEL]: ALL_SOURCES };
    await target.client.apply(NAMESPACES, { metadata: { name: ELECTED, labels } }, 'isthmus-test');
  }
  await addPrivateImage(world);
  for (const namespace of [ELECTED, NATIVE]) {
    const settings: AnyObject = { metadata: { name: 'settings', namespace }, data: { color: 'blue' } };
    await client.apply(KINDS.configMaps, settings, 'test');
    const secret = { metadata: { name: 'password', namespace }, stringData: { word: 'swordfish' } };
    await client.apply(KINDS.secrets, secret, 'test');
    const { metadata, ...registry } = pullSecret();
    await client.apply(KINDS.secrets, { metadata: { ...metadata, namespace }, ...registry }, 'test');
  }
  return world;
}

/** Makes a pod in a namespace; the annotation elects it where the namespace is opted in. */
export async function makePod(world: IsthmusWorld, namespace: string, pod: {
  readonly name: string; readonly spec: object; readonly metadata?: { readonly annotations?: object };
}): Promise<void> {
  const annotations = { ...pod.metadata?.annotations, [ELECT_ANNOTATION]: '' };
  const metadata = { ...pod.metadata, name: pod.name, namespace, annotations };
  await world.source.client.create(PODS, { metadata, spec: pod.spec } as unknown as Pod);
}

/** The pod of the source once `isDone`. */
export async function untilPod(
  world: IsthmusWorld, namespace: string, name: string, isDone: (pod: Pod) => boolean,
): Promise<Pod> {
  const key = `${namespace}/${name}`;
  const found = (): Pod | undefined => world.source.pods.get(key);
  await world.source.pods.until(
    `${key} as it should be, but ${JSON.stringify(found()?.status)}`,
    () => { const pod = found(); return pod !== undefined && isDone(pod); }, TIMEOUT_MS,
  );
  return found() as Pod;
}
