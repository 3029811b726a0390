// `isthmus bundle`: a support archive: our objects, their events and our logs, with secrets redacted.
import { open } from 'node:fs/promises';
import { Command } from 'commander';
import { stringify } from 'yaml';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_DECISIONS, CLUSTER_PLACEMENT_POLICIES, CLUSTER_SOURCES, CLUSTER_SUMMARIES, CLUSTER_TARGETS,
  CLUSTERSET_ENDPOINTS, CLUSTERSET_GATEWAYS, CLUSTERSET_MEMBERS, DEPLOYMENTS, EVENTS, INVITATIONS, JOIN_REQUESTS,
  LEASES, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACE_ELECTIONS, NODES, PLACEMENT_POLICIES, POD_CHAPERONS, PODS,
  RESOURCE_SHARES, SECRET_COPIES, SECRETS, SERVICE_ACCOUNTS, SOURCE_LEASES, SOURCES, TARGET_DISCOVERIES, TARGETS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '../../api/resource-types.ts';
import { EXPORTED_SERVICES } from '../../api/kinds/service-discovery.ts';
import { PROXY_PODS, VIRTUAL_NODES } from '../../model/proxy/proxy-selection.ts';
import { pathOf, type ClusterClient, type Selection } from '../../kubernetes/client/cluster-client.ts';
import { messageOf } from '../../process/errors.ts';
import { version } from '../../process/version.ts';
import { withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import { withLiveState, type LiveState } from '../placement/live-state.ts';
import { redactedObject, redactedText } from './redaction.ts';
import { tarArchive, type ArchivedFile } from './tar-archive.ts';

interface BundleFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly output: string;
}

type Selected = readonly [type: ResourceType, selection: Selection];

/** Of our pods. */
const CONTAINER = 'isthmus';
/** Timeout of one list in ms. */
const LIST_MS = 10_000;

/** The command for commander. */
export function bundleCommand(): Command {
  const command = new Command('bundle').description(
    'Write a support archive: objects, events and logs of Isthmus, without secrets. Run it in the source.',
  );
  return withInstallNamespace(withClusterFlags(command))
    .option('--output <file>', 'the archive', 'isthmus-bundle.tar.gz')
    .action(bundle);
}

async function bundle(flags: BundleFlags): Promise<void> {
  const signal = untilStopped();
  const files = await withLiveState(
    { ...flags, acceptsGaps: true }, (live) => filesOf(live, flags.installNamespace, signal), signal,
  );
  signal.throwIfAborted(); // what could not be read any more is in the files as an error
  await writePrivately(flags.output, tarArchive(files, Date.now()));
  console.log(
    `Wrote ${flags.output} with ${files.length} files. Look through it before you hand it on: names of pods and ` +
      'namespaces are in it.',
  );
}

/** Also over an existing file, which would keep its permissions. */
async function writePrivately(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    if ((await file.stat()).isFile()) await file.chmod(0o600);
    await file.writeFile(bytes);
  } finally {
    await file.close();
  }
}

async function filesOf(
  live: LiveState, installNamespace: string, signal: AbortSignal,
): Promise<readonly ArchivedFile[]> {
  const { cluster: { client }, sourceId, sessions } = live;
  console.log('reading the source');
  const inSource = await objectFiles(client, 'source', selectedInSource(installNamespace), signal);
  const targets = [...sessions.all()];
  const inTargets = await Promise.all(targets.map(async ({ key, ref, session }, index) => {
    console.log(`reading target ${ref.name}`);
    if (session === undefined) return [{ name: `target-${index + 1}/unreachable.txt`, text: `${key}\n` }];
    return objectFiles(
      session.client.withoutRateLimit(LIST_MS), `target-${index + 1}`,
      selectedInTarget(sourceId, ref.kind === 'Target' ? ref.namespace : undefined), signal,
    );
  }));
  const about = {
    isthmus: version(), clusterID: sourceId,
    targets: targets.map(({ key, availability }, index) => ({ folder: `target-${index + 1}`, key, ...availability })),
  };
  return [
    { name: 'about.yaml', text: yaml(redactedObject(about)) }, ...inSource,
    ...(await ownPodFiles(client, installNamespace, signal)), ...inTargets.flat(),
  ];
}

