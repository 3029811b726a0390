// What the documentation says is there: links and their anchors, files, commands with their options, scripts, and YAML
// that our definitions take.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { isMap, parse, parseAllDocuments } from 'yaml';
import { customResourceDefinitions } from '../../../manifests/objects/crds.ts';
import { blocksOf, PAGES as pages, ROOT, textOf, withoutBlocks } from '../../support/docs/documented-blocks.ts';
import { problemsOf } from '../../support/peers/crd-check.ts';
import { wholeProgram } from '../../support/processes/whole-program.ts';

const isThere = (path: string): boolean => statSync(join(ROOT, path), { throwIfNoEntry: false }) !== undefined;
const scripts =
  Object.keys((JSON.parse(textOf('package.json')) as { readonly scripts: Record<string, string> }).scripts);

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
  const lines = blocksOf(text).filter(({ language }) => ['', 'sh', 'bash', 'console'].includes(language))
    .flatMap(({ text: code }) => code.replaceAll(/\\\n\s*/g, ' ').split('\n'));
  const spans = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...lines, ...spans].map((line) => line.replace(/^\s*(?:\$ )?(?:npx )?/, '').replace(/\s+#.*$/, '').trim())
    .filter((line) => /^(isthmus|npm run)\s/.test(line));
}

const known = await wholeProgram();

/** What a command line has that the program has not. */
function unknownIn(line: string): readonly string[] {
  const [, ...words] = line.split(/\s+/);
  let command: Command = known;
  let rest = words;
  for (let next = find(command, rest[0]); next !== undefined; next = find(command, rest[0])) [command, rest] =
    [next, rest.slice(1)];
  const asked = words[0] !== undefined && /^[a-z][a-z-]*$/.test(words[0])
    && command === known ? [`isthmus ${words[0]}`] : [];
  const options = rest.map((word) => /^\[?(--[a-z][a-z-]*)/.exec(word)?.[1])
    .filter((option) => option !== undefined && option !== '--help');
  const all = new Set([...known.options, ...command.options].flatMap(({ long }) => [long]));
  return [...asked, ...options.filter((option) => !all.has(option)).map((option) => `${command.name()} ${option}`)];
}

function find(command: Command, name: string | undefined): Command | undefined {
  return command.commands.find((each) => each.name() === name);
}

const values = parse(textOf('manifests/helm/isthmus/values.yaml')) as Record<string, unknown>;

/** Values of the chart that a page names: after `--set`, and as `a.b=c` in a span of a page about the chart. */
function valuesOf(page: string, text: string): readonly string[] {
  const set = [...text.matchAll(/--set[ =]([\w.]+)=/g)].map(([, path = '']) => path);
  const spans = page === 'docs/install.md' ? [...text.matchAll(/`([a-z]\w+(?:\.\w+)+)(?:=[^`]*)?`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !isThere(path) && !path.endsWith('.json')) : [];
  return [...set, ...spans];
}

/** Whether the chart has the value; what stands in an empty map is the user's. */
function isValue(path: string): boolean {
  let at: unknown = values;
  for (const key of path.split('.')) {
    if (typeof at !== 'object' || at === null) return false;
    if (Object.keys(at).length === 0) return true;
    if (!Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return true;
}

/** Verbs and resources that kubectl has without us, as far as pages use them. */
const KUBECTL_VERBS = [
  'annotate', 'api-resources', 'apply', 'auth', 'certificate', 'cordon', 'cp', 'create', 'debug', 'delete', 'describe',
  'drain', 'events', 'exec', 'explain', 'get', 'isthmus', 'krew', 'label', 'logs', 'patch', 'port-forward', 'rollout',
  'run', 'top', 'uncordon', 'wait',
];
const RESOURCES = [
  'crd', 'deployment', 'events', 'namespace', 'namespaces', 'node', 'nodes', 'pod', 'pods', 'rolebinding', 'secret',
  'service', 'services', 'all',
];
const OURS = new Set(customResourceDefinitions().flatMap(
  ({ spec: { names } }) => [names.plural, names.kind.toLowerCase(), ...names.shortNames, ...names.categories],
));

/**
 * What a kubectl command line names that there is not: a verb, or a resource of `get`, `describe`, `delete`, `explain`
 * and `patch`.
 */
function unknownInKubectl(line: string): readonly string[] {
  const words = line.split(/\s+/).slice(1).filter(
    (word, index, all) => !word.startsWith('-') && !/^(-n|--namespace|--context|--kubeconfig|-l|-o|-f|-k)$/
      .test(all[index - 1] ?? ''),
  );
  const [verb = '', resource = ''] = words;
  if (!KUBECTL_VERBS.includes(verb)) return [`kubectl ${verb}`];
  const named = resource.split('/')[0] ?? '';
  const isChecked = ['get', 'describe', 'delete', 'explain', 'patch'].includes(verb) && /^[a-z]+$/.test(named);
  return isChecked && !RESOURCES.includes(named) && !OURS.has(named) ? [`kubectl ${verb} ${named}`] : [];
}

/** kubectl's lines and spans of a page. */
function kubectlLines(text: string): readonly string[] {
  const lines = blocksOf(text).filter(({ language }) => ['', 'sh', 'bash', 'console'].includes(language))
    .flatMap(({ text: code }) => code.split('\n'));
  const spans = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...lines, ...spans].map((line) => line.trim()).filter((line) => /^kubectl\s+[a-z-]/.test(line));
}

/** Whether a block is a mapping; command lines are read as a text, or not at all. */
function isYaml(code: string): boolean {
  const [document] = parseAllDocuments(code);
  return document !== undefined && document.errors.length === 0 && isMap(document.contents);
}

describe('every page of the documentation', () => {
  for (const page of pages) {
    const text = textOf(page);
    it(`${page}: links lead somewhere`, () => {
      const links =
        [...withoutBlocks(text).replaceAll(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
      assert.deepEqual(links.map((link) => brokenLink(page, link)).filter((problem) => problem !== undefined), []);
    });

    it(`${page}: commands and options exist`, () => {
      if (page === 'CHANGELOG.md') return;
      const lines = commandsOf(text);
      const missing = lines.filter((line) => line.startsWith('npm run')).map(
        (line) => line.split(/\s+/).find((word, index) => index > 1 && !word.startsWith('-')),
      ).filter((name) => name !== undefined && /^[a-z:-]+$/.test(name) && !scripts.includes(name));
      assert.deepEqual([...missing, ...lines.filter((line) => line.startsWith('isthmus')).flatMap(unknownIn)], []);
    });

    it(`${page}: values of the chart, verbs and resources of kubectl exist`, () => {
      if (page === 'CHANGELOG.md') return;
      assert.deepEqual(
        [...valuesOf(page, text).filter((path) => !isValue(path)), ...kubectlLines(text).flatMap(unknownInKubectl)], [],
      );
    });

    it(`${page}: YAML is marked as such, as tests read only that`, () => {
      const unmarked = blocksOf(text).filter(({ language }) => language === '').map(({ text: code }) => code);
      assert.deepEqual(unmarked.filter(isYaml), []);
    });

    it(`${page}: YAML can be read, and objects of ours have the fields of their kinds`, () => {
      for (const { text: yaml } of blocksOf(text).filter(({ language }) => language === 'yaml')) {
        for (const document of parseAllDocuments(yaml)) {
          assert.deepEqual(document.errors.map(({ message }) => message), []);
          const object = document.toJS() as unknown;
          if (typeof object === 'object' && object !== null && !Array.isArray(object)) {
            assert.deepEqual(problemsOf(object as Record<string, unknown>), []);
          }
        }
      }
    });
  }

  it('names files of the checkout that are there', () => {
    const named = pages.filter(
      (page) => page !== 'CHANGELOG.md' && !page.startsWith('docs/results/') && !page.startsWith('docs/adr/'),
    ).flatMap((page) => [...textOf(page).matchAll(/`((?:docs|manifests|test|process|sandbox)\/[\w./-]+)`/g)].map(
      ([, path = '']) => `${page} ${path}`,
    ));
    assert.deepEqual(named.filter((entry) => !isThere(entry.split(' ')[1] ?? '')), []);
  });

  it('names every environment variable that is read', () => {
    const code = textOf('process/config.ts') + textOf('process/tracing.ts');
    const read = [...code.matchAll(/env\['(\w+)'\]/g)].map(([, name = '']) => name).filter((name) => name !== 'HOME');
    const told = pages.filter((page) => /^(?:docs\/[\w-]+|CONTRIBUTING)\.md$/.test(page)).map(textOf).join('\n');
    assert.ok(read.length > 10);
    assert.deepEqual(read.filter((name) => !new RegExp(`\\b${name}\\b`).test(told)), []);
  });

  it('has every file that is applied as it is taken by our definitions', () => {
    const examples = readdirSync(join(ROOT, 'docs/examples')).filter((name) => name.endsWith('.yaml'));
    for (const name of examples) for (
      const document of parseAllDocuments(textOf(`docs/examples/${name}`))
    ) assert.deepEqual(problemsOf(document.toJS() as Record<string, unknown>), [], name);
  });

  it('has no example whose pods wait for a target that the example declares and cannot reach', () => {
    const names = readdirSync(join(ROOT, 'docs/examples')).filter((name) => name.endsWith('.yaml'));
    const declaring = names.filter((name) => /^kind: (Cluster)?Target$/m.test(textOf(`docs/examples/${name}`)));
    assert.deepEqual(declaring, ['admiralty.yaml', 'target.yaml']); // Admiralty's users have the Secret
  });
});

describe('the check of links, commands and YAML', () => {
  it('finds what is wrong', () => {
    assert.equal(brokenLink('README.md', 'docs/no-such-page.md'), 'docs/no-such-page.md: no such file');
    assert.equal(
      brokenLink('README.md', 'docs/errors.md#no-such-heading'), 'docs/errors.md#no-such-heading: no such heading',
    );
    assert.deepEqual(unknownIn('isthmus instal'), ['isthmus instal']);
    assert.deepEqual(unknownIn('isthmus run --kubeconfig a --no-such-option'), ['run --no-such-option']);
    assert.deepEqual(
      [
        isValue('webhook.certificate.source'), isValue('scheduler.scoreWeights.cost'), isValue('webhook.certificates'),
        isValue('logLevel.x'),
      ],
      [true, true, false, false],
    );
    assert.deepEqual(
      [
        'kubectl gett pods', 'kubectl get -n a clustertarget', 'kubectl -n a get frobs', 'kubectl describe node x',
      ].flatMap(unknownInKubectl),
      ['kubectl gett', 'kubectl get frobs'],
    );
    assert.deepEqual(unknownIn('isthmus gateway run --listen none'), []);
    const target = { apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget', metadata: { name: 'x' } };
    assert.deepEqual(problemsOf(target), ['ClusterTarget.spec: missing']);
    assert.deepEqual(problemsOf({ ...target, spec: { self: 'yes', colour: 'red' } }), [
      'ClusterTarget.spec.self: boolean', 'ClusterTarget.spec.colour: no such field',
    ]);
  });
});
