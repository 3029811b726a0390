// Argo CD's own ApplicationSet controller in the source of a world, from a program and manifests that somebody else has
// built and gives by their paths: with its own kinds and permissions, and what docs/export.md adds to them.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { kubeconfigOf, type DiscoveryWorld, type Kubectl } from '../worlds/discovery-world.ts';
import { blocksOf, textOf } from '../docs/documented-blocks.ts';
import { eventually } from '../history/eventually.ts';

/** Its namespace, on the page as well. */
export const ARGO_CD = 'argocd';
const CONTROLLER = 'argocd-applicationset-controller';
const OWN_FILES = [
  ...['role', 'rolebinding', 'sa'].map((part) => join('applicationset-controller', `${CONTROLLER}-${part}.yaml`)),
  join('config', 'argocd-cm.yaml'), join('config', 'argocd-secret.yaml'),
];
/** What Argo CD's API server makes when it starts. */
const DEFAULT_PROJECT = {
  apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata: { name: 'default', namespace: ARGO_CD },
  spec: { sourceRepos: ['*'], destinations: [{ namespace: '*', server: '*' }] },
};
const SECTION = '## Decisions that Argo CD follows\n';

/** An Application, as far as tests look at it. */
export interface Application extends KubernetesObject {
  readonly spec: { readonly destination: { readonly name?: string; readonly namespace?: string } };
}

/** The kind of it. */
export const APPLICATIONS: ResourceType<Application> =
  { group: 'argoproj.io', version: 'v1alpha1', plural: 'applications', kind: 'Application', namespaced: true };

/** Installs kinds, permissions and settings of Argo CD; `manifests` is its folder of that name. */
export async function installArgo(kubectl: Kubectl, manifests: string): Promise<void> {
  await kubectl(['apply', '--server-side', '-k', join(manifests, 'crds')]);
  for (const file of OWN_FILES) await kubectl(['apply', '-n', ARGO_CD, '-f', join(manifests, 'base', file)]);
  await eventually('its kinds are served', () => kubectl(['apply', '-f', '-'], JSON.stringify(DEFAULT_PROJECT)));
}

/** Types the section of docs/export.md about decisions: its commands, then its manifests. */
export async function typeDecisions(kubectl: Kubectl): Promise<void> {
  const [, section = ''] = textOf('docs/export.md').split(SECTION);
  const blocks = blocksOf(section.split('\n## ')[0] ?? '');
  const commands = blocks.filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.replaceAll('\\\n', ' ').trim().split('\n'));
  const objects = blocks.filter(({ language }) => language === 'yaml').map(({ text }) => text);
  if (commands.length === 0 || objects.length === 0) throw new Error('the page has no commands or no manifests');
  for (const command of commands) {
    const [tool, ...args] = command.split(/\s+/);
    if (tool !== 'kubectl') throw new Error(`not kubectl: ${command}`);
    await kubectl(args);
  }
  await kubectl(['apply', '-f', '-'], objects.join('\n---\n'));
}

/** Starts the controller with the permissions of its own account. */
export async function startArgo({ sandbox }: DiscoveryWorld, program: string): Promise<ComponentProcess> {
  const { kubeconfigPath, directory } = sandbox.clusters[0]!;
  const cluster = await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' });
  const kubeconfig = join(directory, 'argo.kubeconfig');
  await writeFile(kubeconfig, await kubeconfigOf(cluster, { namespace: ARGO_CD, name: CONTROLLER }), { mode: 0o600 });
  await cluster.client.transport.close();
  const addresses = (await freePorts(3)).map((port) => `127.0.0.1:${port}`);
  const flags = ['--metrics-addr', '--probe-addr', '--webhook-addr']
    .flatMap((flag, index) => [flag, addresses[index]!]);
  return startComponent({
    name: CONTROLLER, cwd: directory, logPath: join(directory, 'argo.log'), env: { KUBECONFIG: kubeconfig },
    command: [program, '--namespace', ARGO_CD, '--loglevel', 'warn', ...flags],
  });
}
