// Services of two clusters on real API servers, with a real broker and real gateways between them: what the
// Multi-Cluster Services API promises, as a user of kubectl and a resolver see it. Nothing is asked of pods here; npm
// run soak -- pod-plane does.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { CILIUM_GLOBAL_ANNOTATION, CILIUM_SHARED_ANNOTATION } from '../../api/objects/keys.ts';
import { CLUSTERSET_MEMBERS, NAMESPACES, SERVICES } from '../../api/resource-types.ts';
import {
  EXPORTED_SERVICES, MANAGED_BY_LABEL, MCS_SERVICE_NAME_LABEL, MCS_SOURCE_CLUSTER_LABEL, SERVICE_EXPORTS,
  SERVICE_IMPORTS,
} from '../../api/kinds/service-discovery.ts';
import { ENDPOINT_SLICES } from '../../api/objects/endpoint-slice.ts';
import { leave } from '../../cli/gateway/gateway-membership.ts';
import { exportService, listServices, unexportService } from '../../cli/services/service.ts';
import { isAlreadyExists } from '../../kubernetes/flow/api-error.ts';
import type { AppError } from '../../process/errors.ts';
import { podPlaneNodesContract } from '../contract/pod-plane-nodes.ts';
import { submarinerContract } from '../contract/submariner.ts';
import { eventually } from '../support/history/eventually.ts';
import {
  conditionsOf, importOf, INSTALL_NAMESPACE, makeNamespaces, makeService, setEndpoint, startClustersetWorld, untilEqual,
  type ClustersetWorld, type Member,
} from '../support/worlds/clusterset-world.ts';

let world: ClustersetWorld;
let eu: Member;
let us: Member;
const NEVER = new AbortController().signal;
const GOOD = ['Valid=True/Valid', 'Ready=True/Exported', 'Conflict=False/NoConflicts'];

before(async () => {
  world = await startClustersetWorld();
  [eu, us] = world.members;
});
after(() => world?.stop());

const both = () => [eu.client, us.client];
const nameOf = (service: string, namespace: string) => `${service}.${namespace}.svc.clusterset.local`;
const resolve = (member: Member, name: string) => member.resolver.resolve4(name)
  .catch(({ code }: { readonly code: string }) => code);
const serviceIp = async ({ client }: Member, namespace: string, name: string) =>
  (await client.get(SERVICES, { namespace, name })).spec?.clusterIP ?? '';
const clustersOf = async (member: Member, namespace: string, name: string) =>
  (await importOf(member, namespace, name))?.status?.clusters?.map(({ cluster }) => cluster);
const doExport = (member: Member, namespace: string, name: string, waitSeconds = 20) =>
  exportService(member.client, { namespace, name, waitSeconds }, NEVER);

/** Resolves once an export that is made now is younger: ages are in whole seconds. */
async function untilOlder({ client }: Member, name: string): Promise<void> {
  const { metadata } = await client.get(SERVICE_EXPORTS, { namespace: 'shop', name });
  const second = Date.parse(metadata.creationTimestamp ?? '') / 1_000;
  await eventually('the next second', async () => Math.floor(Date.now() / 1_000) > second);
}

/** Addresses of an import's endpoints in a cluster, by the cluster that they are in. */
async function endpointsIn({ client }: Member, namespace: string, name: string): Promise<readonly string[]> {
  const slices = await client.list(ENDPOINT_SLICES, { namespace, labelSelector: `${MCS_SERVICE_NAME_LABEL}=${name}` });
  return slices.flatMap(({ metadata, endpoints }) => (endpoints ?? []).map(
    ({ addresses, conditions }) =>
      `${metadata.labels?.[MCS_SOURCE_CLUSTER_LABEL]} ${addresses[0]} ${conditions?.ready}`,
  )).toSorted();
}

