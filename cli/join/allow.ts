// `isthmus allow namespace` and `isthmus disallow namespace`: which sources may run pods in a namespace. Run in the
// target.
import { Command } from 'commander';
import type { StringMap } from '../../api/objects/core.ts';
import {
  ALL_SOURCES, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, SOURCES_LABEL,
} from '../../api/objects/keys.ts';
import { CLUSTER_SOURCES, NAMESPACES, SOURCES } from '../../api/resource-types.ts';
import { isForbidden, isNotFound, isUnreadable, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isAllowedIn } from '../../model/access/source-grants.ts';
import { isSystemNamespace } from '../../model/access/system-namespaces.ts';
import { AppError } from '../../process/errors.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { listIfServed } from '../clusters/served-objects.ts';
import { requireLabel } from '../output/object-names.ts';

interface AllowFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly source?: readonly string[];
}

/** The command for commander. */
export function allowCommand(): Command {
  const command = new Command('allow').description(
    'Allow sources to run pods in a namespace of this cluster. Run it in the target; can be repeated.',
  );
  return withInstallNamespace(withClusterFlags(command.argument('<kind>', 'namespace').argument('<name>', 'its name')))
    .option('--source <name...>', 'names of ClusterSources ("isthmus get sources"); default: all sources')
    .action(
      (kind: string, name: string, flags: AllowFlags) => setSources(kind, name, flags, flags.source ?? [ALL_SOURCES]),
    );
}

/** Its counterpart. */
export function disallowCommand(): Command {
  const command = new Command('disallow').description(
    'Stop allowing sources to run new pods in a namespace of this cluster; running pods are not affected. Run it ' +
      'in the target.',
  );
  return withInstallNamespace(withClusterFlags(command.argument('<kind>', 'namespace').argument('<name>', 'its name')))
    .action((kind: string, name: string, flags: AllowFlags) => setSources(kind, name, flags, []));
}

async function setSources(kind: string, name: string, flags: AllowFlags, sources: readonly string[]): Promise<void> {
  const value = sourcesLabel(kind, name, { installNamespace: flags.installNamespace, sources });
  await withCluster(flags, 'cli', async ({ client }, signal) => {
    await requireSources(client, sources, signal);
    // who may label a namespace need not be able to read it
    const before = await client.get(NAMESPACES, { name }, signal).catch(unless(isUnreadable));
    const patch = { metadata: { labels: { [SOURCES_LABEL]: value } } };
    const patched = await client.patch(NAMESPACES, { name }, { patchType: 'merge', patch }, signal)
      .catch(unless(isNotFound));
    if (patched === undefined) {
      throw new AppError('NotFound', `This cluster has no namespace ${name}: create it first.`);
    }
    const labels = patched.metadata.labels ?? {};
    const { installNamespace } = flags;
    const exempt = await exemptSources(client, { name, labels, installNamespace }, signal).catch(unless(isForbidden));
    if (exempt === undefined && sources.length === 0) return console.log(
      `The label of namespace ${name} allows no source. You may not list ClusterSources and Sources, so this does ` +
        'not say which may run pods there whatever its labels.',
    );
    const others = (exempt ?? []).filter((source) => !sources.includes(source));
    console.log(outcomeText(name, before?.metadata.labels ?? {}, sources, others));
  });
}

interface LabelledNamespace {
  readonly name: string;
  readonly labels: StringMap;
  readonly installNamespace: string;
}

/** Sources that may run pods there whatever its label says; none where the kinds are not served. */
async function exemptSources(
  client: ClusterClient, { name: namespace, labels, installNamespace }: LabelledNamespace, signal: AbortSignal,
): Promise<readonly string[]> {
  const ofCluster = await listIfServed(client, CLUSTER_SOURCES, signal);
  const here = await listIfServed(client, SOURCES, signal, { namespace });
  const unlabelled = { ...labels, [SOURCES_LABEL]: 'none' };
  return [
    ...ofCluster.filter(({ metadata, spec }) => isAllowedIn(
      { name: namespace, labels: unlabelled }, { name: metadata.name ?? '', grants: spec, installNamespace },
    )).map(({ metadata }) => metadata.name ?? ''),
    ...here.map(({ metadata }) => `${namespace}/${metadata.name ?? ''}`),
  ];
}

function outcomeText(
  name: string, before: StringMap, sources: readonly string[], exempt: readonly string[],
): string {
  const others = exempt.join(', ');
  if (sources.length === 0) return exempt.length === 0
    ? `No source may run new pods in namespace ${name}.`
    : `Only ${others} may run new pods in namespace ${name}, whatever its labels: to end that, change or delete the ` +
      'ClusterSource or Source ("isthmus get sources").';
  if (sources.includes(ALL_SOURCES)) return `Pods of all sources may run in namespace ${name}.`;
  const now = `Pods of ${sources.join(', ')} may run in namespace ${name}` +
    (exempt.length === 0 ? '.' : `, and those of ${others}, whatever its labels.`);
  const excluded = allowedBy(before).filter((source) => !sources.includes(source) && !exempt.includes(source));
  if (excluded.length === 0) return now;
  if (excluded.includes(ALL_SOURCES)) return `${now} Until now all sources could: the others run no new ones there.`;
  return `${now} New ones of ${excluded.join(', ')} may not any more; to allow all of them: isthmus allow namespace ` +
    `${name} --source ${[...excluded, ...sources].join(' ')}`;
}

/** The sources that these labels of a namespace let run pods there. */
function allowedBy(labels: StringMap): readonly string[] {
  const named = labels[SOURCES_LABEL];
  if (named !== undefined) return named.split('_').filter((source) => source !== 'none');
  return labels[NAMESPACE_OPT_IN_LABEL] === NAMESPACE_OPT_IN_VALUE ? [ALL_SOURCES] : [];
}

/** Label value for these sources. Throws AppError `BadInput` for sources or namespaces that cannot be allowed. */
export function sourcesLabel(kind: string, name: string, { installNamespace, sources }: {
  readonly installNamespace: string; readonly sources: readonly string[]
}): string {
  if (!['namespace', 'namespaces', 'ns'].includes(kind)) throw new AppError(
    'BadInput', `Sources are allowed in a namespace: isthmus allow namespace NAME, not ${JSON.stringify(kind)}.`,
  );
  requireLabel('The name of a namespace', name);
  if (isSystemNamespace(name, installNamespace)) throw new AppError(
    'BadInput',
    `Sources are never allowed in ${name}: kube-*, the install namespace and that of keys are not for pods of others.`,
  );
  const value = sources.length === 0 ? 'none' : [...new Set(sources)].join('_');
  if (value.length > 63) throw new AppError(
    'BadInput',
    'A label has at most 63 characters, which these sources do not fit into: allow all, or use "isthmus peer ' +
      '--namespace-selector" with labels of your own.',
  );
  return value;
}

async function requireSources(client: ClusterClient, sources: readonly string[], signal: AbortSignal): Promise<void> {
  for (const name of sources.filter((source) => source !== ALL_SOURCES)) {
    const found = await client.get(CLUSTER_SOURCES, { name }, signal).catch(unless(isNotFound));
    if (found === undefined) throw new AppError(
      'NotFound', `This cluster has no ClusterSource ${name}: "isthmus get sources" shows those that it has.`,
    );
  }
}
