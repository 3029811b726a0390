// A node of the pod plane as its cluster changes: which part it has, what it tells its driver or its agent, and what it
// says when it can have none. Drivers and agents are the test's own.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { OWN_ENDPOINT_LABEL } from '../../../../api/objects/keys.ts';
import { CLUSTERSET_ENDPOINTS, CLUSTERSET_MEMBERS, LEASES, NODES, SECRETS } from '../../../../api/resource-types.ts';
import { publicKeyOf } from '../../../../gateway/protocol/wireguard-keys.ts';
import { PodPlaneController, type PodPlaneOptions } from '../../../../pod-plane/nodes/pod-plane-controller.ts';
import { campaign } from '../../../../pod-plane/nodes/pod-plane-node-controller.ts';
import type { RouteAgentFacts } from '../../../../pod-plane/nodes/route-agent.ts';
import { toPlaneKeySecret } from '../../../../pod-plane/plan/plane-keys.ts';
import { newPrivateKey } from '../../../../pod-plane/wireguard/make-wireguard-key.ts';
import { FakeCluster } from '../../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import { endpoint, lease, member, NAMESPACE, node, OWN } from './plane-objects.ts';

const KEY = newPrivateKey();

let cluster: FakeCluster;
let stop: AbortController;

describe('the part of a node', () => {
  beforeEach(() => {
    [cluster, stop] = [new FakeCluster(), new AbortController()];
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  });
  afterEach(async () => {
    stop.abort();
    await cluster.settled();
    mock.timers.reset();
  });
  const fence = { isHeld: false, holds: () => fence.isHeld, msLeft: () => 0 };
  /** What drivers and agents were told, a line each. */
  let told: string[] = [];
  let isDead = false;
  const take = (): readonly string[] => told.splice(0);

  const driver = () => {
    const connected = new Set<string>();
    return {
      get isClosed() {
        return isDead;
      },
      failure: undefined,
      connect: ({ clusterId, ranges }: { readonly clusterId: string; readonly ranges: readonly string[] }) => {
        connected.add(clusterId);
        told.push(`connect ${clusterId} ${ranges.join()}`);
      },
      disconnect: (clusterId: string) => void (connected.delete(clusterId), told.push(`disconnect ${clusterId}`)),
      connections: () => [...connected].map((clusterId) => ({ clusterId })),
      usePrefixes: () => undefined, useKey: () => undefined, settled: async () => undefined,
      useWorkers: (workers: readonly { readonly name: string }[]) =>
        void told.push(`workers ${workers.map(({ name }) => name).join()}`),
      close: async () => void told.push('driver closed'),
    };
  };
  const makeAgent = () => {
    const agent = {
      use: async ({ gatewayAddress, remoteRanges }: RouteAgentFacts) =>
        void told.push(`routes ${remoteRanges.join()} via ${gatewayAddress}`),
      release: async () => void told.push('agent released'), close: async () => void told.push('agent closed'),
      failure: undefined,
    };
    return agent as unknown as ReturnType<PodPlaneOptions['makeAgent']>;
  };

  beforeEach(() => {
    [told, isDead, fence.isHeld] = [[], false, false];
    cluster.put(NODES, node('one', ['10.0.0.1'], {}, ['10.1.1.0/24']));
    cluster.put(NODES, node('other', ['10.0.0.2'], {}, ['10.1.2.0/24']));
    cluster.put(CLUSTERSET_ENDPOINTS, OWN);
    cluster.put(CLUSTERSET_ENDPOINTS, endpoint('us'));
    cluster.put(CLUSTERSET_MEMBERS, member('eu', '10.1.0.0/16'));
    cluster.put(CLUSTERSET_MEMBERS, member('us', '10.2.0.0/16'));
    cluster.put(LEASES, lease('other/x'));
    cluster.put(SECRETS, toPlaneKeySecret(NAMESPACE, KEY));
  });

  async function started(name = 'one'): Promise<PodPlaneController> {
    const controller = new PodPlaneController({
      client: cluster.client, namespace: NAMESPACE, node: name, program: '', listenPort: 51_820, pathMtu: 1_500,
      fence, makeAgent, startDriver: async () => driver() as never, changed: () => undefined, logger: SILENT,
    });
    void controller.run(stop.signal);
    await cluster.settled();
    return controller;
  }

  async function look(): Promise<readonly string[]> {
    mock.timers.tick(500);
    await cluster.settled();
    return take();
  }

  it('is to route to the gateway, wherever that is', async () => {
    const controller = await started();
    assert.deepEqual([take(), controller.failure], [['routes 10.2.0.0/16 via 10.0.0.2'], undefined]);
    cluster.put(NODES, node('third', ['10.0.0.3']));
    cluster.put(LEASES, lease('third/x'));
    await cluster.settled();
    assert.equal(take().at(-1), 'routes 10.2.0.0/16 via 10.0.0.3');
  });

  it('stays as it was between two gateways', async () => {
    const controller = await started();
    take();
    for (const holder of ['', 'one/x']) { // nobody's, or its own before it knows
      cluster.put(LEASES, lease(holder));
      await cluster.settled();
      assert.deepEqual([take(), controller.failure], [[], undefined], holder);
    }
  });

  it('is to be the gateway once it has the Lease: its agent leaves the network to it', async () => {
    const controller = await started();
    take();
    fence.isHeld = true;
    assert.deepEqual(await look(), ['agent released', 'workers other', 'connect us 10.2.0.0/16']);
    assert.equal(controller.isActive, true);
    const [{ plural, body } = assert.fail()] = cluster.writes;
    assert.deepEqual([plural, (body as { readonly spec: object }).spec], ['clustersetendpoints', {
      clusterID: 'eu', backend: 'wireguard', addresses: ['10.0.0.1:51820', '10.0.0.2:51820'],
      publicKeys: [publicKeyOf(KEY)],
    }]);
  });

  it('is to announce nothing that is known', async () => {
    fence.isHeld = true;
    const addresses = ['10.0.0.1:51820', '10.0.0.2:51820'];
    const spec = { addresses, publicKeys: [publicKeyOf(KEY)] };
    cluster.put(CLUSTERSET_ENDPOINTS, endpoint('eu', spec, { [OWN_ENDPOINT_LABEL]: 'true' }));
    await started();
    assert.deepEqual(cluster.takeWrites(), []);
  });

  it('is to let go of a member that has left, and to take one that has come', async () => {
    fence.isHeld = true;
    await started();
    take();
    cluster.put(CLUSTERSET_MEMBERS, member('ap', '10.3.0.0/16'));
    cluster.put(CLUSTERSET_ENDPOINTS, endpoint('ap'));
    cluster.remove(CLUSTERSET_MEMBERS, `${NAMESPACE}/us`);
    await cluster.settled();
    const said = take();
    assert.ok(said.includes('connect ap 10.3.0.0/16') && said.includes('disconnect us'), said.join('; '));
  });

  it('is to route again when it has lost the Lease', async () => {
    fence.isHeld = true;
    await started();
    take();
    fence.isHeld = false;
    assert.deepEqual(await look(), ['driver closed', 'routes 10.2.0.0/16 via 10.0.0.2']);
  });

  it('is to give the Lease back only without a tunnel, when other nodes are labelled as gateways', async () => {
    fence.isHeld = true;
    cluster.put(LEASES, lease('one/x'));
    const controller = await started();
    let given: () => void = () => undefined;
    const run = (signal: AbortSignal) => new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        told.push(`gives the Lease back, gateway: ${controller.isActive}`);
        fence.isHeld = false;
        given = resolve;
      });
    });
    void campaign({ run }, controller, stop.signal);
    await cluster.settled();
    take();
    cluster.put(NODES, node('other', ['10.0.0.2'], { 'isthmus.dev/gateway': 'true' }, ['10.1.2.0/24']));
    await cluster.settled();
    take();
    assert.deepEqual(await look(), ['driver closed', 'gives the Lease back, gateway: false']);
    fence.isHeld = true; // as long as it is not given back
    assert.deepEqual(await look(), []);
    fence.isHeld = false;
    given();
    await cluster.settled();
  });

  it('is to begin again when its driver has ended by itself', async () => {
    fence.isHeld = true;
    await started();
    take();
    isDead = true;
    mock.timers.tick(500);
    isDead = false; // the next one lives
    await cluster.settled();
    assert.ok(take().includes('connect us 10.2.0.0/16'));
  });

  const failures: Readonly<Record<string, readonly [change: () => void, failure: RegExp]>> = {
    'in no clusterset':
      [() => cluster.remove(CLUSTERSET_ENDPOINTS, `${NAMESPACE}/eu-wireguard`), /isthmus gateway join/],
    'of which the broker has told nothing yet':
      [() => cluster.remove(CLUSTERSET_MEMBERS, `${NAMESPACE}/eu`), /no ClustersetMember "eu"/],
    'without a range of IPv4':
      [() => cluster.put(CLUSTERSET_MEMBERS, member('eu', 'fd00::/48')), /no IPv4 pod range .* --cluster-cidr/],
    'without a Node of that name': [() => cluster.remove(NODES, 'one'), /no Node "one" .* --node-name/],
    'with a Secret that holds no key': [
      () => {
        fence.isHeld = true;
        cluster.put(SECRETS, { ...toPlaneKeySecret(NAMESPACE, KEY), data: {} } as KubernetesObject);
      },
      /holds no key of WireGuard/,
    ],
  };
  for (const [what, [change, failure]] of Object.entries(failures)) {
    it(`is none in a cluster ${what}, which is said`, async () => {
      change();
      const controller = await started();
      assert.match(controller.failure ?? '', failure);
      assert.deepEqual(take(), []);
    });
  }

  it('is nothing once it ends: what it made goes', async () => {
    fence.isHeld = true;
    await started();
    take();
    stop.abort();
    await cluster.settled();
    assert.deepEqual(take(), ['driver closed']);
    cluster.put(CLUSTERSET_MEMBERS, member('ap', '10.3.0.0/16'));
    assert.deepEqual(await look(), []);
  });
});
