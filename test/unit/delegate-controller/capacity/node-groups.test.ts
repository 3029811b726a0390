// Which nodes of a target count as equal, and which labels are given up so that a summary stays small.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../api/objects/core.ts';
import { NodeGrouper } from '../../../../delegate-controller/capacity/node-groups.ts';
import { NodeLedger } from '../../../../delegate-controller/capacity/node-ledger.ts';
import { toTargetNodeRecord } from '../../../../delegate-controller/target-cache/target-node.ts';
import { aNode, cordoned, labelled, named, tainted, type Change } from '../../../support/objects/builders.ts';

const HOSTNAME = 'kubernetes.io/hostname';
const node = (name: string, ...changes: readonly Change<Node>[]): Node => aNode(named(name), ...changes);
/** So many nodes with the labels that their number gives. */
const nodes = (count: number, labels: (index: number) => Readonly<Record<string, string>>): readonly Node[] =>
  Array.from({ length: count }, (_, index) => node(`n${index}`, labelled(labels(index))));

function ledgerOf(all: readonly Node[]): NodeLedger {
  const ledger = new NodeLedger();
  for (const one of all) ledger.setNode(one.metadata.name ?? '', toTargetNodeRecord(one));
  return ledger;
}

/** Names of the nodes of each group, what its nodes have in common, and what was given up for it. */
function grouped(all: readonly Node[], grouper = new NodeGrouper(), ledger = ledgerOf(all)) {
  const { groups, reducedLabels } = grouper.group(ledger);
  return {
    reducedLabels, names: groups.map(({ nodes: members }) => members.map(({ node: { name } }) => name).join(' ')),
    labels: groups.map(({ template }) => template.labels),
    perNode: groups.map(({ template }) => template.perNodeLabels.join(' ')),
  };
}

describe('nodes are equal', () => {
  const rows: Readonly<Record<string, readonly [one: Change<Node>, other: Change<Node>, isEqual: boolean]>> = {
    'without labels': [labelled({}), labelled({}), true],
    'in whatever order their labels stand': [labelled({ a: '1', b: '2' }), labelled({ b: '2', a: '1' }), true],
    'not when one has a label more': [labelled({ a: '1' }), labelled({}), false],
    'not when a label has another value': [labelled({ a: '1' }), labelled({ a: '2' }), false],
    'not when only the value is empty': [labelled({ a: '' }), labelled({}), false],
    'not when the name of one label is the value of another': [labelled({ a: 'b' }), labelled({ b: 'a' }), false],
    'when each has its own name as its hostname':
      [labelled({ [HOSTNAME]: 'one' }), labelled({ [HOSTNAME]: 'other' }), true],
    'not when one has no hostname': [labelled({ [HOSTNAME]: 'one' }), labelled({}), false],
    'not when a hostname is another than the name, which may be in a selector':
      [labelled({ [HOSTNAME]: 'one' }), labelled({ [HOSTNAME]: 'ip-10-0-0-1' }), false],
    'not when the effect of a taint differs':
      [tainted({ key: 'k', effect: 'NoSchedule' }), tainted({ key: 'k', effect: 'NoExecute' }), false],
    'not when a taint of one has an empty value':
      [tainted({ key: 'k', value: '', effect: 'NoSchedule' }), tainted({ key: 'k', effect: 'NoSchedule' }), false],
  };
  for (const [what, [one, other, isEqual]] of Object.entries(rows)) it(what, () => {
    assert.equal(grouped([node('one', one), node('other', other)]).names.length, isEqual ? 1 : 2);
  });

  it('whatever is in their labels: a group says what they have in common, and which labels name single nodes', () => {
    const { labels, perNode } = grouped([
      node('one', labelled({ [HOSTNAME]: 'one', zone: 'a' })),
      node('other', labelled({ [HOSTNAME]: 'other', zone: 'a' })),
    ]);
    assert.deepEqual([labels, perNode], [[{ zone: 'a' }], [HOSTNAME]]);
  });
});

