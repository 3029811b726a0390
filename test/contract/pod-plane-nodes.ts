// The pod plane of a cluster as objects on a real API server: who is the gateway, what peers are told, who takes over.
// The tunnel and the routes themselves are stand-ins that note what they were asked for; `npm run soak -- pod-plane`
// has the real ones.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import type { KubernetesObject, Node } from '../../api/objects/core.ts';
import {
  CLUSTERSET_ENDPOINTS, CLUSTERSET_GATEWAYS, CLUSTERSET_MEMBERS, LEASES, NODES, SECRETS,
} from '../../api/resource-types.ts';
import { rotateKey } from '../../cli/gateway/gateway-rotate-key.ts';
import type { PodPeer } from '../../pod-plane/plan/pod-plane-plan.ts';
import { POD_PLANE_LEASE } from '../../pod-plane/nodes/pod-plane-state.ts';
import { startPodPlaneNode, type PodPlaneNode } from '../../pod-plane/nodes/pod-plane-node-controller.ts';
import type { RouteAgent, RouteAgentFacts } from '../../pod-plane/nodes/route-agent.ts';
import type { WireguardDriver, WireguardDriverOptions } from '../../pod-plane/wireguard/wireguard-cable.ts';
import { publicKeyOf } from '../../gateway/protocol/wireguard-keys.ts';
import type { AppError } from '../../process/errors.ts';
import { INSTALL_NAMESPACE, untilEqual, type Member } from '../support/worlds/clusterset-world.ts';

const TIMINGS = { leaseMs: 3_000, renewWithinMs: 2_000, renewEveryMs: 500, retryMs: 200, callMs: 1_000 };
const NEVER = new AbortController().signal;

/** A node whose tunnel and routes are notes. */
class NotedNode {
  readonly name: string;
  readonly stop = new AbortController();
  readonly node: PodPlaneNode;
  driver: {
    readonly options: WireguardDriverOptions; readonly peers: Map<string, PodPeer>; privateKey: string;
    workers: readonly string[]
  } | undefined;
  route: RouteAgentFacts | undefined;

  constructor({ client }: Member, name: string) {
    this.name = name;
    this.node = startPodPlaneNode(
      {
        client, namespace: INSTALL_NAMESPACE, node: name, program: '', listenPort: 51_820,
        pathMtu: 1_500, instanceId: `${name}-run`, timings: TIMINGS, logger: pino({ level: 'silent' }),
        startDriver: async (options) => this.#makeDriver(options), makeAgent: () => this.#makeAgent(),
      },
      this.stop.signal,
    );
  }

  #makeDriver(options: WireguardDriverOptions): WireguardDriver {
    const driver = {
      options, peers: new Map<string, PodPeer>(), privateKey: options.privateKey,
      workers: (options.workers ?? []).map(({ name }) => name),
    };
    this.driver = driver;
    const fake = {
      isClosed: false, failure: undefined, usePrefixes: () => undefined,
      useWorkers: (workers: readonly { readonly name: string }[]) =>
        void (driver.workers = workers.map(({ name }) => name)),
      useKey: (key: string) => void (driver.privateKey = key),
      connect: (peer: PodPeer) => void driver.peers.set(peer.clusterId, peer),
      disconnect: (id: string) => void driver.peers.delete(id),
      connections: () => [...driver.peers.keys()].map(
        (clusterId) => ({ clusterId, status: 'connected', statusMessage: '', usingNAT: false, rxBytes: 0, txBytes: 0 }),
      ),
      close: async () => void (this.driver = undefined),
    };
    return fake as unknown as WireguardDriver;
  }

  #makeAgent(): RouteAgent {
    const fake = {
      failure: undefined, use: async (facts: RouteAgentFacts) => void (this.route = facts),
      release: async () => void (this.route = undefined), close: async () => void (this.route = undefined),
    };
    return fake as unknown as RouteAgent;
  }
}

