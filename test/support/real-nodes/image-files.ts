// The file set of the image without a container engine: what the Dockerfile's last stage copies, from this checkout,
// with the packages that
// `npm ci --omit=dev --ignore-scripts` installs. Programs of it run with the image's own command line.
import { copyFile, link, mkdir, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url));
/** Written within the build stage only. */
const MADE_BY_BUILD = 'sbom.cdx.json';
const REMOVED_BY_BUILD = new Set(['build/test', 'build/benchmarks']);

/** The Dockerfile as far as tests look at it. */
export interface ImageDescription {
  /** Base image and instructions of each stage, in order. */
  readonly stages: readonly { readonly base: string; readonly instructions: readonly string[] }[];
  /** Paths that the last stage takes from the build stage, relative to the checkout. */
  readonly copied: readonly string[];
  /** In exec form. */
  readonly entrypoint: readonly string[];
}

/** Reads the Dockerfile: continued lines are joined, comments left out. */
export async function readImage(checkout = CHECKOUT): Promise<ImageDescription> {
  const text = await readFile(join(checkout, 'Dockerfile'), 'utf8');
  const lines =
    text.replaceAll(/\\\n\s*/g, '').split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const stages: { base: string; instructions: string[] }[] = [];
  for (const line of lines) {
    const from = /^FROM (\S+)/.exec(line);
    if (from === null) stages.at(-1)?.instructions.push(line);
    else stages.push({ base: from[1] ?? '', instructions: [] });
  }
  const last = stages.at(-1)?.instructions ?? [];
  const copied = last.filter(
    (line) => line.startsWith('COPY --from=build '),
  ).flatMap((line) => line.split(' ').slice(2, -1)).map((path) => path.replace('/isthmus/', ''));
  const entrypoint =
    JSON.parse(last.find((line) => line.startsWith('ENTRYPOINT '))?.slice('ENTRYPOINT '.length) ?? '[]') as string[];
  return { stages, copied, entrypoint };
}

/**
 * Makes the image's file set in a folder, of this checkout or of another one that is built; gives the command line of a
 * process of it.
 */
export async function makeImageFiles(
  folder: string, checkout = CHECKOUT,
): Promise<(args: readonly string[]) => readonly [string, ...string[]]> {
  const { copied, entrypoint } = await readImage(checkout);
  const production = await productionPackages(checkout);
  const wanted = (path: string): boolean => !REMOVED_BY_BUILD.has(path) && (!isPackage(path) || production.has(path));
  for (const path of copied.filter((one) => one !== MADE_BY_BUILD)) {
    await place(path, { from: checkout, to: folder, wanted });
  }
  const [, ...program] = entrypoint; // the first word is `node`, which here is the Node.js of the test
  return (args) =>
    [process.execPath, ...program.map((word) => (word.endsWith('.js') ? join(folder, word) : word)), ...args];
}

async function productionPackages(checkout: string): Promise<ReadonlySet<string>> {
  const { packages } = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true }>>
  };
  return new Set(Object.entries(packages).flatMap(([path, { dev }]) => (dev === true ? [] : [path])));
}

/** Whether a path is a package's folder: `node_modules/a`, `node_modules/@b/c`, and those within them. */
function isPackage(path: string): boolean {
  const parent = dirname(path);
  return basename(parent) === 'node_modules'
    ? !basename(path).startsWith('@')
    : basename(dirname(parent)) === 'node_modules' && basename(parent).startsWith('@');
}

interface Placing {
  readonly from: string;
  readonly to: string;
  readonly wanted: (path: string) => boolean;
}

async function place(path: string, placing: Placing): Promise<void> {
  const [from, to] = [join(placing.from, path), join(placing.to, path)];
  const entries = await readdir(from, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return placeFile(from, to);
  await mkdir(to, { recursive: true });
  for (const entry of entries) {
    const inner = `${path}/${entry.name}`;
    if ((entry.isDirectory() || entry.isFile()) && !entry.name.startsWith('.') && placing.wanted(inner)) {
      await place(inner, placing);
    }
  }
}

async function placeFile(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await link(from, to).catch(() => copyFile(from, to)); // a folder on another disk gets copies
}
