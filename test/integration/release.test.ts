// The files of a release as `npm run release` writes them, from the image's file set: the bill of materials, and the
// kubectl plugin installed in the way that krew installs it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { headlampScript } from '../../manifests/headlamp-plugin.ts';
import { environment } from '../../process/config.ts';
import { version } from '../../process/version.ts';
import { ensurePackagingTools } from '../../sandbox/build/packaging-tools.ts';
import { MEDIA_TYPES, readBlob, readIndex, type Descriptor } from '../../manifests/oci-layout.ts';
import { compiledModule } from '../support/rules/compiled-module.ts';
import { makeImageFiles } from '../support/real-nodes/image-files.ts';
import { writeBaseImage } from '../support/real-nodes/oci-base.ts';
import { brokenKrewRules, type KrewManifest } from '../support/peers/krew.ts';

const run = promisify(execFile);
const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));

const CREATED_AT = '2026-01-02T03:04:05Z';

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
let told: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-release-test-'));
  const [from, written, base] = [join(folder, 'files'), join(folder, 'out'), join(folder, 'base')];
  await makeImageFiles(from);
  await writeBaseImage(base);
  const { stdout } = await run(process.execPath, [
    join(CHECKOUT, 'build', 'manifests', 'release.js'), '--base-url', 'https://example.com/releases/', '--out', written,
    '--from', from, '--base-image', base, '--created-at', CREATED_AT,
  ]);
  told = stdout;
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

describe('the plugin of Headlamp', () => {
  const archive = `isthmus-headlamp-${version()}.tar.gz`;

  // Headlamp unpacks the archive into its folder of plugins, and takes the names of files from there.
  it('has a folder with the script that Headlamp runs, its package, a README and the licence', async () => {
    const plugins = join(folder, 'plugins');
    await mkdir(plugins);
    await run('tar', ['-xzf', join(out, archive), '-C', plugins]);
    const files = await readdir(plugins, { recursive: true });
    assert.deepEqual(files.toSorted(), [
      'isthmus', ...['LICENSE', 'README.md', 'main.js', 'package.json'].map((name) => join('isthmus', name)),
    ]);
    const script = await readFile(join(plugins, 'isthmus', 'main.js'), 'utf8');
    assert.equal(script, headlampScript(version(), compiledModule));
    await run(process.execPath, ['--check', join(plugins, 'isthmus', 'main.js')]);
  });

  it('has an entry for its catalogue, with the sum of the archive, and README and licence beside it', async () => {
    const { createdAt, annotations } = parse(await readFile(join(out, 'headlamp', 'artifacthub-pkg.yml'), 'utf8')) as {
      readonly createdAt: string; readonly annotations: Readonly<Record<string, string>>
    };
    const sha256 = createHash('sha256').update(await readFile(join(out, archive))).digest('hex');
    assert.deepEqual([
      createdAt, annotations['headlamp/plugin/archive-url'], annotations['headlamp/plugin/archive-checksum'],
    ], [CREATED_AT, `https://example.com/releases/${archive}`, `SHA256:${sha256}`]);
    const files = await readdir(join(out, 'headlamp'));
    assert.deepEqual(files.toSorted(), ['LICENSE', 'README.md', 'artifacthub-pkg.yml']);
  });
});

describe('the chart of a release', () => {
  it('is an archive that Helm renders, with a private image by digest', { timeout: 60_000 }, async () => {
    const { helm: [program, tool] } =
      await ensurePackagingTools(environment(), () => undefined, AbortSignal.timeout(300_000));
    const digest = /image\.digest=(sha256:[0-9a-f]{64})/.exec(told)?.[1] ?? '';
    const values = [
      '--set', 'image.repository=registry.example.com/platform/isthmus', '--set', `image.digest=${digest}`,
      '--set', 'imagePullSecrets[0].name=registry',
    ];
    const { stdout } = await run(
      program, [
        tool, 'template', 'isthmus', join(out, `isthmus-${version()}.tgz`), ...values,
      ], { maxBuffer: 64 * 1024 * 1024 },
    );
    const images = new Set([...stdout.matchAll(/^ +(?:- )?image: "?([^"\n]+)"?$/gm)].map(([, image]) => image));
    assert.deepEqual([...images], [`registry.example.com/platform/isthmus@${digest}`]);
    assert.match(stdout, /imagePullSecrets:\n +- name: registry/);
  });

  it('is an OCI artifact of the same archive', async () => {
    const layout = join(out, `chart-${version()}.oci`);
    const [named] = await readIndex(layout);
    assert.equal(named?.annotations?.['org.opencontainers.image.ref.name'], version());
    const { layers } = JSON.parse((await readBlob(layout, named)).toString()) as {
      readonly layers: readonly Descriptor[]
    };
    assert.deepEqual(await readBlob(layout, layers[0]!), await readFile(join(out, `isthmus-${version()}.tgz`)));
  });
});

describe('the image of a release', () => {
  it('has the files that the archive of the plugin has, below its working directory', async () => {
    const layout = join(out, `image-${version()}.oci`);
    const [named] = await readIndex(layout);
    assert.equal(named?.mediaType, MEDIA_TYPES.index);
    const { manifests } = JSON.parse((await readBlob(layout, named)).toString()) as {
      readonly manifests: readonly Descriptor[]
    };
    const { layers } = JSON.parse((await readBlob(layout, manifests[0]!)).toString()) as {
      readonly layers: readonly Descriptor[]
    };
    const layer = join(layout, 'blobs', 'sha256', layers[1]!.digest.slice('sha256:'.length));
    const list = async (archive: string) => {
      const { stdout } = await run('tar', ['-tzf', archive], { maxBuffer: 64 * 1024 * 1024 });
      return stdout.trim().split('\n').map((path) => path.replace(/^(?:\.|isthmus)\//, '')).toSorted();
    };
    assert.deepEqual(await list(layer), await list(join(out, `isthmus-v${version()}.tar.gz`)));
    const { stdout } = await run('tar', ['-xzOf', layer, 'isthmus/package.json']);
    assert.equal((JSON.parse(stdout) as { readonly name: string }).name, 'isthmus');
  });
});