describe('a Service that one cluster exports', () => {
  const namespace = 'production';
  const name = 'payment-api';
  let told = '';
  before(async () => {
    await makeNamespaces(both(), namespace);
    await makeService(eu.client, { namespace, name });
    told = await doExport(eu, namespace, name);
  });

  it('is said by the command to be exported, under its name for all clusters', () => assert.equal(
    told, `${namespace}/${name} is exported as ${nameOf(name, namespace)}`,
  ));
  it('has the conditions of the API', async () => void (
    await untilEqual('conditions', () => conditionsOf(eu, namespace, name), GOOD)
  ));

  it('is imported in every cluster that has its namespace, with an address and its endpoints', async () => {
    for (const member of [eu, us]) {
      await untilEqual('clusters', () => clustersOf(member, namespace, name), ['eu']);
      await untilEqual('an address', async () => (await importOf(member, namespace, name))?.spec?.ips?.length, 1);
      assert.equal((await importOf(member, namespace, name))?.spec?.type, 'ClusterSetIP');
    }
    await untilEqual('endpoints here', () => endpointsIn(eu, namespace, name), ['eu 10.1.0.5 true']);
  });

  it('has the endpoints of another cluster in the range under which they are reached from here', async () => {
    const { spec } = await us.client.get(CLUSTERSET_MEMBERS, { namespace: INSTALL_NAMESPACE, name: 'eu' });
    const [range = ''] = spec.globalCIDR ?? [];
    assert.match(range, /^242\./);
    await untilEqual(
      'endpoints there', () => endpointsIn(us, namespace, name), [`eu ${range.replace('.0.0/16', '.0.5')} true`],
    );
  });

  it('is answered with the address of the import, in the exporting cluster too', async () => {
    for (const member of [eu, us]) {
      const { ips = [], ipFamilies } = (await importOf(member, namespace, name))?.spec ?? {};
      assert.deepEqual([ips.length, ipFamilies], [1, ['IPv4']]);
      await untilEqual(`the name in ${member.id}`, () => resolve(member, nameOf(name, namespace)), ips);
    }
    assert.notEqual((await importOf(eu, namespace, name))?.spec?.ips?.[0], await serviceIp(eu, namespace, name));
  });

  it('is served in both versions of the API', async () => {
    for (const version of ['v1alpha1', 'v1beta1']) {
      const found = await us.client.get({ ...SERVICE_IMPORTS, version }, { namespace, name });
      assert.deepEqual(found.status?.clusters, [{ cluster: 'eu' }]);
    }
    await makeService(eu.client, { namespace, name: 'old' });
    await eu.client.create({ ...SERVICE_EXPORTS, version: 'v1alpha1' }, { metadata: { namespace, name: 'old' } });
    await untilEqual('the import of an export of v1alpha1', () => clustersOf(us, namespace, 'old'), ['eu']);
  });

  it('is in the list of the command, in both clusters', async () => {
    const row = (text: string) => text.split('\n').find((line) => line.includes(name))?.split(/\s{3,}/);
    assert.deepEqual(
      row(await listServices(eu.client, namespace, NEVER))?.slice(0, 3)
        .concat(row(await listServices(eu.client, namespace, NEVER))?.slice(4) ?? []),
      [namespace, name, 'ClusterSetIP', 'eu', 'yes', '<none>'],
    );
    assert.equal(row(await listServices(us.client, undefined, NEVER))?.at(-2), 'no');
  });

  it('is not answered while none of its endpoints is ready', async () => {
    await setEndpoint(eu.client, { namespace, name, address: '10.1.0.5', ready: false });
    await untilEqual('the name', () => resolve(us, nameOf(name, namespace)), 'ENODATA');
    await setEndpoint(eu.client, { namespace, name, address: '10.1.0.6', ready: true });
    await untilEqual('the name', async () => typeof (await resolve(us, nameOf(name, namespace))), 'object');
  });

  it('goes on while the broker is away, and what changed meanwhile is told afterwards', async () => {
    await world.stopBroker();
    await setEndpoint(eu.client, { namespace, name, address: '10.1.0.7', ready: true });
    await untilEqual('Ready', async () => (await conditionsOf(eu, namespace, name))[1], 'Ready=False/Pending');
    assert.equal(typeof (await resolve(us, nameOf(name, namespace))), 'object');
    await world.startBroker();
    await untilEqual(
      'the new endpoint', async () => (await endpointsIn(us, namespace, name))[0]?.includes('.0.7 '), true, 30_000,
    );
    await untilEqual('Ready', async () => (await conditionsOf(eu, namespace, name))[1], 'Ready=True/Exported', 30_000);
  });

  it('is restored where somebody changes it', async () => {
    const [slice] =
      await us.client.list(ENDPOINT_SLICES, { namespace, labelSelector: `${MCS_SERVICE_NAME_LABEL}=${name}` });
    await us.client.delete(ENDPOINT_SLICES, { namespace, name: slice?.metadata.name ?? '' });
    await untilEqual('endpoints', async () => (await endpointsIn(us, namespace, name)).length, 1);
  });

  it('exists nowhere once it is exported no more', async () => {
    assert.equal(
      await unexportService(eu.client, { namespace, name }, NEVER), `${namespace}/${name} is exported no more.`,
    );
    for (const member of [eu, us]) {
      await untilEqual('the import', () => importOf(member, namespace, name), undefined);
      await untilEqual('endpoints', () => endpointsIn(member, namespace, name), []);
      assert.equal(await resolve(member, nameOf(name, namespace)), 'ENOTFOUND');
    }
    await untilEqual(
      'what is left of it',
      async () => (
        await Promise.all(both().map(
          (client) => client.list(SERVICES, { namespace, labelSelector: `${MCS_SERVICE_NAME_LABEL}=${name}` }),
        ))
      ).flat().length,
      0,
    );
    assert.ok(await serviceIp(eu, namespace, name)); // the Service itself stays
  });
});

