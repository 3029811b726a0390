// Debian's chromium, driven by playwright-core. Nothing of it reaches for the network, and its profile is new.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const PATH = '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox', '--disable-lcd-text', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-default-apps', '--disable-domain-reliability',
];

/**
 * Starts it with these flags, too; as root it is installed first when it is missing. Throws with what to install
 * otherwise.
 */
export async function startChromium(flags: readonly string[] = []): Promise<Browser> {
  if (!existsSync(PATH) && process.getuid?.() === 0) {
    spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore' });
    spawnSync('apt-get', ['install', '-y', '-qq', 'chromium'], { stdio: 'ignore' });
  }
  if (!existsSync(PATH)) throw new Error(`There is no ${PATH}. Install it with "apt-get install chromium".`);
  return chromium.launch({ executablePath: PATH, headless: true, args: [...FLAGS, ...flags] });
}
