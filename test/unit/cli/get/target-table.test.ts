import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DISCOVERED_BY_LABEL, REGISTERED_NAME_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { ClusterTarget, Target } from '../../../../api/kinds/cluster-target.ts';
import { targetTable } from '../../../../cli/get/target-table.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const options = { now: NOW, wide: false };
const POD = { spec: { nodeName: 'admiralty-c2' } };

describe('targetTable', () => {
  const none = { pods: [], nodes: [] };
  const ready = (status: 'True' | 'False', reason: string) => [{ type: 'Ready', status, reason, message: 'why' }];
  const target: ClusterTarget = {
    metadata: { name: 'c2', creationTimestamp: '2026-01-01T10:00:00Z' }, spec: {},
    status: { conditions: ready('True', 'Connected'), free: { cpu: '12', memory: '3Gi', gpu: '2' }, rtt: '4ms' },
  };
  const broken: Target = {
    metadata: { namespace: 'team', name: 'c3', creationTimestamp: '2026-01-01T11:00:00Z' }, spec: {},
    status: { conditions: ready('False', 'Unauthorized') },
  };

  it('shows what is left, or the reason why not', () => {
    assert.deepEqual(targetTable([broken, target], none, options).rows, [
      ['c2', 'Ready', '0', '12', '3Gi', '2', '4ms', '120m'],
      ['team/c3', 'Unauthorized', '0', undefined, undefined, undefined, undefined, '60m'],
    ]);
  });

  it('says whence discovered targets came, where there are any', () => {
    const discovered = {
      ...target,
      metadata: {
        ...target.metadata, labels: { [DISCOVERED_BY_LABEL]: 'argo' },
        annotations: { [REGISTERED_NAME_ANNOTATION]: 'https://eu' },
      },
    };
    const { header, rows } = targetTable([broken, discovered], none, options);
    assert.equal(header.at(-1), 'FROM');
    assert.deepEqual(rows.map((row) => row.at(-1)), ['argo (https://eu)', undefined]);
    assert.ok(!targetTable([broken], none, options).header.includes('FROM'));
  });

  it('counts the pods of each, and shows a cordon', () => {
    const node = { metadata: { name: 'admiralty-c2' }, spec: { unschedulable: true } };
    const { header, rows } = targetTable([target], { nodes: [node], pods: [POD, POD] }, options);
    assert.deepEqual(
      [header.slice(0, 3), rows[0]?.slice(0, 3)], [['NAME', 'STATUS', 'PODS'], ['c2', 'Ready,SchedulingDisabled', '2']],
    );
  });

  it('shows as unknown what may not be read', () => {
    assert.equal(targetTable([target], { nodes: undefined, pods: undefined }, options).rows[0]?.[2], '<unknown>');
  });

  it('says with wide what is wrong, and nothing of one that is Ready', () => {
    const messages = targetTable([broken, target], none, { now: NOW, wide: true }).rows.map((row) => row.at(-1));
    assert.deepEqual(messages, [undefined, 'why']);
  });

  it('shows a new one as unknown', () => assert.equal(
    targetTable([{ metadata: { name: 'c' }, spec: {} }], none, options).rows[0]?.[1], 'Unknown',
  ));
});
