// One world for all suites of a process. Each file of test/integration/shared can be run alone; a file that imports
// several of them runs them one after the other in the same world, which takes half a minute to start.
import { after, before } from 'node:test';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, PODS } from '../../../api/resource-types.ts';
import { isNotFound, unless } from '../../../kubernetes/flow/api-error.ts';
import { isProxyPod } from '../../../model/pod/pod.ts';
import { startIsthmus } from '../../../sandbox/isthmus-in-sandbox.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { eventually } from '../history/eventually.ts';
import { makeNamespace, startWorld, type IsthmusWorld } from './isthmus-world.ts';
import { endWorld } from '../history/world-invariants.ts';

/** What suites share. */
export interface Shared {
  readonly world: IsthmusWorld;
  /** Where the source's process serves its metrics, on loopback. */
  readonly healthPort: number;
}

/** What world suites want. */
export interface SharedWorldOptions {
  /** Nodes of each of its two targets. */
  readonly nodes: number;
  /** Whether the API servers write audit logs. */
  readonly audit?: boolean;
}

/** An opted-in namespace in which no pod is ever made. */
const EMPTY_NAMESPACE = 'stays-empty';

let shared: Shared | undefined;
let chosen: string | undefined;

async function start(options: SharedWorldOptions): Promise<void> {
  const [healthPort = 0] = await freePorts(1);
  const flags = ['--health-host', '127.0.0.1', '--health-port', String(healthPort)];
  const world = await startWorld(options, (sandbox, signal) => startIsthmus(sandbox, signal, flags));
  shared = { world, healthPort };
  await makeNamespace(world, EMPTY_NAMESPACE);
}

/**
 * Registers the start of a world before all suites of the process, and its end, with the invariants over all that
 * happened, after them. To be called outside of suites; what it gives returns the world within their hooks and tests.
 * Throws where another suite of the process wants another world.
 */
export function shareWorld(options: SharedWorldOptions): () => Shared {
  const wanted = JSON.stringify(options);
  if (chosen === undefined) {
    before(() => start(options), { timeout: 300_000 });
    after(() => endWorld(shared?.world, { endsDelegates: true }));
  } else if (chosen !== wanted) {
    throw new Error(`the suites of this process share a world of ${chosen}, not of ${wanted}`);
  }
  chosen = wanted;
  return () => {
    if (shared === undefined) throw new Error('the world has not been started');
    return shared;
  };
}

/** How long pods may take to go on a busy machine, in ms. */
const GONE_MS = 120_000;

/**
 * Leaves the world to the next suite: deletes all pods of the source, waits until no cluster has a pod or a
 * PodChaperon, until every target is Ready and the webhook answers. What would make pods again must be gone before.
 */
export async function leaveWorld({ source, targets }: IsthmusWorld): Promise<void> {
  const { client } = source;
  await Promise.all((await client.list(PODS)).map(
    ({ metadata: { namespace, name = '' } }) => client.delete(PODS, { namespace, name }).catch(unless(isNotFound)),
  ));
  const isEmpty = (objects: readonly KubernetesObject[]): boolean => objects.length === 0;
  await Promise.all([
    source.pods.until('no pods are left', isEmpty, GONE_MS),
    ...targets.map(({ pods }) => pods.until('no delegates are left', isEmpty, GONE_MS)),
    ...targets.map(({ chaperons }) => chaperons.until('no PodChaperons are left', isEmpty, GONE_MS)),
  ]);
  await eventually('every target is Ready', async () => (await client.list(CLUSTER_TARGETS)).every(
    ({ status }) => status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
  ));
  await eventually('the webhook answers', () => isAdmitted(client));
}

/** Whether an elected pod would become a proxy pod now. */
async function isAdmitted({ transport }: IsthmusWorld['source']['client']): Promise<boolean> {
  const metadata = { namespace: EMPTY_NAMESPACE, name: 'probe', annotations: { [ELECT_ANNOTATION]: '' } };
  const pod = await transport.call<Pod>({
    method: 'POST', path: `/api/v1/namespaces/${EMPTY_NAMESPACE}/pods`, query: { dryRun: 'All' },
    body: { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'c', image: 'example/c:1' }] } },
  });
  return isProxyPod(pod);
}
