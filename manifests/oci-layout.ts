// OCI image layouts: a folder that registry tools copy from (image-spec v1.1, image-layout.md). Contents are blobs
// named by their digests; `index.json` says which of them are meant.
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Media types of image-spec v1.1. */
export const MEDIA_TYPES = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

/** What a blob is and where (image-spec v1.1, descriptor.md). */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
  readonly platform?: { readonly architecture: string; readonly os: string; readonly variant?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** `sha256:` and the sum of the bytes. */
export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** A layout that is being written. */
export class OciLayoutWriter {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes a blob. */
  async blob(mediaType: string, bytes: Buffer): Promise<Descriptor> {
    const digest = digestOf(bytes);
    await mkdir(join(this.#folder, 'blobs', 'sha256'), { recursive: true });
    await writeFile(blobPath(this.#folder, digest), bytes);
    return { mediaType, digest, size: bytes.length };
  }

  /** Writes a blob of JSON. */
  async json(mediaType: string, value: object): Promise<Descriptor> {
    return this.blob(mediaType, Buffer.from(JSON.stringify(value)));
  }

  /** Ends the layout: what it holds, under the name by which tools ask for it, a tag usually. */
  async finish(content: Descriptor, name: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const annotations = { ...content.annotations, 'org.opencontainers.image.ref.name': name };
    const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [{ ...content, annotations }] };
    await writeFile(join(this.#folder, 'index.json'), JSON.stringify(index));
    await writeFile(join(this.#folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  }
}

/**
 * The bytes of a blob of a layout.
 * @throws Error when they are not those that the digest says.
 */
export async function readBlob(layout: string, { digest }: Descriptor): Promise<Buffer> {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`"${digest}" is not a SHA-256 digest`);
  const bytes = await readFile(blobPath(layout, digest));
  if (digestOf(bytes) !== digest) throw new Error(`${blobPath(layout, digest)} is damaged: its sum is another one`);
  return bytes;
}

/** The descriptors in `index.json` of a layout. Throws for a folder that is none. */
export async function readIndex(layout: string): Promise<readonly Descriptor[]> {
  const text = await readFile(join(layout, 'index.json'), 'utf8').catch((error: unknown) => {
    throw new Error(`${layout} is no OCI layout: it has no index.json`, { cause: error });
  });
  const { manifests } = JSON.parse(text) as { readonly manifests?: readonly Descriptor[] };
  return manifests ?? [];
}

function blobPath(layout: string, digest: string): string {
  return join(layout, 'blobs', 'sha256', digest.slice('sha256:'.length));
}
