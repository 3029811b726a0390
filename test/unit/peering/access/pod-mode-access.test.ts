import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PART_OF } from '../../../../model/access/rbac-objects.ts';
import { podModeAccess } from '../../../../peering/access/pod-mode-access.ts';
import { sourceAccount, sourceSideManifests, type Peering } from '../../../../peering/access/target-access.ts';

const PEERING: Peering = {
  name: 'edge', namespace: undefined, installNamespace: 'isthmus-system',
  sourceId: '11111111-2222-3333-4444-555555555555', delegation: 'Pod',
};

describe('podModeAccess', () => {
  const made = podModeAccess(PEERING);

  it('are of kinds that every cluster serves, and marked as ours', () => {
    assert.deepEqual(
      made.map(({ kind }) => kind), ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
    );
    for (const { metadata } of made) assert.deepEqual(metadata.labels, PART_OF);
  });

  it('give everything to the account of the source, and to nobody else', () => {
    const account = { kind: 'ServiceAccount', ...sourceAccount(PEERING) };
    const bindings = made.filter((object) => 'subjects' in object) as unknown as { subjects: object[] }[];
    assert.deepEqual(bindings.map(({ subjects }) => subjects), [[account], [account]]);
  });

  it('let it ask for no token but its own, and write no permissions', () => {
    const rules = made.flatMap(
      (object) => ('rules' in object ? (object.rules as { resources: string[]; resourceNames?: string[] }[]) : []),
    );
    const tokens = rules.filter(({ resources }) => resources.includes('serviceaccounts/token'));
    assert.deepEqual(tokens.map(({ resourceNames }) => resourceNames), [[sourceAccount(PEERING).name]]);
    for (const { resources } of rules) {
      assert.ok(!resources.some((resource) => /role|serviceaccounts$|\*/.test(resource)));
    }
  });

  it('of two sources do not meet', () => {
    const names = (peering: Peering) =>
      podModeAccess(peering).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const other = new Set(names({ ...PEERING, sourceId: '99999999-2222-3333-4444-555555555555' }));
    assert.ok(names(PEERING).every((name) => !other.has(name)));
  });
});

describe('what the source keeps of a target in Pod mode', () => {
  const specOf = (peering: Peering) => sourceSideManifests(
    peering, 'kind: Config\n',
  ).find(({ kind }) => kind === 'ClusterTarget') as unknown as { spec: { delegation?: string } };

  it('says so', () => assert.equal(specOf(PEERING).spec.delegation, 'Pod'));
  it('says nothing where it is to be found out', () => assert.equal(
    'delegation' in specOf({ ...PEERING, delegation: undefined }).spec, false,
  ));
});
