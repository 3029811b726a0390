import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Node, Pod } from '../../../../api/objects/core.ts';
import { NodeLedger } from '../../../../delegate-controller/capacity/node-ledger.ts';
import { toClusterSummary } from '../../../../delegate-controller/capacity/cluster-summary.ts';
import { NodeGrouper } from '../../../../delegate-controller/capacity/node-groups.ts';
import { toTargetNodeRecord, type TargetNode } from '../../../../delegate-controller/target-cache/target-node.ts';
import { toTargetPodRecord, type TargetPod } from '../../../../delegate-controller/target-cache/target-pod.ts';
import {
  aNode, aPod, cordoned, inPhase, labelled, named, onNode, tainted, withRequests, type Change,
} from '../../../support/objects/builders.ts';

function usedOn(ledger: NodeLedger, name: string): number | undefined {
  return [...ledger.states()].find(({ node }) => node.name === name)?.used.get('cpu');
}

function node(...changes: Change<Node>[]): TargetNode | undefined {
  return toTargetNodeRecord(aNode(...changes));
}

function pod(...changes: Change<Pod>[]): TargetPod {
  return toTargetPodRecord(aPod(...changes));
}

describe('NodeLedger', () => {
  it('counts pods that were heard of before their node', () => {
    const ledger = new NodeLedger();
    ledger.changePod(undefined, pod(onNode('node-1'), withRequests({ cpu: '1' })));
    ledger.setNode('node-1', node());
    assert.equal(usedOn(ledger, 'node-1'), 1000);
  });

  it('goes on counting pods while their node may take none', () => {
    const ledger = new NodeLedger();
    ledger.setNode('node-1', node());
    ledger.changePod(undefined, pod(onNode('node-1'), withRequests({ cpu: '1' })));
    ledger.setNode('node-1', node(cordoned()));
    assert.deepEqual([...ledger.states()], []);
    ledger.setNode('node-1', node());
    assert.equal(usedOn(ledger, 'node-1'), 1000);
  });

  const running = pod(onNode('node-1'), withRequests({ cpu: '1' }));
  const changes: Record<
    string, readonly [before: TargetPod | undefined, after: TargetPod | undefined, changesFree: boolean]
  > = {
    'a pod that gets its node changes what is free': [pod(), running, true],
    'a pod that is gone does': [running, undefined, true],
    'a pod that has ended does':
      [running, pod(onNode('node-1'), withRequests({ cpu: '1' }), inPhase('Succeeded')), true],
    'a pod that was resized in place does': [running, pod(onNode('node-1'), withRequests({ cpu: '2' })), true],
    'a pod that starts to run does not':
      [running, pod(onNode('node-1'), withRequests({ cpu: '1' }), inPhase('Running')), false],
    'a pod that waits for a node does not': [undefined, pod(), false],
  };
  for (const [sentence, [before, after, changesFree]] of Object.entries(changes)) {
    it(sentence, () => {
      const ledger = new NodeLedger();
      ledger.changePod(undefined, before);
      assert.equal(ledger.changePod(before, after), changesFree);
    });
  }

  it('notes a new version of labels only when they changed', () => {
    const ledger = new NodeLedger();
    ledger.setNode('a', node(named('a'), labelled({ zone: 'a' })));
    const version = ledger.labelsVersion;
    ledger.setNode('a', node(named('a'), labelled({ zone: 'a' }), tainted({ key: 'k', effect: 'NoSchedule' })));
    assert.equal(ledger.labelsVersion, version);
    ledger.setNode('a', node(named('a'), labelled({ zone: 'b' })));
    assert.notEqual(ledger.labelsVersion, version);
    assert.deepEqual(ledger.labels, new Map([['zone', new Map([['b', 1]])]]));
  });
});

const NAMES = ['n0', 'n1', 'n2'];
const nodeEvent = fc.record({
  name: fc.constantFrom(...NAMES),
  node: fc.constantFrom<Change<Node> | undefined>(
    (same) => same, labelled({ zone: 'a' }), labelled({ 'kubernetes.io/hostname': 'n0' }),
    tainted({ key: 'k', effect: 'NoSchedule' }), cordoned(), undefined,
  ),
});
const podEvent = fc.record({
  uid: fc.nat(4),
  pod: fc.constantFrom<Pod | undefined>(
    undefined, aPod(), aPod(onNode('n0'), withRequests({ cpu: '1' })),
    aPod(onNode('n1'), withRequests({ memory: '1Gi' })), aPod(onNode('n2'), inPhase('Failed')),
  ),
});

describe('laws of the ledger of nodes', () => {
  it('a ledger kept up by events gives the summary of one filled from the end state, byte by byte', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(nodeEvent, podEvent), { maxLength: 40 }), (events) => {
        const [ledger, grouper] = [new NodeLedger(), new NodeGrouper()];
        const [nodes, pods] = [new Map<string, TargetNode | undefined>(), new Map<number, TargetPod | undefined>()];
        for (const event of events) {
          if ('uid' in event) {
            const after = event.pod && toTargetPodRecord(event.pod);
            ledger.changePod(pods.get(event.uid), after);
            pods.set(event.uid, after);
          } else {
            const after = event.node && node(named(event.name), event.node);
            ledger.setNode(event.name, after);
            nodes.set(event.name, after);
          }
          // what is remembered between summaries must not show
          toClusterSummary(ledger, grouper, { podsResourceVersion: '1' });
        }
        const anew = new NodeLedger();
        for (const [name, node] of nodes) anew.setNode(name, node);
        for (const pod of pods.values()) anew.changePod(undefined, pod);
        const summaryOf = (ledger: NodeLedger, grouper: NodeGrouper) =>
          JSON.stringify(toClusterSummary(ledger, grouper, { podsResourceVersion: '1' }));
        assert.equal(summaryOf(ledger, grouper), summaryOf(anew, new NodeGrouper()));
      }),
    );
  });

  it('remembers nothing once all nodes and pods are gone', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(nodeEvent, podEvent), { maxLength: 20 }), (events) => {
        const ledger = new NodeLedger();
        const pods = new Map<number, TargetPod | undefined>();
        for (const event of events) {
          if (!('uid' in event)) ledger.setNode(event.name, event.node && node(named(event.name), event.node));
          else {
            const after = event.pod && toTargetPodRecord(event.pod);
            ledger.changePod(pods.get(event.uid), after);
            pods.set(event.uid, after);
          }
        }
        for (const name of NAMES) ledger.setNode(name, undefined);
        for (const pod of pods.values()) ledger.changePod(pod, undefined);
        assert.deepEqual([ledger.remembered, ledger.size, ledger.labels], [0, 0, new Map()]);
      }),
    );
  });
});
