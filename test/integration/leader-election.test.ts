// Two replicas under leader election on a real API server; the leader is stopped for longer than its lease, blocked,
// and cut off. Who wrote when is read from the API server's audit log. Durations are shortened; production uses
// LEASE_TIMINGS, 15/10/2 s.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { after, afterEach, before, describe, it } from 'node:test';
import { EVENTS, LEASES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { LEASE_TIMINGS } from '../../kubernetes/lease/lease-record.ts';
import { EventRecorder } from '../../kubernetes/controller/event-recorder.ts';
import { SILENT } from '../support/doubles/scripted-api-server.ts';
import { startTestSandbox } from '../support/processes/stopped-with-process.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

const REPLICA = fileURLToPath(new URL('../support/processes/writing-replica.js', import.meta.url));

let sandbox: Sandbox;
let client: ClusterClient;
const children = new Set<ChildProcess>();

before(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-election-'));
  sandbox = await startTestSandbox({ dir, targets: 0, nodes: 0, gpus: 0, audit: true }, AbortSignal.timeout(180_000));
  client =
    (await openCluster({ kubeconfigPath: sandbox.clusters[0]!.kubeconfigPath, userAgent: 'isthmus-test' })).client;
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});
after(async () => {
  await client?.transport.close();
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir);
});

/**
 * Starts a process that writes as often as it can while it leads; its writes carry the name of the test and its own.
 */
async function replica(lease: string, name: string): Promise<ChildProcess> {
  const child = fork(
    REPLICA, [sandbox.clusters[0]!.kubeconfigPath, lease, name], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  );
  children.add(child);
  await once(child, 'message');
  return child;
}

const holder = async (lease: string) =>
  (await client.get(LEASES, { namespace: 'default', name: lease })).spec?.holderIdentity ?? '';

async function untilHeldBy(lease: string, name: string, ms = 15_000): Promise<void> {
  const deadline = performance.now() + ms;
  while ((await holder(lease).catch(() => '')) !== name) {
    assert(performance.now() < deadline, `${lease} is not held by ${name}`);
    await sleep(50);
  }
}

/** The audit log with all that was answered until now: it is written in batches, in order, so a last read tells. */
async function auditLog(): Promise<string> {
  const last = `last-${randomUUID()}`;
  await client.get(LEASES, { namespace: 'default', name: last }).catch(() => undefined);
  for (;;) {
    const text = await readFile(sandbox.clusters[0]!.auditLog!, 'utf8');
    if (text.includes(last)) return text;
    await sleep(50);
  }
}

/** How often the replica has been answered for these resources. */
async function answersTo(lease: string, name: string, resource: 'configmaps' | 'leases'): Promise<number> {
  const lines = (await auditLog()).split('\n').filter((line) => line.includes(`"isthmus-writer-${lease}-${name}`));
  return lines.filter((line) => line.includes(`"resource":"${resource}"`)).length;
}

/** Resolves once the replica has written some times more. */
async function untilWriting(lease: string, name: string): Promise<void> {
  const before = await answersTo(lease, name, 'configmaps');
  while ((await answersTo(lease, name, 'configmaps')) < before + 20) await sleep(50);
}

/** Resolves once the replica, which was stopped, has looked at its lease again and again, while the other one wrote. */
async function untilBack(lease: string, name: string, other: string): Promise<void> {
  const before = await answersTo(lease, name, 'leases');
  while ((await answersTo(lease, name, 'leases')) < before + 5) await sleep(50);
  await untilWriting(lease, other);
}

