// What is written of a target's ClusterProfile, and of nobody else's. The golden pairs show whole profiles.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { MANAGER_LABEL, type ClusterProfile } from '../../../../api/placement/cluster-inventory.ts';
import type { PublishedTarget } from '../../../../scheduler/publishing/cluster-profile.ts';
import { ownerOf, planProfile } from '../../../../scheduler/publishing/plan-profile.ts';
import { publishedTarget, settled } from '../../../support/objects/published-profiles.ts';
import { readRegistry, secretOf } from '../../../support/objects/registry-objects.ts';
import { webAddress } from '../../../support/objects/web-addresses.ts';

const NOW = '2026-01-01T00:00:00Z';
const plan = (target: PublishedTarget | undefined, existing: ClusterProfile | undefined) =>
  planProfile({ namespace: 'kueue-system', target, existing, now: NOW });
const of = (target: PublishedTarget) => settled(target, undefined).profile!;

const OWNER = { kind: 'ClusterTarget', apiVersion: 'x', name: 'eu', uid: 'uid-eu' };

describe('a ClusterProfile', () => {
  it('is created with nothing that may change, then filled, and then left alone', () => {
    const [command, ...more] = plan(publishedTarget({ labels: { region: 'eu' } }), undefined);
    assert.ok(command?.kind === 'create' && more.length === 0);
    assert.deepEqual(Object.keys(command.object.metadata.labels ?? {}), [MANAGER_LABEL]);
    const { rounds, profile } = settled(publishedTarget({ labels: { region: 'eu' } }), undefined);
    assert.deepEqual([rounds, profile?.metadata.labels?.['region']], [2, 'eu']);
  });

  it('is written by its UID, so that another one of its name is not', () => {
    const existing = of(publishedTarget());
    const changed = publishedTarget({ labels: { tier: 'gold' }, availability: unavailable('Unreachable') });
    const uids = plan(changed, existing).map((command) => command.kind === 'apply'
      ? command.object.metadata.uid
      : command.kind === 'patch' && (command.patch as ClusterProfile).metadata.uid);
    assert.deepEqual(uids, ['uid', 'uid']);
    const [gone] = plan(undefined, existing);
    assert.ok(gone?.kind === 'delete' && gone.preconditions.uid === 'uid');
  });

  it('goes with its target, and when another target has its name', () => {
    const existing = of(publishedTarget());
    assert.deepEqual(plan(undefined, existing).map(({ kind }) => kind), ['delete']);
    const again = publishedTarget({ uid: 'uid-of-a-later-one' });
    assert.deepEqual(plan(again, existing).map(({ kind }) => kind), ['delete']);
    assert.equal(ownerOf(settled(again, existing).profile!), 'uid-of-a-later-one');
    const leaving = { ...existing, metadata: { ...existing.metadata, deletionTimestamp: NOW } };
    assert.deepEqual(plan(undefined, leaving), []);
  });

  it('loses the labels that the target has lost, and gets back those that somebody removed', () => {
    const existing = of(publishedTarget({ labels: { region: 'eu', tier: 'gold' } }));
    const [command] = plan(publishedTarget({ labels: { region: 'eu' } }), existing);
    assert.ok(command?.kind === 'apply'); // which removes what it does not have
    assert.deepEqual(command.object.metadata.labels, { region: 'eu', [MANAGER_LABEL]: 'isthmus' });
    const bare = { ...existing, metadata: { ...existing.metadata, labels: {} } };
    const again = plan(publishedTarget({ labels: { region: 'eu', tier: 'gold' } }), bare);
    assert.deepEqual(again.map(({ kind }) => kind), ['apply']);
  });

  const others: readonly (readonly [string, ClusterProfile])[] = [
    ['of another manager', profileOf('fleet', [OWNER])],
    ['that nobody owns', profileOf('isthmus', [])],
    ['that something else owns', profileOf('isthmus', [{ ...OWNER, kind: 'ConfigMap' }])],
    ['that something else owns as well', profileOf('isthmus', [OWNER, { ...OWNER, kind: 'ConfigMap' }])],
    ['of a target of another name', profileOf('isthmus', [{ ...OWNER, name: 'us' }])],
  ];
  for (const [what, existing] of others) {
    it(`${what} is neither changed nor deleted`, () => {
      assert.deepEqual(plan(publishedTarget(), existing), []);
      assert.deepEqual(plan(undefined, existing), []);
    });
  }
});

