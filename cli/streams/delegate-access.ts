// Connects to an elected pod's delegate without the kubelet API, by the source's kubeconfig for the target. The user
// must be able to read that Secret; everybody else uses kubectl.
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { Node, Pod } from '../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, PARENT_UID_LABEL, TARGET_NAME_LABEL, TARGET_NAMESPACE_LABEL,
} from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, NODES, POD_CHAPERONS, PODS, SECRETS, TARGETS } from '../../api/resource-types.ts';
import { ClusterClient, pathOf } from '../../kubernetes/client/cluster-client.ts';
import type { ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';
import { userAgent, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import type { StreamTarget } from '../../virtual-node/streams/stream-permissions.ts';
import { kubeconfigSecretRef, readTargetConnection } from '../../targets/access/target-kubeconfig.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import { orNotFound } from '../clusters/served-objects.ts';

/** Pod, container, and route to its target. */
export interface DelegateChoice {
  readonly namespace: string;
  readonly name: string;
  /** The first container when missing. */
  readonly container?: string | undefined;
  readonly installNamespace: string;
  /** CONNECT endpoints of the gateways of this cluster, for a target with `spec.gateway`. */
  readonly gateways?: readonly URL[] | undefined;
}

/** A connected delegate. Close `transport` when done. */
export interface DelegateAccess {
  readonly transport: Transport;
  /** Path of the delegate pod in the target's API. */
  readonly path: string;
  readonly container: string;
  /** On which the permission for its streams is requested; undefined where the source made the delegate itself. */
  readonly chaperon: StreamTarget['chaperon'];
}

/**
 * Finds the delegate of a pod and opens its cluster.
 * @throws AppError `NotFound` with what is missing, `KubeconfigInvalid` or `KubeconfigRefused`; what API calls throw.
 */
export async function openDelegate(
  source: OpenCluster, choice: DelegateChoice, signal: AbortSignal,
): Promise<DelegateAccess> {
  const { namespace, name } = choice;
  const pod = await source.client.get(PODS, { namespace, name }, signal)
    .catch(orNotFound(`There is no pod ${name} in namespace ${namespace}.`));
  const container = containerOf(pod, choice.container);
  const target = await targetOf(source.client, pod, signal);
  const transport = new Transport(await connectionOf(source, target, choice, signal), userAgent('cli'));
  const delegate = await findDelegate(new ClusterClient(transport), pod, signal).catch(async (error: unknown) => {
    await transport.close();
    throw error;
  });
  const path = pathOf(PODS, { namespace, name: delegate.metadata.name ?? '' });
  return { transport, path, container, chaperon: chaperonOf(delegate) };
}

function chaperonOf({ metadata: { namespace = '', ownerReferences } }: Pod): DelegateAccess['chaperon'] {
  const owner = ownerReferences?.find(({ kind }) => kind === POD_CHAPERONS.kind);
  return owner && { mode: 'PodChaperon', namespace, name: owner.name, uid: owner.uid };
}

/** Throws AppError `NotFound` for a container that the pod does not have. */
function containerOf({ spec, metadata }: Pod, wanted: string | undefined): string {
  const names =
    [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].map(({ name }) => name);
  const name = wanted ?? names[0] ?? '';
  if (names.includes(name)) return name;
  throw new AppError('NotFound', `Pod ${metadata.name} has no container ${name}; it has ${names.join(', ')}.`);
}

async function targetOf(client: ClusterClient, { metadata, spec }: Pod, signal: AbortSignal): Promise<TargetRef> {
  const name = spec.nodeName ?? '';
  const node: Node | undefined = name === '' ? undefined : await client.get(NODES, { name }, signal)
    .catch(orNotFound(`Its virtual node ${name} is gone.`));
  const { [CLUSTER_TARGET_NAME_LABEL]: cluster, [TARGET_NAMESPACE_LABEL]: namespace, [TARGET_NAME_LABEL]: target } =
    node?.metadata.labels ?? {};
  if (cluster !== undefined) return { kind: 'ClusterTarget', name: cluster };
  if (namespace !== undefined && target !== undefined) return { kind: 'Target', namespace, name: target };
  throw new AppError(
    'NotFound',
    `Pod ${metadata.name} is on no virtual node: ` +
      (name === '' ? 'it has no node yet.' : `use kubectl for what runs on ${name}.`),
  );
}

async function connectionOf(
  source: OpenCluster, target: TargetRef, { installNamespace, gateways }: DelegateChoice, signal: AbortSignal,
): Promise<ClusterConnection> {
  const spec = await specOf(source.client, target, signal);
  if (spec.self === true) return source.connection;
  const secretRef = kubeconfigSecretRef(target, spec, installNamespace);
  if (secretRef === undefined) throw new AppError('NotFound', `Target ${targetText(target)} names no kubeconfig.`);
  const { namespace, name } = secretRef;
  const missing =
    orNotFound(`The kubeconfig of target ${targetText(target)}, Secret ${namespace}/${name}, is not there.`);
  const { data } = await source.client.get(SECRETS, { namespace, name }, signal).catch(missing);
  const kubeconfig = data?.[secretRef.key] ?? '';
  const connection = await readTargetConnection(kubeconfig, secretRef, { gateway: undefined, endpoints: [] });
  if (spec.gateway === undefined) return connection;
  if (gateways === undefined) throw new AppError(
    'BadInput', `Target ${targetText(target)} is reached through the gateway: name it with --gateway http://HOST:PORT.`,
  );
  return { ...connection, gateway: { clusterId: spec.gateway.cluster, endpoints: gateways } };
}

async function specOf(client: ClusterClient, target: TargetRef, signal: AbortSignal): Promise<TargetSpec> {
  const missing = orNotFound(`There is no target ${targetText(target)} any more.`);
  const { name } = target;
  const object = target.kind === 'Target'
    ? await client.get(TARGETS, { namespace: target.namespace, name }, signal).catch(missing)
    : await client.get(CLUSTER_TARGETS, { name }, signal).catch(missing);
  return object.spec;
}

async function findDelegate(client: ClusterClient, { metadata }: Pod, signal: AbortSignal): Promise<Pod> {
  const { namespace, name, uid } = metadata;
  const [delegate] = await client.list(PODS, { namespace, labelSelector: `${PARENT_UID_LABEL}=${uid}` }, signal);
  if (delegate !== undefined) return delegate;
  throw new AppError('NotFound', `Pod ${name} has no delegate in its target now.`);
}
