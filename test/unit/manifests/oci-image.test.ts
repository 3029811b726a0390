import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { containerConfig, writeImage } from '../../../manifests/oci-image.ts';
import {
  digestOf, MEDIA_TYPES, OciLayoutWriter, readBlob, readIndex, type Descriptor,
} from '../../../manifests/oci-layout.ts';
import { DOCKER_TYPES, writeBaseImage } from '../../support/real-nodes/oci-base.ts';

const DOCKERFILE = fileURLToPath(new URL('../../../../Dockerfile', import.meta.url));
const LAYER = gzipSync(Buffer.from('our files'));
const CONFIG = { User: '65532:65532', Env: ['NODE_ENV=production'], Cmd: ['--help'] };

describe('settings of a Dockerfile', () => {
  it('are those of its last stage', async () => assert.deepEqual(containerConfig(await readFile(DOCKERFILE, 'utf8')), {
    Labels: { 'org.opencontainers.image.title': 'isthmus', 'org.opencontainers.image.licenses': 'Apache-2.0' },
    Env: ['NODE_ENV=production'], WorkingDir: '/isthmus', User: '65532:65532',
    ExposedPorts: { '8080/tcp': {}, '8443/tcp': {}, '9443/tcp': {} },
    Entrypoint: ['node', 'build/cli/main.js'], Cmd: ['--help'],
  }));
  it('of an earlier stage do not count, continued lines do', () => assert.deepEqual(
    containerConfig('FROM a\nUSER root\nFROM b\n# more\nENV A=1 \\\n  B=2\n'), { Env: ['A=1', 'B=2'] },
  ));
  it('that cannot be repeated without an engine are refused', () => assert.throws(
    () => containerConfig('FROM a\nRUN make\n'), /has RUN in its last stage/,
  ));
});

describe('an image without an engine', () => {
  let folder: string;
  let base: string;
  const json = async (layout: string, descriptor: Descriptor) =>
    JSON.parse((await readBlob(layout, descriptor)).toString()) as Record<string, never>;
  const write = async (name: string) => {
    const out = new OciLayoutWriter(join(folder, name));
    const image = await writeImage(out, base, LAYER, CONFIG);
    await out.finish(image, 'v1');
    return { image, layout: join(folder, name) };
  };

  /** Changes what the index of the base image names. */
  const named = async (change: (manifests: readonly Descriptor[]) => readonly Descriptor[]): Promise<void> =>
    writeFile(join(base, 'index.json'), JSON.stringify({ manifests: change(await readIndex(base)) }));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'isthmus-oci-'));
    base = join(folder, 'base');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('has our layer on top of those of the base image, for each of its platforms', async () => {
    await writeBaseImage(base);
    const { image, layout } = await write('out');
    const { manifests } = await json(layout, image) as unknown as { readonly manifests: readonly Descriptor[] };
    assert.deepEqual(manifests.map(({ platform }) => platform?.architecture), ['amd64', 'arm64']);
    for (const one of manifests) {
      const { config, layers } = await json(layout, one) as unknown as {
        readonly config: Descriptor; readonly layers: readonly Descriptor[]
      };
      assert.equal(layers.length, 2);
      assert.deepEqual(await readBlob(layout, layers[1]!), LAYER);
      const written = await json(layout, config) as unknown as Record<string, unknown>;
      assert.deepEqual(written, {
        architecture: one.platform?.architecture, os: 'linux', created: '2026-01-02T03:04:05Z',
        config: { Env: ['PATH=/bin', 'NODE_ENV=production'], Cmd: ['--help'], User: '65532:65532' },
        rootfs: {
          type: 'layers', diff_ids: [digestOf(Buffer.from('the system')), digestOf(Buffer.from('our files'))],
        },
        history: [{ created_by: 'them' }, { created: '2026-01-02T03:04:05Z', created_by: 'npm run release' }],
      });
    }
  });

  it('is one manifest where the base image has one platform', async () => {
    await writeBaseImage(base, ['amd64']);
    const { image } = await write('out');
    assert.equal(image.mediaType, MEDIA_TYPES.manifest);
  });

  it('has the same digest for the same inputs, and the name by which tools ask for it', async () => {
    await writeBaseImage(base);
    const [one, other] = [await write('one'), await write('other')];
    assert.equal(one.image.digest, other.image.digest);
    const [named] = await readIndex(one.layout);
    assert.deepEqual([named?.digest, named?.annotations], [
      one.image.digest, { 'org.opencontainers.image.ref.name': 'v1' },
    ]);
  });

  it('is not made of a damaged base image', async () => {
    await writeBaseImage(base, ['amd64']);
    const [index] = await readIndex(base);
    await writeFile(join(base, 'blobs', 'sha256', index!.digest.slice('sha256:'.length)), '{"manifests":[]}');
    await assert.rejects(write('out'), /is damaged/);
  });

  it('is the same where the base image has the media types of Docker', async () => {
    await writeBaseImage(base);
    const { image } = await write('out');
    await rm(base, { recursive: true });
    await writeBaseImage(base, ['amd64', 'arm64'], DOCKER_TYPES);
    assert.equal((await write('other')).image.digest, image.digest);
  });

  it('has a platform once where the base image was copied twice', async () => {
    await writeBaseImage(base, ['amd64']);
    await named((manifests) => [...manifests, ...manifests]);
    assert.equal((await write('out')).image.mediaType, MEDIA_TYPES.manifest);
  });

  it('is not made of two base images for one platform', async () => {
    await writeBaseImage(base, ['amd64']);
    const [first] = await readIndex(base);
    const { manifests: [amd64] } = await json(base, first!) as unknown as { readonly manifests: readonly Descriptor[] };
    const later = { ...await json(base, amd64!), annotations: { version: 'a later one' } };
    const other = await new OciLayoutWriter(base).json(MEDIA_TYPES.manifest, later);
    await named(() => [first!, other]);
    await assert.rejects(write('out'), /several images for linux\/amd64; remove the folder/);
  });

  it('needs a base image, and says how to get one', async () => {
    await new OciLayoutWriter(base).finish(
      { mediaType: 'application/vnd.example.other+json', digest: digestOf(LAYER), size: 1 }, 'base',
    );
    await assert.rejects(write('out'), /crane pull --format=oci/);
  });

  it('needs a base image that is there', async () => assert.rejects(write('out'), /is no OCI layout/));
});

describe('a blob', () => {
  it('is not read by a name that leaves the layout', async () => assert.rejects(
    readBlob('/nowhere', { mediaType: 'x', digest: 'sha256:../../etc/passwd', size: 1 }), /is not a SHA-256 digest/,
  ));
});
