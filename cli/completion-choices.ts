// What shell completion reads from the cluster: names of targets, pods, nodes, sources, namespaces, contexts,
// invitations.
// It has little time and says nothing of errors: a shell that waits is worse than one that offers nothing.
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { KubernetesObject } from '../api/objects/core.ts';
import { CLUSTER_TARGETS, INVITATIONS, NAMESPACES, TARGETS } from '../api/resource-types.ts';
import { objectKey } from '../model/pod/pod.ts';
import { isRecord } from '../model/objects/json-values.ts';
import { openCluster, userAgent } from '../kubernetes/client/open-cluster.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { readObjects } from './get/kinds.ts';
import type { CompletionQuestion } from './completion.ts';

/** How long a shell waits, in ms. */
const TIMEOUT_MS = 2_000;

/** The names; none when they cannot be read in time. */
export async function choicesOf(question: CompletionQuestion): Promise<readonly string[]> {
  try {
    return question.what === 'contexts' ? await contextsOf(question) : await namesOf(question);
  } catch {
    return [];
  }
}

async function contextsOf({ flags }: CompletionQuestion): Promise<readonly string[]> {
  const config: unknown = flags.kubeconfig === undefined ? {} : parse(await readFile(flags.kubeconfig, 'utf8'));
  const contexts = isRecord(config)
    && Array.isArray(config['contexts']) ? (config['contexts'] as readonly unknown[]) : [];
  return contexts.flatMap(
    (context) => (isRecord(context) && typeof context['name'] === 'string' ? [context['name']] : []),
  );
}

async function namesOf(question: CompletionQuestion): Promise<readonly string[]> {
  const { kubeconfig: kubeconfigPath, context } = question.flags;
  const { client } = await openCluster({ kubeconfigPath, context, userAgent: userAgent('completion') });
  try {
    return await read(client.withoutRateLimit(TIMEOUT_MS), question, AbortSignal.timeout(TIMEOUT_MS));
  } finally {
    await client.transport.close();
  }
}

async function read(
  client: ClusterClient, { what, flags: { namespace } }: CompletionQuestion, signal: AbortSignal,
): Promise<readonly string[]> {
  const names = (objects: readonly KubernetesObject[]) => objects.map(({ metadata }) => metadata.name ?? '');
  switch (what) {
    case 'targets': {
      const lists = await Promise.all([client.list(CLUSTER_TARGETS, {}, signal), client.list(TARGETS, {}, signal)]);
      return lists.flat().map(({ metadata }) => objectKey(metadata));
    }
    case 'namespaces':
      return names(await client.list(NAMESPACES, {}, signal));
    case 'invitations':
      return names(await client.list(INVITATIONS, {}, signal));
    case 'pods':
      return names(await readObjects(client, { kind: 'pods', names: [], namespace }, signal));
    case 'nodes':
    case 'sources':
      return names(await readObjects(client, { kind: what, names: [] }, signal));
    case 'contexts':
      return [];
  }
}
