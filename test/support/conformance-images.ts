// Images under the names that SIG Multicluster's conformance suite asks for, made of this machine's programs: its
// servers are shell scripts around socat, its client calls nc and nslookup.
import { join } from 'node:path';
import { busyboxImage, makeImage } from '../../sandbox/images/own-images.ts';
import { findProgram } from '../../sandbox/real-nodes/machine-facts.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { placeProgram } from './machine-program.ts';

/** The Debian package of each program. */
const PACKAGES = {
  busybox: 'busybox-static', socat: 'socat', 'nc.openbsd': 'netcat-openbsd', nslookup: 'bind9-dnsutils',
} as const;

const IMAGES: Readonly<Record<string, readonly (readonly [keyof typeof PACKAGES, string])[]>> = {
  'docker.io/alpine/socat:1.7.4.4': [['socat', 'socat']],
  'docker.io/nicolaka/netshoot:v0.15': [['nc.openbsd', 'nc'], ['nslookup', 'nslookup']],
};

async function findNeeded(name: keyof typeof PACKAGES): Promise<string> {
  const path = await findProgram(name);
  if (path === undefined) throw new Error(`${name} is missing: apt-get install ${PACKAGES[name]}`);
  return path;
}

/** Adds the images; throws where a program is missing, with what brings it. */
export async function addConformanceImages({ dir, registry }: Sandbox): Promise<void> {
  const busybox = await findNeeded('busybox');
  for (const [reference, programs] of Object.entries(IMAGES)) {
    const shell = busyboxImage(reference, busybox, ['sh']);
    registry?.add(await makeImage({
      ...shell, config: { ...shell.config, Env: ['PATH=/usr/bin:/bin'] },
      fill: async (folder) => {
        await shell.fill(folder);
        for (const [name, called] of programs) {
          await placeProgram(folder, await findNeeded(name), `/usr/bin/${called}`);
        }
      },
    }, join(dir, 'images')));
  }
}
