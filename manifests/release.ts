// `npm run release -- --base-url URL [--base-image LAYOUT]`: writes the files of a release into a folder. These are the
// archive of the kubectl plugin (same contents as the image), its krew manifest with the archive's checksum, the SBOM,
// the chart, the Headlamp plugin with its entry for the catalogue, and with a base image the image. It publishes
// nothing.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import {
  artifactHubPackage, HEADLAMP_PLUGIN, headlampArchiveName, headlampPackage, headlampScript,
} from './headlamp-plugin.ts';
import { archiveName, krewManifest } from './krew.ts';
import { writeChart } from './oci-chart.ts';
import { containerConfig, writeImage } from './oci-image.ts';
import { OciLayoutWriter } from './oci-layout.ts';

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
 * here; its random serial number and the time are left out, so that the same files give the same release.
 */
async function billOfMaterials(): Promise<string> {
  const { stdout } = await run(
    'npm', ['sbom', '--omit=dev', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'],
    { cwd: CHECKOUT, maxBuffer: 64 * 1024 * 1024 },
  );
  const { serialNumber: _serialNumber, metadata: { timestamp: _timestamp, ...metadata }, ...bill } =
    JSON.parse(stdout) as {
      readonly serialNumber: string; readonly metadata: { readonly timestamp: string; readonly component: object };
    };
  const component = { ...metadata.component, name: 'isthmus' };
  return `${JSON.stringify({ ...bill, metadata: { ...metadata, component } }, undefined, 2)}\n`;
}

/** Packs a folder; gives the sum of the archive. */
async function pack(folder: string, archive: string): Promise<string> {
  const bytes = await archiveOf(folder, '.');
  await writeFile(archive, bytes);
  return createHash('sha256').update(bytes).digest('hex');
}

/** A gzipped archive of a folder, under another name in it; the same for the same files. */
async function archiveOf(folder: string, name: string): Promise<Buffer> {
  const { stdout } = await run('tar', [
    '-c', '--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go+r,go-w',
    '--transform', `flags=r;s,^\\.,${name},`, '-C', folder, '.',
  ], { encoding: 'buffer', maxBuffer: 2 ** 30 });
  return gzipSync(stdout, { level: 9 });
}

/** Writes the chart as `helm package` does, and as an OCI layout. */
async function packChart(out: string, version: string): Promise<readonly string[]> {
  const folder = join(CHECKOUT, 'manifests', 'helm', 'isthmus');
  const [file, layout] = [join(out, `isthmus-${version}.tgz`), join(out, `chart-${version}.oci`)];
  const archive = await archiveOf(folder, 'isthmus');
  await writeFile(file, archive);
  const writer = new OciLayoutWriter(layout);
  await writer.finish(await writeChart(writer, await readFile(join(folder, 'Chart.yaml'), 'utf8'), archive), version);
  return [file, layout];
}

/** When the release was made, in RFC 3339: that of the last commit, so that the same files give the same release. */
async function commitTime(): Promise<string> {
  try {
    return (await run('git', ['log', '-1', '--format=%cI'], { cwd: CHECKOUT })).stdout.trim();
  } catch {
    throw new Error('The time of the last commit is not known here. Say with --created-at when the release was made.');
  }
}

/**
 * Writes the archive of the Headlamp plugin, and a folder for its catalogue: the metadata, with README and licence as
 * Artifact Hub wants them beside it.
 */
async function packHeadlampPlugin(
  out: string,
  { version, at, createdAt }: { readonly version: string; readonly at: string; readonly createdAt: string },
): Promise<readonly string[]> {
  const [source, entry, archive] =
    [join(CHECKOUT, 'manifests', 'headlamp'), join(out, 'headlamp'), headlampArchiveName(version)];
  const texts = [join(source, 'README.md'), join(CHECKOUT, 'LICENSE')];
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-headlamp-'));
  try {
    const script = headlampScript(version, (path) => readFileSync(join(CHECKOUT, 'build', path), 'utf8'));
    await writeFile(join(folder, 'main.js'), script);
    await writeFile(join(folder, 'package.json'), headlampPackage(version));
    await mkdir(entry, { recursive: true });
    for (const to of [folder, entry]) for (const text of texts) await cp(text, join(to, basename(text)));
    const bytes = await archiveOf(folder, HEADLAMP_PLUGIN);
    await writeFile(join(out, archive), bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const template = await readFile(join(source, 'artifacthub-pkg.yml'), 'utf8');
    const metadata = artifactHubPackage(template, { version, url: `${at}/${archive}`, sha256, createdAt });
    await writeFile(join(entry, 'artifacthub-pkg.yml'), metadata);
    return [join(out, archive), entry];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes the image as an OCI layout; gives the folder and the digest by which the chart's values name it. */
async function packImage(
  out: string, version: string, folder: string, base: string,
): Promise<{ readonly layout: string; readonly digest: string }> {
  const layout = join(out, `image-${version}.oci`);
  const config = containerConfig(await readFile(join(CHECKOUT, 'Dockerfile'), 'utf8'));
  const writer = new OciLayoutWriter(layout);
  const image = await writeImage(writer, base, await archiveOf(folder, 'isthmus'), config);
  await writer.finish(image, version);
  return { layout, digest: image.digest };
}

const { values } = parseArgs({
  options: {
    'base-url': { type: 'string' }, out: { type: 'string', default: 'release' }, from: { type: 'string' },
    'base-image': { type: 'string' }, 'created-at': { type: 'string' },
  },
});
const baseUrl = values['base-url'];
if (baseUrl === undefined) {
  throw new Error('Say with --base-url where the archive will be, https://example.com/releases/v1.2.3 say.');
}

const { version } = JSON.parse(await readFile(join(CHECKOUT, 'package.json'), 'utf8')) as { readonly version: string };
const [out, archive, at] = [resolve(values.out), archiveName(version), baseUrl.replace(/\/$/, '')];
const createdAt = values['created-at'] ?? await commitTime();
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
    template, { version, uri: `${at}/${archive}`, sha256 },
  ));
  const written = [...await packChart(out, version), ...await packHeadlampPlugin(out, { version, at, createdAt })];
  for (const file of [archive, 'isthmus.yaml', BILL]) console.log(join(out, file));
  for (const path of written) console.log(path);
  const base = values['base-image'];
  if (base === undefined) {
    console.log(
      'No image was written: give with --base-image the OCI layout of a Node.js image (docs/image-registries.md).',
    );
  } else {
    const { layout, digest } = await packImage(out, version, folder, resolve(base));
    console.log(`${layout}\nimage.digest=${digest}`);
  }
} finally {
  await rm(staged, { recursive: true, force: true });
}
