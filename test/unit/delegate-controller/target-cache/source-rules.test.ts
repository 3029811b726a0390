import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSource, Source } from '../../../../api/kinds/cluster-source.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import {
  rejectionOf, toSourceRule, type SourceRule,
} from '../../../../delegate-controller/target-cache/source-rules.ts';

const rule = (more: Partial<SourceRule>): SourceRule => ({
  name: 's', uid: 'u', userName: undefined, streams: 'OwnDelegates', namespace: undefined, clusterId: 'c1',
  podSecurity: 'baseline', account: undefined, ...more,
});
const asked = (spec: object, cluster = 'c1') => ({
  metadata: { namespace: 'shop', name: 'p', labels: { 'multicluster.admiralty.io/parent-cluster-name': cluster } },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
}) as unknown as PodChaperon;
const [plain, privileged] = [asked({}), asked({ hostPID: true })];

describe('a PodChaperon', () => {
  const rows: readonly [string, PodChaperon, readonly SourceRule[], RegExp | undefined][] = [
    ['that meets the level of its source gets its delegate', plain, [rule({})], undefined],
    [
      'that does not is rejected with what to change', privileged, [rule({})],
      /^PodSecurityRefused: .* baseline: hostPID is set; spec\.podSecurity/,
    ],
    ['of a source without a limit gets its delegate', privileged, [rule({ podSecurity: 'privileged' })], undefined],
    [
      'is not held to the level of another source', privileged,
      [rule({ podSecurity: 'privileged' }), rule({ clusterId: 'c2' })], undefined,
    ],
    [
      'of a cluster that no source names any more is held to baseline', privileged,
      [rule({ clusterId: 'c2', podSecurity: 'privileged' })],
      /baseline: hostPID is set; no ClusterSource .* cluster c1/,
    ],
    ['of such a cluster, of no harm, gets its delegate', plain, [], undefined],
    [
      'of such a cluster may be a source\'s that has no cluster ID', privileged,
      [rule({ clusterId: undefined, podSecurity: 'privileged' })], undefined,
    ],
    [
      'of such a cluster is not one\'s that may be in another namespace alone', privileged,
      [rule({ clusterId: undefined, podSecurity: 'privileged', namespace: 'other' })], /PodSecurityRefused/,
    ],
    ['of this very cluster is held to its namespace alone', asked({ hostPID: true }, 'here'), [], undefined],
    [
      'may use the looser of two that its cluster has', privileged, [rule({}), rule({ podSecurity: 'privileged' })],
      undefined,
    ],
    [
      'may not use the looser one of another namespace', privileged,
      [rule({}), rule({ namespace: 'other', podSecurity: 'privileged' })], /PodSecurityRefused/,
    ],
    [
      'of nobody is held to its namespace alone',
      { ...privileged, metadata: { namespace: 'shop', name: 'p' } }, [rule({ clusterId: undefined })], undefined,
    ],
    [
      'that runs as a source is rejected', asked({ serviceAccountName: 'berlin' }),
      [rule({ podSecurity: 'privileged', account: 'shop/berlin' })], /ServiceAccount berlin is a source's own/,
    ],
    [
      'that runs as another source by the former name of the field is rejected', asked({ serviceAccount: 'berlin' }),
      [rule({ clusterId: 'c2', account: 'shop/berlin' })], /own/,
    ],
    ['whose namespace\'s default account is a source is rejected', plain, [rule({ account: 'shop/default' })], /own/],
    [
      'may run as an account that has the name of a source elsewhere', asked({ serviceAccountName: 'berlin' }),
      [rule({ account: 'other/berlin' })], undefined,
    ],
  ];
  for (const [what, chaperon, rules, expected] of rows) {
    it(what, () => {
      const rejection = rejectionOf(chaperon, { rules, ownClusterId: 'here' });
      if (expected === undefined) assert.equal(rejection, undefined);
      else assert.match(rejection ?? 'none', expected);
    });
  }

  it('is told the first of many problems', () => {
    const containers =
      Array.from({ length: 9 }, (_, index) => ({ name: `c${index}`, securityContext: { privileged: true } }));
    const rejection = rejectionOf(asked({ containers }), { rules: [rule({})], ownClusterId: 'here' });
    assert.match(rejection ?? '', /container c4 is privileged and 4 more/);
  });
});

describe('toSourceRule', () => {
  it('reads both kinds, with no limit where none is named', () => {
    const source: Source = {
      metadata: { namespace: 'team', name: 's' },
      spec: { serviceAccountName: 'sa', clusterID: 'c', podSecurity: 'restricted' },
    };
    assert.deepEqual(toSourceRule(source), {
      name: 's', uid: '', userName: undefined, streams: 'OwnDelegates', namespace: 'team', clusterId: 'c',
      podSecurity: 'restricted', account: 'team/sa',
    });
    const clusterSource: ClusterSource =
      { metadata: { name: 's' }, spec: { serviceAccount: { namespace: 'ns', name: 'sa' } } };
    assert.deepEqual(toSourceRule(clusterSource), {
      name: 's', uid: '', userName: undefined, streams: 'OwnDelegates', namespace: undefined, clusterId: undefined,
      podSecurity: 'privileged', account: 'ns/sa',
    });
    assert.deepEqual(toSourceRule({ metadata: { name: 's' }, spec: { userName: 'u' } }).account, undefined);
    assert.deepEqual(
      toSourceRule({ metadata: { namespace: 'n', name: 's' }, spec: { userName: 'u' } }).account, undefined,
    );
  });
});
