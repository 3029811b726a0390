// A base image of two platforms, an attestation and an index in an index, as registry tools copy them.
import { gzipSync } from 'node:zlib';
import { digestOf, MEDIA_TYPES, OciLayoutWriter, type Descriptor } from '../../manifests/oci-layout.ts';

const LAYER = gzipSync(Buffer.from('the system'));

async function platformImage(out: OciLayoutWriter, architecture: string): Promise<Descriptor> {
  const config = await out.json(MEDIA_TYPES.config, {
    architecture, os: 'linux', created: '2026-01-02T03:04:05Z', config: { Env: ['PATH=/bin'], Cmd: ['sh'] },
    rootfs: { type: 'layers', diff_ids: [digestOf(Buffer.from('the system'))] }, history: [{ created_by: 'them' }],
  });
  const manifest = await out.json(MEDIA_TYPES.manifest, {
    schemaVersion: 2, mediaType: MEDIA_TYPES.manifest, config, layers: [await out.blob(MEDIA_TYPES.layer, LAYER)],
  });
  return { ...manifest, platform: { architecture, os: 'linux' } };
}

/** Writes it into a folder. */
export async function writeBaseImage(
  folder: string, architectures: readonly string[] = ['amd64', 'arm64'],
): Promise<void> {
  const out = new OciLayoutWriter(folder);
  const manifests: Descriptor[] = [];
  for (const architecture of architectures) manifests.push(await platformImage(out, architecture));
  const attestation = await out.json(MEDIA_TYPES.manifest, { schemaVersion: 2, layers: [] });
  manifests.push({ ...attestation, platform: { architecture: 'unknown', os: 'unknown' } });
  await out.finish(await out.json(MEDIA_TYPES.index, { schemaVersion: 2, manifests }), 'base');
}
