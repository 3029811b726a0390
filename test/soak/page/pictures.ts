// `npm run soak -- pictures`: takes the pictures of docs/web-page.md from a sandbox with a source and three targets, in
// light and dark. They show what is there; names and times are those of the sandbox. The exit code is 1 where a picture
// is too large for a repository.
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { DEPLOYMENTS, NODES, PODS } from '../../../api/resource-types.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { startChromium } from '../../support/page/chromium.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld,
} from '../../support/worlds/isthmus-world.ts';
import { stillContext, takePicture } from '../../support/page/page-pictures.ts';
import { servePageFor, type Viewer } from '../../support/page/page-viewers.ts';

const FOLDER = fileURLToPath(new URL('../../../../docs/pictures/', import.meta.url));
const NAMESPACE = 'shop';
const WORKLOADS = [['checkout', 6, '250m'], ['search', 4, '500m'], ['orders', 3, '1']] as const;
/** Asks for more than any node has. */
const LARGE = 'train-llm';
const WIDTH = 1_100;
/** In bytes. */
const LARGEST = 150_000;
/** For a screen to show all of its data, in ms. */
const TIMEOUT_MS = 60_000;

async function fill({ source: { client, pods } }: IsthmusWorld): Promise<Pod> {
  const container = (cpu: string) => (
    { name: 'main', image: 'registry.example/app:1', resources: { requests: { cpu, memory: '256Mi' } } }
  );
  for (const [name, replicas, cpu] of WORKLOADS) {
    const labels = { app: name };
    const template = {
      metadata: { labels, annotations: { [ELECT_ANNOTATION]: '' } }, spec: { containers: [container(cpu)] },
    };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    await client.create(DEPLOYMENTS, { metadata: { namespace: NAMESPACE, name }, spec } as KubernetesObject);
  }
  await client.create<Pod>(PODS, {
    metadata: { namespace: NAMESPACE, name: LARGE, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [container('96')] },
  } as Pod);
  const expected = WORKLOADS.reduce((sum, [, replicas]) => sum + replicas, 0);
  const running = (all: readonly Pod[]): readonly Pod[] => inNamespace(all, NAMESPACE).filter(isRunning);
  const all = await pods.until('all run', (each) => running(each).length === expected, 120_000);
  const [first] = running(all);
  if (first === undefined) throw new Error('no pod runs');
  return first;
}

/** A screen, and what it shows once it is complete. */
interface Picture {
  readonly name: string;
  readonly address: string;
  readonly isComplete: (page: Page) => Promise<unknown>;
}

function picturesOf({ metadata: { name = '' } }: Pod): readonly Picture[] {
  const text = (wanted: string | RegExp) => (page: Page) => (
    page.getByText(wanted).first().waitFor({ timeout: TIMEOUT_MS })
  );
  return [
    { name: 'targets', address: '/targets', isComplete: text('2 of 3 targets accept pods') },
    { name: 'pod', address: `/pods/${NAMESPACE}/${name}`, isComplete: text('every target evaluated now') },
    { name: 'pending', address: '/pending', isComplete: text(/lower the request of the pod/) },
    { name: 'decision', address: `/decisions/${NAMESPACE}/${name}`, isComplete: text('Decided now') },
  ];
}

async function take(
  browser: Browser, { origin, token }: Viewer, { name, address, isComplete }: Picture,
): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await stillContext(browser, { colorScheme, width: WIDTH });
    const page = await context.newPage();
    await page.addInitScript({ content: `sessionStorage.setItem('isthmus-session', ${JSON.stringify(token)})` });
    await page.goto(origin + address);
    await page.locator('.connection.live').waitFor();
    await isComplete(page);
    const picture = await takePicture(page, await context.newPage());
    await writeFile(join(FOLDER, `page-${name}-${colorScheme}.png`), picture);
    await context.close();
  }
}

async function main(): Promise<void> {
  const world = await startWorld({ targets: 3, nodes: 2, gpus: 1 });
  const browser = await startChromium();
  try {
    await makeNamespace(world, NAMESPACE);
    const pod = await fill(world);
    const node = virtualNodeName({ kind: 'ClusterTarget', name: 'target-3' });
    await world.source.client.patch(
      NODES, { name: node }, { patchType: 'merge', patch: { spec: { unschedulable: true } } },
    );
    for (const name of await readdir(FOLDER)) if (/^page-.*\.png$/.test(name)) await rm(join(FOLDER, name));
    const viewer = await servePageFor(world.source.cluster.kubeconfigPath, world);
    for (const picture of picturesOf(pod)) await take(browser, viewer, picture);
    await viewer.stop();
  } finally {
    await browser.close();
    await world.stop();
  }
  for (const name of (await readdir(FOLDER)).filter((each) => each.endsWith('.png'))) {
    const { size } = await stat(join(FOLDER, name));
    process.stdout.write(`${name}  ${(size / 1_000).toFixed(0)} kB\n`);
    if (size > LARGEST) process.exitCode = 1;
  }
}

await main();