describe('a Service that wishes for its export by an annotation of Cilium', () => {
  const namespace = 'by-annotation';
  const name = 'catalog';
  const annotate = (annotations: Readonly<Record<string, string | null>>) =>
    eu.client.patch(SERVICES, { namespace, name }, { patchType: 'merge', patch: { metadata: { annotations } } });
  const exportOf = () => eu.client.get(SERVICE_EXPORTS, { namespace, name }).catch(() => undefined);
  before(async () => {
    await makeNamespaces(both(), namespace);
    await makeService(eu.client, { namespace, name });
  });

  it('is exported and imported without another object of its owner, and shows its conditions', async () => {
    assert.equal(await exportOf(), undefined);
    await annotate({ [CILIUM_GLOBAL_ANNOTATION]: 'true' });
    await untilEqual('the import', () => clustersOf(us, namespace, name), ['eu']);
    await untilEqual('conditions', () => conditionsOf(eu, namespace, name), GOOD);
    await untilEqual('endpoints there', async () => (await endpointsIn(us, namespace, name)).length, 1);
  });

  it('is not while it is not shared, and is again', async () => {
    await annotate({ [CILIUM_SHARED_ANNOTATION]: 'false' });
    await untilEqual('no import', () => importOf(us, namespace, name), undefined);
    await annotate({ [CILIUM_SHARED_ANNOTATION]: null });
    await untilEqual('the import', () => clustersOf(us, namespace, name), ['eu']);
  });

  it('is not any more when the wish has ended; an export that its owner makes then stays', async () => {
    await annotate({ [CILIUM_GLOBAL_ANNOTATION]: null });
    await untilEqual('no import', () => importOf(us, namespace, name), undefined);
    await untilEqual('no export', exportOf, undefined);
    await doExport(eu, namespace, name);
    await annotate({ [CILIUM_GLOBAL_ANNOTATION]: 'true' });
    await annotate({ [CILIUM_GLOBAL_ANNOTATION]: null });
    // what was asked before it has been looked at when it is exported
    await makeService(eu.client, { namespace, name: 'last' });
    await doExport(eu, namespace, 'last');
    assert.deepEqual(await clustersOf(us, namespace, name), ['eu']);
    assert.equal((await exportOf())?.metadata.labels?.[MANAGED_BY_LABEL], undefined);
  });

  it('is imported no more once its export is gone with a namespace that is being deleted', async () => {
    const ending = { namespace: 'ending', name };
    const hold = (finalizers: readonly string[] | null) =>
      eu.client.patch(SERVICES, ending, { patchType: 'merge', patch: { metadata: { finalizers } } });
    await makeNamespaces(both(), ending.namespace);
    await makeService(eu.client, ending);
    await hold(['example.com/load-balancer']);
    await eu.client.patch(SERVICES, ending, {
      patchType: 'merge', patch: { metadata: { annotations: { [CILIUM_GLOBAL_ANNOTATION]: 'true' } } },
    });
    await untilEqual('the import', () => clustersOf(us, ending.namespace, name), ['eu']);
    await eu.client.delete(NAMESPACES, { name: ending.namespace });
    await eu.client.delete(SERVICE_EXPORTS, ending).catch(() => undefined);
    await untilEqual('no import', () => importOf(us, ending.namespace, name), undefined);
    await hold(null);
  });
});