/** What a scheduler knows of a target when it has just started. */
const STARTED = {
  clusterId: undefined, availability: unavailable('Connecting'), isSynced: false, properties: undefined,
  endpoint: undefined,
};

describe('what is not known yet', () => {
  const properties = [{ name: 'zone', value: 'a' }];
  const existing = of(publishedTarget({ properties }));
  const statusAfter = (more: Partial<PublishedTarget>) => settled(publishedTarget(more), existing).profile?.status;

  it('stays as another scheduler wrote it', () => {
    assert.deepEqual(existing.status?.properties?.map(({ value }) => value), ['id-eu', 'a']);
    assert.equal(existing.status?.accessProviders?.length, 1);
    assert.deepEqual(plan(publishedTarget(STARTED), existing), []);
  });

  it('is filled in piece by piece', () => {
    const endpoint = { server: new URL('https://moved.example'), isDirect: true, credentials: 'token' };
    const moved = statusAfter({ ...STARTED, endpoint });
    assert.match(JSON.stringify(moved?.accessProviders), /moved\.example/);
    assert.deepEqual(moved?.properties, existing.status?.properties);
    const identified = statusAfter({ ...STARTED, clusterId: 'id-other' });
    assert.deepEqual(identified?.properties?.map(({ value }) => value), ['id-other', 'a']);
    const looked = statusAfter({ ...STARTED, properties: [] });
    assert.deepEqual(looked?.properties?.map(({ value }) => value), ['id-eu']);
    const lost = statusAfter({ ...STARTED, availability: unavailable('Unreachable') });
    assert.equal(lost?.conditions?.[0]?.status, 'False');
  });

  it('does not keep what is known to be gone', () => {
    const behind = { server: new URL('https://eu.example'), isDirect: false, credentials: 'token' };
    assert.deepEqual(statusAfter({ ...STARTED, endpoint: behind })?.accessProviders, []);
    assert.deepEqual(statusAfter({ ...STARTED, secretRef: undefined })?.accessProviders, []);
  });

  it('is Unknown in a new profile', () => {
    const { status } = of(publishedTarget(STARTED));
    assert.deepEqual([status?.properties, status?.accessProviders], [[], []]);
    assert.equal(status?.conditions?.[0]?.status, 'Unknown');
  });

  it('is not the health, where only a heartbeat is missing', () => {
    const lost = settled(publishedTarget({ availability: unavailable('Unreachable') }), existing).profile;
    const back = publishedTarget({ availability: unavailable('Connecting'), isSynced: true });
    assert.equal(settled(back, lost).profile?.status?.conditions?.[0]?.status, 'True');
  });
});

describe('the status of a profile', () => {
  const existing = of(publishedTarget());

  it('is not written because of fields and conditions of others, which stay', () => {
    const condition = { type: 'Joined', status: 'True' } as const;
    const conditions = [...existing.status?.conditions ?? [], condition];
    const shared = { ...existing, status: { ...existing.status, conditions, version: { kubernetes: 'v1.35.0' } } };
    assert.deepEqual(plan(publishedTarget(), shared), []);
    const [command] = plan(publishedTarget({ clusterId: 'id-other' }), shared);
    assert.ok(command?.kind === 'patch');
    const { status } = command.patch as ClusterProfile;
    assert.deepEqual(Object.keys(status ?? {}).toSorted(), ['accessProviders', 'conditions', 'properties']);
    assert.deepEqual(status?.conditions, conditions);
  });

  it('is not written again where the served schema drops access providers', () => {
    const { accessProviders: _pruned, ...status } = existing.status ?? {};
    assert.deepEqual(plan(publishedTarget(), { ...existing, status }), []);
    assert.deepEqual(plan(publishedTarget(STARTED), { ...existing, status }), []);
    assert.equal(plan(publishedTarget(), { ...existing, status: {} }).length, 1);
  });

  it('has the ID that was measured, whatever the cluster says of itself', () => {
    const properties = [{ name: 'cluster.clusterset.k8s.io', value: 'id-of-another' }];
    const idsOf = (more: Partial<PublishedTarget>) => of(publishedTarget({ properties, ...more })).status?.properties;
    assert.deepEqual(idsOf({})?.map(({ value }) => value), ['id-eu']);
    assert.deepEqual(idsOf({ clusterId: undefined }), []);
  });
});

