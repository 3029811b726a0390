// The network between a source and its targets in fault tests: a relay in front of each target's API server, which the
// kubeconfig in the source names instead of the server. TLS passes through. A cut swallows bytes or breaks connections;
// both sides live on.
import { parse, stringify } from 'yaml';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, SECRETS } from '../../../api/resource-types.ts';
import { TcpRelay } from '../network/tcp-relay.ts';
import type { IsthmusWorld, WorldCluster } from '../worlds/isthmus-world.ts';

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { server: string } }[];
}

/** The way to one target. */
export interface FaultyPath {
  /** Bytes go nowhere, no connection ends, as when a network drops packets. */
  cut(): void;
  heal(): void;
  /** Connections so far. */
  joined(): number;
  stop(): Promise<void>;
}

/** Puts a relay into the way of the source to a target; the session moves to it. */
export async function faultyPathTo({ source }: IsthmusWorld, { cluster }: WorldCluster): Promise<FaultyPath> {
  const relay = await TcpRelay.start(Number(new URL(cluster.server).port));
  await changeKubeconfig(source, cluster.name, (kubeconfig) => {
    for (const { cluster: entry } of kubeconfig.clusters) entry.server = `https://127.0.0.1:${relay.port}`;
  });
  return {
    cut: () => relay.blackHole(), heal: () => relay.heal(), joined: () => relay.joined, stop: () => relay.stop(),
  };
}

/** Changes the kubeconfig by which the source reaches a ClusterTarget. */
export async function changeKubeconfig(
  { client }: WorldCluster, target: string, change: (kubeconfig: Kubeconfig) => void,
): Promise<void> {
  const at = await secretOf(client, target);
  const secret = await client.get(SECRETS, at);
  const kubeconfig = parse(Buffer.from(secret.data?.['config'] ?? '', 'base64').toString()) as Kubeconfig;
  change(kubeconfig);
  await client.patch(SECRETS, at, {
    patchType: 'merge', patch: { data: { config: Buffer.from(stringify(kubeconfig)).toString('base64') } },
  });
}

/** Where the kubeconfig of a ClusterTarget is. */
export async function secretOf(
  client: WorldCluster['client'], target: string,
): Promise<{ readonly namespace: string; readonly name: string }> {
  const { spec } = await client.get(CLUSTER_TARGETS, { name: target });
  return { namespace: DEFAULT_INSTALL_NAMESPACE, name: spec.kubeconfigSecret?.name ?? '' };
}
