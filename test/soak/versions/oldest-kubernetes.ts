// `npm run soak -- oldest-kubernetes [-- NAME…]`: the integration tests, or those files of them, on control planes of
// the oldest supported Kubernetes. Fails when a test fails that needs nothing younger, and when one passes that does.
// `npm run soak -- oldest-targets [-- --targets NAME…]`: the same where only targets are so old.
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { environment } from '../../../process/config.ts';
import { ensureGoProgram } from '../../../process/programs/go-program.ts';
import { ensureBinaries } from '../../../sandbox/build/build-binaries.ts';
import { forQuickBuilds, linkerFlags } from '../../../sandbox/plan/binary-plan.ts';

const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
const FILES_AT_ONCE = 2;
const TIMEOUT_MS = 1_800_000;

const RESIZE = 'pods/resize is served since 1.32';
/** What a test of this name needs and the oldest version lacks. */
const NEEDS_YOUNGER: Readonly<Record<string, string>> = {
  'has what its user changes of it: image, deadline, tolerations, resources; and what is taken back': RESIZE,
  'in-place resize of an elected pod: is as the page says': RESIZE,
  'cannot make a pod its own by its status, nor resize it, where it may write pods': RESIZE,
  'is found to have what it is granted, or the grant is one too many': `${RESIZE}, and servicecidrs since 1.33`,
  'is resized as a whole when its user resizes the pod': 'resizes of whole pods exist since 1.36',
  'is held back there, keeps its queue, and runs in its turn': 'MutatingAdmissionPolicies are v1 since 1.36',
  'pod with resource claims: is as the page says': 'resource claims are v1 since 1.34',
  'refuse what Pod Security Admission refuses at baseline, and nothing else': 'it judges hosts of probes since 1.34',
  'refuse what Pod Security Admission refuses at restricted, and nothing else': 'it judges hosts of probes since 1.34',
};

const { values: { targets: isTargetsOnly = false }, positionals: named } =
  parseArgs({ options: { targets: { type: 'boolean' } }, allowPositionals: true });
const signal = AbortSignal.timeout(TIMEOUT_MS);
const assets = await mkdtemp(join(tmpdir(), 'isthmus-oldest-'));
try {
  const program = await ensureGoProgram({
    module: 'sandbox/oldest-kubernetes', name: 'kubernetes', what: 'the oldest supported control plane',
    takes: 'about five minutes', remedy: 'Only this suite needs it.', flags: linkerFlags,
  }, forQuickBuilds(environment()), say, signal);
  await (isTargetsOnly ? linkForTargets(program) : link(program, assets));
  process.env['KUBEBUILDER_ASSETS'] = assets;
  await judge(await filesNamed());
} finally {
  await rm(assets, { recursive: true });
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** The program runs the component by whose name it is called. */
async function link(program: string, folder: string): Promise<void> {
  for (const name of COMPONENTS) await symlink(program, join(folder, name));
}

/** Control planes of targets run the old program, all others the usual one: paths in their flags name the cluster. */
async function linkForTargets(program: string): Promise<void> {
  const [old, usual] = [join(assets, 'old'), await ensureBinaries(environment(), say, signal)];
  await mkdir(old);
  await link(program, old);
  for (const name of COMPONENTS) {
    const script = [
      '#!/bin/sh', `case "$*" in */target*) exec '${join(old, name)}' "$@";; esac`,
      `exec ${usual[name].map((word) => `'${word}'`).join(' ')} "$@"`, '',
    ];
    await writeFile(join(assets, name), script.join('\n'), { mode: 0o755 });
  }
}

async function filesNamed(): Promise<readonly string[]> {
  const build = join(import.meta.dirname, '..', '..');
  const integration = (await readdir(join(build, 'integration'))).map((name) => join(build, 'integration', name));
  const all = [...integration, join(build, 'soak', 'versions', 'dropped-fields.test.js')]
    .filter((file) => file.endsWith('.test.js'));
  const isNamed = (file: string): boolean => named.includes(basename(file, '.test.js'));
  return named.length === 0 ? all : all.filter(isNamed);
}

/** Runs the files, and says which tests should have ended in another way. */
async function judge(files: readonly string[]): Promise<void> {
  const [passed, failed] = [new Set<string>(), new Set<string>()];
  const results = run({ files: [...files], concurrency: FILES_AT_ONCE, timeout: TIMEOUT_MS });
  results.on('test:pass', ({ name }) => void passed.add(name));
  results.on('test:fail', ({ name, details }) => {
    const { failureType } = details.error as { readonly failureType?: string };
    if (failureType !== 'subtestsFailed') failed.add(name);
  });
  const output = results.compose(new spec());
  output.pipe(process.stdout);
  await new Promise((resolve) => output.once('end', resolve));
  const wrong = [
    ...[...failed].filter((name) => NEEDS_YOUNGER[name] === undefined).map((name) => `failed: ${name}`),
    // with old targets alone, some of it takes place in the source
    ...Object.keys(isTargetsOnly ? {} : NEEDS_YOUNGER).filter((name) => passed.has(name) && !failed.has(name))
      .map((name) => `passed, though it needs what is younger: ${name}`),
  ];
  const expected = [...failed].filter((name) => NEEDS_YOUNGER[name] !== undefined)
    .map((name) => `needs what is younger: ${name} (${NEEDS_YOUNGER[name]})`);
  const summary = `${passed.size} passed, ${expected.length} need what is younger, ${wrong.length} not as expected`;
  process.stdout.write(`${[...expected, ...wrong, summary].join('\n')}\n`);
  process.exitCode = wrong.length === 0 && passed.size > 0 ? 0 : 1;
}
