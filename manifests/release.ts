// `npm run release -- --base-url URL`: writes the files of a release into a folder: the archive of the kubectl plugin
// (same contents as the image), its krew manifest with the archive's checksum, and the SBOM. It publishes nothing.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { archiveName, krewManifest } from './krew.ts';

const run = promisify(execFile);
const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const BILL = 'sbom.cdx.json';
const NOT_RELEASED = ['build/test', 'build/benchmarks'].map((path) => join(CHECKOUT, path));

/** The files of the archive in a folder, with the packages that run and no others. */
async function stage(folder: string): Promise<void> {
  for (const file of ['package.json', 'package-lock.json', 'LICENSE']) {
    await cp(join(CHECKOUT, file), join(folder, file));
  }
  await cp(
    join(CHECKOUT, 'build'), join(folder, 'build'), { recursive: true, filter: (path) => !NOT_RELEASED.includes(path) },
  );
  await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  await rm(join(folder, 'package-lock.json'));
}

/**
 * CycloneDX SBOM of the production packages in the lock file. npm names the component after the folder, so it is named
 * here.
 */
async function billOfMaterials(): Promise<string> {
  const { stdout } = await run(
    'npm', ['sbom', '--omit=dev', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'],
    { cwd: CHECKOUT, maxBuffer: 64 * 1024 * 1024 },
  );
  const bill = JSON.parse(stdout) as { readonly metadata: { readonly component: object } };
  const metadata = { ...bill.metadata, component: { ...bill.metadata.component, name: 'isthmus' } };
  return `${JSON.stringify({ ...bill, metadata }, undefined, 2)}\n`;
}

/** Packs a folder; gives the sum of the archive. */
async function pack(folder: string, archive: string): Promise<string> {
  await run('tar', ['-czf', archive, '--owner=0', '--group=0', '--numeric-owner', '-C', folder, '.']);
  return createHash('sha256').update(await readFile(archive)).digest('hex');
}

const { values } = parseArgs({
  options: { 'base-url': { type: 'string' }, out: { type: 'string', default: 'release' }, from: { type: 'string' } },
});
const baseUrl = values['base-url'];
if (baseUrl === undefined) {
  throw new Error('Say with --base-url where the archive will be, https://example.com/releases/v1.2.3 say.');
}

const { version } = JSON.parse(await readFile(join(CHECKOUT, 'package.json'), 'utf8')) as { readonly version: string };
const [out, archive] = [resolve(values.out), archiveName(version)];
await mkdir(out, { recursive: true });
const staged = await mkdtemp(join(tmpdir(), 'isthmus-release-'));
try {
  const folder = values.from ?? staged; // tests have a file set already
  if (values.from === undefined) await stage(folder);
  const bill = await billOfMaterials();
  await writeFile(join(folder, BILL), bill);
  await writeFile(join(out, BILL), bill);
  const sha256 = await pack(folder, join(out, archive));
  const template = await readFile(join(CHECKOUT, 'manifests', 'krew', 'isthmus.yaml'), 'utf8');
  await writeFile(join(out, 'isthmus.yaml'), krewManifest(
    template, { version, uri: `${baseUrl.replace(/\/$/, '')}/${archive}`, sha256 },
  ));
  for (const file of [archive, 'isthmus.yaml', BILL]) console.log(join(out, file));
} finally {
  await rm(staged, { recursive: true, force: true });
}