describe('the law of published profiles', () => {
  const text = fc.string({ maxLength: 12 });
  const targets: fc.Arbitrary<PublishedTarget> = fc.record({
    name: fc.constant('eu'), uid: fc.constantFrom('uid-eu', 'uid-later'), labels: fc.dictionary(text, text),
    clusterId: fc.option(fc.constant('id-eu'), { nil: undefined }),
    availability: fc.oneof(
      fc.constant({ kind: 'ready' } as const),
      fc.tuple(fc.constantFrom('Unreachable', 'Connecting', 'Forbidden', 'Anything'), fc.string({ maxLength: 3_000 }))
        .map(([reason, message]) => ({ kind: 'unavailable', reason, message }) as const),
    ),
    isSynced: fc.boolean(),
    properties: fc.option(
      fc.array(fc.record({ name: fc.string({ minLength: 1 }), value: fc.string({ minLength: 1 }) })),
      { nil: undefined },
    ),
    spec: fc.constantFrom({}, { gateway: { cluster: 'member' } }, { podPlane: { cluster: 'pods' } }),
    secretRef: fc.option(fc.record({
      namespace: fc.constantFrom('isthmus-system', 'kueue-system'), name: fc.constant('eu'),
      key: fc.constant('config'), context: fc.constantFrom('c', undefined),
    }), { nil: undefined }),
    endpoint: fc.option(fc.record({
      server: webAddress().map((url) => new URL(url)), isDirect: fc.boolean(),
      credentials: fc.constantFrom('token', 'certificate', 'exec', 'token-file', 'none'),
    }), { nil: undefined }),
  });

  it('is that whatever was there of ours becomes what is wanted, and stays', () => {
    fc.assert(fc.property(targets, targets, (before, after) => {
      const { profile, rounds } = settled(after, settled(before, undefined).profile);
      assert.ok(rounds < 4, String(rounds));
      assert.ok(profile !== undefined && ownerOf(profile) === after.uid);
      const names = profile.status?.properties?.map(({ name }) => name) ?? [];
      assert.equal(new Set(names).size, names.length);
      assert.ok((profile.status?.conditions?.[0]?.message?.length ?? 0) <= 1_000);
    }));
  });

  it('is that a scheduler that has just started changes nothing of a status', () => {
    fc.assert(fc.property(targets, (target) => {
      const { endpoint: _endpoint, secretRef, ...known } = target;
      const existing = of(target);
      const started = { ...known, ...STARTED, secretRef: secretRef ?? publishedTarget().secretRef };
      assert.deepEqual(plan(started, existing), []);
    }));
  });

  it('is that no credentials are in them, and that a discovery reads the same server and Secret of them', () => {
    const read = (profile: ClusterProfile) => readRegistry({
      from: { clusterProfile: {} }, objects: { clusterprofiles: [profile] },
      secrets: [secretOf('kueue-system/eu', { config: 'K' })],
    })[0]?.access;
    fc.assert(fc.property(targets, ({ availability: _lost, ...target }) => {
      const known = { ...target, availability: { kind: 'ready' } as const };
      const profile = { ...of(known), spec: { clusterManager: { name: 'another' } } };
      const { accessProviders = [] } = profile.status ?? {};
      const access = read(profile);
      if (accessProviders.length === 0) return assert.equal(access?.kind, 'waiting');
      const isHere = target.secretRef?.namespace === profile.metadata.namespace;
      const server = access?.kind === 'kubeconfig' ? access.server?.server : undefined;
      assert.equal(server, isHere ? target.endpoint?.server.href : undefined);
      assert.equal(target.endpoint?.isDirect, true);
      assert.doesNotMatch(JSON.stringify(accessProviders), /token"|client-key|password/);
    }));
  });
});

function profileOf(manager: string, ownerReferences: readonly (typeof OWNER)[]): ClusterProfile {
  return {
    metadata: { namespace: 'kueue-system', name: 'eu', uid: 'uid', ownerReferences },
    spec: { clusterManager: { name: manager } },
  };
}

function unavailable(reason: string) {
  return { kind: 'unavailable', reason, message: 'why' } as const;
}
