// Holds the walls of architecture.json, the purity of what decides, and the few files that may touch the process. Each
// rule is shown to fail first.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  EXPECTED_DEPENDENCIES, findBadNames, findCircles, findCircularFolders, findClientNode, findCrowdedFolders,
  findDeadExports, findForbiddenImports, findImpurity, findLeakySignals, findMissingHeader, findProblems,
  findProcessUse, findUndeclaredPackages, findUnexpectedDependencies, findUnknownFolders, MAX_DEPENDENCIES,
  MAX_FILES_IN_A_FOLDER, MAX_TEST_FILES_IN_A_FOLDER, TOP_FOLDERS, type SourceFile,
} from './support/rules/architecture.ts';
import { sourceFiles } from './support/rules/source-files.ts';

const ROOT = new URL('../../', import.meta.url);
describe('the repository', () => {
  const files = sourceFiles();
  const packageJson = readFileSync(new URL('package.json', ROOT), 'utf8');

  it('is found whole', () => {
    for (const path of [
      'api/objects/core.ts', 'model/pod/pod.ts', 'scheduler/decision/schedule-pod.ts', 'kubernetes/http/transport.ts',
      'cli/main.ts', 'test/architecture.test.ts',
    ]) {
      assert.ok(files.some((file) => file.path === path), path);
    }
  });

  it('keeps every rule', () => assert.deepEqual(files.flatMap(findProblems), []));
  it('has no circles, types included', () => assert.deepEqual(findCircles(files), []));
  it('has no circles of folders', () => assert.deepEqual(findCircularFolders(TOP_FOLDERS), []));
  it('exports nothing that only tests use, or nobody', () => assert.deepEqual(findDeadExports(files), []));
  it('has no crowded folder', () => assert.deepEqual(findCrowdedFolders(files), []));
  it('C2-44: depends only on what has a reason', () => assert.deepEqual(findUnexpectedDependencies(packageJson), []));
  it('imports only what it declares', () => assert.deepEqual(
    files.flatMap((file) => findUndeclaredPackages(file, packageJson)), [],
  ));
  it('could not have more libraries than there are reasons', () => assert.ok(
    EXPECTED_DEPENDENCIES.size <= MAX_DEPENDENCIES,
  ));
});

type Rule = (file: SourceFile) => string[];
type Example = readonly [path: string, text: string];

/** Shows that a rule finds what it is there for, and nothing else. */
function rule(name: string, find: Rule, examples: {
  readonly refused: Record<string, Example>; readonly accepted: Record<string, Example>
}): void {
  describe(name, () => {
    for (const [what, [path, text]] of Object.entries(examples.refused)) {
      it(`refuses ${what}`, () => assert.equal(find({ path, text }).length, 1));
    }
    for (const [what, [path, text]] of Object.entries(examples.accepted)) {
      it(`accepts ${what}`, () => assert.deepEqual(find({ path, text }), []));
    }
  });
}

describe('the walls', () => {
  const file = (path: string, text = ''): SourceFile => ({ path, text });

  it('refuse a circle of two files, of types alone as well', () => {
    const files = [file('model/pod/a.ts', "import type { B } from './b.ts';"), file(
      'model/pod/b.ts', "import type { A } from './a.ts';",
    )];
    assert.deepEqual(findCircles(files), ['model/pod/a.ts -> model/pod/b.ts -> model/pod/a.ts']);
    assert.deepEqual(findCircles(files.slice(0, 1)), []);
  });

  it('refuse a circle of folders, and of top-level folders, in the table itself', () => {
    const folder = (...imports: string[]) => ({ imports, acts: 'all' as const });
    assert.equal(findCircularFolders({ a: { imports: [], folders: { x: folder('y'), y: folder('x') } } }).length, 1);
    const none = { folders: {} };
    assert.equal(findCircularFolders({ a: { imports: ['b'], ...none }, b: { imports: ['a'], ...none } }).length, 1);
    assert.deepEqual(
      findCircularFolders(
        { a: { imports: ['b'], folders: { x: folder('y'), y: folder() } }, b: { imports: [], folders: {} } },
      ),
      [],
    );
  });

  it('refuse an export that only tests use, or nobody', () => {
    const code = file('model/pod/a.ts', '/** About a. */\nexport const a = 1;\nexport function b() {}\nb();');
    const test = file('test/unit/a.test.ts', "import { a } from '../../model/pod/a.ts';");
    const other = file('scheduler/cycle/c.ts', "import { type A, a } from '../../model/pod/a.ts';");
    const both = file('test/unit/b.test.ts', "import { a, b } from '../../model/pod/a.ts';");
    assert.equal(findDeadExports([code, test]).length, 2);
    assert.equal(findDeadExports([code, both]).length, 1);
    assert.deepEqual(findDeadExports([code, both, other]), []);
    assert.deepEqual(findDeadExports([code, file('scheduler/c.ts', "import * as all from '../model/pod/a.ts';")]), []);
  });

  it('refuse a folder with too many files', () => {
    const files = Array.from({ length: MAX_FILES_IN_A_FOLDER + 1 }, (_, index) => file(`model/pod/f${index}.ts`));
    assert.equal(findCrowdedFolders(files).length, 1);
    assert.deepEqual(findCrowdedFolders(files.slice(1)), []);
    const tests = Array.from({ length: MAX_TEST_FILES_IN_A_FOLDER + 1 }, (_, index) => file(`test/laws/f${index}.ts`));
    assert.equal(findCrowdedFolders(tests).length, 1);
    assert.deepEqual(findCrowdedFolders(tests.slice(1)), []);
  });
});

