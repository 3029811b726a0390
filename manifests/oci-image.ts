// The image without a container engine: the base image's layers, one layer of Isthmus on top, and the settings of the
// Dockerfile's last stage. Packages are plain JavaScript, so one layer serves every platform of the base image.
import { gunzipSync } from 'node:zlib';
import { digestOf, MEDIA_TYPES, readBlob, readIndex, type Descriptor, type OciLayoutWriter } from './oci-layout.ts';

/** Media types of Docker's registry API that mean the same as the OCI's; many mirrors still serve them. */
const DOCKER = {
  index: 'application/vnd.docker.distribution.manifest.list.v2+json',
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
} as const;
const isIndex = ({ mediaType }: Descriptor): boolean => mediaType === MEDIA_TYPES.index || mediaType === DOCKER.index;
const isManifest = ({ mediaType }: Descriptor): boolean =>
  mediaType === MEDIA_TYPES.manifest || mediaType === DOCKER.manifest;

/** What a container is started with (image-spec v1.1, config.md). */
export interface ContainerConfig {
  readonly User?: string;
  readonly WorkingDir?: string;
  /** `NAME=VALUE`. */
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Labels?: Readonly<Record<string, string>>;
}

interface ImageConfig {
  readonly created?: string;
  readonly config?: ContainerConfig;
  readonly rootfs: { readonly type: 'layers'; readonly diff_ids: readonly string[] };
  readonly history?: readonly object[];
}

interface ImageManifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/**
 * Settings that the last stage of a Dockerfile adds to its base image. Throws for an instruction that it cannot
 * read.
 */
export function containerConfig(dockerfile: string): ContainerConfig {
  const lines = dockerfile.replaceAll('\\\n', ' ').split('\n').map((line) => line.trim());
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')) + 1);
  return stage.reduce<ContainerConfig>((config, line) => {
    const [, instruction = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (line === '' || line.startsWith('#') || instruction === 'COPY') return config;
    return { ...config, ...toSetting(instruction, rest, config) };
  }, {});
}

function toSetting(instruction: string, rest: string, { Env = [], Labels = {} }: ContainerConfig): ContainerConfig {
  switch (instruction) {
    case 'USER': return { User: rest };
    case 'WORKDIR': return { WorkingDir: rest };
    case 'ENTRYPOINT': return { Entrypoint: JSON.parse(rest) as readonly string[] };
    case 'CMD': return { Cmd: JSON.parse(rest) as readonly string[] };
    case 'EXPOSE': return { ExposedPorts: Object.fromEntries(rest.split(/\s+/).map((port) => [`${port}/tcp`, {}])) };
    case 'ENV': return { Env: [...Env, ...rest.split(/\s+/)] };
    case 'LABEL': return { Labels: { ...Labels, ...Object.fromEntries(labelsOf(rest)) } };
    default: throw new Error(`the Dockerfile has ${instruction} in its last stage, which the release cannot repeat`);
  }
}

function labelsOf(text: string): readonly (readonly [string, string])[] {
  return [...text.matchAll(/([^\s=]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]);
}

/**
 * Writes the image into a layout, for each platform that the base image has; gives what to refer to it by.
 * @param base Folder of an OCI layout with the base image.
 * @param layer A gzipped tar archive.
 * @throws Error when the base has no image, or several for one platform.
 */
export async function writeImage(
  out: OciLayoutWriter, base: string, layer: Buffer, config: ContainerConfig,
): Promise<Descriptor> {
  const ours = { layer: await out.blob(MEDIA_TYPES.layer, layer), diffId: digestOf(gunzipSync(layer)), config };
  const found = await platformsOf(base, await readIndex(base));
  // each image once: tools add to a layout what it has already
  const images = [...new Map(found.map((image) => [image.digest, image])).values()];
  if (images.length === 0) throw new Error(
    `${base} has no container image; copy one with "crane pull --format=oci IMAGE DIR"`,
  );
  const written: Descriptor[] = [];
  for (const image of images) written.push(await writePlatform(out, base, image, ours));
  const platforms = written.map(({ platform }) => nameOf(platform));
  const twice = platforms.find((name, index) => platforms.indexOf(name) < index);
  if (twice !== undefined) throw new Error(
    `${base} has several images for ${twice}; remove the folder and copy the base image again`,
  );
  const [first] = written;
  if (written.length === 1 && first !== undefined) return first;
  return out.json(MEDIA_TYPES.index, { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: written });
}

/** Images of an index, and of indexes in it; without attestations, whose platform is unknown. */
async function platformsOf(base: string, found: readonly Descriptor[]): Promise<readonly Descriptor[]> {
  const inner = await Promise.all(found.map(async (one) => {
    if (isManifest(one)) return one.platform?.os === 'unknown' ? [] : [one];
    if (!isIndex(one)) return [];
    const { manifests } = await readJson<{ readonly manifests: readonly Descriptor[] }>(base, one);
    return platformsOf(base, manifests);
  }));
  return inner.flat();
}

/** `linux/arm64/v8`. */
function nameOf(platform: Descriptor['platform']): string {
  return [platform?.os, platform?.architecture, platform?.variant].filter((part) => part !== undefined).join('/');
}

async function writePlatform(out: OciLayoutWriter, base: string, image: Descriptor, ours: {
  readonly layer: Descriptor; readonly diffId: string; readonly config: ContainerConfig;
}): Promise<Descriptor> {
  const manifest = await readJson<ImageManifest>(base, image);
  const config = await readJson<ImageConfig & { readonly architecture: string; readonly os: string }>(
    base, manifest.config,
  );
  const below: Descriptor[] = [];
  for (const layer of manifest.layers) {
    const mediaType = layer.mediaType === DOCKER.layer ? MEDIA_TYPES.layer : layer.mediaType;
    below.push({ ...layer, ...await out.blob(mediaType, await readBlob(base, layer)) });
  }
  const written = await out.json(MEDIA_TYPES.config, withLayer(config, ours));
  const { platform = { architecture: config.architecture, os: config.os } } = image;
  const layers = [...below, ours.layer];
  const made = { schemaVersion: 2, mediaType: MEDIA_TYPES.manifest, config: written, layers };
  return { ...await out.json(MEDIA_TYPES.manifest, made), platform };
}

/** Dates are the base image's, so that the same inputs give the same digest. */
function withLayer(base: ImageConfig, { diffId, config }: {
  readonly diffId: string; readonly config: ContainerConfig;
}): ImageConfig {
  const { created, history = [] } = base;
  const dated = created === undefined ? {} : { created };
  return {
    ...base,
    config: { ...base.config, ...config, Env: [...(base.config?.Env ?? []), ...(config.Env ?? [])] },
    rootfs: { ...base.rootfs, diff_ids: [...base.rootfs.diff_ids, diffId] },
    history: [...history, { ...dated, created_by: 'npm run release' }],
  };
}

async function readJson<T>(layout: string, descriptor: Descriptor): Promise<T> {
  return JSON.parse((await readBlob(layout, descriptor)).toString('utf8')) as T;
}
