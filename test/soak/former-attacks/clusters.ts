// The clusters of a sandbox that is attacked, what their API servers show and say, and how their paths are made.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readKubeconfig, type ClusterConnection } from '../../../kubernetes/credentials/kubeconfig.ts';
import { RawApiClient, type RawAnswer } from '../../support/attackers/raw-api-client.ts';

/** An object of an API server, as far as attacks look at it. */
export interface Thing {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** A cluster of the sandbox. */
export interface AttackedCluster {
  readonly name: string;
  /** Path of the administrator's kubeconfig, and the folder with the files of the cluster. */
  readonly kubeconfig: string;
  readonly folder: string;
  readonly connection: ClusterConnection;
  readonly admin: RawApiClient;
}

/** Namespace that Isthmus is installed in. */
export const INSTALLED = 'isthmus-system';
/** Annotation by which a pod is elected. */
export const ELECT = { 'multicluster.admiralty.io/elect': '' };
/** The path of a collection, or of one object in it: `path('api/v1', 'pods', 'shop', 'web')`. */
export function path(version: string, plural: string, namespace?: string, name?: string): string {
  const within = namespace === undefined ? [] : ['namespaces', namespace];
  return `/${[version, ...within, plural, name ?? []].flat().join('/')}`;
}

/** What an API server said, in one line, without the names of what it was said of. */
export function said({ status, text }: RawAnswer): string {
  const message = /"message":"((?:[^"\\]|\\.)*)"/
    .exec(text)?.[1]
    ?.replaceAll('\\"', '"')
    .replace(/^.* denied request: /, '')
    .replace(/^.* is forbidden: /, '');
  return `${status}${message === undefined ? '' : `: ${message.slice(0, 160)}`}`;
}

/** Opens a cluster by the path of its kubeconfig, which lies beside its folder. */
export async function openCluster(kubeconfig: string): Promise<AttackedCluster> {
  const connection = await readKubeconfig({ text: await readFile(kubeconfig, 'utf8'), author: 'administrator' });
  const name = kubeconfig.replace(/^.*\//, '').replace(/\.kubeconfig$/, '');
  return { name, kubeconfig, folder: join(dirname(kubeconfig), name), connection, admin: new RawApiClient(connection) };
}
