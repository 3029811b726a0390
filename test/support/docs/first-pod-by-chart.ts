// From two bare clusters with real nodes to the first Running remote pod, with the chart, whose image is in a registry
// that wants a password.
import assert from 'node:assert/strict';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { firstPod, type BareClusters, type FirstPod, type Session } from './first-pod.ts';
import { CHART, Packaging } from '../peers/packaging.ts';
import { KINDS } from '../real-nodes/real-world.ts';

const NAMESPACE = 'isthmus-system';

/** The registry's image and who may pull it. */
export interface PrivateImage {
  readonly repository: string;
  readonly tag: string;
  /** `name:password`. */
  readonly credentials: string;
}

/** Which image, how, and which further values (`a=b`). */
export interface ChartInstallation {
  readonly image: PrivateImage;
  readonly values: readonly string[];
}

/** As the page on registries makes it. */
function pullSecret({ repository, credentials }: PrivateImage): object {
  const [host = ''] = repository.split('/');
  const auths = { [host]: { auth: Buffer.from(credentials).toString('base64') } };
  return {
    apiVersion: 'v1', kind: 'Secret', metadata: { name: 'registry', namespace: NAMESPACE },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
  };
}

function helmArguments(role: 'source' | 'target', { image, values }: ChartInstallation): readonly string[] {
  const all = [
    `${role === 'source' ? 'target' : 'source'}.enabled=false`, `image.repository=${image.repository}`,
    `image.tag=${image.tag}`, 'imagePullSecrets[0].name=registry', ...values,
  ];
  return [
    'upgrade', '--install', 'isthmus', CHART, '--namespace', NAMESPACE, '--create-namespace', '--wait',
    ...all.flatMap((value) => ['--set', value]), '--set-json', `extraObjects=[${JSON.stringify(pullSecret(image))}]`,
  ];
}

/** Aborts once the cluster has a Deployment of the release: helm is half-way then. */
async function halfWay(kubeconfigPath: string, signal: AbortSignal): Promise<void> {
  const { client } = await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' });
  try {
    const look = async () =>
      ((await client.list(KINDS.deployments, { namespace: NAMESPACE })).length > 0 ? true : undefined);
    assert.ok(await pollUntil(look, { forMs: 60_000, everyMs: 50 }, signal), 'helm makes Deployments');
  } finally {
    await client.transport.close();
  }
}

/** The chart in both clusters at once, `peer`, and the pod. */
export function firstPodByChart(
  clusters: BareClusters, installation: ChartInstallation, signal: AbortSignal,
): Promise<FirstPod> {
  return firstPod(clusters, signal, async (session) => {
    const tools = await Packaging.open(signal);
    const { source, target, killedAfter } = clusters;
    await Promise.all((['source', 'target'] as const).map(async (role) => {
      const run = { kubeconfig: role === 'source' ? source : target };
      const args = helmArguments(role, installation);
      session.commands.push(`helm ${args.join(' ')}`);
      if (killedAfter !== undefined) await interrupt(session, tools, { ...run, role, args }, signal);
      const { code, stderr } = await session.timed(`helm (${role})`, () => tools.helm(args, run));
      assert.equal(code, 0, stderr);
    }));
    await session.run(
      'peer', '--source-kubeconfig', source, '--target-kubeconfig', target, '--name', 'first-target',
      '--allow-namespace', 'default',
    );
  });
}

async function interrupt(
  session: Session, tools: Packaging,
  { kubeconfig, role, args }: { readonly kubeconfig: string; readonly role: string; readonly args: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const interruption = new AbortController();
  await session.timed(`helm (${role}), interrupted`, async () => {
    const [{ code }] = await Promise.all([
      tools.helm(args, { kubeconfig, interrupted: interruption.signal }),
      halfWay(kubeconfig, signal).finally(() => interruption.abort()),
    ]);
    assert.notEqual(code, 0, 'helm ended well before it was interrupted');
  });
}
