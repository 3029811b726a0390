// `isthmus export argocd|flux|kueue`: the targets as these tools want them, as YAML for `kubectl apply`. It only reads,
// no Secret either: credentials are referred to by name.
import { Command } from 'commander';
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import { CLUSTER_TARGETS, TARGET_DISCOVERIES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { AppError } from '../../process/errors.ts';
import {
  parseTarget, withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags,
} from '../clusters/cluster-flags.ts';
import { noSuchTarget } from '../clusters/known-target.ts';
import { requireLabel } from '../output/object-names.ts';
import { structured } from '../output/structured.ts';
import { toApplicationSet, type ApplicationSetRequest } from './application-set.ts';
import type { Exported, ExportedTargets } from './exported.ts';
import { toKustomizations, type KustomizationRequest, type SourceRef } from './kustomizations.ts';
import { toMultiKueue, type MultiKueueRequest } from './multi-kueue.ts';

interface ExportFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly selector?: string;
}

/** The command for commander. */
export function exportCommand(): Command {
  return new Command('export')
    .description('Print targets for other tools, as YAML for "kubectl apply -f -"; what has no counterpart is named')
    .addCommand(argoCommand())
    .addCommand(fluxCommand())
    .addCommand(kueueCommand());
}

function argoCommand(): Command {
  return forTargets('argocd', 'print an ApplicationSet of Argo CD with an Application for each target')
    .option('--name <name>', 'name of the ApplicationSet', label('--name'), 'isthmus')
    .option('-n, --namespace <name>', 'namespace of Argo CD', 'argocd')
    .requiredOption('--repo <url>', 'repository of the manifests')
    .option('--path <path>', 'folder in the repository', '.')
    .option('--revision <revision>', 'branch, tag or commit', 'HEAD')
    .option('--project <name>', 'project of the Applications', 'default')
    .option('--to-namespace <name>', 'namespace in the targets for objects that name none', label('--to-namespace'))
    .action((names: readonly string[], flags: ExportFlags & ApplicationSetRequest) =>
      exportTargets(names, flags, (targets) => toApplicationSet(targets, flags)));
}

function fluxCommand(): Command {
  return forTargets('flux', 'print a Kustomization of Flux for each target')
    .option('--name <name>', 'what the names of the Kustomizations begin with', label('--name'), 'isthmus')
    .requiredOption('--source <kind/name>', 'source of the manifests: GitRepository/NAME, for example', parseSource)
    .option('-n, --namespace <name>', 'namespace of the source', 'flux-system')
    .option('--path <path>', 'folder in the source', './')
    .option('--to-namespace <name>', 'namespace in the targets for all objects', label('--to-namespace'))
    .action((names: readonly string[], flags: ExportFlags & KustomizationRequest & { readonly namespace: string }) =>
      exportTargets(names, flags, (targets) => {
        const source = { ...flags.source, namespace: flags.namespace };
        return toKustomizations(targets, { ...flags, source });
      }));
}

function kueueCommand(): Command {
  return forTargets('kueue', 'print a MultiKueueCluster of Kueue for each target, and the MultiKueueConfig of them all')
    .option('--name <name>', 'name of the MultiKueueConfig', label('--name'), 'isthmus')
    .option('-n, --namespace <name>', 'namespace of Kueue', 'kueue-system')
    .action((names: readonly string[], flags: ExportFlags & MultiKueueRequest) =>
      exportTargets(names, flags, (targets) => toMultiKueue(targets, flags)));
}

function forTargets(name: string, description: string): Command {
  return withInstallNamespace(withClusterFlags(new Command(name)))
    .description(description)
    .argument('[targets...]', 'ClusterTargets; default: all')
    .option('-l, --selector <labels>', 'labels of the ClusterTargets: key=value, key!=value, comma separated');
}

/** Reads a flag that is part of names. The reader throws AppError `BadInput`. */
function label(flag: string): (text: string) => string {
  return (text) => {
    requireLabel(flag, text);
    return text;
  };
}

const SOURCE_KINDS = ['GitRepository', 'OCIRepository', 'Bucket'];

/** Reads `--source`. Throws AppError `BadInput`. */
function parseSource(text: string): Omit<SourceRef, 'namespace'> {
  const [kind = '', name = '', ...rest] = text.split('/');
  if (SOURCE_KINDS.includes(kind) && name !== '' && rest.length === 0) return { kind, name };
  throw new AppError(
    'BadInput', `--source is KIND/NAME, where KIND is ${SOURCE_KINDS.join(', ')}, not ${JSON.stringify(text)}.`,
  );
}

async function exportTargets(
  names: readonly string[], flags: ExportFlags, toObjects: (targets: ExportedTargets) => Exported,
): Promise<void> {
  const wanted = names.map(clusterTargetName);
  await withCluster(flags, 'cli', async ({ client }, signal) => {
    const [targets, discoveries] = await Promise.all([
      readTargets(client, wanted, flags.selector, signal),
      // Kinds of an older installation have no TargetDiscovery.
      client.list(TARGET_DISCOVERIES, {}, signal).catch(unless(isNotFound)),
    ]);
    const { installNamespace } = flags;
    print(toObjects({ targets, discoveries: discoveries ?? [], installNamespace }));
  });
}

/** Throws AppError `BadInput` for a Target. */
function clusterTargetName(argument: string): string {
  const target = parseTarget(argument);
  if (target.kind === 'ClusterTarget') return target.name;
  throw new AppError(
    'BadInput', `${argument} is a Target, which belongs to its namespace. Only ClusterTargets are exported.`,
  );
}

/** In the order in which they were named, else by name. Throws AppError `NotFound` for one that does not exist. */
async function readTargets(
  client: ClusterClient, names: readonly string[], labelSelector: string | undefined, signal: AbortSignal,
): Promise<readonly ClusterTarget[]> {
  const found = await client.list(CLUSTER_TARGETS, labelSelector === undefined ? {} : { labelSelector }, signal);
  const byName = new Map(found.map((target) => [target.metadata.name ?? '', target]));
  const missing = names.find((name) => !byName.has(name));
  if (missing !== undefined && labelSelector !== undefined) {
    throw new AppError('NotFound', `There is no ClusterTarget ${missing} with labels ${labelSelector} here.`);
  }
  if (missing !== undefined) throw await noSuchTarget(client, { kind: 'ClusterTarget', name: missing }, signal);
  const wanted = names.length > 0 ? [...new Set(names)] : [...byName.keys()].toSorted();
  return wanted.flatMap((name) => byName.get(name) ?? [])
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/**
 * Objects on standard output, all else on standard error: the output goes to kubectl. Throws AppError when there is
 * nothing to print.
 */
function print({ objects, leftOut, notes, problem }: Exported): void {
  if (problem !== undefined) throw new AppError('BadInput', problem);
  const reasons = leftOut.map(({ target, why }) => `${target} is left out: ${why}.`);
  if (objects.length === 0) {
    throw new AppError('NotFound', ['There is no target to export.', ...reasons].join('\n'));
  }
  console.log(objects.map((object) => structured(object, 'yaml')).join('\n---\n'));
  for (const line of [...reasons, ...notes]) console.error(line);
}
