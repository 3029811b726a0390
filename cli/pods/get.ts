// `isthmus get targets|pods|nodes`: an administrator's first look at a source. One-shot; unresponsive targets are shown
// as unknown.
import { Command, Option } from 'commander';
import { stringify } from 'yaml';
import type { ClusterSource, Source } from '../../api/kinds/cluster-source.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL, PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  apiVersionOf, CLUSTER_SOURCES, CLUSTER_TARGETS, NODES, PODS, SOURCES, TARGETS,
} from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import { AppError } from '../../process/errors.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import {
  delegateKey, nodeTable, podTable, statusOf, targetTable, type DelegateView, type Table,
} from './elected-pods.ts';
import { withLiveWorld, type LiveWorld } from '../placement/live-world.ts';
import { sourceTable } from './source-table.ts';
import { textTable } from '../output/text-table.ts';

interface GetFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly namespace?: string;
  readonly output?: 'wide' | 'json' | 'yaml' | 'name';
}

const KINDS = ['targets', 'pods', 'nodes', 'sources'] as const;
type Kind = (typeof KINDS)[number];
const SHORT_NAMES: ReadonlyMap<string, Kind> = new Map(
  [['po', 'pods'], ['no', 'nodes'], ['ctg', 'targets'], ['tg', 'targets'], ['csrc', 'sources'], ['src', 'sources']],
);

/** The command for commander. */
export function getCommand(): Command {
  const command = new Command('get').description(
    'Show targets, elected pods with their delegates, or virtual nodes, in the source; in a target its sources, and ' +
      'what they may do.',
  ).argument('<kind>', KINDS.join(', '), parseKind);
  return withInstallNamespace(withClusterFlags(command))
    .option('-n, --namespace <name>', 'of pods and Targets; all when left out')
    .addOption(
      new Option('-o, --output <format>', 'wide: more columns; json, yaml: the objects; name: their names').choices(
        ['wide', 'json', 'yaml', 'name'],
      ),
    )
    .action(get);
}

/** `pods`, `pod` or `po`, and so on. Throws AppError `BadInput`. */
export function parseKind(text: string): Kind {
  const kind = KINDS.find((known) => text === known || text === known.slice(0, -1)) ?? SHORT_NAMES.get(text);
  if (kind !== undefined) return kind;
  throw new AppError('BadInput', `get shows ${KINDS.join(', ')}, not "${text}".`);
}

async function get(kind: Kind, flags: GetFlags): Promise<void> {
  if (kind === 'pods' && (flags.output === undefined || flags.output === 'wide')) {
    const signal = untilStopped();
    return withLiveWorld(
      flags, async (live) => console.log(printed(await electedPods(live, flags, signal), 'No elected pods.')), signal,
    );
  }
  await withCluster(flags, 'cli', async ({ client }, signal) => {
    const found = await read(client, kind, flags, signal);
    console.log(
      flags.output === undefined || flags.output === 'wide'
        ? printed(await tableOf(client, kind, found, { flags, signal }), `No ${kind}.`)
        : formatted(found, flags.output),
    );
  });
}

async function read(
  client: ClusterClient, kind: Kind, { namespace }: GetFlags, signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  switch (kind) {
    case 'pods':
      return withType(
        PODS, await client.list(PODS, { namespace, fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` }, signal),
      );
    case 'nodes':
      return withType(NODES, await client.list(NODES, { labelSelector: `${PROVIDER_KEY}=${PROVIDER_VALUE}` }, signal));
    case 'sources': {
      const clusterSources = namespace === undefined ? await client.list(CLUSTER_SOURCES, {}, signal) : [];
      return [...withType(CLUSTER_SOURCES, clusterSources), ...withType(
        SOURCES, await client.list(SOURCES, { namespace }, signal),
      )];
    }
    case 'targets': {
      const clusterTargets = namespace === undefined ? await client.list(CLUSTER_TARGETS, {}, signal) : [];
      return [...withType(CLUSTER_TARGETS, clusterTargets), ...withType(
        TARGETS, await client.list(TARGETS, { namespace }, signal),
      )];
    }
  }
}

/** Items of a list lack kind and apiVersion. */
function withType<T extends KubernetesObject>(type: ResourceType<T>, items: readonly T[]): readonly T[] {
  return items.map((item) => ({ ...item, apiVersion: apiVersionOf(type), kind: type.kind }));
}

async function tableOf(client: ClusterClient, kind: Kind, found: readonly KubernetesObject[], { flags, signal }: {
  readonly flags: GetFlags; readonly signal: AbortSignal
}): Promise<Table> {
  const options = { now: Date.now(), wide: flags.output === 'wide' };
  if (kind === 'sources') return sourceTable(found as readonly (Source | ClusterSource)[], options);
  if (kind === 'targets') return targetTable(found as Parameters<typeof targetTable>[0], options);
  return nodeTable(
    found, await client.list(PODS, { fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` }, signal), options,
  );
}

async function electedPods(
  { cluster, sourceId, sessions }: LiveWorld, { namespace, output }: GetFlags, signal: AbortSignal,
): Promise<Table> {
  const pods =
    await cluster.client.list(PODS, { namespace, fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` }, signal);
  const lists = await Promise.all([...sessions.all()].map((target) => delegatesOf(target, sourceId, signal)));
  const views = new Map(lists.flatMap((list) => list ?? []));
  const heard =
    new Set([...sessions.all()].filter((_target, index) => lists[index] !== undefined).map(({ key }) => key));
  const delegates = new Map(pods.flatMap((pod) => {
    const key = delegateKey(pod);
    if (key === undefined) return [];
    const otherwise: DelegateView = { kind: heard.has(key.split(' ')[0] ?? '') ? 'missing' : 'unknown' };
    return [[key, views.get(key) ?? otherwise] as const];
  }));
  return podTable(pods, delegates, { now: Date.now(), wide: output === 'wide' });
}

/** Timeout of a target in ms. */
const DELEGATES_MS = 5_000;

/** A source's delegates in a target, by {@link delegateKey}; undefined when the target does not respond. */
async function delegatesOf(
  { key, session }: TargetCluster, sourceId: string, signal: AbortSignal,
): Promise<readonly (readonly [string, DelegateView])[] | undefined> {
  const selection = { labelSelector: `${PARENT_CLUSTER_LABEL}=${sourceId}` };
  const pods = await session?.client.urgent(DELEGATES_MS).list(PODS, selection, signal).catch(() => undefined);
  return pods?.map((pod) => [
    `${key} ${pod.metadata.namespace}/${pod.metadata.name}`,
    { kind: 'found', node: pod.spec.nodeName, phase: statusOf(pod) },
  ]);
}

function printed({ header, rows }: Table, otherwise: string): string {
  return rows.length === 0 ? otherwise : textTable(header, rows);
}

/** The objects for programs. */
export function formatted(objects: readonly KubernetesObject[], output: 'json' | 'yaml' | 'name'): string {
  if (output === 'name') return objects.map(({ kind = '', metadata }) => `${kind.toLowerCase()}/${metadata.name}`)
    .join('\n');
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  return output === 'json' ? JSON.stringify(list, undefined, 2) : stringify(list, { lineWidth: 0 }).trimEnd();
}
