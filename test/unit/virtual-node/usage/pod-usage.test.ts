import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { PodMetrics } from '../../../../api/objects/pod-metrics.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import {
  nodeUsageAt, toPodUsage, toResourceMetrics, toStatsSummary, type PodUsage,
} from '../../../../virtual-node/usage/pod-usage.ts';
import { frozen } from '../../../support/objects/builders.ts';
import { readResourceMetrics } from '../../../support/real-nodes/resource-metrics.ts';

const PROXY =
  frozen({ key: 'a/web', namespace: 'a', name: 'web', uid: 'u', containers: ['main', 'side'] }) as unknown as ProxyPod;
const TIME = '2026-01-02T03:04:05Z';
const NOW = Date.parse(TIME);

function metrics(...containers: readonly (readonly [name: string, cpu: string, memory: string])[]): PodMetrics {
  return frozen({
    metadata: { namespace: 'a', name: 'web-1234567890' }, timestamp: TIME,
    containers: containers.map(([name, cpu, memory]) => ({ name, usage: { cpu, memory } })),
  });
}

function used(cpu: string, memory: string): PodUsage {
  const usage = toPodUsage(metrics(['main', cpu, memory]), PROXY);
  assert.ok(usage);
  return usage;
}

describe('toPodUsage', () => {
  it('tells of the proxy what is used by its delegate', () => {
    assert.deepEqual(toPodUsage(metrics(['main', '12345678n', '20Mi'], ['side', '2', '1e3']), PROXY), {
      namespace: 'a', name: 'web', uid: 'u', takenAt: NOW,
      containers: [{ name: 'main', cpu: 12_345_678, memory: 20 * 2 ** 20 }, { name: 'side', cpu: 2e9, memory: 1_000 }],
    });
  });

  const rows: Record<string, readonly [metrics: PodMetrics, containers: readonly string[] | undefined]> = {
    'leaves out containers that only the target knows':
      [metrics(['main', '1m', '1Mi'], ['injected', '1', '1Gi']), ['main']],
    'leaves out containers whose usage is not a number':
      [metrics(['main', '1m', '1Mi'], ['side', 'much', '1Gi']), ['main']],
    'tells nothing where no container has usage': [metrics(['injected', '1', '1Gi']), undefined],
    'tells nothing of a time that is none': [{ ...metrics(['main', '1m', '1Mi']), timestamp: 'yesterday' }, undefined],
    'tells nothing of no containers': [{ metadata: {}, timestamp: TIME }, undefined],
    'keeps a container that does nothing, for a usage of 0 counts as missing': [metrics(['main', '0', '0']), ['main']],
  };
  for (const [sentence, [told, containers]] of Object.entries(rows)) {
    it(sentence, () => {
      const usage = toPodUsage(told, PROXY);
      assert.deepEqual(usage?.containers.map(({ name }) => name), containers);
      assert.ok(usage?.containers.every(({ cpu, memory }) => cpu > 0 && memory > 0) ?? true);
    });
  }
});

describe('toResourceMetrics', () => {
  it('is what a metrics server reads, in its words', () => {
    const page = toResourceMetrics([used('250m', '20Mi')], nodeUsageAt([used('250m', '20Mi')], undefined, NOW), false);
    for (const line of [
      '# TYPE container_cpu_usage_seconds_total counter',
      `container_cpu_usage_seconds_total{container="main",namespace="a",pod="web"} 2.749999725 ${NOW}`,
      `container_memory_working_set_bytes{container="main",namespace="a",pod="web"} 20971520 ${NOW}`,
      `container_start_time_seconds{container="main",namespace="a",pod="web"} ${(NOW - 11_000) / 1_000}.000000000`,
      `node_cpu_usage_seconds_total 2.750000000 ${NOW}`,
      `node_memory_working_set_bytes 20971520 ${NOW}`,
      'resource_scrape_error 0',
    ]) assert.ok(page.split('\n').includes(line), line);
  });

  it('says that a target did not answer', () => assert.match(
    toResourceMetrics([], undefined, true), /^resource_scrape_error 1$/m,
  ));

  it('leads a metrics server to no milli-CPU more, which kubectl rounds up to', () => {
    const time = fc.date({ min: new Date('2020-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });
    fc.assert(fc.property(fc.integer({ min: 1, max: 64_000 }), time, (milli, date) => {
      const usage = toPodUsage({ ...metrics(['main', `${milli}m`, '1Mi']), timestamp: date.toISOString() }, PROXY);
      assert.ok(usage);
      const [shown] = readResourceMetrics(toResourceMetrics([usage], undefined, false), 15);
      assert.equal(Math.ceil((shown?.nanoCores ?? 0) / 1e6), milli);
    }));
  });

  it('leads a metrics server to the very values, whatever it was told before', () => {
    const cpu = fc.nat({ max: 4_000_000_000_000 }).map((nanos) => `${nanos}n`);
    fc.assert(fc.property(cpu, fc.integer({ min: 1, max: 2 ** 45 }),
      fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }), (wanted, bytes, date) => {
      const usage = toPodUsage({ ...metrics(['main', wanted, String(bytes)]), timestamp: date.toISOString() }, PROXY);
      assert.ok(usage);
      const [told] = readResourceMetrics(toResourceMetrics([usage], undefined, false), 15);
      const { cpu: nanos, memory } = usage.containers[0]!;
      const error = Math.abs((told?.nanoCores ?? NaN) - nanos);
      assert.ok(told !== undefined && error <= 1 + nanos / 5e6, `${told?.nanoCores} instead of ${nanos}`);
      assert.equal(told.memoryBytes, memory);
    }));
  });
});

describe('nodeUsageAt', () => {
  it('adds up the pods, and goes on from what was told before', () => {
    const pods = [used('500m', '1Ki'), used('1', '1Ki')];
    const first = nodeUsageAt(pods, undefined, NOW);
    const second = nodeUsageAt([used('100m', '3Ki')], first, NOW + 15_000);
    assert.deepEqual([first.memory, second.memory], [2_048, 3_072]);
    assert.equal(Math.round((second.cpuSeconds - first.cpuSeconds) * 1_000), 1_500); // 0.1 cores for 15 s
  });

  it('never goes back, whatever the clock does, and is never 0', () => {
    fc.assert(fc.property(fc.array(fc.integer({ min: -60_000, max: 60_000 })), (steps) => {
      let [now, before] = [NOW, nodeUsageAt([], undefined, NOW)];
      for (const step of steps) {
        now += step;
        const after = nodeUsageAt([used('1', '1')], before, now);
        assert.ok(after.cpuSeconds >= before.cpuSeconds && after.cpuSeconds > 0 && after.memory > 0);
        before = after;
      }
    }));
  });
});

it('toStatsSummary names the node, the pods of the source and their containers', () => {
  const pods = [used('250m', '20Mi')];
  const values = (at: string) =>
    ({ cpu: { time: at, usageNanoCores: 250_000_000 }, memory: { time: at, workingSetBytes: 20 * 2 ** 20 } });
  const time = new Date(NOW).toISOString();
  assert.deepEqual(toStatsSummary('admiralty-c2', pods, nodeUsageAt(pods, undefined, NOW)), {
    node: { nodeName: 'admiralty-c2', ...values(time) },
    pods: [{
      podRef: { name: 'web', namespace: 'a', uid: 'u' }, ...values(time),
      containers: [{ name: 'main', ...values(time) }],
    }],
  });
});
