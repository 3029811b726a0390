// A real Admiralty in a sandbox, from programs and a chart that somebody else has built and gives by their folders: its
// chart is installed by Helm, and for each of its Deployments with replicas a process runs with the Deployment's
// arguments and variables, as the Deployment's ServiceAccount. Its ports are fixed, so that in targets a process has a
// network of its own; the API server is reached there through a socket file.
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS,
  MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, SOURCES, TARGETS,
} from '../../../api/resource-types.ts';
import type { Deployment } from '../../../cli/migrate/admiralty-installation.ts';
import { openCluster, type OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import { tokenKubeconfig } from '../../../peering/access/target-access.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import type { Packaging } from './packaging.ts';

const NAMESPACE = 'admiralty';
const RELEASE = 'admiralty';
const TOKEN_SECONDS = 24 * 60 * 60;
const MANAGER = 'isthmus-test';
/** Which program runs for a Deployment's component. */
const PROGRAMS: Readonly<Record<string, string>> =
  { 'controller-manager': 'agent', 'proxy-scheduler': 'scheduler', 'candidate-scheduler': 'scheduler' };

/** What was built elsewhere. */
export interface AdmiraltyBuild {
  /** Folder with the programs `agent` and `scheduler`. */
  readonly programs: string;
  /** Folder of its chart. */
  readonly chart: string;
}

/** Where it is installed. */
export interface ReleaseOptions {
  readonly cluster: Cluster;
  readonly build: AdmiraltyBuild;
  readonly tools: Packaging;
  /** It has the network of this machine, so that the API server reaches its webhook. */
  readonly isSource: boolean;
}

/** Kinds of cert-manager that the chart has an object of each; nobody works on them here. */
const CERT_MANAGER = [['Certificate', 'certificates'], ['Issuer', 'issuers']].map(([kind = '', plural = '']) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition', metadata: { name: `${plural}.cert-manager.io` },
  spec: {
    group: 'cert-manager.io', scope: 'Namespaced', names: { kind, plural },
    versions: [{
      name: 'v1', served: true, storage: true,
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    }],
  },
}));

