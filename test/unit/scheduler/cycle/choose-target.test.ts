import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { POD_GROUP_LABEL, POD_GROUP_MIN_COUNT_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { ResourceList } from '../../../../api/objects/core.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import type { DecisionToLog } from '../../../../scheduler/explain/decision-log.ts';
import { ClusterCache, type ObservedClusters } from '../../../../scheduler/cycle/cluster-cache.ts';
import type { PolicyIndex } from '../../../../scheduler/snapshot/placement-rules.ts';
import { TargetChooser, type ChooserOptions } from '../../../../scheduler/cycle/choose-target.ts';
import { annotated, aProxyRecord, labelled, named, withRequests, withUid } from '../../../support/objects/builders.ts';

const MEMBERS = 10;
const TARGET = { ref: { kind: 'ClusterTarget', name: 'c' } as const, key: 'ClusterTarget/c', nodeName: 'admiralty-c' };

/** Labels that are too long for pods to share. */
const LONG = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, name.repeat(60)]));

/** A pod of a group of ten that asks for one CPU. */
function aMember(index: number): ProxyPod {
  const group =
    [labelled({ ...LONG, [POD_GROUP_LABEL]: 'train' }), annotated({ [POD_GROUP_MIN_COUNT_ANNOTATION]: `${MEMBERS}` })];
  return aProxyRecord(named(`worker-${index}`), withUid(`uid-${index}`), ...group, withRequests({ cpu: '1' }));
}

/** A group of ten and one target with this room; counts decisions. */
function aWorld(free: ResourceList) {
  const members = Array.from({ length: MEMBERS }, (_, index) => aMember(index));
  const policyIndex: PolicyIndex = { isComplete: true, policies: [], namespaces: new Map() };
  const get = (key: string) => members.find((member) => member.key === key);
  let tell: (key: string, before: ProxyPod | undefined, after: ProxyPod | undefined) => void = () => undefined;
  let removed: (target: typeof TARGET) => void = () => undefined;
  const asked: string[] = [];
  const clusters = {
    proxies: { onChange: (listener: typeof tell) => (tell = listener), get, by: () => members },
    targets: {
      listen: (listener: { readonly removed: (target: typeof TARGET) => void }) => (removed = listener.removed),
      all: () => [], get: () => TARGET, byNode: () => TARGET, object: () => undefined,
    },
    inputs: { listen: () => undefined, policyIndex },
  };
  const cache = new ClusterCache(clusters as unknown as ObservedClusters);
  cache.observe((key) => asked.push(key));
  const decisions: DecisionToLog[] = [];
  const options = {
    sourceId: 'source', proxies: { get }, decisionLog: { write: (decision: DecisionToLog) => decisions.push(decision) },
  };
  const chooser = new TargetChooser(options as unknown as ChooserOptions, cache);
  const publish = (room: ResourceList) =>
    cache.views.publish(TARGET.key, { metadata: {}, allocatable: room, free: room });
  cache.views.update(TARGET, undefined);
  publish(free);
  for (const member of members) tell(member.key, undefined, member);
  const choose = () => members.map((member) => chooser.choose(member, cache.podStateOf(member.uid)));
  return { cache, members, decisions, asked, publish, choose, remove: () => removed(TARGET) };
}

describe('a group that does not fit', () => {
  it('is decided once for all its members, not once by each', () => {
    const { decisions, choose } = aWorld({ cpu: '9', pods: '100' });
    const answers = choose();
    assert.equal(decisions.length, MEMBERS);
    for (const answer of answers) {
      assert.equal(answer.kind, 'none');
      assert.match(
        answer.kind === 'none' ? (answer.rejected[0]?.message ?? '') : '',
        /^10 of its pods must be placed together, and fewer fit now/,
      );
    }
  });

  it('is not decided again where its pods are read again and are the same', () => {
    const { members, decisions, choose } = aWorld({ cpu: '9', pods: '100' });
    choose();
    members.splice(0, MEMBERS, ...members.map((_member, index) => aMember(index)));
    choose();
    assert.equal(decisions.length, MEMBERS);
  });

  it('is decided anew as soon as there is more room, and then gets assumed for all', () => {
    const { cache, members, decisions, publish, choose } = aWorld({ cpu: '9', pods: '100' });
    choose();
    publish({ cpu: '10', pods: '100' });
    choose();
    assert.ok(decisions.length >= 2 * MEMBERS);
    const reserved = members.map(({ uid }) => cache.podStateOf(uid).reservation?.target);
    assert.deepEqual(new Set(reserved), new Set([TARGET.key]));
  });

  it('loses the assumed that are held for it when their target is removed, and is asked for again', () => {
    const { cache, members, asked, choose, remove } = aWorld({ cpu: '10', pods: '100' });
    choose();
    asked.length = 0;
    remove();
    assert.deepEqual(new Set(asked), new Set(members.map(({ key }) => key)));
    for (const { uid } of members) {
      assert.deepEqual([cache.podStateOf(uid).reservation, cache.podStateOf(uid).targets.size], [undefined, 0]);
    }
  });

  it('holds nothing in the ledger', () => {
    const { cache, choose } = aWorld({ cpu: '9', pods: '100' });
    choose();
    assert.equal(cache.views.ledger.size, 0);
  });
});
