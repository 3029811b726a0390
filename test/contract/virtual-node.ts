// What users do with a virtual node by kubectl, and what replicas of the source do for it: deleting, labelling,
// tainting, cordoning and draining it, DaemonSets, a serving certificate by the cluster's signer, a change of the
// leader. For a world in which nothing else needs its pods any more.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import type { KubernetesObject, Lease, Node, Pod } from '../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../api/objects/keys.ts';
import {
  CERTIFICATE_SIGNING_REQUESTS, LEASES, NODES, PODS, type CertificateSigningRequest,
} from '../../api/resource-types.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import type { ComponentProcess } from '../../sandbox/processes/component-process.ts';
import { freePorts } from '../../sandbox/processes/free-ports.ts';
import { inNamespace, isRunning, type IsthmusWorld, type WorldCluster } from '../support/worlds/isthmus-world.ts';
import { DAEMON_SETS } from '../support/objects/resource-types.ts';
import { Packaging } from '../support/peers/packaging.ts';
import { openPodStream } from '../support/history/pod-stream.ts';
import { ACTING, leaseHolder, startPart } from '../support/worlds/standby.ts';

type DaemonSet = KubernetesObject & {
  readonly spec: object;
  readonly status?: {
    readonly desiredNumberScheduled: number; readonly numberReady: number; readonly observedGeneration?: number
  }
};
const POLLING = { forMs: 60_000, everyMs: 100 };

/** The suite; `web` is an elected pod that runs, in namespace `demo`. */
export function describeVirtualNode(given: () => { readonly world: IsthmusWorld; readonly web: Pod }): void {
  // one hook of its own makes what it needs once the world is there
  describe('a virtual node', { timeout: 600_000 }, () => suite(given));
}