describe('a label that names single nodes', () => {
  const rows: Readonly<Record<string, readonly [all: readonly Node[], groups: number, perNode: string]>> = {
    'is compared among up to eight nodes, where that costs little':
      [nodes(8, (index) => ({ serial: `s${index}` })), 8, ''],
    'is left out among more': [nodes(9, (index) => ({ serial: `s${index}` })), 1, 'serial'],
    'is one that two of them have in common, too':
      [nodes(12, (index) => ({ serial: `s${index === 1 ? 0 : index}` })), 1, 'serial'],
    'is none where a value is on two nodes on average': [nodes(20, (index) => ({ pair: `p${index % 10}` })), 10, ''],
    'is none with eight values, however few nodes have it':
      [nodes(20, (index): Readonly<Record<string, string>> => (index < 8 ? { serial: `s${index}` } : {})), 9, ''],
    'is left out of those that have it, and keeps them apart from those that have not':
      [nodes(20, (index): Readonly<Record<string, string>> => (index < 9 ? { serial: `s${index}` } : {})), 2, 'serial'],
  };
  for (const [what, [all, groups, perNode]] of Object.entries(rows)) it(what, () => {
    const found = grouped(all);
    assert.equal(found.names.length, groups);
    assert.equal(found.perNode.join(''), perNode);
    assert.deepEqual(found.reducedLabels, [], 'nothing that somebody would miss is left out');
  });
});

describe('labels that make too many groups', () => {
  const long = (index: number) => `v${index}-${'x'.repeat(50)}`;
  /** Many nodes, a pair of which has each rack, and ten of which have each row. */
  const racks = nodes(1_000, (index) => ({
    rack: long(Math.floor(index / 2)), row: `r${Math.floor(index / 100)}`, zone: 'a',
  }));

  it('are given up from the one with most values on, and only as far as needed', () => {
    const { names, reducedLabels, labels } = grouped(racks);
    assert.deepEqual([names.length, reducedLabels], [10, ['rack']]);
    assert.deepEqual(labels[0], { row: 'r0', zone: 'a' });
  });

  it('are all given up where each alone is too much', () => {
    const all = nodes(1_600, (index) => ({
      rack: long(Math.floor(index / 2)), unit: long(1_600 - Math.floor(index / 2)), zone: 'a',
    }));
    const { names, reducedLabels, perNode } = grouped(all);
    assert.deepEqual([names.length, reducedLabels, perNode], [1, ['rack', 'unit'], ['rack unit']]);
  });

  it('do not give up a label with one value, or the hostname', () => {
    const all = racks.map((one) => labelled({ [HOSTNAME]: one.metadata.name ?? '' })(one));
    assert.deepEqual(grouped(all).reducedLabels, ['rack']);
  });

  it('are compared again when enough nodes have gone', () => {
    const [grouper, ledger] = [new NodeGrouper(), ledgerOf(racks)];
    assert.deepEqual(grouped([], grouper, ledger).reducedLabels, ['rack']);
    for (const { metadata: { name = '' } } of racks.slice(4)) ledger.setNode(name, undefined);
    const { names, reducedLabels, labels } = grouped([], grouper, ledger);
    assert.deepEqual([names, reducedLabels], [['n0 n1', 'n2 n3'], []]);
    assert.deepEqual(labels[1], { rack: long(1), row: 'r0', zone: 'a' });
  });
});

describe('what is remembered of a node', () => {
  it('is forgotten with its labels', () => {
    const [grouper, ledger] = [new NodeGrouper(), ledgerOf([node('one', labelled({ a: '1' })), node('other')])];
    assert.deepEqual(grouped([], grouper, ledger).names, ['one', 'other']);
    ledger.setNode('one', toTargetNodeRecord(node('one')));
    assert.deepEqual(grouped([], grouper, ledger).names, ['one other']);
  });

  it('is forgotten with its taints, which change no label', () => {
    const [grouper, ledger] = [new NodeGrouper(), ledgerOf([node('one'), node('other')])];
    assert.deepEqual(grouped([], grouper, ledger).names, ['one other']);
    ledger.setNode('one', toTargetNodeRecord(node('one', tainted({ key: 'k', effect: 'NoSchedule' }))));
    assert.equal(grouped([], grouper, ledger).names.length, 2);
  });

  it('is not counted while it takes no pods', () => {
    const all = [node('one'), node('other', cordoned())];
    assert.deepEqual(grouped(all).names, ['one']);
  });
});