/** The suite: nodes of the first member, peers of the second. */
export function podPlaneNodesContract(members: () => readonly [Member, Member]): void {
  describe('the pod plane of a cluster', () => {
    const nodes: NotedNode[] = [];
    const gateways = () => nodes.filter(({ driver }) => driver !== undefined);
    const keysTold = async (id: string) => (
      await members()[0].client.get(CLUSTERSET_ENDPOINTS, { namespace: INSTALL_NAMESPACE, name: `${id}-wireguard` })
        .catch(() => undefined)
    )?.spec.publicKeys ?? [];

    before(async () => {
      const [eu, us] = members();
      for (const [member, names] of [[eu, ['a', 'b', 'c']], [us, ['z']]] as const) {
        for (const [index, name] of names.entries()) {
          await member.client.create(
            NODES,
            {
              metadata: { name, labels: name === 'c' ? {} : { 'isthmus.dev/gateway': 'true' } },
              spec: { podCIDR: `10.1.${index}.0/24` },
            } as KubernetesObject,
          );
          await member.client.patch(NODES, { name, subresource: 'status' }, {
            patchType: 'merge',
            patch: {
              status: { addresses: [{ type: 'InternalIP', address: `10.0.0.${index + 1}` }] } satisfies Node['status'],
            },
          });
          nodes.push(new NotedNode(member, name));
        }
      }
    });
    after(async () => {
      for (const { stop } of nodes) stop.abort();
      await Promise.all(nodes.map(({ node }) => node.ended));
    // All were told to end at once: a node that was given the lease meanwhile must not have begun anything.
    assert.deepEqual(nodes.map(({ name, driver, route }) => [name, driver, route]), nodes.map(
      ({ name }) => [name, undefined, undefined],
    ));
    });
    const of = (name: string) => nodes.find((one) => one.name === name) ?? assert.fail(name);

    it('has one gateway, a marked node, that knows the peer with its key and its range', async () => {
      await untilEqual('the gateways', async () => gateways().length, 2);
      const [gateway] = gateways();
      assert.ok(gateway !== undefined && ['a', 'b'].includes(gateway.name));
      await untilEqual('the peer', async () => gateway.driver?.peers.get('us')?.publicKeys.length, 1);
      const peer = gateway.driver?.peers.get('us');
      assert.deepEqual([peer?.publicKeys, peer?.addresses, peer?.ranges.map((range) => range.startsWith('242.'))], [
        [publicKeyOf(of('z').driver?.privateKey ?? '')], ['10.0.0.1:51820'], [true],
      ]);
      assert.deepEqual(gateway.driver?.workers.toSorted(), ['a', 'b', 'c'].filter((name) => name !== gateway.name));
    });

    it('has all other nodes send to it what is for the other cluster', async () => {
      const [gateway] = gateways();
      const others = ['a', 'b', 'c'].filter((name) => name !== gateway?.name);
      const address = gateway?.name === 'a' ? '10.0.0.1' : '10.0.0.2';
      await untilEqual('routes', async () => others.map((name) => of(name).route?.gatewayAddress), [address, address]);
      assert.deepEqual(of('c').route?.podRanges, ['10.1.0.0/16']);
      // what a member has announced may come after where its gateway is
      await untilEqual('the ranges', async () => of('c').route?.remoteRanges.length, 1);
    });

    it('has no tunnel and no routes once its cluster has left, and has them again as a member', async () => {
      const [{ client }] = members();
      const at = { namespace: INSTALL_NAMESPACE, name: 'eu' };
      const { metadata: { labels = {} }, spec } = await client.get(CLUSTERSET_MEMBERS, at);
      const parts = async () =>
        ['a', 'b', 'c'].map(of).map(({ driver, route }) => [driver, route].filter((one) => one !== undefined).length);
      await untilEqual('a part of each node', parts, [1, 1, 1]);
      await client.delete(CLUSTERSET_MEMBERS, at);
      await untilEqual('no part of any node', parts, [0, 0, 0]);
      await client.create(CLUSTERSET_MEMBERS, { metadata: { ...at, labels }, spec } as KubernetesObject);
      await untilEqual('a part of each node', parts, [1, 1, 1]);
      await untilEqual('the ranges', async () => of('c').route?.remoteRanges.length, 1);
    });

    it('tells where all its candidates are, and never its private key', async () => {
      const [eu] = members();
      const { spec } = await eu.client.get(
        CLUSTERSET_ENDPOINTS, { namespace: INSTALL_NAMESPACE, name: 'eu-wireguard' },
      );
      const [first, second] = gateways()[0]?.name === 'a' ? [1, 2] : [2, 1];
      assert.deepEqual(spec.addresses, [`10.0.0.${first}:51820`, `10.0.0.${second}:51820`]);
      const shown = JSON.stringify(
        await Promise.all([
          eu.client.list(CLUSTERSET_ENDPOINTS, {}), eu.client.list(CLUSTERSET_GATEWAYS, {}), eu.client.list(LEASES, {}),
        ]),
      );
      assert.ok(!shown.includes(gateways()[0]?.driver?.privateKey ?? 'x'));
    });

    it('goes on at another node with the same key when the gateway ends, and the others follow it', async () => {
      const [gateway] = gateways();
      const key = gateway?.driver?.privateKey;
      gateway?.stop.abort();
      await gateway?.node.ended;
      assert.deepEqual([gateway?.driver, gateway?.route], [undefined, undefined]);
      const next = gateway?.name === 'a' ? 'b' : 'a';
      await untilEqual('the next gateway', async () => of(next).driver?.privateKey, key);
      assert.equal(of(next).route, undefined);
      await untilEqual('routes', async () => of('c').route?.gatewayAddress, next === 'a' ? '10.0.0.1' : '10.0.0.2');
      await untilEqual(
        'the lease',
        async () => (
          await members()[0].client.get(LEASES, { namespace: INSTALL_NAMESPACE, name: POD_PLANE_LEASE })
        ).spec?.holderIdentity,
        `${next}/${next}-run`,
      );
    });

    it('tells the next key beside the one in use before it is used, to both clusters', async () => {
      const [eu, us] = members();
      const told = await keysTold('eu');
      await rotateKey(eu.client, INSTALL_NAMESPACE, NEVER);
      await untilEqual('two keys', async () => (await keysTold('eu')).length, 2);
      assert.equal((await keysTold('eu'))[0], told[0]);
      await untilEqual('two keys there', async () => of('z').driver?.peers.get('eu')?.publicKeys.length, 2);
      await assert.rejects(
        rotateKey(eu.client, INSTALL_NAMESPACE, NEVER),
        (error: AppError) => /being changed already/.test(error.message),
      );
      const { data = {} } = await us.client.get(SECRETS, { namespace: INSTALL_NAMESPACE, name: 'isthmus-pod-plane' });
      assert.notEqual(data['private-key'], undefined);
    });
  });
}
