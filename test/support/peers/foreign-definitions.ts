// Definitions of kinds that others own, for tests that have an API server check objects by the owners' schemas: kinds
// that the chart renders for cert-manager and the Prometheus operator, and those of registries of clusters. They come
// out of pinned Go modules, whose sums are held here, into the user's cache folder.
import { execFile } from 'node:child_process';
import { access, copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../../../process/config.ts';
import { AppError, messageOf } from '../../../process/errors.ts';
import { binariesKey } from '../../../process/programs/go-toolchain.ts';

const run = promisify(execFile);

/**
 * A module, the sum of its archive as go.sum would have it (`h1:…`, golang.org/x/mod/sumdb/dirhash), and the files
 * wanted out of it.
 */
interface DefinitionModule {
  readonly path: string;
  readonly version: string;
  readonly sum: string;
  readonly files: readonly string[];
}

/** Kinds that the chart renders. */
const RENDERED: readonly DefinitionModule[] = [
  {
    path: 'github.com/cert-manager/cert-manager',
    version: 'v1.21.2',
    sum: 'h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=',
    files: ['deploy/crds/cert-manager.io_certificates.yaml', 'deploy/crds/cert-manager.io_issuers.yaml'],
  },
  {
    path: 'github.com/prometheus-operator/prometheus-operator',
    version: 'v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: ['servicemonitors', 'prometheusrules'].map(
      (plural) => `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`,
    ),
  },
];

/** Kinds of registries, of those owners whose modules can be fetched. */
const REGISTRIES: readonly DefinitionModule[] = [
  {
    path: 'sigs.k8s.io/cluster-api', version: 'v1.11.3', sum: 'h1:apxfugbP1X8AG7THCM74CTarCOW4H2oOc6hlbm1hY80=',
    files: ['config/crd/bases/cluster.x-k8s.io_clusters.yaml'],
  },
  {
    path: 'github.com/fluxcd/kustomize-controller', version: 'v1.7.3',
    sum: 'h1:SzNnGn/4ObAPEHHleM5U7y/AKxKXph3Vj6ZhteeXw8M=',
    files: ['config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml'],
  },
  {
    path: 'sigs.k8s.io/cluster-inventory-api', version: 'v0.1.2',
    sum: 'h1:rH8Xh6NW5u0WXarjDJeYLSrCLQkwJnSUnyb74eyAXFY=',
    files: ['clusterprofiles', 'placementdecisions'].map(
      (plural) => `config/crd/bases/multicluster.x-k8s.io_${plural}.yaml`,
    ),
  },
];

/**
 * Files with the definitions of what the chart renders, fetched when they are not there.
 * @throws AppError `ToolMissing` when there is no Go, `StartFailed` when a module cannot be fetched or is another one
 *   than was pinned.
 */
export function ensureForeignDefinitions(environment: Environment, signal: AbortSignal): Promise<readonly string[]> {
  return ensureDefinitions(RENDERED, environment, signal);
}

/**
 * The same of registries: Clusters of Cluster API, Kustomizations of Flux, and SIG Multicluster's kinds.
 * @throws What {@link ensureForeignDefinitions} throws.
 */
export function ensureRegistryDefinitions(environment: Environment, signal: AbortSignal): Promise<readonly string[]> {
  return ensureDefinitions(REGISTRIES, environment, signal);
}

async function ensureDefinitions(
  modules: readonly DefinitionModule[], environment: Environment, signal: AbortSignal,
): Promise<readonly string[]> {
  const folder = join(environment.cacheFolder, 'definitions', binariesKey({ modules: JSON.stringify(modules) }, 'any'));
  const isThere = await access(folder).then(() => true, () => false);
  if (!isThere) await fetchInto(folder, modules, environment, signal);
  return modules.flatMap(({ files }) => files.map((file) => join(folder, basename(file))));
}

async function fetchInto(
  folder: string, modules: readonly DefinitionModule[], environment: Environment, signal: AbortSignal,
): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(join(dirname(folder), 'fetching-'));
  try {
    for (const module of modules) {
      const source = await download(module, environment, signal);
      for (const file of module.files) await copyFile(join(source, file), join(draft, basename(file)));
    }
    // Of two runs at once the second finds the folder there, with the same in it.
    await rename(draft, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * The folder in Go's cache that the module lies in; outside of any module, so that its own dependencies are not
 * fetched.
 */
async function download(
  { path, version, sum }: DefinitionModule, { inherited }: Environment, signal: AbortSignal,
): Promise<string> {
  // The pinned sum is checked here, so Go need not ask a server for it.
  const env = { ...inherited, GOSUMDB: 'off', GOWORK: 'off' };
  const name = `${path}@${version}`;
  const { stdout } =
    await run('go', ['mod', 'download', '-json', name], { cwd: tmpdir(), env, signal }).catch((cause: unknown) => {
    throw new AppError(
      isMissing(cause) ? 'ToolMissing' : 'StartFailed',
      `The module ${name} cannot be fetched by Go: ${messageOf(cause)}. Only tests need it.`, { cause },
    );
  });
  const { Dir: dir = '', Sum: found } = JSON.parse(stdout) as { readonly Dir?: string; readonly Sum?: string };
  if (found !== sum) {
    throw new AppError('StartFailed', `The module ${name} that Go fetched has the sum ${found}, not ${sum}.`);
  }
  return dir;
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
