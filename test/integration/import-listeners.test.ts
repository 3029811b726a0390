// Services of other clusters without a pod plane: HTTP through the listeners of the importing cluster's gateway and the
// cables to the exporters' gateways,
// on a real API server, with a real broker and service discovery between them (ADR 0039).
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLUSTERSET_GATEWAYS, SERVICES } from '../../api/resource-types.ts';
import { MCS_SERVICE_NAME_LABEL, MCS_SOURCE_CLUSTER_LABEL } from '../../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES } from '../../api/objects/endpoint-slice.ts';
import { importServiceName } from '../../service-discovery/imports/import-objects.ts';
import { untilEqual } from '../support/worlds/clusterset-world.ts';
import {
  hostOf, post, startListenerWorld, startNamedServer, type ListenerWorld, type NamedServer,
} from '../support/worlds/listener-world.ts';

const [namespace, name] = ['production', 'payment-api'];
let world: ListenerWorld;
let servers: readonly NamedServer[] = [];

before(async () => {
  world = await startListenerWorld();
  servers = await Promise.all(['eu-1', 'eu-2', 'asia-1'].map(startNamedServer));
});
after(async () => {
  for (const server of servers) server.close();
  await world?.stop();
});

/** Endpoints of the import by the cluster that they stand for, and their ports. */
async function endpoints(): Promise<
  Readonly<
    Record<string, { readonly address: string | undefined; readonly ready: boolean | undefined; readonly port: number }>
  >
> {
  const slices =
    await world.client.list(ENDPOINT_SLICES, { namespace, labelSelector: `${MCS_SERVICE_NAME_LABEL}=${name}` });
  return Object.fromEntries(slices.map(
    ({ metadata, endpoints: list, ports }) => [metadata.labels?.[MCS_SOURCE_CLUSTER_LABEL] ?? '', {
      address: list?.[0]?.addresses[0], ready: list?.[0]?.conditions?.ready, port: ports?.[0]?.port ?? 0,
    }],
  ));
}
const shown = async () =>
  Object.entries(await endpoints()).map(([cluster, { address, ready }]) => `${cluster} ${address} ${ready}`).toSorted();
const portOf = async (cluster: string) => (await endpoints())[cluster]?.port ?? 0;
const answerFrom = async (cluster: string) => {
  const { address = '', port = 0 } = (await endpoints())[cluster] ?? {};
  return post(port, '/health', 'x'.repeat(100_000), hostOf(address));
};
const importIp = async () =>
  (await world.client.get(SERVICES, { namespace, name: importServiceName(name) })).spec?.clusterIP;
const resolved = () => world.resolver.resolve4(`${name}.${namespace}.svc.clusterset.local`)
  .catch(({ code }: { readonly code: string }) => code);

describe('a Service of clusters without a pod plane', () => {
  it('is behind an address of the gateway, one port for each cluster that exports it', async () => {
    await world.tell('eu', { namespace, name, ports: [servers[0]?.port ?? 0, servers[1]?.port ?? 0] });
    await untilEqual('endpoints', shown, ['eu 10.77.0.1 true']);
    await world.tell('asia', { namespace, name, ports: [servers[2]?.port ?? 0] });
    await untilEqual('endpoints', shown, ['asia 10.77.0.1 true', 'eu 10.77.0.1 true']);
    assert.notEqual(await portOf('eu'), await portOf('asia'));
    await untilEqual('the name', resolved, [await importIp()]);
  });

  it('answers over TCP from each of them, though both have the same pod range; endpoints of one take turns',
    async () => {
    assert.equal(await answerFrom('asia'), 'asia-1 /health 100000');
    const answers = new Set<string>();
    for (let call = 0; call < 4; call += 1) answers.add(await answerFrom('eu'));
    assert.deepEqual([...answers].toSorted(), ['eu-1 /health 100000', 'eu-2 /health 100000']);
  });

  it('goes on under the same ports where another gateway takes over, and refuses no connection meanwhile', async () => {
    const before = await endpoints();
    const another = await world.startAnother('10.77.0.2');
    const standby = { namespace: 'isthmus-system', name: 'another' };
    await untilEqual('the standby', () => world.client.get(CLUSTERSET_GATEWAYS, standby).then(
      ({ status }) => status?.haStatus, () => undefined,
    ), 'passive');
    const stopped = world.gateways.us.stop();
    const refused: string[] = [];
    await untilEqual('endpoints', async () => {
      await answerFrom('asia').catch((error: unknown) => refused.push(String(error)));
      return shown();
    }, ['asia 10.77.0.2 true', 'eu 10.77.0.2 true'], 30_000);
    assert.deepEqual(refused, []);
    await stopped;
    world.gateways.us = another;
    const afterwards = await endpoints();
    assert.deepEqual([afterwards['eu']?.port, afterwards['asia']?.port], [before['eu']?.port, before['asia']?.port]);
    await untilEqual('an answer', () => answerFrom('asia'), 'asia-1 /health 100000');
  });

  it('is behind the others alone once one of them is away', async (t) => {
    await world.gateways.asia.stop();
    const took = await untilEqual('endpoints', shown, ['asia 10.77.0.2 false', 'eu 10.77.0.2 true'], 12_000);
    t.diagnostic(`not ready after ${Math.round(took)} ms`);
    assert.match(await answerFrom('eu'), /^eu-/);
    assert.deepEqual(await resolved(), [await importIp()]);
  });

  it('is reached no more once it is not exported', async () => {
    const port = await portOf('eu');
    await world.withdraw('eu', namespace, name);
    await untilEqual('endpoints', shown, ['asia 10.77.0.2 false']);
    await untilEqual(
      'the listener', () => post(port, '/health', '', '127.0.0.2').catch(({ code }: NodeJS.ErrnoException) => code),
      'ECONNREFUSED',
    );
    await untilEqual('the name', resolved, 'ENODATA');
  });
});