rule('folders', findUnknownFolders, {
  refused: {
    'a new top-level folder': ['portal/page.ts', ''], 'a new folder': ['scheduler/magic/choose.ts', ''],
    'a top-level folder without files of its own': ['kubernetes/loose.ts', ''],
  },
  accepted:
    { 'a folder of the table': ['scheduler/decision/scores.ts', ''], 'a test': ['test/anything/a.test.ts', ''] },
});

rule('imports', findForbiddenImports, {
  refused: {
    'the API types knowing the model': ['api/objects/core.ts', "import type { A } from '../../model/pod/a.ts';"],
    'a kind knowing the list of kinds': ['api/kinds/gateway.ts', "import type { A } from '../resource-types.ts';"],
    'the model knowing a component': ['model/pod/pod.ts', "import { a } from '../../scheduler/decision/a.ts';"],
    'the model knowing an adapter, by type only':
      ['model/pod/pod.ts', "import type { A } from '../../kubernetes/http/a.ts';"],
    'a decision knowing an adapter':
      ['scheduler/decision/scores.ts', "import { a } from '../../kubernetes/http/a.ts';"],
    'a decision knowing the shell above it':
      ['scheduler/decision/scores.ts', "import { a } from '../cycle/scheduling-controller.ts';"],
    'a pure file knowing the shell beside it':
      ['scheduler/failback/failback.ts', "import { a } from './failback-controller.ts';"],
    'a folder knowing one that the table does not name':
      ['scheduler/snapshot/snapshot.ts', "import type { A } from '../decision/scores.ts';"],
    'a component knowing another':
      ['scheduler/cycle/scheduling-controller.ts', "import { a } from '../../webhook/server/a.ts';"],
    'a component knowing another by its main': ['scheduler/main.ts', "import { a } from '../webhook/main.ts';"],
    'a shell knowing its composition': ['scheduler/cycle/scheduling-controller.ts', "import { a } from '../main.ts';"],
    'a shell knowing the command line':
      ['scheduler/cycle/scheduling-controller.ts', "import { a } from '../../cli/run/run.ts';"],
    'an adapter knowing targets':
      ['kubernetes/watch/informer.ts', "import { a } from '../../targets/target-session.ts';"],
    'the process knowing Kubernetes': ['process/config.ts', "import { a } from '../kubernetes/http/a.ts';"],
    'manifests knowing the process': ['manifests/objects/crds.ts', "import { a } from '../../process/a.ts';"],
    'a command knowing the sandbox': ['cli/run/run.ts', "import { a } from '../../sandbox/sandbox.ts';"],
    'the sandbox knowing tests': ['sandbox/sandbox.ts', "import { a } from './support/objects/builders.ts';"],
    'a re-export': ['model/pod/pod.ts', "export { a } from '../../webhook/server/a.ts';"],
    'a re-export of everything': ['model/pod/pod.ts', "export * from '../../webhook/server/a.ts';"],
    'an import for its effect': ['model/pod/pod.ts', "import '../../process/crypto/reflect-metadata.ts';"],
    'an import at run time': ['model/pod/pod.ts', "const a = import('../../webhook/server/a.ts');"],
    'an import over several lines': ['model/pod/pod.ts', "import {\n  a,\n  b,\n} from '../../webhook/server/a.ts';"],
    'a way round through a folder': ['model/pod/pod.ts', "import { a } from '../pod/../../webhook/server/a.ts';"],
  },
  accepted: {
    'the model knowing the API types': ['model/pod/pod.ts', "import type { A } from '../../api/objects/core.ts';"],
    'a decision knowing the one beside it': ['scheduler/decision/scores.ts', "import { a } from './filters.ts';"],
    'a folder knowing one that the table names':
      ['scheduler/decision/scores.ts', "import { a } from '../snapshot/snapshot.ts';"],
    'a shell knowing adapters, model and its decisions': [
      'webhook/server/admission-server.ts',
      "import { a } from '../../process/errors.ts';\nimport { b } from '../../kubernetes/http/transport.ts';\nimport " +
        "{ c } from '../admission/admit-pod.ts';",
    ],
    'Kubernetes knowing the process': ['kubernetes/watch/informer.ts', "import { a } from '../../process/errors.ts';"],
    'the command line knowing components': ['cli/run/run.ts', "import { a } from '../../webhook/main.ts';"],
    'the program putting everything together': ['cli/main.ts', "import { b } from '../sandbox/sandbox-command.ts';"],
    'a test knowing everything': ['test/unit/model/pod.test.ts', "import { a } from '../../../cli/run/run.ts';"],
    'a comment about an import': ['model/pod/pod.ts', "// import { a } from '../../webhook/server/a.ts';"],
    'a package': ['kubernetes/http/transport.ts', "import { Pool } from 'undici';"],
  },
});

