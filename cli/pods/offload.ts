// `isthmus offload namespace` and `unoffload`: elects all new pods of a namespace, or stops doing so.
import { Command, Option } from 'commander';
import type { StringMap } from '../../api/objects/core.ts';
import {
  NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../api/objects/keys.ts';
import {
  NAMESPACE_ELECTION_NAME, type ElectionStrategy, type NamespaceElection, type TargetSelector,
} from '../../api/kinds/namespace-election.ts';
import { apiVersionOf, NAMESPACE_ELECTIONS, NAMESPACES } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { AppError } from '../../process/errors.ts';
import { withCluster, withClusterFlags, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { requireLabel } from '../output/object-names.ts';
import { orNotFound } from '../clusters/served-objects.ts';

/** What may be offloaded. */
const KINDS: ReadonlySet<string> = new Set(['namespace', 'namespaces', 'ns']);
const STRATEGIES = ['Local', 'Remote', 'LocalAndRemote'] as const;
const FIELD_MANAGER = 'isthmus-offload';

interface OffloadFlags extends ClusterFlags {
  readonly strategy: ElectionStrategy;
  readonly selector?: string;
  readonly mapping: 'EnforceSameName' | 'DefaultName';
}

/** The command `offload` for commander. */
export function offloadCommand(): Command {
  const command = new Command('offload').description(
    'Elect all new pods of a namespace, without an annotation. Run it in the source; can be repeated.',
  );
  return withClusterFlags(command.argument('<kind>', 'namespace').argument('<name>', 'its name'))
    .addOption(new Option('--strategy <strategy>', 'where its pods may run').choices(STRATEGIES).default('Remote'))
    .option(
      '--selector <labels>',
      'labels of the virtual nodes that may be chosen: key=value, key!=value, key, !key, comma separated',
    )
    .addOption(
      new Option('--mapping <mapping>', 'namespace of the pods in targets').choices(['EnforceSameName', 'DefaultName'])
        .default('EnforceSameName'),
    )
    .action(offload);
}

/** The command `unoffload` for commander. */
export function unoffloadCommand(): Command {
  const command =
    new Command('unoffload').description('Stop electing all pods of a namespace; running pods are not affected.');
  return withClusterFlags(command.argument('<kind>', 'namespace').argument('<name>', 'its name')).action(unoffload);
}

async function offload(kind: string, name: string, flags: OffloadFlags): Promise<void> {
  const election = electionOf(kind, name, flags);
  await withCluster(flags, 'offload', async ({ client }, signal) => {
    // The NamespaceElection first: the label takes effect.
    await client.apply(NAMESPACE_ELECTIONS, election, FIELD_MANAGER, signal).catch(orNotFound(
      'This cluster has no such namespace, or does not serve the kinds of Isthmus: create it, and run "isthmus ' +
        'install" first.',
    ));
    await label(client, name, NAMESPACE_ELECT_VALUE, signal);
  });
  console.log(
    `Pods of namespace ${name} that are made from now on are elected (${flags.strategy}). In targets they have ` +
      `namespace ${name}, which must exist there.`,
  );
}

async function unoffload(kind: string, name: string, flags: ClusterFlags): Promise<void> {
  requireNamespace(kind, name);
  const labels = await withCluster(flags, 'offload', async ({ client }, signal) => {
    const before = await labelsOfOffloaded(client, name, signal);
    await label(client, name, null, signal);
    await client.delete(NAMESPACE_ELECTIONS, { namespace: name, name: NAMESPACE_ELECTION_NAME }, {}, signal)
      .catch(unless(isNotFound));
    return before;
  });
  const optIn = `${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}`;
  console.log(
    `Pods of namespace ${name} are elected by their annotation alone again` + (
      labels[NAMESPACE_OPT_IN_LABEL] === NAMESPACE_OPT_IN_VALUE
        ? '.' : ` once it has opted in: kubectl label namespace ${name} ${optIn}`
    ),
  );
}

/** Labels of a namespace. Throws AppError `NotFound` where it does not exist or is not offloaded. */
async function labelsOfOffloaded(client: ClusterClient, name: string, signal: AbortSignal): Promise<StringMap> {
  const namespace = await client.get(NAMESPACES, { name }, signal).catch(unless(isNotFound));
  if (namespace === undefined) throw new AppError('NotFound', `This cluster has no namespace ${name}.`);
  const election = await client.get(NAMESPACE_ELECTIONS, { namespace: name, name: NAMESPACE_ELECTION_NAME }, signal)
    .catch(unless(isNotFound));
  const { labels = {} } = namespace.metadata;
  if (election !== undefined || labels[NAMESPACE_ELECT_LABEL] === NAMESPACE_ELECT_VALUE) return labels;
  const offloaded = (
    await client.list(NAMESPACES, { labelSelector: `${NAMESPACE_ELECT_LABEL}=${NAMESPACE_ELECT_VALUE}` }, signal)
  ).map(({ metadata }) => metadata.name);
  throw new AppError(
    'NotFound',
    `Namespace ${name} is not offloaded. ` +
      (offloaded.length === 0 ? 'None is.' : `Offloaded: ${offloaded.join(', ')}.`),
  );
}

/** Validates the arguments and builds the object. Throws AppError `BadInput`. */
export function electionOf(
  kind: string, name: string, { strategy, selector, mapping }: Pick<OffloadFlags, 'strategy' | 'selector' | 'mapping'>,
): NamespaceElection {
  requireNamespace(kind, name);
  if (mapping === 'DefaultName') throw new AppError(
    'BadInput',
    '--mapping DefaultName is not supported: pods have the namespace of the same name in a target. Leave the flag ' +
      'out, and create that namespace there.',
  );
  const spec = { strategy, mapping, ...(selector !== undefined && { selector: parseSelector(selector) }) };
  return {
    apiVersion: apiVersionOf(NAMESPACE_ELECTIONS), kind: 'NamespaceElection',
    metadata: { namespace: name, name: NAMESPACE_ELECTION_NAME }, spec,
  };
}

function requireNamespace(kind: string, name: string): void {
  if (!KINDS.has(kind)) throw new AppError(
    'BadInput', `What is offloaded is a namespace: isthmus offload namespace NAME, not ${JSON.stringify(kind)}.`,
  );
  requireLabel('The name of a namespace', name);
}

const REQUIREMENT = /^(!)?([\w./-]+)(?:(=|==|!=)([\w.-]*))?$/;

/** Parses a kubectl-style label selector of equalities. Throws AppError `BadInput`. */
export function parseSelector(text: string, flag = '--selector'): TargetSelector {
  const matchExpressions = text.split(',').map((part) => {
    const [, not, key = '', comparison, value = ''] = REQUIREMENT.exec(part.trim()) ?? [];
    if (key === '' || (not !== undefined && comparison !== undefined)) throw new AppError(
      'BadInput', `${flag} takes key=value, key!=value, key or !key, comma separated, not ${JSON.stringify(text)}.`,
    );
    if (comparison === undefined) return { key, operator: not === undefined ? 'Exists' : 'DoesNotExist' };
    return { key, operator: comparison === '!=' ? 'NotIn' : 'In', values: [value] };
  });
  return { matchExpressions };
}

async function label(client: ClusterClient, name: string, value: string | null, signal: AbortSignal): Promise<void> {
  await client.patch(
    NAMESPACES, { name }, { patchType: 'merge', patch: { metadata: { labels: { [NAMESPACE_ELECT_LABEL]: value } } } },
    signal,
  );
}