describe('a Service that two clusters export', () => {
  const namespace = 'shop';
  before(() => makeNamespaces(both(), namespace));
  const port = (name: string, number: number) => ({ name, protocol: 'TCP', port: number });

  it('has the ports of both, the endpoints of both, and says on both exports that they differ', async () => {
    const name = 'ports';
    await makeService(eu.client, { namespace, name, spec: { ports: [port('http', 80)] } });
    await makeService(us.client, { namespace, name, spec: { ports: [port('http', 80), port('admin', 81)] } });
    await setEndpoint(us.client, { namespace, name, address: '10.1.0.5', ready: true, ports: ['http', 'admin'] });
    await doExport(eu, namespace, name);
    await doExport(us, namespace, name);
    for (const member of [eu, us]) {
      await untilEqual('clusters', () => clustersOf(member, namespace, name), ['eu', 'us']);
      await untilEqual(
        'ports',
        async () => (await importOf(member, namespace, name))?.spec?.ports?.map((one) => `${one.name} ${one.port}`),
        ['http 80', 'admin 81'],
      );
      await untilEqual('conditions', () => conditionsOf(member, namespace, name), [
        'Valid=True/Valid', 'Ready=True/Exported', 'Conflict=True/PortConflict',
      ]);
    }
    const text = await doExport(us, namespace, name);
    assert.match(text, /Conflict PortConflict: ports of us differs from that of eu, the oldest export/);
    for (const [member, clusters] of [[eu, ['eu', 'us']], [us, ['us']]] as const) {
      await untilEqual(
        'endpoints here first, and others for the port that is not served here',
        async () => (await endpointsIn(member, namespace, name)).map((text) => text.split(' ')[0]), clusters,
      );
    }
  });

  it('has the session affinity of the oldest export', async () => {
    const name = 'affinity';
    await makeService(eu.client, { namespace, name, spec: { sessionAffinity: 'ClientIP' } });
    await makeService(us.client, { namespace, name });
    await doExport(eu, namespace, name);
    await untilOlder(eu, name);
    await doExport(us, namespace, name);
    for (const member of [eu, us]) {
      await untilEqual('clusters', () => clustersOf(member, namespace, name), ['eu', 'us']);
      assert.equal((await importOf(member, namespace, name))?.spec?.sessionAffinity, 'ClientIP');
      await untilEqual(
        'conflict', async () => (await conditionsOf(member, namespace, name))[2],
        'Conflict=True/SessionAffinityConflict',
      );
    }
    const imported =
      (await us.client.list(SERVICES, { namespace, labelSelector: `${MCS_SERVICE_NAME_LABEL}=${name}` }))[0];
    assert.equal(imported?.spec?.sessionAffinity, 'ClientIP');
  });

  it('is of the type of the oldest export; the other one is not used, and is told so', async () => {
    const name = 'mixed';
    await makeService(eu.client, { namespace, name });
    await makeService(us.client, { namespace, name, spec: { clusterIP: 'None' } });
    await doExport(eu, namespace, name);
    await untilOlder(eu, name);
    await doExport(us, namespace, name);
    await untilEqual('conditions of the later', () => conditionsOf(us, namespace, name), [
      'Valid=True/Valid', 'Ready=False/Failed', 'Conflict=True/TypeConflict',
    ]);
    await untilEqual(
      'conflict of the oldest', async () => (await conditionsOf(eu, namespace, name))[2], 'Conflict=True/TypeConflict',
    );
    assert.deepEqual(await clustersOf(us, namespace, name), ['eu']);
    assert.deepEqual((await endpointsIn(us, namespace, name)).map((text) => text.split(' ')[0]), ['eu']);
  });

  it('is imported while one of them still exports it', async () => {
    await unexportService(eu.client, { namespace, name: 'ports' }, NEVER);
    for (const member of [eu, us]) await untilEqual('clusters', () => clustersOf(member, namespace, 'ports'), ['us']);
    await untilEqual('conditions', () => conditionsOf(us, namespace, 'ports'), GOOD);
    const [ip] = (await importOf(eu, namespace, 'ports'))?.spec?.ips ?? [];
    await untilEqual('the name', () => resolve(eu, nameOf('ports', namespace)), [ip]);
  });
});

