// Container images made of what this machine has, without a container engine: a folder is filled, packed as the only
// layer, and named.
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ContainerConfig } from '../../manifests/oci-image.ts';
import { MEDIA_TYPES, OciLayoutWriter, type Descriptor } from '../../manifests/oci-layout.ts';
import { goPlatform } from '../../process/programs/go-toolchain.ts';

const run = promisify(execFile);
const LAYER = 'application/vnd.oci.image.layer.v1.tar';
const MEBIBYTE = 1024 * 1024;

/** How an image is made. */
export interface ImageRecipe {
  /** The name by which pods ask for it, with registry and tag. */
  readonly reference: string;
  readonly config: ContainerConfig;
  /** Puts the image's files into a folder. */
  readonly fill: (folder: string) => Promise<void>;
}

/** An image whose blobs were written. */
export interface OwnImage {
  readonly reference: string;
  readonly manifest: Descriptor;
}

/** A tar archive of a folder; the same for the same files. */
async function archiveOf(folder: string): Promise<Buffer> {
  const { stdout } = await run('tar', [
    '-c', '--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '-C', folder, '.',
  ], { encoding: 'buffer', maxBuffer: 1_024 * MEBIBYTE });
  return stdout;
}

/** Makes an image; its blobs go to the layout in `layout`. */
export async function makeImage({ reference, config, fill }: ImageRecipe, layout: string): Promise<OwnImage> {
  await mkdir(layout, { recursive: true });
  const folder = await mkdtemp(join(layout, 'filling-'));
  try {
    await fill(folder);
    const writer = new OciLayoutWriter(layout);
    const layer = await writer.blob(LAYER, await archiveOf(folder));
    const [os = '', architecture = ''] = goPlatform(process.platform, process.arch).split('/');
    const settings = { os, architecture, config, rootfs: { type: 'layers', diff_ids: [layer.digest] } };
    const described = await writer.json(MEDIA_TYPES.config, settings);
    const manifest = { schemaVersion: 2, mediaType: MEDIA_TYPES.manifest, config: described, layers: [layer] };
    return { reference, manifest: await writer.json(MEDIA_TYPES.manifest, manifest) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Fills a folder with busybox under the names of all its applets. */
async function fillWithBusybox(folder: string, busybox: string): Promise<void> {
  for (const name of ['bin', 'etc', 'tmp', 'root', 'home']) await mkdir(join(folder, name));
  await copyFile(busybox, join(folder, 'bin', 'busybox'));
  const { stdout } = await run(busybox, ['--list']);
  for (const applet of stdout.trim().split('\n')) {
    if (applet !== 'busybox') await symlink('busybox', join(folder, 'bin', applet));
  }
  const users = ['root:x:0:0:root:/root:/bin/sh', 'nobody:x:65534:65534:nobody:/home:/bin/sh'];
  await writeFile(join(folder, 'etc', 'passwd'), `${users.join('\n')}\n`);
  await writeFile(join(folder, 'etc', 'group'), 'root:x:0:\nnogroup:x:65534:\n');
}

/** An image of busybox with a command of its own. `busybox` is the path of a static one. */
export function busyboxImage(reference: string, busybox: string, command: readonly string[]): ImageRecipe {
  return {
    reference, config: { Env: ['PATH=/bin'], Cmd: command }, fill: (folder) => fillWithBusybox(folder, busybox),
  };
}

/** What holds the namespaces of a pod: it waits, reaps and ends when asked. */
export function pauseImageOf(reference: string, busybox: string): ImageRecipe {
  const script = "trap 'exit 0' TERM INT; while :; do sleep 86400 & wait; done";
  return busyboxImage(reference, busybox, ['sh', '-c', script]);
}

/** An image with one static program. */
export function programImage(reference: string, path: string, name: string): ImageRecipe {
  return { reference, config: { Entrypoint: [`/${name}`] }, fill: (folder) => copyFile(path, join(folder, name)) };
}