rule('purity', findImpurity, {
  refused: {
    'waiting': ['model/pod/pod.ts', 'export async function a() {}'],
    'the clock': ['scheduler/decision/scores.ts', 'const now = Date.now();'],
    'the clock by another name': ['scheduler/decision/scores.ts', 'const now = new Date();'],
    'the clock without brackets': ['scheduler/decision/scores.ts', 'const now = new Date;'],
    'the other clock': ['scheduler/decision/scores.ts', 'const now = performance.now();'],
    'chance': ['scheduler/decision/scores.ts', 'const a = Math.random();'],
    'a timer': ['webhook/admission/admit-pod.ts', 'setTimeout(a, 1);'],
    'a request': ['webhook/admission/admit-pod.ts', "fetch('https://x');"],
    'the process': ['webhook/admission/admit-pod.ts', 'const a = process.argv;'],
    'a log line': ['webhook/admission/admit-pod.ts', "console.log('a');"],
    'impurity within a template': ['webhook/admission/admit-pod.ts', 'const a = `at ${Date.now()}`;'],
    'files': ['model/pod/pod.ts', "import { readFileSync } from 'node:fs';"],
    'random bytes': ['model/pod/pod.ts', "import { createHash, randomBytes } from 'node:crypto';"],
    'all of a module': ['model/pod/pod.ts', "import * as crypto from 'node:crypto';"],
    'a package with effects': ['model/pod/pod.ts', "import { pino } from 'pino';"],
    'a clock in manifests': ['manifests/objects/crds.ts', 'const now = Date.now();'],
  },
  accepted: {
    'hashing': ['model/naming/names.ts', "import { createHash } from 'node:crypto';"],
    'hashing by another name':
      ['model/naming/names.ts', "import { createHash as hash, type KeyObject } from 'node:crypto';"],
    'a time that was given':
      ['model/naming/names.ts', 'const text = new Date(now).toISOString(); const ms = Date.parse(text);'],
    'words that stand in a text':
      ['model/naming/names.ts', "const message = 'await the process. console'; const other = `fetch (it)`;"],
    'words that stand in a comment': ['model/naming/names.ts', '// never await Date.now()\n/* console.log */'],
    'names that only begin alike': ['model/naming/names.ts', 'const awaitsVerdict = processed.envelope;'],
    'a shell that waits': ['scheduler/cycle/scheduling-controller.ts', 'await Date.now();'],
    'a server, a client and a main that wait': ['webhook/server/admission-server.ts', 'await a;'],
    'an adapter that reads the clock': ['kubernetes/flow/backoff.ts', 'Date.now();'],
    'the generator that writes files': ['manifests/generate.ts', "import { writeFile } from 'node:fs/promises';"],
    'the program that packs a release': ['manifests/release.ts', "import { writeFile } from 'node:fs/promises';"],
  },
});