describe('a headless Service', () => {
  it('is answered with the addresses of all its endpoints, and by the name of a cluster with those there', async () => {
    const [namespace, name] = ['data', 'db'];
    await makeNamespaces(both(), namespace);
    for (const { client } of [eu, us]) await makeService(client, { namespace, name, spec: { clusterIP: 'None' } });
    for (const member of [eu, us]) await doExport(member, namespace, name);
    await untilEqual('clusters', () => clustersOf(us, namespace, name), ['eu', 'us']);
    await untilEqual(
      'own endpoint first',
      async () => [
        (await us.resolver.resolve4(nameOf(name, namespace)))[0],
        (await us.resolver.resolve4(nameOf(name, namespace))).length,
      ],
      ['10.1.0.5', 2],
    );
    assert.match(String(await resolve(us, `eu.${nameOf(name, namespace)}`)), /^242\.\d+\.0\.5$/);
    const [record] = await us.resolver.resolveSrv(`_http._tcp.eu.${nameOf(name, namespace)}`);
    assert.deepEqual([record?.port, record?.name.endsWith(`.eu.${nameOf(name, namespace)}`)], [8080, true]);
    assert.deepEqual((await importOf(us, namespace, name))?.spec?.ips, undefined);
  });
});

describe('labels and annotations', () => {
  it('go with an export only where it names them', async () => {
    const [namespace, name] = ['labels', 'web'];
    await makeNamespaces(both(), namespace);
    await makeService(eu.client, { namespace, name });
    await eu.client.patch(SERVICES, { namespace, name }, {
      patchType: 'merge', patch: { metadata: { labels: { secret: 'of-eu' }, annotations: { note: 'of eu' } } },
    });
    await eu.client.create(
      SERVICE_EXPORTS,
      {
        metadata: { namespace, name, labels: { own: 'of-the-export' } },
        spec: { exportedLabels: { team: 'pay' }, exportedAnnotations: { 'example.com/doc': 'here' } },
      } as KubernetesObject,
    );
    await untilEqual('the import', () => clustersOf(us, namespace, name), ['eu']);
    const { labels = {}, annotations = {} } = (await importOf(us, namespace, name))?.metadata ?? {};
    assert.deepEqual(
      [labels['team'], labels['secret'], labels['own'], annotations['example.com/doc'], annotations['note']],
      ['pay', undefined, undefined, 'here', undefined],
    );
  });
});

