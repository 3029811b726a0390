// The linter's configuration. What may import what, and which files may act, comes from architecture.json.
import { readFileSync } from 'node:fs';

const { topFolders } = JSON.parse(readFileSync(new URL('architecture.json', import.meta.url), 'utf8'));
const ALL_TOP_FOLDERS = Object.keys(topFolders);

const CLIENT_NODE = {
  name: '@kubernetes/client-node',
  message: 'Loading it costs 0.4 s and 80 MiB: only kubernetes/credentials/auth-provider.ts does, when it must.',
  allowTypeImports: true,
};
const TESTS = { group: ['**/test/**', '**/benchmarks/**'], message: 'Nothing that runs imports tests or benchmarks.' };
const PURE = 'A decision is a function of its arguments: take the value as an argument, or give back a plan.';
const EFFECTS = ['console', 'fetch', 'performance', 'process', 'queueMicrotask', 'setImmediate', 'setInterval', 'setTimeout'];
const ENVIRONMENT = { object: 'process', property: 'env', message: 'Only process/config.ts reads the environment.' };
const LIFECYCLE = 'Only process/lifecycle.ts ends the process and listens for signals.';
const PROCESS = [ENVIRONMENT, ...['exit', 'on'].map((property) => ({ object: 'process', property, message: LIFECYCLE }))];
const CLOCK_AND_CHANCE = [['Date', 'now'], ['Math', 'random']].map(([object, property]) => ({ object, property, message: PURE }));

/** Imports that a top-level folder may not have, whichever file it is. */
function imports(top, loadsClient = false) {
  const others = ALL_TOP_FOLDERS.filter((name) => name !== top && !topFolders[top].imports.includes(name));
  const foldersAbove = { group: others.map((name) => `**/${name}/**`), message: 'architecture.json does not allow this import.' };
  const patterns = others.length === 0 ? [TESTS] : [foldersAbove, TESTS];
  return ['error', { paths: loadsClient ? [] : [CLIENT_NODE], patterns }];
}

const pureRules = {
  'no-restricted-globals': ['error', ...EFFECTS.map((name) => ({ name, message: PURE }))],
  'no-restricted-properties': ['error', ...PROCESS, ...CLOCK_AND_CHANCE],
};
const actingRules = { 'no-restricted-globals': 'off', 'no-restricted-properties': ['error', ...PROCESS] };

/** The files of a top-level folder are pure unless its folders say that they act. */
function folderRules(top) {
  const pathOf = (folder) => (folder === '.' ? top : `${top}/${folder}`);
  const acting = Object.entries(topFolders[top].folders).flatMap(([folder, { acts }]) =>
    acts === 'all' ? [`${pathOf(folder)}/*.ts`] : acts.map((name) => `${pathOf(folder)}/${name}.ts`));
  const rules = [{ files: [`${top}/**`], rules: { 'no-restricted-imports': imports(top), ...pureRules } }];
  return acting.length === 0 ? rules : [...rules, { files: acting, rules: actingRules }];
}

export default {
  plugins: ['typescript', 'unicorn', 'import', 'oxc', 'promise'],
  categories: { correctness: 'error', suspicious: 'error' },
  ignorePatterns: ['build/**', 'node_modules/**'],
  rules: {
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/await-thenable': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-unsafe-type-assertion': 'off',
    'typescript/prefer-readonly': 'error',
    'import/no-cycle': 'error',
    'import/no-default-export': 'error',
    'import/no-unassigned-import': 'off',
    'typescript/consistent-return': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'no-await-in-loop': 'off',
    'no-shadow': 'off',
    'no-param-reassign': 'error',
    'no-console': 'error',
    'prefer-const': 'error',
    eqeqeq: 'error',
    complexity: ['error', 12],
    'max-params': ['error', 4],
    'max-lines': ['error', { max: 300, skipComments: false }],
    'max-lines-per-function': ['error', { max: 60 }],
    'no-restricted-properties': ['error', ...PROCESS],
    'unicorn/prefer-node-protocol': 'error'
  },
  overrides: [
    {
      files: ['test/**', 'benchmarks/**'],
      rules: {
        'max-lines-per-function': 'off', 'max-lines': 'off',
        'typescript/no-floating-promises': 'off', 'typescript/no-non-null-assertion': 'off',
      },
    },
    { files: ['setup.mjs', '*.config.mjs'], rules: { 'import/no-default-export': 'off' } },
    ...ALL_TOP_FOLDERS.flatMap(folderRules),
    // a channel between tabs of one origin has no target origin
    { files: ['dashboard/browser/session.ts'], rules: { 'unicorn/require-post-message-target-origin': 'off' } },
    { files: ['dashboard/ui-command.ts', 'cli/**', 'sandbox/**', 'setup.mjs', 'benchmarks/**', 'manifests/**', 'test/run.ts'], rules: { 'no-console': 'off' } },
    {
      files: ['kubernetes/credentials/auth-provider.ts'],
      rules: { 'no-restricted-imports': imports('kubernetes', true) },
    },
    { files: ['cli/main.ts'], rules: { 'no-restricted-imports': ['error', { paths: [CLIENT_NODE], patterns: [TESTS] }] } },
    { files: ['process/config.ts', 'process/lifecycle.ts'], rules: { 'no-restricted-properties': 'off' } },
    { files: ['test/**', 'benchmarks/**', 'setup.mjs'], rules: { 'no-restricted-properties': 'off' } },
  ],
};
