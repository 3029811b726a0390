// The formats of `isthmus get -o`.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { AppError } from '../../process/errors.ts';
import { jsonPathTemplate, type JsonPathTemplate } from '../output/json-path.ts';
import { structured } from '../output/structured.ts';

/** What is printed of the objects; a table when missing. */
export type GetOutput =
  | { readonly kind: 'wide' | 'json' | 'yaml' | 'name' }
  | { readonly kind: 'jsonpath'; readonly template: JsonPathTemplate };

/** Lines of a table, or of the objects; `title` is the line above them. */
export interface Printed {
  readonly title?: string;
  readonly lines: readonly string[];
}

const FORMATS = ['wide', 'json', 'yaml', 'name'] as const;
const JSON_PATH = 'jsonpath=';

/** Reads `--output`. Throws AppError `BadInput`. */
export function parseOutput(text: string): GetOutput {
  const format = FORMATS.find((known) => known === text);
  if (format !== undefined) return { kind: format };
  if (text.startsWith(JSON_PATH)) return { kind: 'jsonpath', template: jsonPathTemplate(text.slice(JSON_PATH.length)) };
  throw new AppError('BadInput', `--output takes ${FORMATS.join(', ')} or jsonpath=TEMPLATE, not "${text}".`);
}

/** The objects for programs: a named one alone, several as a List; two namespaces may have one of the name. */
export function toOutput(
  objects: readonly KubernetesObject[], output: GetOutput,
  { isOne = false }: { readonly isOne?: boolean } = {},
): string {
  if (output.kind === 'name') return objects.map(({ kind = '', metadata }) => `${kind.toLowerCase()}/${metadata.name}`)
    .join('\n');
  if (isOne && objects.length === 0) return '';
  const whole = isOne && objects.length === 1 ? objects[0] : { apiVersion: 'v1', kind: 'List', items: objects };
  return output.kind === 'jsonpath' ? output.template(whole) : (structured(whole, output.kind) ?? '');
}