describe('what cannot be exported', () => {
  it('is told with what to change', async () => {
    const namespace = 'wrong';
    await makeNamespaces(both(), namespace);
    await assert.rejects(
      doExport(eu, namespace, 'none'),
      (error: AppError) => error.code === 'NotFound' && /no Service wrong\/none/.test(error.message),
    );
    await eu.client.create(SERVICE_EXPORTS, { metadata: { namespace, name: 'none' } });
    await untilEqual('conditions', async () => (await conditionsOf(eu, namespace, 'none')).slice(0, 2), [
      'Valid=False/NoService', 'Ready=False/Failed',
    ]);
    await eu.client.create(
      SERVICES,
      {
        metadata: { namespace, name: 'out' }, spec: { type: 'ExternalName', externalName: 'example.com' },
      } as KubernetesObject,
    );
    assert.match(await doExport(eu, namespace, 'out'), /Valid InvalidServiceType: .*use type ClusterIP/);
    await assert.rejects(
      unexportService(eu.client, { namespace, name: 'web' }, NEVER), (error: AppError) => error.code === 'NotFound',
    );
  });
});

describe('a namespace', () => {
  it('that a cluster does not have is not made there; once it is, its imports come', async () => {
    const [namespace, name] = ['only-in-eu', 'web'];
    await makeNamespaces([eu.client], namespace);
    await makeService(eu.client, { namespace, name });
    await doExport(eu, namespace, name);
    await untilEqual('here', () => clustersOf(eu, namespace, name), ['eu']);
    assert.deepEqual(
      [await importOf(us, namespace, name), await resolve(us, nameOf(name, namespace))], [undefined, 'ENOTFOUND'],
    );
    await makeNamespaces([us.client], namespace);
    await untilEqual('there', () => clustersOf(us, namespace, name), ['eu']);
  });
});

describe('what others have made', () => {
  it('under the name of an import stays as it is', async () => {
    const [namespace, name] = ['foreign', 'web'];
    await makeNamespaces(both(), namespace);
    const spec = { type: 'ClusterSetIP', ports: [{ port: 9 }], ips: ['192.0.2.1'] };
    await us.client.create(SERVICE_IMPORTS, { metadata: { namespace, name }, spec } as KubernetesObject)
      .catch((error: unknown) => assert.ok(isAlreadyExists(error)));
    await makeService(eu.client, { namespace, name });
    await doExport(eu, namespace, name);
    await untilEqual('endpoints', async () => (await endpointsIn(us, namespace, name)).length, 1);
    const { spec: kept, status } = (await importOf(us, namespace, name)) ?? {};
    assert.deepEqual([kept?.ips, status], [['192.0.2.1'], undefined]);
    await unexportService(eu.client, { namespace, name }, NEVER);
    await untilEqual('endpoints', async () => (await endpointsIn(us, namespace, name)).length, 0);
    assert.ok(await importOf(us, namespace, name));
  });
});

