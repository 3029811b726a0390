import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../api/objects/core.ts';
import { targetEvent } from '../../../../virtual-node/node/node-events.ts';
import { toVirtualNodeStatus } from '../../../../virtual-node/node/virtual-node.ts';

const NOW = '2026-01-02T00:00:00Z';
const context = { sourceId: 'source', kubelet: undefined };
const lost = { ...context, problem: { reason: 'Unreachable', message: 'no answer' } };
const conditionsOf = (of: typeof context, before?: Node) => toVirtualNodeStatus(undefined, of, before, NOW).conditions;
const nodeWith = (of: typeof context): Node =>
  ({ metadata: { name: 'admiralty-c2', uid: 'u' }, status: { conditions: conditionsOf(of) } });

describe('targetEvent', () => {
  it('tells on the node that its target was lost, and why', () => {
    const event = targetEvent(nodeWith(context), conditionsOf(lost, nodeWith(context)));
    assert.deepEqual([event?.type, event?.reason, event?.regarding.kind, event?.regarding.name, event?.regarding.uid], [
      'Warning', 'TargetNotReady', 'Node', 'admiralty-c2', 'u',
    ]);
    assert.equal(event?.note, 'The target accepts no pods (Unreachable): no answer');
  });

  it('tells that it is back', () => {
    const event = targetEvent(nodeWith(lost), conditionsOf(context, nodeWith(lost)));
    assert.deepEqual([event?.type, event?.reason], ['Normal', 'TargetReady']);
  });

  it('tells nothing of a start of the component, unless the target is lost', () => {
    const connecting = { ...context, problem: { reason: 'Connecting', message: 'wait' } };
    assert.equal(targetEvent(nodeWith(context), conditionsOf(connecting, nodeWith(context))), undefined);
    assert.equal(targetEvent(nodeWith(connecting), conditionsOf(context, nodeWith(connecting))), undefined);
    assert.equal(targetEvent(nodeWith(connecting), conditionsOf(lost, nodeWith(connecting)))?.reason, 'TargetNotReady');
  });

  it('tells nothing while nothing changes, nor of a new node', () => {
    assert.equal(targetEvent(nodeWith(lost), conditionsOf(lost, nodeWith(lost))), undefined);
    assert.equal(targetEvent({ metadata: { name: 'n' } }, conditionsOf(context)), undefined);
  });
});