function selectedInSource(namespace: string): readonly Selected[] {
  return [
    [CLUSTER_TARGETS, {}], [TARGETS, {}], [CLUSTER_SOURCES, {}],
    [SOURCES, {}], [CLUSTER_SUMMARIES, {}], [POD_CHAPERONS, {}], [INVITATIONS, {}], [JOIN_REQUESTS, {}],
    [RESOURCE_SHARES, {}], [SECRET_COPIES, {}], [SOURCE_LEASES, {}], [NAMESPACE_ELECTIONS, {}],
    [PLACEMENT_POLICIES, {}], [CLUSTER_PLACEMENT_POLICIES, {}], [CLUSTER_DECISIONS, {}], [TARGET_DISCOVERIES, {}],
    [CLUSTERSET_MEMBERS, {}], [CLUSTERSET_ENDPOINTS, {}], [CLUSTERSET_GATEWAYS, {}], [EXPORTED_SERVICES, {}],
    [MUTATING_WEBHOOK_CONFIGURATIONS, {}],
    [VALIDATING_WEBHOOK_CONFIGURATIONS, {}], [NODES, VIRTUAL_NODES], [PODS, PROXY_PODS], [EVENTS, {}],
    ...([DEPLOYMENTS, LEASES, SECRETS, SERVICE_ACCOUNTS] as readonly ResourceType[]).map(
      (type): Selected => [type, { namespace }],
    ),
  ];
}

function selectedInTarget(sourceId: string, namespace: string | undefined): readonly Selected[] {
  const own = { namespace, labelSelector: `${PARENT_CLUSTER_LABEL}=${sourceId}` };
  return [[CLUSTER_SUMMARIES, {}], [POD_CHAPERONS, own], [PODS, own]];
}

/** One file per kind; a kind that cannot be read says why. */
async function objectFiles(
  client: ClusterClient, folder: string, selected: readonly Selected[], signal: AbortSignal,
): Promise<readonly ArchivedFile[]> {
  return Promise.all(selected.map(async ([type, selection]) => {
    const text = await client.list<KubernetesObject>(type, selection, signal).then(
      (items) => yaml(items.map((item) => redactedObject({ kind: type.kind, ...item }))),
      (error: unknown) => `# ${messageOf(error)}\n`,
    );
    return { name: `${folder}/${type.plural}${type.group === '' ? '' : `.${type.group}`}.yaml`, text };
  }));
}

/** Our own pods and their logs, where Isthmus runs in the cluster. */
async function ownPodFiles(
  client: ClusterClient, namespace: string, signal: AbortSignal,
): Promise<readonly ArchivedFile[]> {
  const pods = await client.list(PODS, { namespace }, signal).catch(messageOf);
  const name = 'source/own-pods.yaml';
  if (typeof pods === 'string') return [{ name, text: `# ${pods}\n` }];
  const logs = await Promise.all(pods.map((pod) => logFile(client, pod, signal)));
  return [{ name, text: yaml(pods.map((pod) => redactedObject(pod))) }, ...logs];
}

async function logFile(
  client: ClusterClient, { metadata: { namespace, name = '' }, spec: { containers } }: Pod, signal: AbortSignal,
): Promise<ArchivedFile> {
  const ours = containers.find((one) => one.name === CONTAINER) ?? containers[0]; // a mesh may have added others
  const path = `${pathOf(PODS, { namespace, name })}/log`;
  const query = { container: ours?.name, tailLines: '5000', timestamps: 'true' };
  const text = await client.transport
    .call<string>({ method: 'GET', path, query, read: (bytes: Buffer) => bytes.toString('utf8') }, signal)
    .catch((error: unknown) => `${messageOf(error)}\n`);
  return { name: `source/logs/${name.slice(0, 80)}.log`, text: redactedText(text) };
}

function yaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
