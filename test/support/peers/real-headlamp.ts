// Headlamp itself, built elsewhere and given by its program and the folder of its pages, with the plugin as a release
// has it. It serves the clusters of a kubeconfig to the browser of a test.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { HEADLAMP_PLUGIN, headlampPackage, headlampScript } from '../../../manifests/headlamp-plugin.ts';
import { version } from '../../../process/version.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { eventually } from '../history/eventually.ts';
import { compiledModule } from '../rules/compiled-module.ts';

/** What is built elsewhere. */
export interface HeadlampPrograms {
  /** The server. */
  readonly server: string;
  /** The folder of its built pages. */
  readonly frontend: string;
}

/** A running Headlamp. */
export interface RunningHeadlamp {
  readonly origin: string;
  stop(): Promise<void>;
}

/** Writes the plugin into a folder of plugins, as it is in the archive of a release. */
async function writePlugin(plugins: string): Promise<void> {
  const folder = join(plugins, HEADLAMP_PLUGIN);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'main.js'), headlampScript(version(), compiledModule));
  await writeFile(join(folder, 'package.json'), headlampPackage(version()));
}

/** Starts it on the loopback address, with its state in the folder, with the plugin or without it. */
export async function startHeadlamp(
  { server, frontend }: HeadlampPrograms, kubeconfig: string,
  { folder, hasPlugin }: { readonly folder: string; readonly hasPlugin: boolean },
): Promise<RunningHeadlamp> {
  const [plugins, none] = [join(folder, 'plugins'), join(folder, 'user-plugins')];
  for (const path of [plugins, none]) await mkdir(path, { recursive: true });
  if (hasPlugin) await writePlugin(plugins);
  const [port = 0] = await freePorts(1);
  const started: ComponentProcess = await startComponent({
    name: 'headlamp', cwd: folder, logPath: join(folder, 'headlamp.log'), env: { HOME: folder },
    command: [
      server, `-kubeconfig=${kubeconfig}`, `-html-static-dir=${frontend}`, `-plugins-dir=${plugins}`,
      `-user-plugins-dir=${none}`, '-listen-addr=127.0.0.1', `-port=${port}`, '-watch-plugins-changes=false',
    ],
  });
  const origin = `http://127.0.0.1:${port}`;
  await eventually('Headlamp serves its plugins', async () => {
    const answer = await fetch(`${origin}/plugins`);
    const listed = ((await answer.json()) ?? []) as readonly { readonly path: string }[];
    return listed.some(({ path }) => path.endsWith(`/${HEADLAMP_PLUGIN}`)) === hasPlugin;
  });
  return { origin, stop: () => started.stop() };
}

/** One kubeconfig with a context for each of these, by name. Gives its path. */
export async function mergedKubeconfig(
  folder: string, kubeconfigs: Readonly<Record<string, string>>,
): Promise<string> {
  const parts = await Promise.all(Object.entries(kubeconfigs).map(async ([name, path]) => {
    const { clusters: [one], users: [user] } = parse(await readFile(path, 'utf8')) as KubeconfigText;
    return {
      cluster: { name, cluster: one.cluster }, user: { name, user: user.user },
      context: { name, context: { cluster: name, user: name } },
    };
  }));
  const path = join(folder, 'headlamp.kubeconfig');
  await writeFile(path, stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': parts[0]?.context.name,
    clusters: parts.map(({ cluster }) => cluster), users: parts.map(({ user }) => user),
    contexts: parts.map(({ context }) => context),
  }), { mode: 0o600 });
  return path;
}

interface KubeconfigText {
  readonly clusters: readonly [{ readonly cluster: object }];
  readonly users: readonly [{ readonly user: object }];
}
