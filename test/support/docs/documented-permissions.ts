// The permissions of a source as docs/joining.md lists them, and rules of RBAC in the same form, so that both can be
// compared.
import { readFileSync } from 'node:fs';
import type { PolicyRule } from '../../../model/access/rbac-objects.ts';

/** The tables of the page as `verb group/resource[=name]`, sorted. */
export interface DocumentedPermissions {
  /** Where pods may go. */
  readonly inNamespaces: readonly string[];
  /** In the other namespaces. */
  readonly elsewhere: readonly string[];
  /** Beside that, with SOURCE, CLUSTER and ACCOUNT for the names of one source. */
  readonly inTarget: readonly string[];
}

/** Reads the page. */
export function documentedPermissions(): DocumentedPermissions {
  const page = readFileSync(new URL('../../../../docs/joining.md', import.meta.url), 'utf8');
  const tables =
    page.split('| Resource | Group | Verbs | Only |').slice(1)
      .map((text) => permissionsOf(text.split('\n\n')[0] ?? ''));
  const [inNamespaces, elsewhere, inTarget, ...more] = tables;
  if (inNamespaces === undefined || elsewhere === undefined || inTarget === undefined || more.length > 0) {
    throw new Error('docs/joining.md must have three tables of permissions');
  }
  return { inNamespaces, elsewhere, inTarget };
}

function permissionsOf(table: string): readonly string[] {
  const rows = table.split('\n').map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim())).filter(
    (cells) => cells.length === 4 && !cells[0]?.startsWith('---'),
  );
  return rows.flatMap(([resource = '', group = '', verbs = '', name = '']) => verbs.split(' ').map(
    (verb) => right(verb, group, resource, name),
  )).toSorted();
}

/** All that rules allow, in the form of the page; without doubles. */
export function permissionsOfRules(rules: readonly PolicyRule[]): readonly string[] {
  const all = rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [''] }) =>
    apiGroups.flatMap(
      (group) => resources.flatMap((resource) => verbs.flatMap(
        (verb) => (resourceNames.length === 0 ? [''] : resourceNames).map((name) => right(verb, group, resource, name)),
      )),
    ));
  return [...new Set(all)].toSorted();
}

/**
 * What `kubectl auth can-i --list` prints, in the form of the page; without doubles. Rows of addresses that are no
 * resources have the address in their place.
 */
export function permissionsOfTable(table: string): readonly string[] {
  const permissions = table.split('\n').slice(1).flatMap((line) => {
    const [, name = '', addresses = '', names = '', verbs = ''] =
      /^(\S*)\s+\[(.*?)\]\s+\[(.*?)\]\s+\[(.*?)\]\s*$/.exec(line) ?? [];
    const [whole = '', subresource] = name.split('/');
    const [resource = '', ...group] = whole.split('.');
    const what = name === '' ? addresses : `${resource}${subresource === undefined ? '' : `/${subresource}`}`;
    return verbs.split(' ').filter((verb) => verb !== '').flatMap(
      (verb) => (names === '' ? [''] : names.split(' ')).map((only) => right(verb, group.join('.'), what, only)),
    );
  });
  return [...new Set(permissions)].toSorted();
}

function right(verb: string, group: string, resource: string, name: string): string {
  return `${verb} ${group === '' ? '' : `${group}/`}${resource}${name === '' ? '' : `=${name}`}`;
}