/** Admiralty in one cluster. */
export class AdmiraltyRelease {
  readonly cluster: Cluster;
  readonly #opened: OpenCluster;
  readonly #build: AdmiraltyBuild;
  readonly #tools: Packaging;
  readonly #isSource: boolean;
  readonly #processes = new Map<string, ComponentProcess>();
  readonly #servers: Server[] = [];
  readonly #stopped = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  private constructor({ cluster, build, tools, isSource }: ReleaseOptions, opened: OpenCluster) {
    this.cluster = cluster;
    this.#opened = opened;
    this.#build = build;
    this.#tools = tools;
    this.#isSource = isSource;
  }

  /** Installs the chart; processes run once {@link run} is called. */
  static async install(options: ReleaseOptions): Promise<AdmiraltyRelease> {
    const { cluster, build } = options;
    const opened = await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-test' });
    const release = new AdmiraltyRelease(options, opened);
    for (const definition of CERT_MANAGER) await opened.client.apply(CUSTOM_RESOURCE_DEFINITIONS, definition, MANAGER);
    await release.#helm([
      'install', RELEASE, build.chart, '--namespace', NAMESPACE, '--create-namespace', '--set',
      'controllerManager.replicas=1,scheduler.replicas=1',
    ]);
    await release.#serveWebhook();
    return release;
  }

  /** Starts to keep a process for each Deployment with replicas. */
  run(): void {
    this.#loop = this.#keep();
  }

  /** `helm uninstall`, as an administrator would type it. */
  async uninstall(): Promise<void> {
    await this.#helm(['uninstall', RELEASE, '--namespace', NAMESPACE]);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await Promise.all([...this.#processes.values()].map((component) => component.stop()));
    for (const server of this.#servers) server.close();
    await this.#opened.client.transport.close();
  }

  async #helm(args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.#tools.helm(args, { kubeconfig: this.cluster.kubeconfigPath });
    if (code !== 0) throw new Error(`helm ${args[0]} of Admiralty in ${this.cluster.name}: ${stderr}`);
  }

  /** What cert-manager and a Service would do: a certificate, its authority in the configuration, and an address. */
  async #serveWebhook(): Promise<void> {
    const { client } = this.#opened;
    const authority = await createAuthority('admiralty', 30, new Date());
    const pair = await authority.issue(
      {
        commonName: RELEASE, ipAddresses: ['127.0.0.1'], dnsNames: [`${RELEASE}.${NAMESPACE}.svc`], days: 30,
        usages: ['server'],
      },
      new Date(),
    );
    const folder = this.#file('tmp/k8s-webhook-server/serving-certs');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'tls.crt'), pair.certificate);
    await writeFile(join(folder, 'tls.key'), pair.key, { mode: 0o600 });
    const live = await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: RELEASE });
    const clientConfig = {
      url: 'https://127.0.0.1:9443/mutate--v1-pod',
      caBundle: Buffer.from(authority.keyPair.certificate).toString('base64'),
    };
    const webhooks = live.webhooks?.map((webhook) => ({ ...webhook, clientConfig }));
    await client.patch(MUTATING_WEBHOOK_CONFIGURATIONS, { name: RELEASE }, { patchType: 'merge', patch: { webhooks } });
  }

  #file(name: string): string {
    return join(this.cluster.directory, 'admiralty', name);
  }

  async #keep(): Promise<void> {
    const { client } = this.#opened;
    await mkdir(this.#file(''), { recursive: true });
    const kubeconfig = await this.#kubeconfig();
    while (!this.#stopped.signal.aborted) {
      const deployments = await client.list(DEPLOYMENTS as ResourceType<Deployment>, { namespace: NAMESPACE })
        .catch(() => []);
      const wanted = new Map(
        deployments
          .map((deployment) => [deployment.spec.template.metadata?.labels?.['component'] ?? '', deployment] as const)
          .filter(([component, { spec }]) => PROGRAMS[component] !== undefined && spec.replicas !== 0),
      );
      for (const [component, deployment] of wanted) {
        if (this.#processes.get(component)?.isRunning !== true) {
          this.#processes.set(component, await this.#start(component, deployment, kubeconfig));
        }
      }
      for (const [component, running] of this.#processes) {
        if (wanted.has(component)) continue;
        await running.stop();
        this.#processes.delete(component);
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  async #start(component: string, deployment: Deployment, kubeconfig: string): Promise<ComponentProcess> {
    const { env = [] } = deployment.spec.template.spec.containers[0] ?? {};
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value ?? '']));
    const args = component === 'controller-manager'
      ? ['--leader-elect']
      : ['--config', await this.#schedulerConfig(component, kubeconfig), '--secure-port=0', ...(
        component === 'proxy-scheduler' ? ['--pod-max-in-unschedulable-pods-duration=60s'] : []
      )];
    const program = join(this.#build.programs, PROGRAMS[component] ?? '');
    const own = {
      KUBECONFIG: kubeconfig, POD_NAME: `${component}-${process.pid}`, VKUBELET_POD_IP: '127.0.0.1',
      TMPDIR: this.#file('tmp'),
    };
    const command: readonly [string, ...string[]] =
      this.#isSource ? [program, ...args] : await this.#apart([program, ...args]);
    return startComponent({
      name: `${this.cluster.name}/${component}`, command, cwd: this.cluster.directory,
      logPath: this.#file(`${component}.log`), env: { ...variables, ...own },
    });
  }

  /** The command in a network of its own, where only this cluster's API server is. */
  async #apart(command: readonly string[]): Promise<readonly [string, ...string[]]> {
    const { port } = new URL(this.cluster.server);
    const path = this.#file('api-server.sock');
    if (this.#servers.length === 0) {
      const server = createServer((socket) => {
        const upstream = connect(Number(port), '127.0.0.1');
        for (const [from, to] of [[socket, upstream], [upstream, socket]] as const) {
          from.pipe(to);
          from.on('error', () => to.destroy());
        }
      });
      await new Promise<void>((resolve) => server.listen(path, resolve));
      this.#servers.push(server);
    }
    const relay =
      `const n=require('net'),of=process.ppid;setInterval(()=>{try{process.kill(of,0)}catch{process.exit()}},1000);n.createServer(s=>{const u=n.connect(${JSON.stringify(path)});s.pipe(u);u.pipe(s);s.on('error',()=>u.destroy());u.on('error',()=>s.destroy())}).listen(${port},'127.0.0.1')`;
    const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
    const script =
      `ip link set lo up; ${quoted(process.execPath)} -e ${quoted(relay)} & sleep 1; exec ` +
        command.map(quoted).join(' ');
    return ['unshare', '--net', '--', 'sh', '-c', script];
  }

  async #schedulerConfig(component: string, kubeconfig: string): Promise<string> {
    const { data = {} } = (
      await this.#opened.client.get(CONFIG_MAPS, { namespace: NAMESPACE, name: RELEASE })
    ) as KubernetesObject & { readonly data?: Readonly<Record<string, string>> };
    const config = parse(data[`${component}-config`] ?? '') as Record<string, unknown>;
    const path = this.#file(`${component}.yaml`);
    await writeFile(path, stringify({ ...config, clientConnection: { kubeconfig } }));
    return path;
  }

  async #kubeconfig(): Promise<string> {
    const path = this.#file('kubeconfig');
    await writeFile(
      path, await accountKubeconfig(this.#opened, this.cluster, { namespace: NAMESPACE, name: RELEASE }, NAMESPACE),
      { mode: 0o600 },
    );
    return path;
  }
}

