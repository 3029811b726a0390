// `npm run soak -- oldest-kubernetes [-- NAME…]`: the integration tests, or those files of them, on control planes of
// the oldest supported Kubernetes. Fails when a test fails that needs nothing younger, and when one passes that does.
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { environment } from '../../../process/config.ts';
import { ensureGoProgram } from '../../../process/programs/go-program.ts';
import { forQuickBuilds, linkerFlags } from '../../../sandbox/plan/binary-plan.ts';

const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const FILES_AT_ONCE = 2;
const TIMEOUT_MS = 1_800_000;

const RESIZE = 'pods/resize is served since 1.32';
/** What a test of this name needs and the oldest version lacks. */
const NEEDS_YOUNGER: Readonly<Record<string, string>> = {
  'has what its user changes of it: image, deadline, tolerations, resources; and what is taken back': RESIZE,
  'in-place resize of an elected pod: is as the page says': RESIZE,
  'cannot make a pod its own by its status, nor resize it, where it may write pods': RESIZE,
  'is found to have what it is granted, or the grant is one too many': `${RESIZE}, and servicecidrs since 1.33`,
  'is held back there, keeps its queue, and runs in its turn': 'MutatingAdmissionPolicies are v1 since 1.36',
  'pod with resource claims: is as the page says': 'resource claims are v1 since 1.34',
  'refuse what Pod Security Admission refuses at baseline, and nothing else': 'it judges hosts of probes since 1.34',
  'refuse what Pod Security Admission refuses at restricted, and nothing else': 'it judges hosts of probes since 1.34',
};

const named = process.argv.slice(2);
const assets = await mkdtemp(join(tmpdir(), 'isthmus-oldest-'));
try {
  const program = await ensureGoProgram({
    module: 'sandbox/oldest-kubernetes', name: 'kubernetes', what: 'the oldest supported control plane',
    takes: 'about five minutes', remedy: 'Only this suite needs it.', flags: linkerFlags,
  }, forQuickBuilds(environment()), (text) => process.stderr.write(`${text}\n`), AbortSignal.timeout(TIMEOUT_MS));
  for (const name of COMPONENTS) await symlink(program, join(assets, name));
  process.env['KUBEBUILDER_ASSETS'] = assets;
  await judge(await filesNamed());
} finally {
  await rm(assets, { recursive: true });
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
    ...Object.keys(NEEDS_YOUNGER).filter((name) => passed.has(name) && !failed.has(name))
      .map((name) => `passed, though it needs what is younger: ${name}`),
  ];
  const expected = [...failed].filter((name) => NEEDS_YOUNGER[name] !== undefined)
    .map((name) => `needs what is younger: ${name} (${NEEDS_YOUNGER[name]})`);
  const summary = `${passed.size} passed, ${expected.length} need what is younger, ${wrong.length} not as expected`;
  process.stdout.write(`${[...expected, ...wrong, summary].join('\n')}\n`);
  process.exitCode = wrong.length === 0 && passed.size > 0 ? 0 : 1;
}
