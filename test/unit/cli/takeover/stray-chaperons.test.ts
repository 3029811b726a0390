import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import { planStrays, type StrayState } from '../../../../cli/takeover/stray-chaperons.ts';
import { admiraltyChaperon, admiraltyProxy } from '../../../support/objects/admiralty-pods.ts';

const P = 'multicluster.admiralty.io/';
const proxy = (nodeName?: string, more: Partial<Pod['metadata']> = {}): Pod => {
  const made = admiraltyProxy({ namespace: 'web', name: 'a', ...(nodeName !== undefined && { nodeName }) });
  return { ...made, metadata: { ...made.metadata, uid: 'u1', ...more } };
};
const chaperon = (uid: string, clusterName = 'hub') => {
  const made = admiraltyChaperon(proxy(), clusterName, uid);
  return { ...made, metadata: { ...made.metadata, uid } };
};
const at = (name: string, ...chaperons: readonly ReturnType<typeof chaperon>[]) =>
  ({ target: { key: name, nodeName: `admiralty-${name}` }, chaperons });
const strays = (proxies: readonly Pod[], ...inTargets: StrayState['inTargets']) =>
  planStrays({ proxies, inTargets, sourceNames: ['hub', 'S'] }).inTargets.map(
    ({ target, plan }) =>
      `${target} ${plan.map((command) => command.kind === 'delete' && command.preconditions?.uid).join()}`,
  );

describe('PodChaperons that nobody would look at', () => {
  it('go when their proxy is gone', () => {
    assert.deepEqual(strays([], at('c1', chaperon('x'))), ['c1 x']);
    assert.deepEqual(strays([], at('c1', chaperon('x', 'S'))), ['c1 x'], 'also what we have made');
  });

  it('go when their proxy is bound elsewhere', () => {
    assert.deepEqual(strays([proxy('admiralty-c2')], at('c1', chaperon('x')), at('c2', chaperon('y'))), ['c1 x']);
  });

  it('go beside the one that a proxy of ours names', () => {
    const ours = proxy('admiralty-c1', { finalizers: [`${P}delegate`], annotations: { [`${P}delegate-name`]: 'a-y' } });
    assert.deepEqual(strays([ours], at('c1', chaperon('x'), chaperon('y'))), ['c1 x']);
    assert.deepEqual(
      strays([{ ...ours, metadata: { ...ours.metadata, finalizers: [] } }], at('c1', chaperon('x'), chaperon('y'))), [],
      'what is left of a name that we once wrote',
    );
  });
});

describe('PodChaperons that stay', () => {
  it('are those of proxies without a node, and the one where the proxy is', () => {
    assert.deepEqual(strays([proxy()], at('c1', chaperon('x'))), []);
    assert.deepEqual(strays([proxy('admiralty-c1')], at('c1', chaperon('x'))), []);
  });

  it('are the only one that its proxy has, wherever it seems to be: kubeconfigs of two targets may be swapped', () => {
    assert.deepEqual(strays([proxy('admiralty-c2')], at('c1', chaperon('x')), at('c2')), []);
    const going = chaperon('y');
    const ending = { ...going, metadata: { ...going.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.deepEqual(strays([proxy('admiralty-c2')], at('c1', chaperon('x')), at('c2', ending)), []);
  });

  it('are those that two targets show, for they are one cluster', () => {
    assert.deepEqual(strays([proxy('admiralty-own')], at('c1', chaperon('x')), at('own', chaperon('x'))), []);
  });

  it('are those of other sources, of nobody, and those that go', () => {
    const nobody = { ...chaperon('x'), metadata: { ...chaperon('x').metadata, labels: {} } };
    const going =
      { ...chaperon('z'), metadata: { ...chaperon('z').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.deepEqual(strays([], at('c1', chaperon('x', 'other'), nobody, going)), []);
  });
});
