// Pages of the documentation that follow from the code: commands from the program, kinds from their schemas, keys from
// `api/objects/keys.ts`.
import type { Command } from 'commander';
import { EXAMPLES, quoted } from '../../cli/examples.ts';
import type { Schema } from '../../api/objects/schema.ts';
import type { CustomResourceDefinition } from '../../manifests/objects/crds.ts';

const PRINTED = 'Printed by `npm run update-golden`; a test holds it against the code.';

/** Text within a cell of a table. */
function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;').trim();
}

/** Every command with its arguments and options. */
export function commandsPage(program: Command): string {
  const sections = program.commands.filter((command) => command.name() !== 'help')
    .flatMap((command) => sectionsOf(command, program.name()));
  return [
    '# Commands', '',
    `\`isthmus\`, as a plugin of kubectl also \`kubectl isthmus\`. ${PRINTED} Exit code 1 comes with a line that ` +
      'says what to change ([codes](errors.md)).',
    '', ...sections,
  ].join('\n');
}

function sectionsOf(command: Command, parent: string): readonly string[] {
  const name = `${parent} ${command.name()}`;
  const nested = command.commands.filter((each) => each.name() !== 'help').flatMap((each) => sectionsOf(each, name));
  if (nested.length > 0) return nested;
  const words = command.registeredArguments.map((argument) => (
    argument.required
      ? `<${argument.name()}${argument.variadic ? '...' : ''}>`
      : `[${argument.name()}${argument.variadic ? '...' : ''}]`
  ));
  const options = command.options.filter(({ hidden }) => !hidden).map(
    ({ flags, description, defaultValue, defaultValueDescription: said }) =>
      `| \`${flags}\` | ${cell(description)}${said === undefined ? defaultText(defaultValue) : `; default ${cell(said)}`} |`,
  );
  const table = options.length === 0 ? [] : ['', '| Option | Means |', '|---|---|', ...options];
  const examples = EXAMPLES[name.replace(/^isthmus /, '')] ?? [];
  const shown = ['', '```sh', ...examples.map(([what, line]) => `# ${what}\n${quoted(line)}`), '```'];
  return [
    `## ${name}`, '', `\`${usageOf(command, name, words)}\``, '', cell(command.description()), ...table, ...shown, '',
  ];
}

/** Where the words after the options need a mark, as of `exec`, the command says so itself. */
function usageOf(command: Command, name: string, words: readonly string[]): string {
  return command.usage().includes(' -- ') ? `${name} ${command.usage()}` : [name, ...words].join(' ');
}

function defaultText(value: unknown): string {
  if (value === undefined || value === false || (Array.isArray(value) && value.length === 0)) return '';
  if (typeof value === 'string' && value.startsWith('/')) return "; by default within the user's cache folder";
  return `; default \`${cell(typeof value === 'string' ? value : JSON.stringify(value))}\``;
}

/** Every kind with its fields. */
export function kindsPage(definitions: readonly CustomResourceDefinition[]): string {
  return [
    '# Kinds', '', `What \`kubectl explain\` says. ${PRINTED}`, '', ...definitions.flatMap(kindSection),
  ].join('\n');
}

function kindSection({ spec }: CustomResourceDefinition): readonly string[] {
  const { names, group, scope, versions } = spec;
  const [version] = versions.slice(-1);
  const schema: Schema = version?.schema.openAPIV3Schema ?? {};
  const about =
    `\`${group}/${versions.map(({ name }) => name).join(', ')}\`, ${scope === 'Cluster' ? 'of the cluster' : 'of a namespace'}, short name \`${names.shortNames.join('`, `')}\`.`;
  return [
    `## ${names.kind}`, '', `${cell(schema.description ?? '')} ${about}`, '', '| Field | Type | Means |',
    '|---|---|---|', ...rowsOf(schema, '').map(([path, type, means]) => `| \`${path}\` | ${type} | ${means} |`), '',
  ];
}

type Row = readonly [path: string, type: string, means: string];

function rowsOf(schema: Schema, path: string): readonly Row[] {
  return Object.entries(
    schema.properties ?? {},
  ).filter(([name]) => path !== '' || !['apiVersion', 'kind', 'metadata'].includes(name)).flatMap(([name, field]) => {
    const at = `${path}${path === '' ? '' : '.'}${name}`;
    const needed = schema.required?.includes(name) === true ? ', required' : '';
    return [[at, `${typeOf(field)}${needed}`, cell(field.description ?? '')] as const, ...innerRows(field, at)];
  });
}

function innerRows(field: Schema, at: string): readonly Row[] {
  if (field.items !== undefined) return rowsOf(field.items, `${at}[]`);
  if (field.additionalProperties !== undefined) return rowsOf(field.additionalProperties, `${at}{}`);
  return rowsOf(field, at);
}

function typeOf(field: Schema): string {
  if (field['x-kubernetes-int-or-string'] === true) return 'quantity';
  if (field.enum !== undefined) return field.enum.map((word) => `\`${word}\``).join(' or ');
  if (field.items !== undefined) return `list of ${typeOf(field.items)}`;
  if (field.additionalProperties !== undefined) return `map of ${typeOf(field.additionalProperties)}`;
  return field.format === 'date-time' ? 'time' : (field.type ?? 'any');
}

/** Every label, annotation, taint and finalizer, from the source of `api/objects/keys.ts` and what it exports. */
export function keysPage(source: string, values: Readonly<Record<string, unknown>>): string {
  const entries = [...source.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\nexport const (\w+)/g)].map(
    ([, comment = '', name = '']) => ({ value: values[name], comment }),
  );
  const keys = entries.filter(
    (entry): entry is { readonly value: string; readonly comment: string } =>
      typeof entry.value === 'string' && /^[a-z0-9.-]+\.[a-z]+\/[A-Za-z-]+$/.test(entry.value),
  );
  const rows = keys.map(({ value, comment }) => `| \`${value}\` | ${meaningOf(comment, values)} |`);
  return [
    '# Labels, annotations, taints and finalizers', '',
    `Who writes each, and who reads it. ${PRINTED} Users set \`multicluster-scheduler=enabled\` on namespaces besides.`,
    '', '| Key | Means |', '|---|---|', ...rows, '',
  ].join('\n');
}

function meaningOf(comment: string, values: Readonly<Record<string, unknown>>): string {
  const text = comment.replaceAll(/^\s*\* ?/gm, ' ').replaceAll(
    /\{@link (\w+)\}/g, (_, name: string) => (typeof values[name] === 'string' ? `\`${values[name]}\`` : name),
  );
  return cell(text);
}
