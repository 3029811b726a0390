// `npm run soak -- credentials [minutes]`: tokens of the shortest life that API servers grant (600 s), renewed again
// and again while elected pods, each with a Secret, are made all the time. Nothing may be interrupted: every pod runs,
// the target stays Ready, no call of ours is answered with 401. At the end every Secret of both clusters and every
// token that there was is looked for in logs, events, status, metrics and the support archive.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod, Secret } from '../../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, PODS, SECRETS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { peerClusters } from '../../../cli/join/peer-clusters.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { tokenOf } from '../../../peering/access/target-access.ts';
import { canariesIn, found, outputsOf, secretsOf, type Canary } from '../../support/attackers/canaries.ts';
import { everyOutput } from '../../support/attackers/every-output.ts';
import { makeNamespace, startWorld } from '../../support/worlds/isthmus-world.ts';

const minutes = Number(process.argv[2] ?? 26);
const TOKEN_SECONDS = 600;
const NAMESPACE = 'credentials';
/** API servers call the webhook at this path, so the configuration names it, to those who may read configurations. */
const WEBHOOK_PATH =
  'source isthmus-system-keys/isthmus-webhook-certificates path in source mutatingwebhookconfigurations';
const at = { namespace: DEFAULT_INSTALL_NAMESPACE, name: 'target-1-kubeconfig' };

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const work = await mkdtemp(join(tmpdir(), 'isthmus-credentials-'));
const world = await startWorld({ nodes: 2, audit: true });
const { source, signal } = world;
try {
  await makeNamespace(world, NAMESPACE);
  await source.client.create(
    SECRETS,
    {
      metadata: { namespace: NAMESPACE, name: 'password' },
      data: { key: Buffer.from('canary-that-follows').toString('base64') },
    } as Secret,
    signal,
  );
  await shortenTokens();
  const renewals = followTokens();
  const readyBefore = await readySince();
  const endsAt = Date.now() + minutes * 60_000;
  const latencies: number[] = [];
  for (let index = 0; Date.now() < endsAt; index += 1) {
    latencies.push(await onePod(`pod-${index}`));
    await sleep(2_000, undefined, { signal });
  }
  assert.equal(await readySince(), readyBefore, 'the target was not Ready all the time');
  const refused = (await Promise.all(world.sandbox.clusters.map(({ auditLog }) => refusedCalls(auditLog)))).flat();
  assert.deepEqual(refused, []);
  const tokens = await renewals.stop();
  const canaries = [...tokens, ...(await Promise.all(world.sandbox.clusters.map(async ({ name, kubeconfigPath }) => {
    const cluster = await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' });
    const secrets = await secretsOf(cluster.client, name);
    await cluster.client.transport.close();
    return secrets;
  }))).flat()];
  const outputs = await everyOutput(world, work);
  assert.deepEqual(found(canaries, outputs), [WEBHOOK_PATH]);
  assert.ok(
    found(canaries, await outputsOf(source.client, 'source', [SECRETS])).length > 0,
    'what is looked for is found where it is',
  );
  const sorted = latencies.toSorted((a, b) => a - b);
  print(JSON.stringify({
    minutes, tokenSeconds: TOKEN_SECONDS, renewals: renewals.count(), pods: latencies.length,
    slowestMs: Math.round(sorted.at(-1) ?? 0), medianMs: Math.round(sorted[sorted.length >> 1] ?? 0),
    answersOf401: refused.length, canaries: canaries.length,
    outputs: outputs.length, charactersSearched: outputs.reduce((sum, { text }) => sum + text.length, 0),
  }));
} catch (error) {
  for (const { name, directory } of world.sandbox.clusters) {
    print(`${name}:\n${(await readFile(join(directory, 'isthmus.log'), 'utf8')).split('\n').slice(-60).join('\n')}`);
  }
  throw error;
} finally {
  await world.stop();
  await rm(work, { recursive: true });
}

/** Peering again gives the targets' identities tokens of another life. */
async function shortenTokens(): Promise<void> {
  const opened = await Promise.all(world.sandbox.clusters.map(
    async ({ name, kubeconfigPath }) =>
      ({ ...(await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })), label: name }),
  ));
  const [from, ...targets] = opened;
  for (const target of targets) {
    await peerClusters(
      {
        name: target.label, installNamespace: DEFAULT_INSTALL_NAMESPACE, tokenSeconds: TOKEN_SECONDS,
        grants: { namespaces: 'All' }, source: from!, target,
      },
      { tell: () => undefined, signal },
    );
  }
  await Promise.all(opened.map(({ client }) => client.transport.close()));
}

/** Remembers every token that the Secret of a target has had. */
function followTokens(): { count(): number; stop(): Promise<readonly Canary[]> } {
  const seen = new Set<string>();
  const stopped = new AbortController();
  const look = async () => {
    const secret = await source.client.get(SECRETS, at);
    seen.add(tokenOf(Buffer.from(secret.data?.['config'] ?? '', 'base64').toString('utf8')) ?? '');
    return undefined;
  };
  const looking = pollUntil(
    look, { forMs: Infinity, everyMs: 5_000 }, AbortSignal.any([signal, stopped.signal]),
  ).catch(() => undefined);
  return {
    count: () => seen.size - 1,
    stop: async () => {
      stopped.abort();
      await looking;
      return [...seen].flatMap((token) => canariesIn('a token of target-1', token));
    },
  };
}

async function readySince(): Promise<string> {
  const targets = await source.client.list(CLUSTER_TARGETS, {}, signal);
  return targets
    .map(({ metadata, status }) => `${metadata.name} ${JSON.stringify(findCondition(status?.conditions, 'Ready'))}`)
    .join('\n');
}

/** Makes an elected pod, waits until it runs, and deletes it; gives the ms until it ran. */
async function onePod(name: string): Promise<number> {
  const pod: Pod = {
    metadata: { namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: {
      containers: [{ name: 'main', image: 'example/main:1' }],
      volumes: [{ name: 'password', secret: { secretName: 'password' } } as { name: string }],
    },
  };
  const startedAt = performance.now();
  await source.client.create(PODS, pod, signal);
  await source.pods.until(
    `${name} Running`,
    (pods) => pods.some(({ metadata, status }) => metadata.name === name && status?.phase === 'Running'), 60_000,
  );
  const ms = performance.now() - startedAt;
  await source.client.delete(PODS, { namespace: NAMESPACE, name }, {}, signal);
  return ms;
}

/** Calls of ours that an API server did not know the token of. */
async function refusedCalls(auditLog: string | undefined): Promise<readonly string[]> {
  const lines = auditLog === undefined ? [] : (await readFile(auditLog, 'utf8')).split('\n');
  return lines.filter((line) => line.includes('"code":401') && line.includes('isthmus-'));
}