rule('the official client', findClientNode, {
  refused: {
    'loading it elsewhere': ['kubernetes/http/transport.ts', "import { KubeConfig } from '@kubernetes/client-node';"],
    'loading it late': ['cli/run/run.ts', "await import('@kubernetes/client-node');"],
    'loading a part of it': ['cli/run/run.ts', "import { a } from '@kubernetes/client-node/dist/a.js';"],
    'loading it beside its types': ['cli/run/run.ts', "import { type A, b } from '@kubernetes/client-node';"],
  },
  accepted: {
    'loading it in its one place':
      ['kubernetes/credentials/auth-provider.ts', "await import('@kubernetes/client-node');"],
    'its types': ['kubernetes/http/transport.ts', "import type { KubeConfig } from '@kubernetes/client-node';"],
    'its types, one by one':
      ['kubernetes/http/transport.ts', "import { type A, type B } from '@kubernetes/client-node';"],
    'a test that compares with it':
      ['test/unit/kubernetes/kubeconfig.test.ts', "import { KubeConfig } from '@kubernetes/client-node';"],
  },
});

rule('signals', findLeakySignals, {
  refused: {
    'one that stays on the signal of a process':
      ['kubernetes/lease/leader-election.ts', 'await delay(1, AbortSignal.any([signal, nap]));'],
    'a function that is handed on': ['gateway/gateway.ts', 'const either = AbortSignal.any;'],
  },
  accepted: {
    'one in a command, which ends': ['cli/pods/move.ts', 'AbortSignal.any([signal, patience]);'],
    'a sentence about it': ['kubernetes/flow/abort.ts', '// not AbortSignal.any\nconst a = 1;'],
  },
});

rule('the process', findProcessUse, {
  refused: {
    'reading the environment': ['cli/run/run.ts', 'const a = process.env.HOME;'],
    'reading it in a template': ['cli/run/run.ts', 'const a = `${process.env.HOME}/x`;'],
    'leaving': ['cli/run/run.ts', 'process.exit(1);'],
    'listening for signals': ['cli/run/run.ts', "process.on('SIGTERM', stop);"],
    'another name for it': ['cli/run/run.ts', "import { env } from 'node:process';"],
    'leaving in the file of the environment': ['process/config.ts', 'process.exit(1);'],
  },
  accepted: {
    'the file of the environment': ['process/config.ts', 'read(process.env);'],
    'the file of the life cycle': ['process/lifecycle.ts', "process.on('SIGTERM', stop); process.exit(1);"],
    'a code to leave with': ['cli/main.ts', 'process.exitCode = 1;'],
    'a sentence about it': ['cli/main.ts', "// process.exit()\nconst a = 'process.env';"],
  },
});

rule('headers', findMissingHeader, {
  refused: {
    'a file that begins with code': ['model/pod/pod.ts', "import { a } from './a.ts';"],
    'a file whose comment comes late': ['model/pod/pod.ts', 'const a = 1;\n// late'],
  },
  accepted: {
    'a file that opens with a comment': ['model/pod/pod.ts', '// Pods.\nconst a = 1;'],
    'a program': ['cli/main.ts', '#!/usr/bin/env node\n// The command.\n'],
    'a test': ['test/unit/model/pod.test.ts', "import a from 'a';"],
  },
});

rule('names', findBadNames, {
  refused: {
    'a barrel': ['model/index.ts', '// All.'],
    'a drawer': ['scheduler/utils/sort.ts', '// Sort.'],
    'a drawer at the top': ['types/pod.ts', '// Pods.'],
    'a drawer that is a file': ['scheduler/helpers.ts', '// Sort.'],
  },
  accepted: {
    'a name of the field': ['api/resource-types.ts', '// Types.'],
    'a name that only contains one': ['model/common-names.ts', '// Names.'],
  },
});

describe('dependencies', () => {
  const declare = (...names: string[]) =>
    JSON.stringify({ dependencies: Object.fromEntries(names.map((name) => [name, '1.0.0'])) });

  it('refuses one without a reason', () => assert.equal(
    findUnexpectedDependencies(declare('pino', 'left-pad')).length, 1,
  ));
  it('refuses too many, reasons or not', () => assert.equal(
    findUnexpectedDependencies(declare(...EXPECTED_DEPENDENCIES.keys(), 'x')).length, 2,
  ));
  it('accepts what has a reason, and none', () => assert.deepEqual(
    [...findUnexpectedDependencies(declare('pino')), ...findUnexpectedDependencies('{}')], [],
  ));

  it('refuses a package in use that only tests have', () => {
    assert.equal(
      findUndeclaredPackages({ path: 'model/a.ts', text: "import fc from 'fast-check';" }, declare('pino')).length, 1,
    );
    assert.deepEqual(
      findUndeclaredPackages({ path: 'test/unit/a.test.ts', text: "import fc from 'fast-check';" }, declare('pino')),
      [],
    );
    assert.deepEqual(
      findUndeclaredPackages(
        { path: 'cli/a.ts', text: "import { pino } from 'pino';\nimport 'node:fs';" }, declare('pino'),
      ),
      [],
    );
  });
});
