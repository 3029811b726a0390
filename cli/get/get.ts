// `isthmus get targets|pods|nodes|sources`: an administrator's first look, with the flags of kubectl get. Unresponsive
// targets are shown as unknown.
import { Argument, Command } from 'commander';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { isForbidden } from '../../kubernetes/flow/api-error.ts';
import { AppError } from '../../process/errors.ts';
import { untilStopped } from '../../process/lifecycle.ts';
import { withCluster, withClusterFlags, withInstallNamespace, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { failureText } from '../output/error-text.ts';
import { notElected } from '../output/not-elected.ts';
import { textTable } from '../output/text-table.ts';
import { withLiveState, type LiveState } from '../placement/live-state.ts';
import { electedPodRows } from './elected-pods.ts';
import { isNamed, KINDS, parseKind, readObjects, readOthers, selected, type Wanted } from './kinds.ts';
import { parseOutput, toOutput, type GetOutput, type Printed } from './outputs.ts';
import { tableOf } from './tables.ts';
import { watchObjects } from './watch-objects.ts';
import type { Table } from './pod-table.ts';

interface GetFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly watch?: boolean;
  readonly headers: boolean;
  readonly output?: GetOutput;
}

/** The command for commander. */
export function getCommand(): Command {
  const command = new Command('get')
    .description(
      'Show targets, elected pods with their delegates, or virtual nodes, in the source; in a target, its sources ' +
        'and what they may do.',
    )
    .addArgument(new Argument('<kind>', `${KINDS.join(', ')}, or KIND/NAME`).choices(KINDS).argParser(String))
    .argument('[names...]', 'these alone');
  return withInstallNamespace(withClusterFlags(command))
    .option('-n, --namespace <name>', 'of pods, Targets and Sources; default: all')
    .option('-A, --all-namespaces', 'in all namespaces, even if --namespace is given')
    .option('-l, --selector <labels>', 'labels of the objects: key=value, key!=value, key in (a,b), comma separated')
    .option('-w, --watch', 'keep watching and print changes')
    .option('--no-headers', 'omit the header line')
    .option(
      '-o, --output <format>',
      'wide: more columns; json, yaml: the objects; name: their names; jsonpath=TEMPLATE: parts of them', parseOutput,
    )
    .action(get);
}

async function get(kindOrObject: string, names: readonly string[], flags: GetFlags): Promise<void> {
  const [kindText = '', ...rest] = kindOrObject.split('/');
  const kind = parseKind(kindText);
  const wanted: Wanted = {
    kind, names: [...(rest.length > 0 ? [rest.join('/')] : []), ...names],
    namespace: flags.allNamespaces === true ? undefined : flags.namespace, labelSelector: flags.selector,
  };
  if (kind === 'pods' && isTable(flags.output)) return getPods(wanted, flags);
  await withCluster(flags, 'cli', async ({ client }, signal) => {
    const show = (found: readonly KubernetesObject[]) => printedObjects(found, wanted, flags, () =>
      tableOf(client, kind, found, { wide: flags.output?.kind === 'wide', signal }));
    if (flags.watch === true) return watchObjects({ client }, wanted, show, signal);
    const found = await readObjects(client, wanted, signal);
    await print(await show(found));
    requireAll(found, wanted);
  });
}

function isTable(output: GetOutput | undefined): boolean {
  return output === undefined || output.kind === 'wide';
}

async function printedObjects(
  found: readonly KubernetesObject[], { kind, names }: Wanted, { output, headers }: GetFlags,
  table: () => Promise<Table>,
): Promise<Printed> {
  if (output !== undefined && output.kind !== 'wide') {
    return { lines: [toOutput(found, output, { isOne: names.length === 1 })].filter((text) => text !== '') };
  }
  return printedTable(await table(), headers, names.length > 0 ? undefined : `No ${kind}.`);
}

/** `otherwise` is printed instead of an empty table, if no names were given. */
function printedTable({ header, rows }: Table, headers: boolean, otherwise: string | undefined): Printed {
  if (rows.length === 0) return { lines: headers && otherwise !== undefined ? [otherwise] : [] };
  const [title = '', ...lines] = textTable(header, rows).split('\n');
  return headers ? { title, lines } : { lines };
}

async function print({ title, lines }: Printed): Promise<void> {
  for (const line of [...(title === undefined ? [] : [title]), ...lines]) console.log(line);
}

async function getPods(wanted: Wanted, flags: GetFlags): Promise<void> {
  const signal = untilStopped();
  try {
    await withLiveState(flags, (live) => showPods(live.cluster.client, live, wanted, { flags, signal }), signal);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    await withCluster(flags, 'cli', async ({ client }) => {
      await readObjects(client, wanted, signal); // who may not read the pods either is told of them, as by kubectl
      console.error(
        `isthmus: what targets show of these pods is left out: ${failureText(error)}. It takes permissions to read ` +
          'targets, their Secrets, nodes, policies and pods of the whole cluster.',
      );
      await showPods(client, undefined, wanted, { flags, signal });
    });
  }
}

/** Without a live state, what targets show is unknown. */
async function showPods(
  client: ClusterClient, live: LiveState | undefined, wanted: Wanted,
  { flags, signal }: { readonly flags: GetFlags; readonly signal: AbortSignal },
): Promise<void> {
  const show = async (pods: readonly KubernetesObject[]) => printedTable(
    await electedPodRows(live, pods, { wide: flags.output?.kind === 'wide', signal }),
    flags.headers, wanted.names.length > 0 ? undefined : 'No elected pods.',
  );
  if (flags.watch === true) {
    return watchObjects({ client, ...(live && { sessions: live.sessions }) }, wanted, show, signal);
  }
  const pods = await readObjects(client, wanted, signal);
  await print(await show(pods));
  requireAll(pods, wanted, missingOf(pods, wanted).length === 0 ? [] : await readOthers(client, wanted, signal));
}

function missingOf(found: readonly KubernetesObject[], { names }: Wanted): readonly string[] {
  return names.filter((name) => !found.some(({ metadata }) => isNamed(metadata, name)));
}

/**
 * Throws AppError `NotFound` for names that were asked for and are not there. `others` are pods that are not elected.
 */
function requireAll(
  found: readonly KubernetesObject[], wanted: Wanted, others: readonly KubernetesObject[] = [],
): void {
  const missing = missingOf([...found, ...others], wanted);
  const words = missing.map((name) => JSON.stringify(name)).join(', ');
  const problems = [
    ...(missing.length > 0 ? [`${wanted.kind} ${words} not found.`] : []),
    ...selected(others, { ...wanted, names: missingOf(found, wanted) }).map(({ metadata }) =>
      notElected(`${metadata.namespace}/${metadata.name}`)),
  ];
  if (problems.length > 0) throw new AppError('NotFound', problems.join(' '));
}
