// `isthmus ui`: a page on this machine that shows where pods run, why there, and where they are stuck.
import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { PODS } from '../api/resource-types.ts';
import {
  namespaceIn, withClusterFlags, withInstallNamespace, type ClusterFlags,
} from '../cli/clusters/cluster-flags.ts';
import { parsePort } from '../cli/clusters/run-flags.ts';
import { openCluster, userAgent, type OpenCluster } from '../kubernetes/client/open-cluster.ts';
import { isForbidden } from '../kubernetes/flow/api-error.ts';
import { runService, untilStopped, type RunningService } from '../process/lifecycle.ts';
import { openBrowser } from './open-browser.ts';
import { Simulations } from './observe/simulations.ts';
import { Screens } from './screens.ts';
import { startPageServer } from './server/page-server.ts';
import { Session } from './server/session.ts';
import { addressOf } from './wire/routes.ts';

/** A fixed port, so that addresses of screens can be kept. */
const DEFAULT_PORT = 8_470;

interface UiFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly namespace?: string;
  readonly port: number;
  readonly open: boolean;
}

/** The command for commander. */
export function uiCommand(): Command {
  const command = new Command('ui').description(
    'Serve a web page on this machine that shows targets, where pods run, and why pods are pending, with the ' +
      'permissions of your kubeconfig. Runs until Ctrl-C.',
  );
  return withInstallNamespace(withClusterFlags(command))
    .option(
      '-n, --namespace <name>',
      'namespace to start with; all if omitted, or that of the context if you may not list all',
    )
    .option('--port <number>', 'port on the loopback address; 0 for any free port', parsePort('--port'), DEFAULT_PORT)
    .option('--no-open', 'do not open a browser')
    .action((flags: UiFlags) => ui(flags, untilStopped()));
}

async function ui(flags: UiFlags, signal: AbortSignal): Promise<void> {
  const cluster = await openCluster(
    { kubeconfigPath: flags.kubeconfig, context: flags.context, userAgent: userAgent('ui') },
  );
  await runService(signal, async (service) => {
    service.shutdown.add({ name: 'connection', stop: () => cluster.client.transport.close() });
    const address = await servePage(cluster, flags, service);
    console.log(`${address}\nThis address works in one browser. Press Ctrl-C to stop.`);
    if (!flags.open || !process.stdout.isTTY) return;
    const { isStarted, forget } = await openBrowser(address);
    service.shutdown.add({ name: 'browser file', stop: forget });
    if (!isStarted) console.log('Could not open a browser. Open the address yourself.');
  });
}

/** Options of {@link servePage}. */
export interface PageFlags extends ClusterFlags {
  readonly installNamespace: string;
  readonly namespace?: string;
  readonly port: number;
}

/** Serves the page for the service. Returns its address with the one-time key. Throws AppError `StartFailed`. */
export async function servePage(
  cluster: OpenCluster, flags: PageFlags, { shutdown, signal }: Pick<RunningService, 'shutdown' | 'signal'>,
): Promise<string> {
  const namespace = flags.namespace ?? (await namespaceToBegin(cluster, signal));
  const simulate = new Simulations().of('the only viewer');
  const screens = new Screens({ client: cluster.client, flags, signal, simulate });
  shutdown.add({ name: 'screens', stop: () => screens.close() });
  const key = secret();
  const access = new Session({ key, token: secret() }, screens);
  const server = await startPageServer({ port: flags.port, access });
  shutdown.add({ name: 'page', stop: () => server.close() });
  const filters = namespace === undefined ? {} : { namespace };
  return `http://127.0.0.1:${server.port}${addressOf({ screen: 'targets', filters })}#key=${key}`;
}

/** All namespaces, or that of the context for a viewer who may not list pods of all. Throws what the call throws. */
async function namespaceToBegin(cluster: OpenCluster, signal: AbortSignal): Promise<string | undefined> {
  try {
    await cluster.client.listPage(PODS, {}, { limit: 1 }, signal);
    return undefined;
  } catch (error) {
    if (isForbidden(error)) return namespaceIn(cluster, undefined);
    throw error;
  }
}

/** 192 random bits. */
function secret(): string {
  return randomBytes(24).toString('base64url');
}
