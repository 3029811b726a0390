// A real source cluster with the webhook in this very process, as integration tests of admission want it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import {
  DEFAULT_INSTALL_NAMESPACE, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../../api/objects/keys.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '../../../api/resource-types.ts';
import { WEBHOOK_CERTIFICATES_SECRET } from '../../../api/objects/own-names.ts';
import { installInto } from '../../../cli/install/install.ts';
import { ApiError, isNotFound, unless } from '../../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { keyNamespace } from '../../../model/access/key-namespace.ts';
import { createLogger } from '../../../process/logger.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import type { AdmissionServer } from '../../../webhook/server/admission-server.ts';
import { startWebhook, type CertificateSource, type WebhookOptions } from '../../../webhook/main.ts';
import { WEBHOOK_CONFIGURATION_NAME } from '../../../webhook/registration/webhook-address.ts';
import type { PathTimes } from '../../../webhook/registration/review-path.ts';
import { startTestSandbox } from '../processes/stopped-with-process.ts';
import { WatchedCollection } from '../history/watched-collection.ts';

/** The namespace that has opted in. */
export const ELECTED_NAMESPACE = 'team-a';
/** One that has not. */
export const PLAIN_NAMESPACE = 'team-b';

/** A webhook that runs: its server, and what ends it with everything it started. */
export interface RunningWebhook {
  readonly server: AdmissionServer;
  stop(): Promise<void>;
}

/** The source cluster. Call {@link WebhookWorld.stop} in `after`. */
export interface WebhookWorld {
  readonly client: ClusterClient;
  readonly kubeconfigPath: string;
  readonly dir: string;
  readonly port: number;
  readonly url: string;
  readonly signal: AbortSignal;
  /** Starts a replica on the port of the webhook configuration, or on another. */
  startWebhook(certificates?: CertificateSource, port?: number, pathTimes?: PathTimes): Promise<RunningWebhook>;
  /** Registers the webhook as a new installation does; nothing of an earlier one's certificates and path is left. */
  reinstall(): Promise<void>;
  stop(): Promise<void>;
}

let sharing: Promise<WebhookWorld> | undefined;
let leave: (() => Promise<void> | undefined) | undefined;

/**
 * Registers a suite of the one world of the process, which ends after all of them: files that are run together share
 * it, one after the other. What it gives is to be called before the tests of each of the suite's groups: the first time
 * it ends the suite before, reinstalls, and begins this one. Suites undo what they do, but for pods.
 */
export function shareWebhookWorld(
  begin: (world: WebhookWorld) => Promise<void>, end?: () => Promise<void> | undefined,
): () => Promise<void> {
  if (leave === undefined) {
    leave = () => undefined;
    after(async () => {
      await leave?.();
      await (await sharing)?.stop();
    });
  }
  let isEntered = false;
  return async () => {
    if (isEntered) return;
    isEntered = true;
    await leave?.();
    leave = end ?? (() => undefined);
    const isFirst = sharing === undefined;
    sharing ??= startWebhookWorld();
    const world = await sharing;
    if (!isFirst) await world.reinstall();
    await begin(world);
  };
}

/** As {@link shareWebhookWorld}, with a webhook that runs and admits before `begin`, and stops after `end`. */
export function shareAdmittingWorld(
  begin: (world: WebhookWorld) => Promise<void> | void, end: () => Promise<void> | void = () => undefined,
): () => Promise<void> {
  let webhook: RunningWebhook | undefined;
  return shareWebhookWorld(async (world) => {
    webhook = await world.startWebhook();
    await untilAdmitting(world.client);
    await begin(world);
  }, async () => {
    await end();
    await webhook?.stop();
  });
}

