// Flags of `isthmus peer` and `isthmus invite` for what a source may do in the target; little by default.
import { Option, type Command } from 'commander';
import type { PodSecurityLevel, SourceGrants } from '../../api/kinds/cluster-source.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { SOURCES_LABEL } from '../../api/objects/keys.ts';
import { DEFAULT_GRANTS } from '../../model/access/source-grants.ts';
import { AppError } from '../../process/errors.ts';
import { requireLabel } from '../output/object-names.ts';
import { parseSelector } from '../pods/offload.ts';

/** As commander gives them. */
export interface GrantFlags {
  readonly allNamespaces?: boolean;
  readonly allowNamespace?: readonly string[];
  readonly namespaceSelector?: string;
  readonly podSecurity?: PodSecurityLevel;
}

/** Adds the flags. */
export function withGrantFlags(command: Command): Command {
  return command
    .option(
      '--all-namespaces',
      `allow the source's pods in every namespace except kube-* and the install namespace; default: where a label ` +
        'allows them ("isthmus allow namespace")',
    )
    .option('--allow-namespace <name...>', 'namespaces in which they may run whatever their labels')
    .option(
      '--namespace-selector <selector>',
      `labels of additional namespaces in which they may run, besides those with ${SOURCES_LABEL}`,
    )
    .addOption(
      new Option('--pod-security <level>', 'Pod Security Standard that they must meet')
        .choices(['privileged', 'baseline', 'restricted'])
        .default(DEFAULT_GRANTS.podSecurity),
    );
}

/** The grants. Throws AppError `BadInput` for contradictory flags. */
export function grantsOf(flags: GrantFlags, namespace?: string): SourceGrants {
  requireOne(flags, namespace);
  const { allNamespaces = false, podSecurity = DEFAULT_GRANTS.podSecurity } = flags;
  if (namespace !== undefined) return { podSecurity };
  if (allNamespaces) return { namespaces: 'All', podSecurity };
  const selector = selectorOf(flags);
  return { ...DEFAULT_GRANTS, podSecurity, ...(selector !== undefined && { namespaceSelector: selector }) };
}

function requireOne(
  { allNamespaces, allowNamespace, namespaceSelector }: GrantFlags, namespace: string | undefined,
): void {
  const given: readonly (readonly [flag: string, isGiven: boolean])[] = [
    ['--namespace', namespace !== undefined], ['--all-namespaces', allNamespaces === true],
    ['--allow-namespace', allowNamespace !== undefined], ['--namespace-selector', namespaceSelector !== undefined],
  ];
  const [one, other] = given.filter(([, isGiven]) => isGiven).map(([flag]) => flag);
  if (other !== undefined) throw new AppError('BadInput', `${one} and ${other} exclude each other: leave one out.`);
}

function selectorOf({ allowNamespace, namespaceSelector }: GrantFlags): LabelSelector | undefined {
  if (allowNamespace !== undefined) return named(allowNamespace);
  return namespaceSelector === undefined ? undefined : parseSelector(namespaceSelector, '--namespace-selector');
}

/** The API server gives each namespace a label with its name. */
function named(names: readonly string[]): LabelSelector {
  for (const name of names) requireLabel('--allow-namespace', name);
  return { matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: [...names] }] };
}