/** A kubeconfig with a token of the account; `context` is the namespace that it names. */
export async function accountKubeconfig(
  { client, connection }: OpenCluster, cluster: Cluster, account: { readonly namespace: string; readonly name: string },
  context?: string,
): Promise<string> {
  const request =
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: TOKEN_SECONDS } };
  const { status } = await client.post<{ readonly status: { readonly token: string } }>(
    SERVICE_ACCOUNTS, { ...account, subresource: 'token' }, request,
  );
  return tokenKubeconfig({
    server: cluster.server, certificateAuthority: connection.certificateAuthority, token: status.token,
    cluster: cluster.name, user: account.name, namespace: context,
  });
}

/**
 * Lets `source` use `target` as Admiralty's documentation says: an account and a (Cluster)Source there, a kubeconfig
 * Secret and a (Cluster)Target here.
 */
export async function connectAdmiralty(
  source: Cluster, target: Cluster, name: string, namespace?: string,
): Promise<void> {
  const [here, there] = await Promise.all(
    [source, target].map(({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })),
  );
  if (here === undefined || there === undefined) return;
  try {
    const account = { namespace: namespace ?? 'default', name: `from-${name}` };
    if (namespace !== undefined) await there.client.apply(NAMESPACES, { metadata: { name: namespace } }, MANAGER);
    await there.client.apply(SERVICE_ACCOUNTS, { metadata: account }, MANAGER);
    const ofSource = namespace === undefined
      ? { metadata: { name: `of-${name}` }, spec: { serviceAccount: account } }
      : { metadata: { namespace, name: `of-${name}` }, spec: { serviceAccountName: account.name } };
    await there.client.apply(namespace === undefined ? CLUSTER_SOURCES : SOURCES, ofSource, MANAGER);
    const data = { config: Buffer.from(await accountKubeconfig(there, target, account)).toString('base64') };
    const secret = { namespace: namespace ?? NAMESPACE, name: `${name}-kubeconfig` };
    await here.client.apply(SECRETS, { metadata: secret, data } as KubernetesObject, MANAGER);
    const spec = { kubeconfigSecret: namespace === undefined ? { ...secret } : { name: secret.name } };
    await here.client.apply(
      namespace === undefined ? CLUSTER_TARGETS : TARGETS,
      { metadata: { name, ...(namespace !== undefined && { namespace }) }, spec } as KubernetesObject, MANAGER,
    );
  } finally {
    await Promise.all([here, there].map(({ client }) => client.transport.close()));
  }
}
