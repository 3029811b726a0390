// Images for real nodes with the content of the Dockerfiles, made of this checkout and of this machine's programs.
import { copyFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureWireguard } from '../../../pod-plane/wireguard/wireguard-program.ts';
import { environment } from '../../../process/config.ts';
import { containerConfig, type ContainerConfig } from '../../../manifests/oci-image.ts';
import { busyboxImage, makeImage } from '../../../sandbox/images/own-images.ts';
import { findProgram } from '../../../sandbox/real-nodes/machine-facts.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { makeImageFiles } from './image-files.ts';
import { placeProgram } from './machine-program.ts';
import { CHART } from '../peers/packaging.ts';

const CHECKOUT = dirname(dirname(dirname(CHART)));
const NODE = '/usr/local/bin/node';
const PATH = 'PATH=/usr/local/bin:/usr/sbin:/usr/bin';
const POD = new URL('../network/namespace-pod.js', import.meta.url);

/** Of the Dockerfile. */
export const ISTHMUS_IMAGE = { repository: 'registry.example.com/platform/isthmus', tag: 'checkout' };
/** Of Dockerfile.pod-plane. */
export const POD_PLANE_IMAGE = { repository: 'registry.example.com/platform/isthmus-pod-plane', tag: 'checkout' };
/** Servers and clients that a test asks by POST to port 8079, see namespace-pod.ts. */
export const PEER_IMAGE = 'registry.example.com/test/peer:1';
/** Of a container that does nothing for an hour. */
export const SLEEPER_IMAGE = 'registry.example.com/test/sleeper:1';
/** Where a pod of {@link PEER_IMAGE} is asked. */
export const PEER_PORT = 8_079;

async function isthmusConfig(): Promise<ContainerConfig> {
  const config = containerConfig(await readFile(join(CHECKOUT, 'Dockerfile'), 'utf8'));
  return { ...config, Env: [PATH, ...(config.Env ?? [])] };
}

/** Adds the image of this checkout on this machine's Node.js; with credentials it can be pulled with them alone. */
export async function addIsthmusImage(
  { dir, registry }: Sandbox,
  { repository, tag, credentials }: typeof ISTHMUS_IMAGE & { readonly credentials?: string } = ISTHMUS_IMAGE,
): Promise<void> {
  const config = await isthmusConfig();
  const image = await makeImage({
    reference: `${repository}:${tag}`, config,
    fill: async (folder) => {
      await makeImageFiles(join(folder, config.WorkingDir ?? '/'));
      await placeProgram(folder, process.execPath, NODE);
    },
  }, join(dir, 'images'));
  registry?.add({ ...image, ...(credentials !== undefined && { credentials }) });
}

/** Adds an image whose container sleeps. */
export async function addSleeperImage({ dir, registry }: Sandbox): Promise<void> {
  const busybox = await findProgram('busybox');
  if (busybox === undefined) throw new Error('real nodes need busybox');
  registry?.add(await makeImage(busyboxImage(SLEEPER_IMAGE, busybox, ['sleep', '3600']), join(dir, 'images')));
}

/** Adds the pod plane's image: the other one with WireGuard, `ip`, `bridge` and `nft`, as root. */
export async function addPodPlaneImage({ dir, registry }: Sandbox, signal: AbortSignal): Promise<void> {
  const wireguard = await ensureWireguard(environment(), () => undefined, signal);
  const config = { ...await isthmusConfig(), User: '0:0' };
  registry?.add(await makeImage({
    reference: `${POD_PLANE_IMAGE.repository}:${POD_PLANE_IMAGE.tag}`, config,
    fill: async (folder) => {
      await makeImageFiles(join(folder, config.WorkingDir ?? '/'));
      await placeProgram(folder, process.execPath, NODE);
      for (const name of ['ip', 'bridge', 'nft']) {
        const program = await findProgram(name);
        if (program === undefined) throw new Error(`${name} is not on this machine`);
        await placeProgram(folder, program, `/usr/sbin/${name}`);
      }
      await copyFile(wireguard, join(folder, 'isthmus', 'wireguard'));
    },
  }, join(dir, 'images')));
}

/** Adds the image of pods that tests ask. */
export async function addPeerImage({ dir, registry }: Sandbox): Promise<void> {
  registry?.add(await makeImage({
    reference: PEER_IMAGE, config: { Env: [PATH] },
    fill: async (folder) => {
      await placeProgram(folder, process.execPath, NODE);
      await copyFile(POD, join(folder, 'peer.mjs'));
    },
  }, join(dir, 'images')));
}
