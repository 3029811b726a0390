// When listeners hear that a target has become ready, and which cluster it is, with API servers that are simulated in
// this process.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { LightApiServer, type ServerCertificate } from '../../../benchmarks/simulation/light-api-server.ts';
import { simulateTarget } from '../../../benchmarks/simulation/simulated-target.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import type { ClusterConnection } from '../../../kubernetes/credentials/kubeconfig.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';
import { tokenKubeconfig } from '../../../peering/access/target-access.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';
import { TargetCluster } from '../../../targets/target-cluster.ts';
import { TargetClusters } from '../../../targets/target-clusters.ts';
import type { TargetObject } from '../../../targets/target-object.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';

const INSTALLED = 'isthmus-system';
const TARGET = { collection: 'clustertargets.multicluster.admiralty.io', name: 'one' };
const SECRET = { collection: 'secrets', namespace: INSTALLED, name: 'one' };

const stopped = new AbortController();
const servers: LightApiServer[] = [];
let [certificate, certificateAuthority]: [ServerCertificate, string] = [{ certificate: '', key: '' }, ''];
let source: LightApiServer;
let connection: ClusterConnection;
let client: ClusterClient;
let running: Promise<void>;

before(async () => {
  const authority = await createAuthority('simulation', 1, new Date());
  certificate = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
  certificateAuthority = authority.keyPair.certificate;
  source = await start();
  connection =
    { server: new URL(source.url), certificateAuthority, insecure: false, credentials: { kind: 'none' } };
  client = new ClusterClient(new Transport(connection, 'isthmus-test/1'));
});
after(async () => {
  stopped.abort();
  await running;
  await client.transport.close();
  for (const server of servers) server.stop();
});

async function start(): Promise<LightApiServer> {
  const server = await LightApiServer.start(certificate);
  servers.push(server);
  return server;
}

/** A target of its own, as a kubeconfig in a Secret leads to it. */
async function startTarget(): Promise<{ readonly config: string }> {
  const server = await start();
  simulateTarget(server.store, { nodes: 1, stepMs: 1, seed: servers.length }, stopped.signal);
  return kubeconfigFor(server, 't');
}

function kubeconfigFor({ url: server }: LightApiServer, token: string): { readonly config: string } {
  const kubeconfig = { server, certificateAuthority, token, cluster: 'simulated', user: 'source' };
  return { config: Buffer.from(tokenKubeconfig(kubeconfig)).toString('base64') };
}

it('is heard once for each time that a target becomes ready, or is set to something else', async () => {
  const { store } = source;
  store.create(SECRET.collection, { metadata: { namespace: INSTALLED, name: 'one' }, data: await startTarget() });
  store.create(TARGET.collection, { metadata: { name: 'one' }, spec: { kubeconfigSecret: { name: 'one' } } });
  const targets = new TargetClusters({
    source: client, sourceConnection: connection, sourceId: 's', installNamespace: INSTALLED,
    userAgent: 'isthmus-test', logger: SILENT,
  });
  let [heard, changed]: [number, () => void] = [0, () => undefined];
  targets.listen({
    changed: () => changed(),
    becameReady: () => {
      heard += 1;
      changed();
    },
  });
  const until = (holds: () => boolean) => new Promise<void>((resolve) => {
    changed = () => setImmediate(() => holds() && resolve());
    changed();
  });
  const objectIs = (holds: (object: Pick<TargetObject, 'labels'>) => boolean) => (): boolean => {
    const object = targets.object({ kind: 'ClusterTarget', name: 'one' });
    return object !== undefined && holds(object);
  };
  running = targets.run(stopped.signal);
  await until(() => heard > 0);

  for (const rtt of ['1ms', '2ms', '3ms']) store.update(TARGET, (object) => ({ ...object, status: { rtt } }));
  store.update(TARGET, (object) => ({ ...object, metadata: { ...object.metadata, labels: { tier: 'two' } } }));
  await until(objectIs(({ labels }) => 'tier' in labels));
  assert.equal(heard, 2, 'of the label, and not of figures before it');

  const moved = await startTarget();
  store.update(SECRET, (secret) => ({ ...secret, data: moved }));
  await until(() => heard > 2);
  assert.equal(heard, 3);
});

it('is another cluster when its new kubeconfig leads to another one at the same address', async () => {
  const secret = { ...SECRET, name: 'two' };
  source.store.create(secret.collection, { metadata: secret, data: await startTarget() });
  const server = servers.at(-1) ?? assert.fail();
  let identified = (): void => undefined;
  const target = new TargetCluster({ kind: 'ClusterTarget', name: 'two' }, {
    source: client, sourceConnection: connection, sourceId: 's', installNamespace: INSTALLED,
    userAgent: 'isthmus-test', logger: SILENT,
  }, {
    sessionOpened: () => undefined, changed: () => undefined, storedDelegation: () => undefined,
    movedTo: async () => undefined,
    isTarget: () => false,
    identified: () => {
      identified();
      return undefined;
    },
  });
  const nextIdentity = () => new Promise<void>((resolve) => (identified = resolve));
  const first = nextIdentity();
  target.update({ kubeconfigSecret: { name: 'two' } });
  await first;
  const { clusterId, session } = target;

  const kubeSystem = { collection: 'namespaces', name: 'kube-system' };
  server.store.delete(kubeSystem);
  const { uid } = server.store.create(kubeSystem.collection, { metadata: { name: kubeSystem.name } }).metadata;
  const second = nextIdentity();
  source.store.update(secret, (object) => ({ ...object, data: kubeconfigFor(server, 'u') }));
  await second;
  assert.notEqual(uid, clusterId);
  assert.equal(target.clusterId, uid);
  assert.notEqual(target.session, session, 'what it has cached is of the cluster before');
  await target.stop();
});
