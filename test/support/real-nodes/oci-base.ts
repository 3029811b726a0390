// A base image of two platforms, an attestation and an index in an index, as registry tools copy them.
import { gzipSync } from 'node:zlib';
import { digestOf, MEDIA_TYPES, OciLayoutWriter, type Descriptor } from '../../../manifests/oci-layout.ts';

const LAYER = gzipSync(Buffer.from('the system'));

/** Media types as registries served them before the OCI's. */
export const DOCKER_TYPES = {
  index: 'application/vnd.docker.distribution.manifest.list.v2+json',
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
} as const;

type MediaTypes = Readonly<Record<keyof typeof MEDIA_TYPES, string>>;

async function platformImage(out: OciLayoutWriter, types: MediaTypes, architecture: string): Promise<Descriptor> {
  const config = await out.json(types.config, {
    architecture, os: 'linux', created: '2026-01-02T03:04:05Z', config: { Env: ['PATH=/bin'], Cmd: ['sh'] },
    rootfs: { type: 'layers', diff_ids: [digestOf(Buffer.from('the system'))] }, history: [{ created_by: 'them' }],
  });
  const manifest = await out.json(types.manifest, {
    schemaVersion: 2, mediaType: types.manifest, config, layers: [await out.blob(types.layer, LAYER)],
  });
  return { ...manifest, platform: { architecture, os: 'linux' } };
}

/** Writes it into a folder. */
export async function writeBaseImage(
  folder: string, architectures: readonly string[] = ['amd64', 'arm64'], types: MediaTypes = MEDIA_TYPES,
): Promise<void> {
  const out = new OciLayoutWriter(folder);
  const manifests: Descriptor[] = [];
  for (const architecture of architectures) manifests.push(await platformImage(out, types, architecture));
  const attestation = await out.json(types.manifest, {
    schemaVersion: 2, mediaType: types.manifest, config: await out.json(types.config, {}), layers: [],
  });
  manifests.push({ ...attestation, platform: { architecture: 'unknown', os: 'unknown' } });
  await out.finish(await out.json(types.index, { schemaVersion: 2, mediaType: types.index, manifests }), 'base');
}
