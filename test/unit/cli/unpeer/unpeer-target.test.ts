import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  DELEGATE_FINALIZER, DRAIN_FINALIZER, PARENT_CLUSTER_LABEL, PROVIDER_KEY, PROVIDER_VALUE,
} from '../../../../api/objects/keys.ts';
import {
  CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, NAMESPACES, NODES, POD_CHAPERONS, PODS, ROLE_BINDINGS,
  ROLES, SECRETS, SERVICE_ACCOUNTS, SOURCES, TARGETS,
} from '../../../../api/resource-types.ts';
import { typeOf } from '../../../../cli/clusters/apply-objects.ts';
import { unpeerTarget, routeToTarget } from '../../../../cli/unpeer/unpeer-target.ts';
import type { UnpeerOptions } from '../../../../cli/unpeer/target-side.ts';
import { UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { PART_OF } from '../../../../model/access/rbac-objects.ts';
import { targetRefOf } from '../../../../model/naming/target-ref.ts';
import { sourceObject } from '../../../../peering/identity/source-identity.ts';
import { podModeAccess } from '../../../../peering/access/pod-mode-access.ts';
import {
  peeringIdentity, sourceSideManifests, type Peering,
} from '../../../../peering/access/target-access.ts';
import { aChaperon, labelled } from '../../../support/objects/builders.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { virtualWaits } from '../../../support/doubles/virtual-waits.ts';

const SOURCE_ID = '0123abcd-source';
const peering: Peering = { name: 'eu', sourceId: SOURCE_ID, installNamespace: 'isthmus-system' };
const RECORD = 'isthmus-left-behind-eu';

/** A source that is peered with a target, in which it has its identity. */
function world(t: TestContext, of: Partial<Peering> = {}, more: Partial<UnpeerOptions> = {}) {
  const peered = { ...peering, ...of };
  const source = new MemoryCluster([NAMESPACES, { metadata: { name: 'kube-system', uid: SOURCE_ID } }]);
  for (const object of sourceSideManifests(peered, 'no kubeconfig')) source.put(typeOf(object), object);
  const node = of.namespace === undefined ? 'admiralty-eu' : `admiralty-${of.namespace}-eu`;
  source.put(NODES, { metadata: { name: node, labels: { [PROVIDER_KEY]: PROVIDER_VALUE } } });
  const joining = { namespace: of.namespace ?? 'isthmus-system', name: 'isthmus-joining-eu', labels: PART_OF };
  source.put(SECRETS, { metadata: joining }); // of a join that was interrupted
  const target = new MemoryCluster();
  const inTarget = of.delegation === 'Pod' ? podModeAccess(peered) : [sourceObject(peeringIdentity(peered))];
  for (const object of inTarget) target.put(typeOf(object), object);
  const told: string[] = [];
  const time = virtualWaits(t);
  return {
    source, target, told, time,
    leave: (flags: Partial<UnpeerOptions> = {}) => unpeerTarget({
      client: source.client, target: targetRefOf(peered), installNamespace: 'isthmus-system', isForced: false,
      evictUnmanaged: false, targetAdministrator: target.client, ...more, ...flags,
    }, { tell: (line) => told.push(line), signal: new AbortController().signal }),
  };
}

const leftOf = (cluster: MemoryCluster) =>
  [CLUSTER_TARGETS, TARGETS, SECRETS, ROLES, ROLE_BINDINGS, NODES].flatMap((type) => cluster.names(type));
const identitiesOf = (cluster: MemoryCluster) =>
  [CLUSTER_SOURCES, SOURCES, SERVICE_ACCOUNTS, CLUSTER_ROLES].flatMap((type) => cluster.names(type));
const chaperon = () => aChaperon(labelled({ [PARENT_CLUSTER_LABEL]: SOURCE_ID }));

describe('a target that is left', () => {
  it('leaves nothing of the peering on either side', async (t) => {
    const { source, target, told, leave } = world(t);
    await leave();
    assert.deepEqual([leftOf(source), identitiesOf(target)], [[], []]);
    assert.equal(told.at(-1), 'left target eu');
  });

  it('is drained first, leaves the target next, and its Secret goes last: with it one can begin again', async (t) => {
    const { source, target, leave } = world(t);
    const order: string[] = [];
    for (const [name, cluster] of Object.entries({ source, target })) {
      cluster.before = ({ method, path }) => void (method !== 'GET' && order.push(`${name} ${path.split('/').at(-1)}`));
    }
    await leave();
    assert.deepEqual(order.slice(0, 2), ['source admiralty-eu', 'target eu-0123abcd']);
    assert.equal(order.at(-1), 'source eu-kubeconfig');
  });

  for (const writes of [1, 2, 3, 4, 5, 6]) {
    it(`is left whole by a second command when the first was killed after write ${writes}`, async (t) => {
      const { source, target, leave } = world(t);
      const isOver = () => source.writes.length + target.writes.length >= writes;
      for (const cluster of [source, target]) cluster.before = () => (isOver() ? new Error('killed') : undefined);
      await assert.rejects(leave(), /killed/);
      for (const cluster of [source, target]) cluster.before = () => undefined;
      await leave();
      assert.deepEqual([leftOf(source), identitiesOf(target)], [[], []]);
    });
  }

  it('keeps what somebody else has under our names, and says so', async (t) => {
    const { source, told, leave } = world(t);
    source.put(ROLES, { metadata: { namespace: 'isthmus-system', name: 'isthmus-renewal-eu-kubeconfig' } });
    await leave();
    assert.deepEqual(source.names(ROLES), ['isthmus-system/isthmus-renewal-eu-kubeconfig']);
    assert.match(told.join('\n'), /kept Role isthmus-system\/isthmus-renewal-eu-kubeconfig: not created by Isthmus/);
  });

  it('keeps what belongs to a target of another name', async (t) => {
    const { source, leave } = world(t);
    for (const object of sourceSideManifests({ ...peering, name: 'us' }, '')) source.put(typeOf(object), object);
    const before = leftOf(source).filter((name) => /\bus\b/.test(name));
    await leave();
    assert.deepEqual(leftOf(source), before);
  });

  it('must have been made by peering: one that a user wrote is not touched', async (t) => {
    const { source, target, leave } = world(t);
    source.put(CLUSTER_TARGETS, { metadata: { name: 'eu' }, spec: {} } as never);
    await assert.rejects(leave(), { code: 'BadInput', message: /was not created by "isthmus peer".*isthmus drain eu/ });
    assert.deepEqual([source.writes, target.writes], [[], []]);
  });

  it('that is not there is an error with the targets that are', async (t) => {
    const { leave } = world(t);
    await assert.rejects(leave({ target: { kind: 'ClusterTarget', name: 'uk' } }), {
      code: 'NotFound', message: 'There is no ClusterTarget uk here. Targets here: eu.',
    });
  });

  it('keeps its ClusterSource when that is of another cluster: the kubeconfig may be the wrong one', async (t) => {
    const { target, source, leave } = world(t);
    target.put(CLUSTER_SOURCES, { metadata: { name: 'eu-0123abcd' }, spec: { clusterID: 'another' } } as never);
    await assert.rejects(leave(), { code: 'BadInput', message: /has a different clusterID.*--target-kubeconfig/ });
    assert.deepEqual([target.writes, source.names(CLUSTER_TARGETS)], [[], ['eu']]);
  });

  it('keeps its ClusterSource when the kubeconfig is of another cluster, where there is none', async (t) => {
    const { target, source, leave } = world(t);
    source.put(CLUSTER_TARGETS, { ...source.find(CLUSTER_TARGETS, 'eu')!, status: { clusterID: 'of-eu' } } as never);
    const another = new MemoryCluster([NAMESPACES, { metadata: { name: 'kube-system', uid: SOURCE_ID } }]);
    await assert.rejects(leave({ targetAdministrator: another.client }), {
      code: 'BadInput', message: /leads to cluster 0123abcd-source, but target eu is cluster of-eu/,
    });
    assert.deepEqual([identitiesOf(target).length, source.names(CLUSTER_TARGETS)], [1, ['eu']]);
  });

  it('is waited for while PodChaperons of this source are in it; those that stay are named', async (t) => {
    const { target, source, leave, time } = world(t);
    target.put(POD_CHAPERONS, chaperon());
    target.put(POD_CHAPERONS, aChaperon(labelled({ [PARENT_CLUSTER_LABEL]: 'another' }), (object) => ({
      ...object, metadata: { ...object.metadata, name: 'of-another' },
    })));
    await assert.rejects(leave(), { code: 'Timeout', message: /still in the target: team-a\/web-abc\. Check/ });
    assert.deepEqual(source.names(CLUSTER_TARGETS), ['eu']);
    time.during = () => target.drop(POD_CHAPERONS, { namespace: 'team-a', name: 'web-abc' });
    await leave();
    assert.deepEqual(leftOf(source), []);
  });

  it('with pods that nobody would make again is not left, unless that is asked for', async (t) => {
    const { source, leave } = world(t);
    const pod = { metadata: { namespace: 'shop', name: 'lonely', finalizers: [DELEGATE_FINALIZER] } };
    source.put(PODS, { ...pod, spec: { nodeName: 'admiralty-eu' } } as never);
    await assert.rejects(leave(), { code: 'BadInput', message: /shop\/lonely.*--evict-unmanaged/ });
    await leave({ evictUnmanaged: true });
    assert.deepEqual([source.names(PODS), leftOf(source)], [[], []]);
  });

  it('whose finalizers stay is an error, and with --force loses them', async (t) => {
    const { source, leave } = world(t);
    const { metadata, ...rest } = source.find(CLUSTER_TARGETS, 'eu')!;
    source.put(CLUSTER_TARGETS, { ...rest, metadata: { ...metadata, finalizers: [DRAIN_FINALIZER] } });
    await assert.rejects(leave(), { code: 'Timeout', message: /ClusterTarget eu is not gone.*--force/ });
    await leave({ isForced: true });
    assert.deepEqual(leftOf(source), []);
  });
});

describe('a target that is left without its consent', () => {
  const unreachable = () => new UnreachableError('eu cannot be reached');

  it('needs an administrator or --force when the source cannot reach it', async (t) => {
    const { source, leave } = world(t, {}, { targetAdministrator: undefined });
    await assert.rejects(leave(), { code: 'NotFound', message: /no kubeconfig here.*--target-kubeconfig.*--force/ });
    assert.deepEqual(source.names(CLUSTER_TARGETS), ['eu']);
  });

  it('that does not answer is no name that is not there', async (t) => {
    const { target, leave } = world(t);
    target.before = unreachable;
    await assert.rejects(leave(), { code: 'Unreachable', message: /eu cannot be reached.*--force/ });
  });

  it('is written down with what it keeps, and nothing is drained or waited for', async (t) => {
    const { source, target, told, leave } = world(t);
    target.before = unreachable;
    await leave({ isForced: true });
    assert.deepEqual(leftOf(source), []);
    const { data } = source.find(CONFIG_MAPS, RECORD, 'isthmus-system')!;
    const { remains, why, target: name } = data as Readonly<Record<string, string>>;
    assert.match(remains ?? '', /^ClusterSource eu-0123abcd, PodChaperons with label .*=0123abcd-source$/);
    assert.deepEqual([why, name], ['eu cannot be reached', 'eu']);
    assert.doesNotMatch(told.join('\n'), /drained/);
  });

  it('is not waited for: what runs in it loses its source', async (t) => {
    const { source, target, time, leave } = world(t);
    target.put(POD_CHAPERONS, chaperon());
    await leave({ isForced: true });
    assert.deepEqual([identitiesOf(target), source.names(CONFIG_MAPS)], [[], []]);
    assert.ok(time.waits.every((ms) => ms === 100), 'only its virtual node is waited for');
  });

  it('is not written over a ConfigMap of somebody else', async (t) => {
    const { source, target, told, leave } = world(t);
    source.put(CONFIG_MAPS, { metadata: { namespace: 'isthmus-system', name: RECORD } });
    target.before = unreachable;
    await leave({ isForced: true });
    assert.equal(source.find(CONFIG_MAPS, RECORD, 'isthmus-system')?.['data'], undefined);
    assert.match(told.join('\n'), /not recorded, because ConfigMap isthmus-system\/isthmus-left-behind-eu was not/);
  });

  it('is left whole once its administrator is there: then the record goes as well', async (t) => {
    const { source, target, told, leave } = world(t);
    target.before = unreachable;
    await leave({ isForced: true });
    target.before = () => undefined;
    await leave();
    assert.deepEqual([identitiesOf(target), source.names(CONFIG_MAPS)], [[], []]);
    assert.match(told.join('\n'), /nothing is left behind any more/);
  });

  it('stays written down while its administrator cannot reach it either', async (t) => {
    const { source, target, leave } = world(t);
    target.before = unreachable;
    await leave({ isForced: true });
    await assert.rejects(leave({ isForced: true }), { name: 'UnreachableError' });
    assert.deepEqual(source.names(CONFIG_MAPS), [`isthmus-system/${RECORD}`]);
  });
});

describe('a target without Isthmus that is left', () => {
  const access = (cluster: MemoryCluster) =>
    [SERVICE_ACCOUNTS, CLUSTER_ROLES, ROLES, ROLE_BINDINGS].flatMap((type) => cluster.names(type));

  it('loses what peering made there, and keeps what others have under those names', async (t) => {
    const { target, told, leave } = world(t, { delegation: 'Pod' });
    const [name = ''] = target.names(ROLES);
    target.put(ROLES, { metadata: { namespace: 'isthmus-system', name: name.split('/')[1] ?? '' } });
    await leave();
    assert.deepEqual(access(target), [name]);
    assert.match(told.join('\n'), /target: kept Role .*: not created by Isthmus/);
  });

  it('needs an administrator: its source may not remove its own permissions', async (t) => {
    const { leave } = world(t, { delegation: 'Pod' }, { targetAdministrator: undefined });
    await assert.rejects(leave(), { code: 'NotFound', message: /does not run Isthmus.*--target-kubeconfig/ });
  });

  it('is waited for while pods of this source are in it, not with --force', async (t) => {
    const { target, source, leave } = world(t, { delegation: 'Pod' });
    target.put(PODS, { metadata: { namespace: 'shop', name: 'web', labels: { [PARENT_CLUSTER_LABEL]: SOURCE_ID } } });
    await assert.rejects(leave(), { code: 'Timeout', message: /Pods of this source .*shop\/web/ });
    await leave({ isForced: true });
    assert.deepEqual([leftOf(source), access(target)], [[], []]);
  });

  it('is known as such by its administrator when the source has forgotten it', async (t) => {
    const { target, source, leave } = world(t, { delegation: 'Pod' });
    source.drop(CLUSTER_TARGETS, { name: 'eu' });
    await leave();
    assert.deepEqual(access(target), []);
  });
});

describe('the way to a target that is left', () => {
  const through = (spec: object) =>
    new MemoryCluster([CLUSTER_TARGETS, { metadata: { name: 'eu' }, spec } as never]).client;
  const route = (client: UnpeerOptions['client'], gateways?: readonly URL[]) =>
    routeToTarget(client, { kind: 'ClusterTarget', name: 'eu' }, gateways, new AbortController().signal);
  const gateways = [new URL('http://10.0.0.1:8181'), new URL('http://[fd00::1]:8181')];

  it('leads through the gateways that are named, to its cluster in the clusterset', async () => assert.deepEqual(
    await route(through({ gateway: { cluster: 'berlin' } }), gateways), { clusterId: 'berlin', endpoints: gateways },
  ));
  it('is direct where the target says so, whatever is named, and where it has gone', async () => {
    assert.equal(await route(through({}), gateways), undefined);
    assert.equal(await route(new MemoryCluster().client, gateways), undefined);
  });
  it('must be named where the target says that there is one', async () => {
    await assert.rejects(route(through({ gateway: { cluster: 'berlin' } })), {
      code: 'BadInput', message: /reached through the gateway: name it with --gateway/,
    });
  });
});
