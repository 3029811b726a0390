// "Fits now" against the real kube-scheduler, and quantities against the real API server. More cases:
// test/soak/placement/node-fit.ts.
import assert from 'node:assert/strict';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { NAMESPACES, PODS, SERVICE_ACCOUNTS } from '../../api/resource-types.ts';
import { RandomSource } from '../../benchmarks/load/random-source.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { parseQuantity } from '../../model/resources/quantity.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { RESOURCE_QUOTAS } from '../support/objects/resource-types.ts';
import { runFitCases } from '../support/worlds/random-fit.ts';
import { startTestSandbox } from '../support/processes/stopped-with-process.ts';

type ResourceQuota = KubernetesObject & { readonly status?: { readonly used?: Readonly<Record<string, string>> } };

let sandbox: Sandbox;
let client: ClusterClient;
const stopped = new AbortController();

before(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-fit-'));
  sandbox = await startTestSandbox(
    { dir, targets: 0, nodes: 0, gpus: 0, audit: false, clientQps: 2_000 }, AbortSignal.timeout(180_000),
  );
  client =
    (await openCluster({ kubeconfigPath: sandbox.clusters[0]!.kubeconfigPath, userAgent: 'isthmus-test' })).client;
});
after(async () => {
  stopped.abort();
  await client?.transport.close();
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir);
});

describe('whether a pod fits now, by a summary and by kube-scheduler', () => {
  it('is the same for 80 random clusters and pods', async () => {
    const cases = await runFitCases(client, { count: 80, seed: 6 }, stopped.signal);
    const different = cases.filter(({ ours, real }) => (ours === 'fits') !== (real === 'fits'));
    assert.deepEqual(different.map(({ pod, ours, real }) => [pod.metadata.name, ours, real]), []);
    const fitting = cases.filter(({ real }) => real === 'fits').length;
    assert.ok(fitting >= 20 && fitting <= 60, `${fitting} of 80 fit: the cases are too much alike`);
  });
});

describe('quantities and the real API server', () => {
  const VALUES = 10_000;
  const CONTAINERS = 250;
  const RESOURCES = ['cpu', 'memory'];

  function randomQuantity(random: RandomSource): string {
    const digits = () => Array.from({ length: 1 + random.below(random.oneOf([2, 4, 9, 15])) }, () => random.below(10))
      .join('');
    const number =
      random.oneOf([() => digits(), () => `${digits()}.${digits()}`, () => `.${digits()}`, () => `${digits()}.`])();
    const suffix = random.oneOf([
      '', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei', `e${random.below(12)}`,
      `E-${random.below(12)}`, `e+${random.below(4)}`,
    ]);
    return `${random.oneOf(['', '', '', '+'])}${number}${suffix}`;
  }

  function podOf(name: string, random: RandomSource): Pod {
    const requests = () => Object.fromEntries(RESOURCES.map((resource) => [resource, randomQuantity(random)]));
    const containers = Array.from(
      { length: CONTAINERS }, (_, index) => ({ name: `c${index}`, image: 'none', resources: { requests: requests() } }),
    );
    return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'quantities', name }, spec: { containers } };
  }

  const nanosOf = (value: string | number | undefined) => {
    const parsed = parseQuantity(value ?? '');
    return parsed.kind === 'quantity' ? parsed.nanos : undefined;
  };

  /**
   * The API server rounds every amount in a pod's resource list up to thousandths (`core/v1` SetDefaults_ResourceList).
   */
  function upToMilli(nanos: bigint | undefined): bigint | undefined {
    if (nanos === undefined || nanos % 1_000_000n === 0n) return nanos;
    return (nanos / 1_000_000n + 1n) * 1_000_000n;
  }

  it('10,000 of them mean what their canonical form means, rounded up to thousandths', async () => {
    const random = new RandomSource(11);
    await client.apply(NAMESPACES, { metadata: { name: 'quantities' } }, 'isthmus-test');
    await client.apply(SERVICE_ACCOUNTS, { metadata: { namespace: 'quantities', name: 'default' } }, 'isthmus-test');
    let compared = 0;
    const different: unknown[] = [];
    while (compared < VALUES) {
      const pod = podOf(`p${compared}`, random);
      const stored = await client.create(PODS, pod);
      for (const [index, container] of stored.spec.containers.entries()) {
        for (const resource of RESOURCES) {
          const given = pod.spec.containers[index]?.resources?.requests?.[resource];
          const canonical = container.resources?.requests?.[resource];
          compared += 1;
          if (upToMilli(nanosOf(given)) !== nanosOf(canonical)) different.push([given, canonical]);
        }
      }
    }
    assert.deepEqual(different, []);
  });

  it('their sums are what a ResourceQuota counts', async () => {
    const random = new RandomSource(12);
    const namespace = 'sums';
    await client.apply(NAMESPACES, { metadata: { name: namespace } }, 'isthmus-test');
    await client.apply(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'default' } }, 'isthmus-test');
    const hard = { 'requests.cpu': '9E', 'requests.memory': '8Ei' };
    await client.apply(
      RESOURCE_QUOTAS, { metadata: { namespace, name: 'sums' }, spec: { hard } } as KubernetesObject, 'isthmus-test',
    );
    const requests = () => ({
      cpu: `${random.below(1e6)}${random.oneOf(['m', 'u', '', 'k'])}`,
      memory: `${random.below(1e6)}.${random.below(1e3)}${random.oneOf(['Ki', 'M', 'Gi', ''])}`,
    });
    const containers = Array.from(
      { length: 200 }, (_, index) => ({ name: `c${index}`, image: 'none', resources: { requests: requests() } }),
    );
    const made = await createOnceCounted(namespace, containers);
    const sum = (resource: string) =>
      made.reduce((total, { resources }) => total + (nanosOf(resources?.requests?.[resource]) ?? 0n), 0n);
    let looks = 0;
    const counted = async () => {
      const at = { namespace, name: 'sums' };
      const { status } = await client.get<ResourceQuota>(RESOURCE_QUOTAS, at);
      const used = RESOURCES.map((resource) => nanosOf(status?.used?.[`requests.${resource}`]));
      if (used.some((amount) => amount !== undefined && amount > 0n)) return used;
      // A pod that was admitted before the quota was known there is counted only when the quota changes, or after
      // minutes.
      looks += 1;
      await client.patch(
        RESOURCE_QUOTAS, at, { patchType: 'merge', patch: { spec: { hard: { pods: String(10 + looks) } } } },
      );
      return undefined;
    };
    assert.deepEqual(await pollUntil(counted, { forMs: 60_000, everyMs: 500 }, stopped.signal), RESOURCES.map(sum));
  });

  /** A quota refuses pods until its controller has counted what is there; each refusal means to ask again. */
  async function createOnceCounted(
    namespace: string, containers: Pod['spec']['containers'],
  ): Promise<Pod['spec']['containers']> {
    const deadline = performance.now() + 60_000;
    for (;;) {
      try {
        return (await client.create(
          PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name: 'sums' }, spec: { containers } } as Pod,
        )).spec.containers;
      } catch (error) {
        if (performance.now() > deadline || !/status unknown for quota/.test(String(error))) throw error;
      }
    }
  }
});
