import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeGroup } from '../../../../api/kinds/cluster-summary.ts';
import { nodeDigest } from '../../../../model/resources/node-digest.ts';
import { eligibleRows, readGroups } from '../../../../scheduler/snapshot/eligible-nodes.ts';
import type { NodeRequirements } from '../../../../scheduler/snapshot/node-requirements.ts';
import { frozen } from '../../../support/objects/builders.ts';

const HOSTNAME = 'kubernetes.io/hostname';
const names = (...names: string[]) => names.map(nodeDigest).join('');
const GROUP: NodeGroup = {
  labels: { zone: 'a' }, perNodeLabels: [HOSTNAME, 'instance-id'], shape: { cpu: '4', pods: '110' },
  holes: [{ count: 2, free: {}, nodes: names('n1', 'n2') }, { count: 1, free: { cpu: '1' }, nodes: names('n3') }],
};

function where(term: object): Omit<NodeRequirements, 'requests'> {
  return {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } },
  };
}

const byHostname = (operator: string, ...values: string[]) =>
  where({ matchExpressions: [{ key: HOSTNAME, operator, values }] });
const byField = (operator: string, ...values: string[]) =>
  where({ matchFields: [{ key: 'metadata.name', operator, values }] });

function eligibleShapes(pod: Omit<NodeRequirements, 'requests'>, group: NodeGroup = GROUP): boolean[] {
  const read = readGroups(frozen([group]), { os: 'linux' });
  const { rows } = read;
  const eligible = eligibleRows({ requests: new Map(), ...pod }, read);
  return rows.map(
    (row, index) =>
      eligible.groups[row.group] === 1 || (eligible.groups[row.group] === 2 && eligible.rows[index] === 1),
  );
}

describe('readGroups', () => {
  it('fills what a free node shape leaves out from the shape of its group', () => {
    assert.deepEqual(readGroups([GROUP], {}).rows.map(({ free }) => free), [
      new Map([['cpu', 4000], ['pods', 110]]), new Map([['cpu', 1000], ['pods', 110]]),
    ]);
  });
});

describe('groups', () => {
  const groupOf = (group: NodeGroup, common = {}) => readGroups([frozen(structuredClone(group))], common).groups[0];

  it('are one where targets publish the same, whatever is free', () => {
    assert.equal(groupOf({ ...GROUP, holes: [] }), groupOf(GROUP));
    assert.equal(groupOf({ ...GROUP, labels: {} }, { zone: 'a' }), groupOf(GROUP));
  });

  it('differ in shape and in labels', () => {
    const others = [groupOf({ ...GROUP, shape: { cpu: '8' } }), groupOf({ ...GROUP, labels: { zone: 'b' } })];
    assert.equal(new Set([...others, groupOf(GROUP)]).size, 3);
    assert.deepEqual(others.map((group) => group?.published.shape), [{ cpu: '8' }, GROUP.shape]);
  });
});

describe('ids of groups', () => {
  it('are equal for groups that admit the same pods, in whatever target, and for no others', () => {
    const idOf = (group: NodeGroup, common = {}) => readGroups([group], common).ids[0];
    const alike = { ...GROUP, holes: [], shape: { cpu: '64' } };
    assert.equal(idOf(alike), idOf(GROUP));
    assert.equal(idOf({ ...GROUP, labels: {} }, { zone: 'a' }), idOf(GROUP));
    const taints = [{ key: 'gpu', effect: 'NoSchedule' }] as const;
    const others = [idOf({ ...GROUP, labels: { zone: 'b' } }), idOf({ ...GROUP, perNodeLabels: [] }),
      idOf({ ...GROUP, taints }), idOf(GROUP, { os: 'linux' })];
    assert.equal(new Set([...others, idOf(GROUP)]).size, 5);
  });
});

describe('eligibleRows', () => {
  const cases: Record<string, readonly [pod: Omit<NodeRequirements, 'requests'>, eligible: readonly boolean[]]> = {
    'a pod without wishes may use all': [{}, [true, true]],
    'a label that all nodes of the cluster share is one of the group':
      [{ nodeSelector: { os: 'linux', zone: 'a' } }, [true, true]],
    'a label of other nodes closes the group': [{ nodeSelector: { zone: 'b' } }, [false, false]],
    'a node is found by its hostname': [{ nodeSelector: { [HOSTNAME]: 'n3' } }, [false, true]],
    'a hostname that no node has opens none': [{ nodeSelector: { [HOSTNAME]: 'n9' } }, [false, false]],
    'a hostname does not open the group for what it does not have':
      [{ nodeSelector: { [HOSTNAME]: 'n3', zone: 'b' } }, [false, false]],
    'a node that is rejected by hostname leaves the others': [byHostname('NotIn', 'n3'), [true, false]],
    'of two equal nodes one may be rejected': [byHostname('NotIn', 'n1'), [true, true]],
    'every node has a hostname': [byHostname('Exists'), [true, true]],
    'no node is without one': [byHostname('DoesNotExist'), [false, false]],
    'a node is found by its name': [byField('In', 'n2'), [true, false]],
    'a node is refused by its name': [byField('NotIn', 'n3'), [true, false]],
    'a value that is not listed may be the one asked for': [{ nodeSelector: { 'instance-id': 'i-1' } }, [true, true]],
    'a label that all nodes have is not missing on any':
      [where({ matchExpressions: [{ key: 'instance-id', operator: 'DoesNotExist' }] }), [false, false]],
  };
  for (const [sentence, [pod, eligible]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(eligibleShapes(frozen(pod)), eligible));
  }

  it('answers a name with maybe where names were left out of the summary', () => {
    const holes = [{ count: 3, free: {} }];
    assert.deepEqual(eligibleShapes({ nodeSelector: { [HOSTNAME]: 'n9' } }, { ...GROUP, holes }), [true]);
  });

  it('keeps a pod off a taint, whatever name it asks for', () => {
    assert.deepEqual(
      eligibleShapes(
        { nodeSelector: { [HOSTNAME]: 'n3' } }, { ...GROUP, taints: [{ key: 'k', effect: 'NoSchedule' }] },
      ),
      [false, false],
    );
  });

  it('does not take a label of its own for the name', () => {
    const { perNodeLabels: _none, ...group } = GROUP;
    const named: NodeGroup = { ...group, labels: { [HOSTNAME]: 'other' } };
    assert.deepEqual(eligibleShapes({ nodeSelector: { [HOSTNAME]: 'other' } }, named), [true, true]);
    assert.deepEqual(eligibleShapes({ nodeSelector: { [HOSTNAME]: 'n3' } }, named), [false, false]);
  });
});