describe('what another cluster exports', () => {
  it('and an API server rejects holds up no endpoints of the others', async () => {
    const [namespace, name] = ['hostile', 'web'];
    await makeNamespaces(both(), namespace);
    await makeService(eu.client, { namespace, name });
    await doExport(eu, namespace, name);
    await untilEqual('the import', () => clustersOf(us, namespace, name), ['eu']);
    const member = { namespace: INSTALL_NAMESPACE, name: 'odd' };
    const copy = { namespace: INSTALL_NAMESPACE, name: `odd.${namespace}.${name}` };
    const { spec } = await us.client.get(EXPORTED_SERVICES, { ...copy, name: `eu.${namespace}.${name}` });
    const slices = spec.slices.map((slice) => (
      { ...slice, endpoints: [{ address: '10.66.0.1', hostname: 'Not a label', ready: true }] }
    ));
    const odd = { clusterID: 'odd', clusterCIDR: ['10.66.0.0/16'] };
    await us.client.create(CLUSTERSET_MEMBERS, { metadata: member, spec: odd } as KubernetesObject);
    await us.client.create(EXPORTED_SERVICES, {
      metadata: copy, spec: { ...spec, clusterID: 'odd', exportedAt: '2020-01-01T00:00:00Z', slices },
    } as KubernetesObject);
    await untilEqual('both', () => clustersOf(us, namespace, name), ['eu', 'odd']);
    await setEndpoint(eu.client, { namespace, name, address: '10.1.0.9', ready: true });
    const ofEu = async () => (await endpointsIn(us, namespace, name)).map((told) => told.replace(/\d+\.\d+\.0/, ''));
    await untilEqual('endpoints of the other', ofEu, ['eu .9 true']);
    await us.client.delete(EXPORTED_SERVICES, copy);
    await us.client.delete(CLUSTERSET_MEMBERS, member);
  });
});

describe('the command', () => {
  it('does the same from a shell', async () => {
    const [namespace, name] = ['production', 'payment-api'];
    const main = new URL('../../cli/main.js', import.meta.url).pathname;
    const isthmus = async (member: Member, ...args: string[]) => (
      await promisify(execFile)(process.execPath, [main, 'service', ...args, '--kubeconfig', member.kubeconfig])
    ).stdout.trim();
    assert.match(
      await isthmus(eu, 'export', name, '-n', namespace),
      /^production\/payment-api is exported as payment-api\.production\.svc\.clusterset\.local$/,
    );
    await untilEqual('the import', () => clustersOf(us, namespace, name), ['eu']);
    assert.match(await isthmus(us, 'list', '-n', namespace), /payment-api +ClusterSetIP +\S+ +eu +no/);
    assert.match(await isthmus(eu, 'unexport', name, '-n', namespace), /exported no more/);
  });
});

podPlaneNodesContract(() => world.members);
submarinerContract(() => us);

describe('a cluster that dies', () => {
  const [namespace, name] = ['production', 'lasting'];
  it('is out of the answers of the others within 12 s', async (t) => {
    for (const member of [eu, us]) {
      await makeService(member.client, { namespace, name });
      await doExport(member, namespace, name);
    }
    await makeService(eu.client, { namespace, name: 'lonely' });
    await doExport(eu, namespace, 'lonely');
    await untilEqual('the name', async () => typeof (await resolve(us, nameOf('lonely', namespace))), 'object');
    eu.gateway.stop.abort();
    const took = await untilEqual('the name', () => resolve(us, nameOf('lonely', namespace)), 'ENODATA', 12_000);
    t.diagnostic(
      `out of the answers after ${Math.round(took)} ms; an answer that was given before is kept for 5 s more at most`,
    );
    assert.deepEqual(
      await resolve(us, nameOf(name, namespace)), (await importOf(us, namespace, name))?.spec?.ips,
    );
    const told = async (service: string) => (await endpointsIn(us, namespace, service)).map(
      (text) => text.split(' ').filter((part) => !part.includes('.')).join(' '),
    );
    await untilEqual('endpoints of both', () => told(name), ['us true']);
    await untilEqual('endpoints of the dead one', () => told('lonely'), ['eu false']);
  });

  it('takes what it exported with it when it leaves', async () => {
    await leave(eu.client, { namespace: INSTALL_NAMESPACE }, NEVER);
    await untilEqual('imports of it', () => importOf(us, namespace, 'lonely'), undefined);
    await untilEqual('clusters', () => clustersOf(us, namespace, name), ['us']);
    await untilEqual('its own word', async () => (await conditionsOf(eu, namespace, name))[1], 'Ready=False/Pending');
    assert.deepEqual(
      (await eu.client.list(
        EXPORTED_SERVICES, { namespace: INSTALL_NAMESPACE, labelSelector: 'isthmus.dev/from-broker=true' },
      )).length,
      0,
    );
  });
});
