// What somebody can do who may write the entries of a registry and nothing else, with discovery at work: offer clusters
// of their own, and nothing beyond. What each entry may not have, registry by registry, is in
// test/unit/discovery/registries/refused-entries.test.ts.
import assert from 'node:assert/strict';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { DiscoveredCluster } from '../../api/registry/target-discovery.ts';
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import { DISCOVERED_BY_LABEL, REGISTRY_ENTRY_ANNOTATION } from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS } from '../../api/resource-types.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openCluster, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { role, roleBinding, rule } from '../../model/access/rbac-objects.ts';
import {
  discover, kubeconfigOf, makeRegistryNamespace, managerOf, startDiscoveryWorld, untilEntry, untilReady, writeSecret,
  type DiscoveryWorld,
} from '../support/worlds/discovery-world.ts';

const WRITER = { namespace: 'argocd', name: 'writer' };
const base64 = (text = '') => Buffer.from(text, 'utf8').toString('base64');

let world: DiscoveryWorld;
let source: OpenCluster;
let writer: ClusterClient;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-attacks-'));
  world = await startDiscoveryWorld(2);
  const [own] = world.sandbox.clusters;
  source = await openCluster({ kubeconfigPath: own?.kubeconfigPath ?? '', userAgent: 'isthmus-test' });
  await makeRegistryNamespace(world, 'argocd');
  await world.source.create(SERVICE_ACCOUNTS, { metadata: WRITER });
  await world.source.create(
    ROLES, role('argocd', 'writer', [rule('', ['secrets'], ['get', 'list', 'create', 'patch', 'delete'])]),
  );
  await world.source.create(
    ROLE_BINDINGS, roleBinding({ ...WRITER, roleKind: 'Role', roleName: 'writer' }, [WRITER]),
  );
  const text = await kubeconfigOf(source, WRITER);
  writer = new ClusterClient(new Transport(await readKubeconfig({ text, author: 'administrator' }), 'isthmus-test'));
  await discover(world, 'argo', {
    from: { argoCD: {} }, namespaces: ['argocd'],
    target: { delegation: 'Pod', copyLabels: ['tier', DISCOVERED_BY_LABEL, 'multicluster.admiralty.io/x'] },
  });
  await register('eu-west', await accessTo(world.targets[0]!));
  await untilReady(world, 'eu-west');
});
after(async () => {
  await writer?.transport.close();
  await source?.client.transport.close();
  await world?.stop();
  await rm(folder, { recursive: true });
});

interface Offer {
  readonly name?: string;
  readonly server: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly labels?: Readonly<Record<string, string>>;
}

async function accessTo(cluster: OpenCluster): Promise<Offer> {
  const { connection: { server, certificateAuthority } } = cluster;
  return {
    server: server.href,
    config: {
      bearerToken: await (await managerOf(cluster)).token(),
      tlsClientConfig: { caData: base64(certificateAuthority) },
    },
  };
}

/** Writes an entry with the permissions of the one who may write entries alone. */
async function register(entry: string, { name = entry, server, config, labels = {} }: Offer): Promise<void> {
  await writeSecret(
    { ...world, source: writer },
    { namespace: 'argocd', name: entry, labels: { ...labels, 'argocd.argoproj.io/secret-type': 'cluster' } },
    { name, server, config: JSON.stringify(config) },
  );
}

function untilTold(entry: string, state: DiscoveredCluster['state']): Promise<DiscoveredCluster> {
  return untilEntry(world, 'argo', `${entry} is ${state}`, (one) =>
    one.entry === `Secret argocd/${entry}` && one.state === state);
}

describe('whoever may write the entries of a registry, and nothing else', () => {
  it('runs no command, and has no file read', async () => {
    const made = join(folder, 'made');
    await register('runs', {
      server: world.targets[1]!.connection.server.href,
      config: { execProviderConfig: { command: 'touch', args: [made], apiVersion: 'client.authentication.k8s.io/v1' } },
    });
    const { message } = await untilTold('runs', 'Refused');
    assert.match(message ?? '', /execProviderConfig, which runs a command/);
    await assert.rejects(access(made));
  });

  it('leads nobody to this cluster, by its name or by its address', async () => {
    await register('inside', await accessTo(source));
    await untilTold('inside', 'ThisCluster');
    await register('metadata', { server: 'https://169.254.169.254', config: { bearerToken: 'T' } });
    await untilTold('metadata', 'Refused');
  });

  it('makes no second target of a cluster that has one, and learns nothing that its own access does not show',
    async () => {
    await register('again', await accessTo(world.targets[0]!));
    const { message, target } = await untilTold('again', 'Duplicate');
    assert.deepEqual([message, target], ['ClusterTarget eu-west points to the same cluster', undefined]);
  });

  it('leads a target to no other cluster', async () => {
    await register('eu-west', await accessTo(world.targets[1]!));
    const { message } = await untilEntry(world, 'argo', 'it says so', (one) =>
      one.entry === 'Secret argocd/eu-west' && one.message !== undefined);
    assert.match(message ?? '', /points to another cluster now .* delete ClusterTarget eu-west/);
    await register('eu-west', await accessTo(world.targets[0]!));
    await untilEntry(world, 'argo', 'it is as before', (one) =>
      one.entry === 'Secret argocd/eu-west' && one.message === undefined);
  });

  it('takes over no target that somebody else has made, whatever the entry is called', async () => {
    const theirs: ClusterTarget = { metadata: { name: 'theirs' }, spec: { kubeconfigSecret: { name: 'theirs' } } };
    const { metadata: { uid } } = await world.source.create(CLUSTER_TARGETS, theirs);
    await world.clusterTargets.until('it is there', (all) => all.some(({ metadata }) => metadata.name === 'theirs'));
    const labels = { tier: 'gold', [DISCOVERED_BY_LABEL]: 'other', 'multicluster.admiralty.io/x': 'y' };
    await register('mine', { ...(await accessTo(world.targets[1]!)), name: 'theirs', labels });
    const { target = '' } = await untilTold('mine', 'Target');
    assert.match(target, /^theirs-[0-9a-f]{8}$/);
    const { metadata, spec } = await world.source.get(CLUSTER_TARGETS, { name: 'theirs' });
    assert.deepEqual(
      [metadata.uid, metadata.annotations?.[REGISTRY_ENTRY_ANNOTATION], spec.kubeconfigSecret],
      [uid, undefined, { name: 'theirs' }],
    );
    const made = await world.source.get(CLUSTER_TARGETS, { name: target });
    assert.deepEqual(made.metadata.labels, { tier: 'gold', [DISCOVERED_BY_LABEL]: 'argo' });
  });

  it('keeps the status of others from nobody by texts without end', async () => {
    await register('long', {
      name: 'n'.repeat(300_000), server: `https://${'s'.repeat(60)}.invalid`, config: { bearerToken: 'T' },
    });
    const { name } = await untilTold('long', 'Unreachable');
    assert.equal(name.length, 253);
  });

  it('reads no kubeconfig that discovery keeps, and writes no target', async () => {
    const refused = (error: unknown) => error instanceof ApiError && error.status === 403;
    await assert.rejects(writer.list(SECRETS, { namespace: 'isthmus-system-targets' }), refused);
    const target: ClusterTarget = { metadata: { name: 'x' }, spec: {} };
    await assert.rejects(writer.create(CLUSTER_TARGETS, target), refused);
  });
});
