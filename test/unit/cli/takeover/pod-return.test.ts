import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import type { Pod } from '../../../../api/objects/core.ts';
import { admiraltyFinalizer, planReturn, type ReturnState } from '../../../../cli/takeover/pod-return.ts';
import { writeAdmissionRecord } from '../../../../model/proxy/admission-record.ts';
import { admiraltyChaperon } from '../../../support/objects/admiralty-pods.ts';

const P = 'multicluster.admiralty.io/';
const user: Pod = {
  metadata: { namespace: 'web', name: 'a', annotations: { [`${P}elect`]: '' } },
  spec: { containers: [{ name: 'main', image: 'i' }], nodeSelector: { disk: 'ssd' } },
};
const proxy = (nodeName?: string): Pod => ({
  metadata: {
    namespace: 'web', name: 'a', uid: 'u1', resourceVersion: '7', finalizers: [`${P}delegate`],
    annotations: {
      [`${P}elect`]: '', [`${P}adopted-delegate`]: 'a-x', 'isthmus.dev/admission-record': writeAdmissionRecord(user),
    },
  },
  spec: {
    containers: [{ name: 'main', image: 'i' }], schedulerName: 'admiralty-proxy',
    nodeSelector: { 'virtual-kubelet.io/provider': 'admiralty' }, ...(nodeName !== undefined && { nodeName }),
  },
});
const chaperon = () => {
  const made = admiraltyChaperon(proxy(), 'S');
  return { ...made, metadata: { ...made.metadata, uid: 'c', resourceVersion: '3', finalizers: [`${P}chaperon`] } };
};
const TARGETS: ReturnState['targets'] = [
  { ref: { kind: 'Target', namespace: 'web', name: 'c2' }, key: 'Target/web/c2', isAdmiraltyThere: true },
  { ref: { kind: 'ClusterTarget', name: 'c1' }, key: 'ClusterTarget/c1', isAdmiraltyThere: false },
];
const plan = (more: Partial<ReturnState>) => planReturn({
  proxy: proxy('admiralty-web-c2'), candidates: [], remains: false, delegates: [], targets: TARGETS, clusterName: 'hub',
  ...more,
});
const at = (target: string, isPlaced = true) => ({ target, nodeName: 'n', isPlaced, chaperon: chaperon() });
const patched = (command: unknown) => (command as {
  readonly patch: {
    readonly metadata: {
      readonly resourceVersion?: string
      readonly finalizers?: readonly string[]; readonly labels?: object; readonly annotations?: Record<string, string>
    }
  }
}).patch.metadata;

describe('a proxy that Admiralty gets back', () => {
  it('has the finalizers of the Targets of its namespace, and none of ClusterTargets', () => {
    assert.deepEqual(
      patched(plan({}).inSource.at(-1)).finalizers, [admiraltyFinalizer({ namespace: 'web', name: 'c2' })],
    );
    assert.equal(admiraltyFinalizer({ namespace: 'team-a', name: 'c2' }), `${P}team-a-c2-0ba4508354`);
  });

  it('keeps a finalizer that somebody adds meanwhile, also where it has a delegate of Admiralty', () => {
    const [first, ...more] = plan({}).inSource;
    assert.deepEqual([patched(first).resourceVersion, more], ['7', []]);
    const finalizers = [admiraltyFinalizer({ namespace: 'web', name: 'c2' })];
    const given = { ...proxy('n'), metadata: { ...proxy('n').metadata, finalizers } };
    assert.deepEqual(
      plan({ proxy: given }).inSource.map(patched), [{ uid: 'u1', annotations: { [`${P}adopted-delegate`]: null } }],
    );
  });

  it("has its chaperon under Admiralty's name of the cluster, without our finalizer where nobody would take it off",
    () => {
    const [there] = plan({ candidates: [at('Target/web/c2')] }).inTargets;
    assert.deepEqual([patched(there?.plan[0]).finalizers, patched(there?.plan[0]).labels], [
      [], { [`${P}parent-cluster-name`]: 'hub' },
    ]);
    const [ours] = plan({ candidates: [at('ClusterTarget/c1')] }).inTargets;
    assert.deepEqual(patched(ours?.plan[0]).finalizers, [`${P}chaperon`]);
  });

  it('gets a chaperon around a delegate that the source made, and then made its owner', () => {
    const delegate: Pod = {
      metadata: { namespace: 'web', name: 'a-x7k2p', uid: 'd', labels: { [`${P}parent-uid`]: 'u1' } },
      spec: { containers: [], nodeName: 'real-1' },
    };
    const [around] = plan({ delegates: [{ target: 'Target/web/c2', delegate }] }).inTargets;
    assert.equal(around?.plan[0]?.kind, 'create');
    const [owner] =
      plan({ delegates: [{ target: 'Target/web/c2', delegate }], candidates: [at('Target/web/c2')] }).inTargets;
    assert.match(JSON.stringify(owner?.plan[0]), /"ownerReferences":\[\{[^\]]*"uid":"c","controller":true/);
  });

  it('has a copy of its source pod while it waits, with what the user wrote', () => {
    const waiting = proxy();
    const released = {
      ...waiting, metadata: { ...waiting.metadata, finalizers: [admiraltyFinalizer({ namespace: 'web', name: 'c2' })] },
    };
    assert.equal(
      plan({ proxy: waiting }).inSource.length, 1, 'one write at a time: the next one is to its new version',
    );
    const text = patched(plan({ proxy: released }).inSource[0]).annotations?.[`${P}sourcepod-manifest`] ?? '';
    const source = parse(text) as Pod;
    assert.deepEqual(
      [source.spec.nodeSelector, source.spec.schedulerName, source.metadata.annotations?.[`${P}elect`]],
      [{ disk: 'ssd' }, undefined, ''],
    );
  });

  it('is left alone once it is as Admiralty has it', () => {
    const { [`${P}adopted-delegate`]: _adopted, ...annotations } = proxy().metadata.annotations ?? {};
    const given = {
      ...proxy('n'),
      metadata:
        { ...proxy('n').metadata, annotations, finalizers: [admiraltyFinalizer({ namespace: 'web', name: 'c2' })] },
    };
    assert.deepEqual(plan({ proxy: given }), { inTargets: [], inSource: [] });
  });
});
