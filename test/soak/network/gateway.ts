// `npm run soak -- gateway [minutes of kills]`: elected pods through the gateway alone, on real control planes, with
// everything going wrong that issue and docs/results/faults.md (54, 55) name: no broker at the start, gateways killed
// in turn, rollouts, spoiled bytes, partition, renewals. Prints its figures.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pod, Secret } from '../../../api/objects/core.ts';
import {
  DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../../api/objects/keys.ts';
import { NAMESPACES, PODS, SECRETS } from '../../../api/resource-types.ts';
import { GATEWAY_SECRET } from '../../../gateway/broker/gateway-secret.ts';
import {
  callThrough, isthmus, MARKER, startGatewaySoak, until, type GatewaySoak,
} from '../../support/network/gateway-soak.ts';
import { inNamespace, isRunning, type WorldCluster } from '../../support/worlds/isthmus-world.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';
import { assertInvariants } from '../../support/history/world-invariants.ts';

const MINUTES = Number(process.argv[2] ?? 1);
const POD_NAMESPACE = 'gateway-soak';
/** From kill -9 of the active gateway to the next API call through the other. */
const MAX_TAKEOVER_MS = 8_000;
/** From a spoiled byte to the next API call (fault 54: flows resume within 10 s). */
const MAX_RESUME_MS = 5_000;
/** Until a partition shows (fault 55). */
const MAX_NOTICE_MS = 10_000;
/** Life of the certificates in this run, in hours; they are renewed at two thirds of it. */
const CERTIFICATE_HOURS = 2 / 60;
const MOST_PODS = 40;
const figures: Record<string, unknown> = { minutes: MINUTES };
const outages: { from: number; until: number }[] = [];
let soak: GatewaySoak;
let load: PodLoad;
let certificates: readonly WatchedCollection<Secret>[];

/**
 * Creates elected pods one after the other and deletes the oldest, until it is stopped. One that has gone before it is
 * deleted was lost, and ends it.
 */
class PodLoad {
  created = 0;
  deleted = 0;
  readonly #names: string[] = [];
  #isOver = false;
  #running: Promise<void> | undefined;

  start(everyMs: number): void {
    this.#isOver = false;
    this.#running = this.#run(everyMs);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async create(): Promise<void> {
    const name = `pod-${this.created}`;
    const pod: Pod = {
      metadata: { name, namespace: POD_NAMESPACE, annotations: { [ELECT_ANNOTATION]: '', note: MARKER } },
      spec: { containers: [{ name: 'main', image: MARKER }] },
    };
    await until(`creating ${name}`, () => soak.source.client.create(PODS, pod).then(() => true));
    this.created += 1;
    this.#names.push(name);
  }

  async #run(everyMs: number): Promise<void> {
    while (!this.#isOver) {
      await this.create();
      const oldest = this.#names.length > MOST_PODS ? this.#names.shift() : undefined;
      if (oldest !== undefined) {
        await soak.source.client.delete(PODS, { namespace: POD_NAMESPACE, name: oldest }, { gracePeriodSeconds: 1 });
        this.deleted += 1;
      }
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}

/**
 * Calls through the gateways one after the other while `work` runs; gives how many there were, the slowest in ms, and
 * why any failed.
 */
async function callingDuring(
  work: () => Promise<void>,
): Promise<{ calls: number; slowestMs: number; failures: string[] }> {
  const over = new AbortController();
  const told = { calls: 0, slowestMs: 0, failures: [] as string[] };
  const calling = (async () => {
    while (!over.signal.aborted) {
      const since = performance.now();
      await callThrough(soak.endpoints, 'target', 10_000).catch((error: unknown) => told.failures.push(String(error)));
      told.calls += 1;
      told.slowestMs = Math.max(told.slowestMs, Math.round(performance.now() - since));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  await work().finally(() => over.abort());
  await calling;
  return told;
}

/** Time until an API call goes through, in ms. */
async function untilCall(seconds = 30): Promise<number> {
  return Math.round(await until(
    'an API call through the gateway', async () => (await callThrough(soak.endpoints, 'target', 1_000)) > 0, seconds,
  ));
}

/** Waits until every pod that is there runs, with one delegate each. */
async function untilAllRun(seconds = 90): Promise<void> {
  const ofOurs = ({ pods }: WorldCluster) =>
    inNamespace(pods.objects, POD_NAMESPACE).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  await until(
    'all pods to run',
    () =>
      ofOurs(soak.source).length > 0 && ofOurs(soak.source).every(isRunning)
        && ofOurs(soak.source).length === ofOurs(soak.target).length,
    seconds,
  );
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const rounds = (perMinute: number, least: number) => Math.max(least, Math.round(MINUTES * perMinute));

describe('pods through the gateway alone', { timeout: (MINUTES + 20) * 60_000 }, () => {
  before(async () => {
    soak = await startGatewaySoak();
    load = new PodLoad();
    figures['leasesRunOut'] = soak.leasesRunOut;
    await soak.join(CERTIFICATE_HOURS);
    certificates = await Promise.all([soak.source, soak.target].map(
      ({ client }) => new WatchedCollection(
        client, SECRETS, { namespace: DEFAULT_INSTALL_NAMESPACE, fieldSelector: `metadata.name=${GATEWAY_SECRET}` },
      ).start(soak.signal),
    ));
    const { client } = soak.source;
    await client.apply(
      NAMESPACES, { metadata: { name: POD_NAMESPACE, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } },
      'isthmus-soak',
    );
    await soak.target.client.apply(NAMESPACES, { metadata: { name: POD_NAMESPACE } }, 'isthmus-soak');
  });
  after(async () => {
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    await load?.stop().catch(() => undefined); // its step has failed by it
    await soak?.stop();
  });

  /** A step; when it fails the ends of the logs tell why. */
  const step = (name: string, work: () => Promise<void>) =>
    it(name, { timeout: (MINUTES + 10) * 60_000 }, async () => {
      await work().catch(async (error: unknown) => {
        process.stderr.write(`${await soak.logEnds()}\n`);
        throw error;
      });
    });

  step('gateways get their first cable while the broker is still away, and after it was away for good', async () => {
    soak.startGateway(0);
    await until('the copy of the members', async () => soak.isConnected().then(() => true), 60);
    soak.startTargetGateway();
    figures['connectedAfterMs'] = Math.round(await until('a cable', () => soak.isConnected()));
    await soak.killBroker();
    await soak.stopGateway(0, 'SIGKILL');
    soak.startGateway(0);
    soak.startGateway(1);
    figures['connectedWithoutBrokerMs'] = await untilCall(60);
    soak.startBroker(CERTIFICATE_HOURS);
  });

  step('the target becomes Ready and pods run', async () => {
    await soak.moveBehindGateway();
    figures['targetReadyAfterMs'] =
      Math.round(await until('the target to be Ready through the gateway', () => soak.isReadyBehindGateway()));
    await load.create();
    await until(
      'a round trip in the ClusterTarget',
      async () => /^\d/.test((figures['rttOfTheTarget'] = (await soak.told('Ready')).rtt) as string), 90,
    );
    figures['firstPodRunningAfterMs'] = Math.round(
      await until('the first pod', () => inNamespace(soak.source.pods.objects, POD_NAMESPACE).some(isRunning)),
    );
    for (let count = 1; count < 20; count += 1) await load.create();
    await untilAllRun();
  });

  step('the commands tell the same', async () => {
    const source = ['--kubeconfig', soak.source.cluster.kubeconfigPath];
    assert.match(await isthmus('gateway', 'diagnose', ...source), /✓ a gateway connection to target: round trip/);
    assert.match(await isthmus('gateway', 'show', 'connections', ...source), /target .*connected/);
    const endpoint = soak.endpoints[await soak.holder()].origin;
    const verified = await isthmus(
      'gateway', 'verify', 'target', '--endpoint', endpoint, '--other-kubeconfig', soak.target.cluster.kubeconfigPath,
      '--other-endpoint', soak.targetEndpoint.origin, ...source,
    );
    assert.match(verified, /✓ the API server of target answers through the gateway/);
    assert.match(verified, /✓ in target: the API server of source answers/);
    figures['benchmark'] = await isthmus('gateway', 'benchmark', 'target', '--endpoint', endpoint);
  });

  step(`the active of two gateways is killed -9 again and again for ${MINUTES} minutes under load`, async () => {
    load.start(400);
    const takeovers: number[] = [];
    const leases: number[] = [];
    for (const end = performance.now() + MINUTES * 60_000; performance.now() < end; ) {
      const victim = await soak.holder();
      await until('the other gateway to stand by', () => soak.standsBy(victim === 0 ? 1 : 0));
      await pause(1_000);
      const from = performance.now();
      await soak.stopGateway(victim, 'SIGKILL');
      const took = await until('the lease to change hands', async () => (await soak.holder()) !== victim);
      takeovers.push(Math.round(took) + (await untilCall()));
      leases.push(Math.round(took));
      outages.push({ from, until: performance.now() });
      soak.startGateway(victim);
    }
    await load.stop();
    Object.assign(figures, { kills: takeovers.length, takeoverMs: takeovers, ofThatUntilTheLeaseMs: leases });
    await untilAllRun();
    assert.ok(
      takeovers.every((ms) => ms <= MAX_TAKEOVER_MS),
      `a takeover took longer than ${MAX_TAKEOVER_MS} ms: ${takeovers.join()}`,
    );
  });

  step('a rollout hands over without a failed call', async () => {
    await until('two gateways', () => soak.isConnected());
    const told = await callingDuring(async () => {
      for (let count = 0; count < rounds(1, 2); count += 1) {
        const victim = await soak.holder();
        await until('the other gateway to stand by', () => soak.standsBy(victim === 0 ? 1 : 0));
        await soak.stopGateway(victim, 'SIGTERM');
        soak.startGateway(victim);
        await until('the other one', async () => (await soak.holder()) !== victim && (await soak.isConnected()));
      }
    });
    figures['rollouts'] = { count: rounds(1, 2), ...told };
    assert.deepEqual(told.failures, []);
    await untilAllRun();
  });

  step('flipped bits and repeated records end a session, which comes back; nothing is accepted twice', async () => {
    load.start(250);
    const resumed: number[] = [];
    for (let count = 0; count < rounds(8, 8); count += 1) {
      const { flips, repeats } = soak.relay;
      const how = count % 2 === 0 ? 'flip' : 'repeat';
      soak.relay.spoil(how);
      await until('a spoiled chunk', () => soak.relay.flips + soak.relay.repeats > flips + repeats);
      resumed.push(await untilCall());
      await pause(500);
    }
    await load.stop();
    Object.assign(
      figures, { bitsFlipped: soak.relay.flips, chunksRepeated: soak.relay.repeats, resumedAfterMs: resumed },
    );
    await untilAllRun();
    assert.ok(
      resumed.every((ms) => ms <= MAX_RESUME_MS),
      `a call came through only later than ${MAX_RESUME_MS} ms: ${resumed.join()}`,
    );
  });

  step('a partition shows within ten seconds, pods keep running, and after it has healed all goes on', async () => {
    const left = () => inNamespace(soak.target.pods.objects, POD_NAMESPACE)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.uid);
    const before = left();
    const from = performance.now();
    soak.relay.cut();
    try {
      figures['partitionNoticedAfterMs'] =
        Math.round(await until('a connection that is not connected', async () => !(await soak.isConnected())));
      await load.create();
      await until('a target that is not Ready', async () => (await soak.told('Ready')).status !== 'True', 90);
      figures['notReadyAfterMs'] = Math.round(performance.now() - from);
      figures['saidMeanwhile'] = (await soak.told('Reachable')).message;
      assert.deepEqual(left(), before);
      assert.ok(inNamespace(soak.target.pods.objects, POD_NAMESPACE).every(isRunning));
    } finally {
      soak.relay.heal();
    }
    figures['healedAfterMs'] = await untilCall(60);
    outages.push({ from, until: performance.now() });
    await untilAllRun(120);
    assert.ok(Number(figures['partitionNoticedAfterMs']) <= MAX_NOTICE_MS);
  });

  step('certificates are renewed under load without a failed call', async () => {
    const serials = () => certificates.map(
      ({ history }) => new Set(history.flatMap(({ after: secret }) => secret?.data?.['tls.crt'] ?? [])).size,
    );
    const before = serials();
    load.start(400);
    const told = await callingDuring(
      async () => void (await until(
        'two renewals in each cluster', () => serials().every((count, index) => count >= (before[index] ?? 0) + 2), 300,
      )),
    );
    await load.stop();
    figures['renewals'] = { inAll: serials().map((count) => count - 1), ...told };
    assert.deepEqual(told.failures, []);
    await untilAllRun();
  });

  step('nothing was lost, nothing ran twice, nothing was seen in plain text', async () => {
    Object.assign(figures, {
      podsCreated: load.created, podsDeleted: load.deleted, capturedBytes: soak.relay.bytes,
      markersSeen: soak.relay.markersSeen,
    });
    await until(
      'the deleted pods to be gone',
      () => inNamespace(soak.source.pods.objects, POD_NAMESPACE).length === load.created - load.deleted,
    );
    assert.ok(inNamespace(soak.source.pods.objects, POD_NAMESPACE).every(isRunning));
    assert.equal(inNamespace(soak.target.pods.objects, POD_NAMESPACE).length, load.created - load.deleted);
    assertInvariants({ source: soak.source, targets: [soak.target] }, { outages });
    assert.ok(soak.relay.bytes > 100_000);
    assert.equal(soak.relay.markersSeen, 0);
  });
});