function suite(given: () => { readonly world: IsthmusWorld; readonly web: Pod }): void {
  let world: IsthmusWorld;
  let name: string;
  let kubectl: (...args: string[]) => Promise<string>;
  let kubectlIn: (cluster: WorldCluster, ...args: string[]) => Promise<string>;

  before(async () => {
    const { web } = given();
    ({ world } = given());
    name = web.spec.nodeName ?? '';
    const tools = await Packaging.open(world.signal);
    kubectlIn = async ({ cluster: { kubeconfigPath } }, ...args) => {
      const { code, stdout, stderr } = await tools.kubectl(args, { kubeconfig: kubeconfigPath });
      assert.equal(code, 0, stderr);
      return stdout;
    };
    kubectl = (...args) => kubectlIn(world.source, ...args);
  });

  const node = () => world.source.client.get<Node>(NODES, { name }, world.signal);
  const until = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> =>
    (await pollUntil(look, POLLING, world.signal)) ?? assert.fail(`waited in vain for ${what}`);

  describe('by kubectl', () => {
    it('is shown with the version of its target and where its kubelet is', async () => {
      const wide = await kubectl('get', 'node', name, '-o', 'wide', '--no-headers');
      const version = await kubectlIn(world.targets[0], 'get', '--raw', '/version');
      const { gitVersion } = JSON.parse(version) as { readonly gitVersion: string };
      assert.match(wide, new RegExp(
        `^${name}\\s+Ready\\s+cluster\\s+\\S+\\s+${gitVersion.replaceAll('.', '\\.')}\\s+127\\.0\\.0\\.1\\s`,
      ));
    });

    it('keeps what users add to it, gets back what is its own, and nothing restarts', async () => {
      const process = world.isthmus.processes.get(world.source.cluster.name);
      const stream = await openPodStream(
        world.source.client.transport,
        {
          path: '/api/v1/namespaces/demo/pods/web/exec',
          query: [['container', 'main'], ['stdin', 'true'], ['stdout', 'true'], ['command', 'cat']],
        },
        world.signal,
      );
      await kubectl('label', 'node', name, 'team=a', 'type=other', '--overwrite');
      await kubectl('annotate', 'node', name, 'note=b');
      await kubectl('taint', 'node', name, 'maintenance=soon:NoSchedule', 'virtual-kubelet.io/provider-');
      await until('its own label and taint', async () => {
        const { metadata, spec } = await node();
        return metadata.labels?.['type'] === 'virtual-kubelet'
          && spec?.taints?.some(({ key }) => key === 'virtual-kubelet.io/provider') === true ? true : undefined;
      });
      const { metadata, spec } = await node();
      assert.deepEqual(
        [metadata.labels?.['team'], metadata.annotations?.['note'], spec?.taints?.map(({ key }) => key).toSorted()],
        ['a', 'b', ['maintenance', 'virtual-kubelet.io/provider']],
      );
      stream.write('still here\n');
      await stream.until('an echo', (said) => said.includes('still here'));
      stream.close();
      assert.equal(world.isthmus.processes.get(world.source.cluster.name), process);
      assert.equal(process?.isRunning, true);
      await kubectl('taint', 'node', name, 'maintenance-');
    });

    it('that is deleted is recreated with its Lease before its pods are evicted', async () => {
      const { metadata: { uid } } = await node();
      await kubectl('delete', 'node', name);
      const uids = await until('the node and its Lease', async () => {
        const [found, lease] = await Promise.all([
          node().catch(() => undefined),
          world.source.client.get<Lease>(LEASES, { namespace: 'kube-node-lease', name }, world.signal)
            .catch(() => undefined),
        ]);
        const owner = lease?.metadata.ownerReferences?.[0]?.uid;
        return found !== undefined && found.metadata.uid !== uid
          && owner === found.metadata.uid ? [found.metadata.uid, owner] : undefined;
      });
      assert.equal(uids.length, 2);
      const { metadata, status } =
        await world.source.client.get<Pod>(PODS, { namespace: 'demo', name: 'web' }, world.signal);
      assert.deepEqual([metadata.uid, status?.phase], [given().web.metadata.uid, 'Running']);
    });

    it('gets no pod of a DaemonSet that tolerates everything', async () => {
      const [labels, tolerations] = [{ app: 'everywhere' }, [{ operator: 'Exists' }]];
      await world.source.client.create(
        DAEMON_SETS,
        {
          metadata: { namespace: 'demo', name: 'everywhere' },
          spec: {
            selector: { matchLabels: labels },
            template:
              { metadata: { labels }, spec: { tolerations, containers: [{ name: 'c', image: 'example/c:1' }] } },
          },
        } as KubernetesObject,
        world.signal,
      );
      const where = { namespace: 'demo', name: 'everywhere' };
      const read = async () => await world.source.client.get(DAEMON_SETS, where, world.signal) as DaemonSet;
      const { status } = await until('it to be counted', async () => {
        const found = await read();
        return found.status?.observedGeneration === undefined ? undefined : found;
      });
      const real = (await world.source.client.list<Node>(NODES, {}, world.signal)).filter(
        ({ metadata }) => metadata.labels?.['virtual-kubelet.io/provider'] === undefined,
      );
      assert.equal(status?.desiredNumberScheduled, real.length);
      await kubectl('delete', 'daemonset', 'everywhere', '-n', 'demo');
    });
  });

  describe('of a source with replicas', () => {
    const parts: ComponentProcess[] = [];
    let secondPort = 0;
    const start = async (...part: Parameters<typeof startPart>[1][]) =>
      parts.push(...(await Promise.all(part.map((one) => startPart(world, one)))));

    before(async () => {
      await world.isthmus.processes.get(world.source.cluster.name)?.stop();
      [secondPort = 0] = await freePorts(1);
      await start(
        { role: 'webhook', components: 'webhook' }, { role: 'kubelet', components: 'kubelet-api' },
        {
          role: 'kubelet-2', components: 'kubelet-api',
          options: { '--kubelet-port': String(secondPort), '--kubelet-signer': 'kubernetes.io/kubelet-serving' },
        },
        { role: 'leader', components: ACTING },
      );
      await until('a leader', () => leaseHolder(world));
      await start({ role: 'standby', components: ACTING });
    });
    after(async () => {
      await Promise.all(parts.map((part) => part.stop()));
      await world.isthmus.restart(world.source.cluster.name);
    });

    it('serve all, with a certificate of the cluster where one was asked for and approved', async () => {
      const request = await until(
        'a request',
        async () => (
          await world.source.client.list<CertificateSigningRequest>(CERTIFICATE_SIGNING_REQUESTS, {}, world.signal)
        ).find(({ metadata }) => metadata.name?.startsWith('isthmus-kubelet-')),
      );
      await kubectl('certificate', 'approve', request.metadata.name ?? '');
      const pki = join(world.source.cluster.directory, 'pki');
      const [ca, cert, key] = await Promise.all(
        ['ca.crt', 'kubelet-client.crt', 'kubelet-client.key'].map((file) => readFile(join(pki, file), 'utf8')),
      );
      const log = await until('a certificate that the cluster has signed', async () => {
        const asked = get({
          host: '127.0.0.1', port: secondPort, path: '/containerLogs/demo/web/main?tailLines=1', ca, cert, key,
          agent: false,
        });
        // its own certificate is not believed
        const [response] = await once(asked, 'response').catch(() => [undefined]);
        return response === undefined ? undefined : text(response);
      });
      assert.equal(log.length > 0, true);
    });

    it('carry streams on while another one takes the lead', async () => {
      const stream = await openPodStream(
        world.source.client.transport,
        {
          path: '/api/v1/namespaces/demo/pods/web/exec',
          query: [
            ['container', 'main'], ['stdout', 'true'],
            ...['sh', '-c', 'n=0; while sleep 0.2; do n=$((n+1)); echo $n.; done'].map(
              (word) => ['command', word] as const,
            ),
          ],
        },
        world.signal,
      );
      await stream.until('the first words', (said) => said.includes('2.'));
      const before = await leaseHolder(world);
      await parts.find(({ spec }) => spec.name.endsWith('isthmus-leader'))?.kill();
      await until('another leader', async () => {
        const holder = await leaseHolder(world);
        return holder === undefined || holder === before ? undefined : holder;
      });
      const spoken = stream.stdout.split('\n').length;
      await stream.until('more words after it', (said) => said.split('\n').length > spoken + 2);
      const numbers = stream.stdout.trimEnd().split('.\n').map((word) => Number.parseInt(word, 10));
      assert.deepEqual(numbers, numbers.map((_, index) => index + 1)); // none is missing
      stream.close();
    });
  });

  describe('that is drained by kubectl', () => {
    it('loses its pods, gets no others, and takes some again when it is uncordoned', async () => {
      await kubectl('drain', name, '--force', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=90s');
      assert.deepEqual(
        inNamespace(await world.source.client.list(PODS, {}, world.signal), 'demo').filter(
          ({ spec }) => spec.nodeName === name,
        ),
        [],
      );
      const delegates =
        await Promise.all(world.targets.map(({ client }) => client.list(PODS, { namespace: 'demo' }, world.signal)));
      assert.deepEqual(delegates.flat(), []);
      const place = async (pod: string): Promise<string | undefined> => {
        await world.source.client.create(
          PODS,
          {
            metadata: { namespace: 'demo', name: pod, annotations: { [ELECT_ANNOTATION]: '' } },
            spec: { containers: [{ name: 'c', image: 'example/c:1' }] },
          } as Pod,
          world.signal,
        );
        const pods = await world.source.pods.until(
          `${pod} runs`, (all) => all.some((one) => one.metadata.name === pod && isRunning(one)), 60_000,
        );
        return pods.find((one) => one.metadata.name === pod)?.spec.nodeName;
      };
      const elsewhere = await place('while-cordoned');
      assert.ok(elsewhere !== undefined && elsewhere !== name);
      await kubectl('uncordon', name);
      await kubectl('cordon', elsewhere);
      assert.equal(await place('after'), name);
      await kubectl('uncordon', elsewhere);
    });
  });
}
