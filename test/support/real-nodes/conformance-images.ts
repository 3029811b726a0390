// Images under the names that SIG Multicluster's conformance suite asks for, made of this machine's programs: its
// servers are shell scripts around socat, its client calls nc and nslookup.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { busyboxImage, makeImage } from '../../../sandbox/images/own-images.ts';
import { findProgram } from '../../../sandbox/real-nodes/machine-facts.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { placeProgram } from './machine-program.ts';

/** The Debian package of each program. */
const PACKAGES = {
  busybox: 'busybox-static', dash: 'dash', socat: 'socat', 'nc.openbsd': 'netcat-openbsd', nslookup: 'bind9-dnsutils',
} as const;

/** Programs of each image. The shell of busybox would take its own nc and nslookup, whatever PATH says. */
const IMAGES: Readonly<Record<string, readonly (readonly [name: keyof typeof PACKAGES, to: string])[]>> = {
  'docker.io/alpine/socat:1.7.4.4': [['socat', '/usr/bin/socat']],
  'docker.io/nicolaka/netshoot:v0.15': [
    ['dash', '/bin/sh'], ['nc.openbsd', '/usr/bin/nc'], ['nslookup', '/usr/bin/nslookup'],
  ],
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
        for (const [name, to] of programs) {
          await rm(join(folder, to), { force: true });
          await placeProgram(folder, await findNeeded(name), to);
        }
      },
    }, join(dir, 'images')));
  }
}
