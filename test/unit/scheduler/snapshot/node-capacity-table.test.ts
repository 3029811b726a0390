import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  NodeCapacityTable, NO_ROW, type EligibleRows, type TableRow,
} from '../../../../scheduler/snapshot/node-capacity-table.ts';

const ALL = eligibleGroups(1, 1);
const ROWS: readonly TableRow[] = [
  { group: 0, count: 2, free: new Map([['cpu', 4], ['pods', 9]]) },
  { group: 1, count: 1, free: new Map([['cpu', 8], ['pods', 9], ['gpu', 1]]) },
];

function eligibleGroups(...groups: number[]): EligibleRows {
  return { groups: Uint8Array.from(groups), rows: new Uint8Array() };
}

function ask(table: NodeCapacityTable, requests: Readonly<Record<string, number>>) {
  return table.toRowRequest(new Map(Object.entries(requests)));
}

describe('NodeCapacityTable', () => {
  it('has a column for every resource of any row', () => assert.deepEqual(
    new NodeCapacityTable(ROWS).resources, ['cpu', 'pods', 'gpu'],
  ));

  it('gives back the rows it was made of', () => {
    const rows = [...new NodeCapacityTable(ROWS).rows()];
    assert.deepEqual(rows.map(({ group, count, free }) => [group, count, free.get('cpu')]), [[0, 2, 4], [1, 1, 8]]);
  });

  const fits: Record<
    string, readonly [requests: Readonly<Record<string, number>>, eligible: EligibleRows, row: number]
  > = {
    'the first row with room is found': [{ cpu: 1 }, ALL, 0],
    'a row without room is passed over': [{ cpu: 5 }, ALL, 1],
    'a row of a closed group is passed over': [{ cpu: 1 }, eligibleGroups(0, 1), 1],
    'too much for any row fits nowhere': [{ cpu: 9 }, ALL, NO_ROW],
    'what no node has fits nowhere': [{ fpga: 1 }, ALL, NO_ROW],
    'none of what no node has fits': [{ fpga: 0 }, ALL, 0],
  };
  for (const [sentence, [requests, eligible, row]] of Object.entries(fits)) {
    it(sentence, () => {
      const table = new NodeCapacityTable(ROWS);
      assert.equal(table.firstFit(ask(table, requests), eligible), row);
      assert.equal(table.leastAllocated(ask(table, requests), eligible, []) === NO_ROW, row === NO_ROW);
    });
  }

  it('opens single rows of a group, and what was taken from them', () => {
    const table = new NodeCapacityTable([...ROWS, { group: 0, count: 1, free: new Map([['cpu', 4], ['pods', 9]]) }]);
    const third: EligibleRows = { groups: Uint8Array.of(2, 0), rows: Uint8Array.of(0, 0, 1) };
    const request = ask(table, { cpu: 1 });
    assert.equal(table.firstFit(request, third), 2);
    const taken = table.addPod(2, request);
    assert.equal(table.firstFit(request, third), taken);
  });

  it('names what is missing where fewest is', () => {
    const table = new NodeCapacityTable(ROWS);
    assert.deepEqual(table.fewestMissing(ask(table, { cpu: 5, gpu: 1, fpga: 1 }), ALL), ['fpga']);
    assert.deepEqual(table.fewestMissing(ask(table, { cpu: 5, gpu: 1 }), eligibleGroups(1, 0)), ['cpu', 'gpu']);
    assert.equal(table.fewestMissing(ask(table, { cpu: 5 }), eligibleGroups(0, 0)), undefined);
  });

  it('takes one node of several, and the same node again', () => {
    const table = new NodeCapacityTable(ROWS);
    const request = ask(table, { cpu: 1 });
    const taken = table.addPod(0, request);
    assert.equal(table.addPod(taken, request), taken);
    assert.deepEqual([...table.rows()].map(({ count, free }) => [count, free.get('cpu')]), [[1, 4], [1, 8], [1, 2]]);
  });

  it('uses the rows of nodes that were given back', () => {
    const table = new NodeCapacityTable(ROWS);
    const request = ask(table, { cpu: 1 });
    for (let round = 0; round < 1_000; round += 1) {
      const both = [table.addPod(0, request), table.addPod(0, request)];
      assert.deepEqual(both.map((row) => row < ROWS.length + 2), [true, true]);
      for (const row of both) table.removePod(row, request);
    }
  });

  it('grows as many nodes are taken', () => {
    const table = new NodeCapacityTable([{ group: 0, count: 1_000, free: new Map([['cpu', 4]]) }]);
    const request = ask(table, { cpu: 3 });
    const taken: number[] = [];
    for (let row = table.firstFit(request, ALL); row !== NO_ROW; row = table.firstFit(request, ALL)) {
      taken.push(table.addPod(row, request));
    }
    assert.equal(new Set(taken).size, 1_000);
    for (const row of taken) table.removePod(row, request);
    assert.deepEqual([...table.rows()], [{ group: 0, count: 1_000, free: new Map([['cpu', 4]]), published: 0 }]);
  });
});