/** Starts the cluster, installs, and makes the two namespaces; no webhook runs yet. */
async function startWebhookWorld(): Promise<WebhookWorld> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-webhook-'));
  const sandbox = await startTestSandbox(
    { dir: join(dir, 'sandbox'), targets: 0, nodes: 0, gpus: 0, audit: false }, signal,
  );
  const { kubeconfigPath } = sandbox.clusters[0]!;
  const { client } = await openCluster({ kubeconfigPath, userAgent: 'webhook-test' });
  const [port = 0] = await freePorts(1);
  const url = `https://127.0.0.1:${port}/mutate--v1-pod`;
  const stop = async (): Promise<void> => {
    stopped.abort();
    await client.transport.close();
    await sandbox.stop();
    await rm(dir, { recursive: true, force: true });
  };
  const install = (): Promise<unknown> => installInto(
    client, { installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl: url }, { tell: () => undefined, signal },
  );
  try {
    await install();
    await makeNamespaces(client, signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    client, kubeconfigPath, dir, port, url, signal, stop,
    reinstall: async () => {
      const secret = { namespace: keyNamespace(DEFAULT_INSTALL_NAMESPACE), name: WEBHOOK_CERTIFICATES_SECRET };
      await client.delete(SECRETS, secret).catch(unless(isNotFound));
      for (const type of [MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS]) {
        await client.delete(type, { name: WEBHOOK_CONFIGURATION_NAME });
      }
      await install();
    },
    startWebhook: (certificates = { kind: 'own' }, at = port, pathTimes) =>
      runWebhook(client, { certificates, port: at, pathTimes }),
  };
}

async function makeNamespaces(client: ClusterClient, signal: AbortSignal): Promise<void> {
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await client.create(NAMESPACES, { metadata: { name: ELECTED_NAMESPACE, labels } });
  await client.create(NAMESPACES, { metadata: { name: PLAIN_NAMESPACE } });
  const accounts = await new WatchedCollection(client, SERVICE_ACCOUNTS).start(signal);
  const wanted = [ELECTED_NAMESPACE, PLAIN_NAMESPACE, DEFAULT_INSTALL_NAMESPACE, 'kube-system'];
  await accounts.until('each namespace has its ServiceAccount', (all) =>
    wanted.every(
      (namespace) => all.some(({ metadata }) => metadata.namespace === namespace && metadata.name === 'default'),
    ));
}

async function runWebhook(
  client: ClusterClient, given: Pick<WebhookOptions, 'certificates' | 'port' | 'pathTimes'>,
): Promise<RunningWebhook> {
  const ended = new AbortController();
  const logger = createLogger('silent');
  const server = await startWebhook(
    { source: client, installNamespace: DEFAULT_INSTALL_NAMESPACE, host: '127.0.0.1', logger, ...given },
    ended.signal,
  );
  const stop = async (): Promise<void> => {
    ended.abort();
    await server.close();
  };
  return { server, stop };
}

/** What the API server said to a create. */
export type Created = { readonly pod: Pod; readonly error?: undefined }
  | { readonly pod?: undefined; readonly error: ApiError };

/** Creates a pod, and gives it as stored, or the API server's refusal. */
export async function createPod(
  client: ClusterClient, pod: KubernetesObject, query: Readonly<Record<string, string>> = {},
): Promise<Created> {
  const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods`;
  try {
    return {
      pod: await client.transport.call<Pod>(
        { method: 'POST', path, query, body: { apiVersion: 'v1', kind: 'Pod', ...pod } },
      ),
    };
  } catch (error) {
    if (error instanceof ApiError) return { error };
    throw error;
  }
}

/**
 * Asks until the API server admits an elected pod through the webhook (a dry run): from then on it has seen address and
 * CA.
 */
export async function untilAdmitting(client: ClusterClient): Promise<void> {
  const probe = {
    metadata: { namespace: ELECTED_NAMESPACE, name: 'probe', annotations: { 'multicluster.admiralty.io/elect': '' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { pod } = await createPod(client, probe, { dryRun: 'All' });
    if (pod?.metadata.finalizers?.length === 1) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
  throw new Error('the API server does not reach the webhook');
}
