import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../api/objects/core.ts';
import { readyCondition, untilTargetReady, type Readiness } from '../../../../cli/clusters/target-readiness.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import type { ObjectRef } from '../../../../model/objects/plan.ts';
import type { ResourceType } from '../../../../api/objects/group-version.ts';

const ready = (status: Condition['status'], observedGeneration?: number): Condition => ({
  type: 'Ready',
  status, reason: 'Why', message: 'what', ...(observedGeneration !== undefined && { observedGeneration }),
});

describe('readyCondition', () => {
  const rows: readonly [string, readonly Condition[] | undefined, boolean][] = [
    ['no status', undefined, false],
    ['other conditions alone', [{ type: 'Reachable', status: 'True' }], false],
    ['a condition without a generation', [ready('True')], true],
    ['a condition about this generation', [ready('True', 2)], true],
    ['a condition about an older generation', [ready('True', 1)], false],
  ];
  for (const [what, conditions, counts] of rows) {
    it(`${counts ? 'counts' : 'does not count'} ${what}`, () => {
      assert.equal(readyCondition(conditions && { conditions }, 2) !== undefined, counts);
    });
  }
});

/** A source whose target shows these conditions one after the other, and the last from then on. */
function source(conditions: readonly (Condition | undefined)[]): { client: ClusterClient; asked: string[] } {
  const asked: string[] = [];
  const get = async (type: ResourceType, at: ObjectRef) => {
    const condition = conditions[Math.min(asked.length, conditions.length - 1)];
    asked.push([type.kind, at.namespace, at.name].filter(Boolean).join(' '));
    return { metadata: { generation: 1 }, ...(condition && { status: { conditions: [condition] } }) };
  };
  return { client: { get } as unknown as ClusterClient, asked };
}

describe('untilTargetReady', () => {
  const peering = { name: 'c2', sourceId: 'x', installNamespace: 'ns' };
  const patience = { firstStatus: { forMs: 30, everyMs: 1 }, ready: { forMs: 30, everyMs: 1 } };
  const never = new AbortController().signal;

  const rows: readonly [string, readonly (Condition | undefined)[], Readiness][] = [
    ['nobody writes a status', [undefined], { kind: 'not-running' }],
    ['it is Ready at once', [ready('True')], { kind: 'ready' }],
    ['it becomes Ready', [undefined, ready('Unknown'), ready('False'), ready('True')], { kind: 'ready' }],
    ['it stays not Ready', [ready('Unknown'), { ...ready('False'), reason: 'Forbidden' }], {
      kind: 'not-ready', reason: 'Forbidden', message: 'what',
    }],
  ];
  for (const [what, conditions, expected] of rows) {
    it(`says so when ${what}`, async () => {
      assert.deepEqual(await untilTargetReady(source(conditions).client, peering, never, patience), expected);
    });
  }

  it('looks at the Target of a peered namespace, at the ClusterTarget otherwise', async () => {
    for (const [namespace, expected] of [['team-a', 'Target team-a c2'], [undefined, 'ClusterTarget c2']] as const) {
      const { client, asked } = source([ready('True')]);
      await untilTargetReady(client, { ...peering, namespace }, never, patience);
      assert.deepEqual(asked, [expected]);
    }
  });
});