/** Writers in the order of the API server's answers, each once for every uninterrupted series. */
async function writers(lease: string): Promise<string[]> {
  const text = await auditLog();
  const turns: string[] = [];
  const writes = text.split('\n').filter((line) => line.includes(`"isthmus-writer-${lease}-`)).map(
    (line) => JSON.parse(line) as AuditEvent,
  );
  const done = writes.filter(
    ({ verb, objectRef, responseStatus }) =>
      verb === 'patch' && objectRef.resource === 'configmaps' && responseStatus.code < 300,
  );
  for (const { userAgent } of done.toSorted((a, b) => a.stageTimestamp.localeCompare(b.stageTimestamp))) {
    const name = userAgent.split('-').at(-1)!;
    if (turns.at(-1) !== name) turns.push(name);
  }
  assert(done.length > 20, `${done.length} writes`);
  return turns;
}

interface AuditEvent {
  readonly verb: string;
  readonly userAgent: string;
  readonly stageTimestamp: string;
  readonly objectRef: { readonly resource: string };
  readonly responseStatus: { readonly code: number };
}

describe('two replicas under leader election', () => {
  it('production durations leave room between the end of acting and the taking of the lease', () => {
    assert(LEASE_TIMINGS.renewWithinMs + 5_000 <= LEASE_TIMINGS.leaseMs);
    assert(LEASE_TIMINGS.renewEveryMs + LEASE_TIMINGS.retryMs * 1.2 < LEASE_TIMINGS.renewWithinMs);
  });

  it('SIGSTOP of the leader for longer than its lease, then SIGCONT: never two writers',
    { timeout: 60_000 }, async () => {
    const first = await replica('stopped', 'one');
    await untilHeldBy('stopped', 'one');
    const second = await replica('stopped', 'two');
    for (const [leader, next] of [[first, 'two'], [second, 'one']] as const) {
      await untilWriting('stopped', leader === first ? 'one' : 'two');
      leader.kill('SIGSTOP');
      await untilHeldBy('stopped', next);
      await untilWriting('stopped', next);
      leader.kill('SIGCONT');
      await untilBack('stopped', next === 'two' ? 'one' : 'two', next);
    }
    assert.deepEqual(await writers('stopped'), ['one', 'two', 'one']);
  });

  it('57: an event loop that is blocked for longer than the lease: the leader steps down rather than act',
    { timeout: 60_000 }, async () => {
    const first = await replica('blocked', 'one');
    await untilHeldBy('blocked', 'one');
    await replica('blocked', 'two');
    await untilWriting('blocked', 'one');
    first.send('block');
    await untilHeldBy('blocked', 'two');
    await untilBack('blocked', 'one', 'two');
    assert.deepEqual(await writers('blocked'), ['one', 'two']);
  });

  it('gives the lease back when it ends, so that the next one need not wait', { timeout: 60_000 }, async () => {
    const first = await replica('ended', 'one');
    await untilHeldBy('ended', 'one');
    const second = await replica('ended', 'two');
    const began = performance.now();
    first.kill('SIGTERM');
    await untilHeldBy('ended', 'two');
    assert(performance.now() - began < 1_500, 'less than a lease');
    second.kill('SIGTERM');
  });
});

describe('an event recorder', () => {
  it('writes events that the API server takes, and a series of repetitions', { timeout: 20_000 }, async () => {
    const stop = new AbortController();
    const recorder =
      new EventRecorder({ client, controller: 'isthmus.dev/test', logger: SILENT, limits: { seriesEveryMs: 100 } });
    const running = recorder.run(stop.signal);
    const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'recorded', uid: 'u' };
    const event = { regarding, type: 'Normal', reason: 'Tested', action: 'Test', note: 'x'.repeat(3_000) } as const;
    recorder.record(event);
    const read = async () => (await client.list(EVENTS, { namespace: 'default' })).find(
      ({ metadata }) => metadata.name?.startsWith('recorded.'),
    ) as { series?: { count: number } } | undefined;
    const deadline = performance.now() + 10_000;
    while ((await read()) === undefined) await sleep(20);
    recorder.record(event);
    recorder.record(event);
    while ((await read())?.series?.count !== 3) {
      assert(performance.now() < deadline && recorder.dropped === 0, JSON.stringify(await read()));
      await sleep(50);
    }
    stop.abort();
    await running;
  });
});
