// The files of a release as `npm run release` writes them, from the image's file set: the bill of materials, and the
// kubectl plugin installed in the way that krew installs it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { environment } from '../../process/config.ts';
import { version } from '../../process/version.ts';
import { ensurePackagingTools } from '../../sandbox/build/packaging-tools.ts';
import { makeImageFiles } from '../support/image-files.ts';
import { brokenKrewRules, type KrewManifest } from '../support/krew.ts';

const run = promisify(execFile);
const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));

/** A CycloneDX bill as far as tests look at it (cyclonedx.org, 1.5). */
interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string; readonly type: string } };
  readonly components: readonly {
    readonly name: string; readonly version: string; readonly purl: string;
    readonly licenses?: readonly { readonly license: { readonly id: string } }[]
  }[];
}

/** Licences that code of this licence may be given away with. */
const LICENCES = new Set(
  ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'PSF-2.0', 'Unlicense'],
);

let folder: string;
let out: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-release-test-'));
  const [from, written] = [join(folder, 'files'), join(folder, 'out')];
  await makeImageFiles(from);
  await run(process.execPath, [
    join(CHECKOUT, 'build', 'manifests', 'release.js'), '--base-url', 'https://example.com/releases/', '--out', written,
    '--from', from,
  ]);
  out = written;
}, { timeout: 200_000 });
after(() => rm(folder, { recursive: true, force: true }));

describe('the bill of materials', () => {
  let bill: Bill;
  before(async () => { bill = JSON.parse(await readFile(join(out, 'sbom.cdx.json'), 'utf8')) as Bill; });

  it('is one of this version', () => {
    assert.deepEqual([bill.bomFormat, bill.metadata.component], [
      'CycloneDX', { ...bill.metadata.component, name: 'isthmus', version: version(), type: 'application' },
    ]);
  });

  it('names every package that runs, and no other', async () => {
    const { packages } = JSON.parse(await readFile(join(CHECKOUT, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: true }>>
    };
    const runs = Object.entries(packages).flatMap(([path, { version: locked, dev }]) => (
      path === '' || dev === true ? [] : [`${path.split('node_modules/').at(-1)}@${locked}`]
    ));
    // Types that a package asks for where there is TypeScript are locked, and npm leaves them out.
    const typesOnly = /^(@types\/|undici-types@)/;
    assert.deepEqual(
      bill.components.map((one) => `${one.name}@${one.version}`).filter((name) => !typesOnly.test(name)).toSorted(),
      [...new Set(runs)].filter((name) => !typesOnly.test(name)).toSorted(),
    );
    assert.ok(bill.components.length > 100);
  });

  it('names for each of them where it is from and its licence, which goes with ours', () => {
    const missing = bill.components.filter(
      ({ purl, licenses = [] }) => !purl.startsWith('pkg:npm/') || licenses.length === 0 || !licenses
        .every(({ license }) => LICENCES.has(license.id)),
    );
    assert.deepEqual(missing, []);
  });

  it('lies in the archive, too', async () => {
    const { stdout } = await run(
      'tar', ['-xzOf', join(out, `isthmus-v${version()}.tar.gz`), './sbom.cdx.json'], { maxBuffer: 16 * 1024 * 1024 },
    );
    assert.deepEqual(JSON.parse(stdout), bill);
  });
});

describe('the plugin of kubectl', () => {
  let manifest: KrewManifest;
  let archive: string;
  before(async () => {
    manifest = parse(await readFile(join(out, 'isthmus.yaml'), 'utf8')) as KrewManifest;
    archive = join(out, `isthmus-v${version()}.tar.gz`);
  });

  it('has a manifest that krew takes, with the sum of the archive beside it', async () => {
    assert.deepEqual(brokenKrewRules('isthmus', manifest), []);
    const sha256 = createHash('sha256').update(await readFile(archive)).digest('hex');
    for (const platform of manifest.spec.platforms) assert.deepEqual(
      [platform.uri, platform.sha256], [`https://example.com/releases/isthmus-v${version()}.tar.gz`, sha256],
    );
  });

  // krew unpacks the archive into a folder of the version, and links `kubectl-NAME` in a folder on the PATH to the
  // program.
  it('runs as `kubectl isthmus` once it is installed', { timeout: 60_000 }, async () => {
    const [store, onPath] = [join(folder, 'store', 'isthmus', manifest.spec.version ?? ''), join(folder, 'bin')];
    for (const path of [store, onPath]) await mkdir(path, { recursive: true });
    await run('tar', ['-xzf', archive, '-C', store]);
    await symlink(join(store, manifest.spec.platforms[0]?.bin ?? ''), join(onPath, 'kubectl-isthmus'));
    const { kubectl: [program, tool] } =
      await ensurePackagingTools(environment(), () => undefined, AbortSignal.timeout(300_000));
    const env = { PATH: [onPath, dirname(process.execPath), '/usr/bin', '/bin'].join(':'), HOME: folder };
    const { stdout } = await run(program, [tool, 'isthmus', 'version'], { cwd: folder, env });
    assert.equal(stdout.trim(), version());
  });
});
