// What the documentation says is there: links and their anchors, files, commands with their options, scripts, and YAML that our definitions take.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { parseAllDocuments } from 'yaml';
import { program } from '../../../cli/program.ts';
import { problemsOf } from '../../support/crd-check.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md')).map((path) => `docs/${path}`)];
const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8');
const isThere = (path: string): boolean => statSync(join(ROOT, path), { throwIfNoEntry: false }) !== undefined;
const scripts = Object.keys((JSON.parse(textOf('package.json')) as { readonly scripts: Record<string, string> }).scripts);

interface Block {
  readonly language: string;
  readonly text: string;
}

function blocksOf(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```/gm)].map(([, language = '', content = '']) => ({ language, text: content }));
}

const withoutBlocks = (text: string): string => text.replaceAll(/^```\w*\n[^]*?^```/gm, '');

/** The name that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
}

/** Why a link of a page leads nowhere; undefined when it does, or when it leaves the checkout. */
function brokenLink(page: string, link: string): string | undefined {
  if (/^(https?|mailto):/.test(link)) return undefined;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!isThere(target)) return `${link}: no such file`;
  if (anchor === undefined || !target.endsWith('.md')) return undefined;
  const anchors = [...textOf(target).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
  return anchors.includes(anchor) ? undefined : `${link}: no such heading`;
}

/** Commands within code: `isthmus …` at the start of a line or of a span, comments cut off. */
function commandsOf(text: string): readonly string[] {
  const lines = blocksOf(text).filter(({ language }) => ['', 'sh', 'bash', 'console'].includes(language)).flatMap(({ text: code }) => code.replaceAll(/\\\n\s*/g, ' ').split('\n'));
  const spans = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...lines, ...spans].map((line) => line.replace(/^\s*(?:\$ )?(?:npx )?/, '').replace(/\s+#.*$/, '').trim()).filter((line) => /^(isthmus|npm run)\s/.test(line));
}

const known = program();

/** What a command line has that the program has not. */
function unknownIn(line: string): readonly string[] {
  const [, ...words] = line.split(/\s+/);
  let command: Command = known;
  let rest = words;
  for (let next = find(command, rest[0]); next !== undefined; next = find(command, rest[0])) [command, rest] = [next, rest.slice(1)];
  const asked = words[0] !== undefined && /^[a-z][a-z-]*$/.test(words[0]) && command === known ? [`isthmus ${words[0]}`] : [];
  const options = rest.map((word) => /^\[?(--[a-z][a-z-]*)/.exec(word)?.[1]).filter((option) => option !== undefined && option !== '--help');
  const all = new Set([...known.options, ...command.options].flatMap(({ long }) => [long]));
  return [...asked, ...options.filter((option) => !all.has(option)).map((option) => `${command.name()} ${option}`)];
}

function find(command: Command, name: string | undefined): Command | undefined {
  return command.commands.find((each) => each.name() === name);
}

describe('every page of the documentation', () => {
  for (const page of pages) {
    const text = textOf(page);
    it(`${page}: links lead somewhere`, () => {
      const links = [...withoutBlocks(text).replaceAll(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
      assert.deepEqual(links.map((link) => brokenLink(page, link)).filter((problem) => problem !== undefined), []);
    });

    it(`${page}: commands and options exist`, () => {
      if (page === 'CHANGELOG.md') return;
      const lines = commandsOf(text);
      const missing = lines.filter((line) => line.startsWith('npm run')).map((line) => line.split(/\s+/).find((word, index) => index > 1 && !word.startsWith('-'))).filter((name) => name !== undefined && /^[a-z:-]+$/.test(name) && !scripts.includes(name));
      assert.deepEqual([...missing, ...lines.filter((line) => line.startsWith('isthmus')).flatMap(unknownIn)], []);
    });

    it(`${page}: YAML can be read, and objects of ours have the fields of their kinds`, () => {
      for (const { text: yaml } of blocksOf(text).filter(({ language }) => language === 'yaml')) {
        for (const document of parseAllDocuments(yaml)) {
          assert.deepEqual(document.errors.map(({ message }) => message), []);
          const object = document.toJS() as unknown;
          if (typeof object === 'object' && object !== null && !Array.isArray(object)) assert.deepEqual(problemsOf(object as Record<string, unknown>), []);
        }
      }
    });
  }

  it('names files of the checkout that are there', () => {
    const named = pages.filter((page) => page !== 'CHANGELOG.md' && !page.startsWith('docs/results/') && !page.startsWith('docs/adr/')).flatMap((page) => [...textOf(page).matchAll(/`((?:docs|manifests|test|process|sandbox)\/[\w./-]+)`/g)].map(([, path = '']) => `${page} ${path}`));
    assert.deepEqual(named.filter((entry) => !isThere(entry.split(' ')[1] ?? '')), []);
  });

  it('has every file that is applied as it is taken by our definitions', () => {
    const examples = readdirSync(join(ROOT, 'docs/examples')).filter((name) => name.endsWith('.yaml'));
    for (const name of examples) for (const document of parseAllDocuments(textOf(`docs/examples/${name}`))) assert.deepEqual(problemsOf(document.toJS() as Record<string, unknown>), [], name);
  });
});

describe('the check of links, commands and YAML', () => {
  it('finds what is wrong', () => {
    assert.equal(brokenLink('README.md', 'docs/no-such-page.md'), 'docs/no-such-page.md: no such file');
    assert.equal(brokenLink('README.md', 'docs/errors.md#no-such-heading'), 'docs/errors.md#no-such-heading: no such heading');
    assert.deepEqual(unknownIn('isthmus instal'), ['isthmus instal']);
    assert.deepEqual(unknownIn('isthmus run --kubeconfig a --no-such-option'), ['run --no-such-option']);
    assert.deepEqual(unknownIn('isthmus gateway run --listen none'), []);
    const target = { apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget', metadata: { name: 'x' } };
    assert.deepEqual(problemsOf(target), ['ClusterTarget.spec: missing']);
    assert.deepEqual(problemsOf({ ...target, spec: { self: 'yes', colour: 'red' } }), ['ClusterTarget.spec.self: boolean', 'ClusterTarget.spec.colour: no such field']);
  });
});
