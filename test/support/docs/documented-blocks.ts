// The pages of the documentation, and the blocks of code in them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Every page, by its path in the checkout. */
export const PAGES: readonly string[] = [
  'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`),
];

/** What a file of the checkout says. */
export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** A fenced block; `language` is empty where none is named. */
export interface Block {
  readonly language: string;
  readonly text: string;
}

/** The blocks of a page, in order. */
export function blocksOf(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```/gm)].map(
    ([, language = '', content = '']) => ({ language, text: content }),
  );
}

/** A page without its blocks. */
export function withoutBlocks(text: string): string {
  return text.replaceAll(/^```\w*\n[^]*?^```/gm, '');
}
