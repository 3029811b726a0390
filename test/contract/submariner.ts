// The driver `submariner` on a real API server: objects as Submariner's own programs write them (no program of it runs
// here), and what our readers make of them. Nothing of Submariner's is changed.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTERSET_MEMBERS, CUSTOM_RESOURCE_DEFINITIONS, CLUSTERSET_ENDPOINTS, CLUSTERSET_GATEWAYS,
} from '../../api/resource-types.ts';
import { SUBMARINER_CLUSTERS, SUBMARINER_ENDPOINTS, SUBMARINER_GATEWAYS } from '../../api/objects/submariner.ts';
import { followSubmariner } from '../../gateway/submariner/submariner-controller.ts';
import { podAddressesOf, readPodPlane } from '../../model/network/pod-plane.ts';
import { makeNamespaces, untilEqual, type Member } from '../support/worlds/clusterset-world.ts';

const THERE = 'submariner-operator';
const HERE = 'isthmus-beside-submariner';
const KINDS: readonly ResourceType[] = [SUBMARINER_CLUSTERS, SUBMARINER_ENDPOINTS, SUBMARINER_GATEWAYS];

function definition({ group, plural, kind }: ResourceType): KubernetesObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const spec = {
    group, scope: 'Namespaced', names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: `${plural}.${group}` },
    spec,
  } as KubernetesObject;
}

/** The suite, in one cluster. */
export function submarinerContract(member: () => Member): void {
  describe('an existing Submariner', () => {
    const stopped = new AbortController();
    let ended: Promise<void> = Promise.resolve();
    const client = () => member().client;
    const versions = async () => (await Promise.all(KINDS.map((type) => client().list(type, { namespace: THERE }))))
      .flat()
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
    const write = (type: ResourceType, name: string, body: object) => client().apply(
      type, { metadata: { namespace: THERE, name, annotations: { 'update-timestamp': '1' } }, ...body }, 'submariner',
    );
    const say = (status: string) => write(SUBMARINER_GATEWAYS, 'node-1', {
      status: {
        haStatus: 'active', localEndpoint: { cluster_id: 'one' },
        connections: [{ status, statusMessage: '', endpoint: { cluster_id: 'two' } }],
      },
    });
    before(async () => {
      await makeNamespaces([client()], THERE);
      await makeNamespaces([client()], HERE);
      for (const kind of KINDS) await client().apply(CUSTOM_RESOURCE_DEFINITIONS, definition(kind), 'test');
      await untilEqual(
        'the kinds',
        async () => (await Promise.all(KINDS.map((type) => client().list(type, { namespace: THERE })))).length, 3,
      );
      for (const [id, range] of [['one', '10.20.0.0/16'], ['two', '10.21.0.0/16']] as const) {
        await write(SUBMARINER_CLUSTERS, id, {
          spec: { cluster_id: id, cluster_cidr: [range], service_cidr: ['100.64.0.0/16'], global_cidr: [] },
        });
        await write(
          SUBMARINER_ENDPOINTS, `${id}-cable`, { spec: { cluster_id: id, private_ip: '192.0.2.1', subnets: [range] } },
        );
      }
      await say('connected');
      ended = followSubmariner(
        {
          client: client(), writer: client(), namespace: HERE, submarinerNamespace: THERE, name: 'gateway',
          isActive: () => true, expectedId: () => undefined, logger: pino({ level: 'silent' }),
        },
        stopped.signal,
      );
    });
    after(async () => {
      stopped.abort();
      await ended;
    });
    const plane = async () => readPodPlane(
      await client().list(CLUSTERSET_MEMBERS, { namespace: HERE }), await client().list(
        CLUSTERSET_ENDPOINTS, { namespace: HERE },
      ),
    );
    const cables = async () => (await client().list(CLUSTERSET_GATEWAYS, { namespace: HERE }))
      .flatMap(({ status }) => status?.connections ?? [])
      .map(({ endpoint, status }) => `${endpoint.clusterID} ${endpoint.backend} ${status}`);

    it('is the pod plane of the source: its members are reached under their own addresses', async () => {
      await untilEqual('members', async () => [...((await plane())?.members.keys() ?? [])], ['two']);
      assert.deepEqual(podAddressesOf(await plane(), { podPlane: { cluster: 'two' } }), {
        kind: 'member', prefixes: [{ own: '10.21.0.0/16', seen: '10.21.0.0/16' }],
      });
    });
    it('has its cables in a ClustersetGateway object of ours, with their states', async () => {
      await untilEqual('cables', cables, ['two submariner connected']);
      await say('error');
      await untilEqual('cables', cables, ['two submariner error']);
    });
    it('is written to by nobody', async () => {
      const before = await versions();
      await client().delete(CLUSTERSET_ENDPOINTS, { namespace: HERE, name: 'two-submariner' });
      await untilEqual('members', async () => [...((await plane())?.members.keys() ?? [])], ['two']);
      assert.deepEqual(await versions(), before);
    });
    it('takes with it what it forgets', async () => {
      await client().delete(SUBMARINER_ENDPOINTS, { namespace: THERE, name: 'two-cable' });
      await untilEqual(
        'objects',
        async () => (await Promise.all(
          [
            client().list(CLUSTERSET_MEMBERS, { namespace: HERE }),
            client().list(CLUSTERSET_ENDPOINTS, { namespace: HERE }),
          ],
        )).flat().map(({ metadata }) => metadata.name),
        ['one', 'one-submariner'],
      );
    });
  });
}
