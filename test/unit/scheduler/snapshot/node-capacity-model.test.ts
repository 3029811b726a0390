// The table of free node shapes against a plain list of nodes: whatever is taken and given back, in whatever order.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  isByNode, NO_ROW, NodeCapacityTable, type EligibleRows, type RowRequest, type TableRow,
} from '../../../../scheduler/snapshot/node-capacity-table.ts';

type Amounts = Readonly<Record<string, number>>;

/** A node of the model: what it has free, by name of the resource, and the published row that it came from. */
interface ModelNode {
  readonly group: number;
  readonly origin: number;
  free: Amounts;
}

const RESOURCES = ['cpu', 'memory', 'gpu'];
const amounts = fc.record(
  { cpu: fc.nat({ max: 6 }), memory: fc.nat({ max: 6 }), gpu: fc.nat({ max: 2 }) }, { requiredKeys: ['cpu'] },
) as fc.Arbitrary<Amounts>;
const rows = fc.array(fc.record({ group: fc.nat({ max: 2 }), count: fc.integer({ min: 1, max: 3 }), free: amounts }), {
  minLength: 1, maxLength: 5,
});
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), wants: amounts }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('give-back' as const), which: fc.nat({ max: 30 }) }) },
);
const eligibility = fc.tuple(fc.constantFrom(0, 1, 2), fc.constantFrom(0, 1, 2), fc.constantFrom(0, 1, 2),
  fc.array(fc.constantFrom(0, 1), { minLength: 5, maxLength: 5 })).map(([a, b, c, single]): EligibleRows =>
  ({ groups: Uint8Array.of(a, b, c), rows: Uint8Array.from(single) }));

const fits = ({ free }: ModelNode, wants: Amounts): boolean =>
  Object.entries(wants).every(([resource, amount]) => amount === 0 || (free[resource] ?? 0) >= amount);
const isEligible = ({ group, origin }: ModelNode, eligible: EligibleRows): boolean =>
  eligible.groups[group] === 1 || (eligible.groups[group] === 2 && eligible.rows[origin] === 1);
const minus = (free: Amounts, wants: Amounts, sign = 1): Amounts => Object.fromEntries(
  [...new Set([...Object.keys(free), ...Object.keys(wants)])].map(
    (resource) => [resource, (free[resource] ?? 0) - sign * (wants[resource] ?? 0)],
  ),
);
/** A node as text, alike in both. */
const shown = (group: number, free: (resource: string) => number): string =>
  `${group}: ${RESOURCES.map((resource) => free(resource)).join(' ')}`;

interface Placed {
  readonly row: number;
  readonly request: RowRequest;
  readonly wants: Amounts;
  readonly node: ModelNode;
  isThere: boolean;
}

class Both {
  readonly table: NodeCapacityTable;
  readonly nodes: readonly ModelNode[];
  readonly placed: Placed[] = [];
  /** The node of each row that was taken. */
  readonly #byRow = new Map<number, ModelNode>();

  constructor(published: readonly { readonly group: number; readonly count: number; readonly free: Amounts }[]) {
    this.table = new NodeCapacityTable(
      published.map(({ free, ...rest }): TableRow => ({ ...rest, free: new Map(Object.entries(free)) })),
    );
    this.nodes = published.flatMap(({ group, count, free }, origin) =>
      Array.from({ length: count }, (): ModelNode => ({ group, origin, free })));
  }

  ask(wants: Amounts): RowRequest {
    return this.table.toRowRequest(new Map(Object.entries(wants)));
  }

  addPod(wants: Amounts, eligible: EligibleRows): void {
    const request = this.ask(wants);
    const found = this.table.firstFit(request, eligible);
    if (found === NO_ROW) return;
    const isUsed = this.#byRow.has(found);
    const row = this.table.addPod(found, request);
    const node = this.#byRow.get(found)
      ?? this.nodes.find((one) => one.origin === found && ![...this.#byRow.values()].includes(one));
    assert.ok(node !== undefined && (!isUsed || row === found));
    this.#byRow.set(row, node);
    node.free = minus(node.free, wants);
    this.placed.push({ row, request, wants, node, isThere: true });
  }

  removePod(which: number): void {
    const one = this.placed.filter(({ isThere }) => isThere)[which];
    if (one === undefined) return;
    this.table.removePod(one.row, one.request);
    one.isThere = false;
    one.node.free = minus(one.node.free, one.wants, -1);
    if (!this.placed.some(({ isThere, row }) => isThere && row === one.row)) this.#byRow.delete(one.row);
  }

  /** All nodes of both sides as text. */
  sides(): readonly [readonly string[], readonly string[]] {
    const inTable = [...this.table.rows()].flatMap(({ group, count, free }) =>
      Array.from({ length: count }, () => shown(group, (resource) => free.get(resource) ?? 0)));
    const inModel = this.nodes.map(({ group, free }) => shown(group, (resource) => free[resource] ?? 0));
    return [inTable.toSorted(), inModel.toSorted()];
  }
}

const worlds = fc.record({
  published: rows, steps: fc.array(step, { maxLength: 25 }), eligible: eligibility, wants: amounts,
}).map(({ published, steps, eligible, wants }) => {
  const both = new Both(published);
  for (const each of steps) {
    if (each.kind === 'take') both.addPod(each.wants, eligible);
    else both.removePod(each.which);
  }
  return { both, eligible, wants };
});
const forAll = (check: (world: { both: Both; eligible: EligibleRows; wants: Amounts }) => void): void =>
  fc.assert(fc.property(worlds, check), { numRuns: 120 });

describe('the table and a list of nodes', () => {
  it('have the same nodes after whatever came and went', () => forAll(({ both }) => {
    const [inTable, inModel] = both.sides();
    assert.deepEqual(inTable, inModel);
  }));
  it('agree whether a pod fits, what was found has room and is eligible', () => forAll(({ both, eligible, wants }) => {
    const row = both.table.firstFit(both.ask(wants), eligible);
    const able = both.nodes.filter((node) => isEligible(node, eligible) && fits(node, wants));
    const known = Object.entries(wants).every(([resource, amount]) =>
      amount === 0 || both.table.resources.includes(resource));
    assert.equal(row !== NO_ROW, known && able.length > 0);
  }));
  it('agree how many nodes fit, up to any number', () => forAll(({ both, eligible, wants }) => {
    const able = both.nodes.filter((node) => isEligible(node, eligible) && fits(node, wants)).length;
    for (const most of [0, 1, 2, 100]) {
      assert.equal(both.table.countFitting(both.ask(wants), eligible, most), Math.min(able, most));
    }
  }));
  it('agree how much is missing where the least is, if none fits', () => forAll(({ both, eligible, wants }) => {
    const request = both.ask(wants);
    if (both.table.firstFit(request, eligible) !== NO_ROW) return;
    const lacking = both.nodes.filter((node) => isEligible(node, eligible)).map(({ free }) =>
      Object.entries(wants).filter(([resource, amount]) => amount > 0 && (free[resource] ?? 0) < amount).length);
    assert.equal(both.table.fewestMissing(request, eligible)?.length,
      lacking.length === 0 ? undefined : Math.min(...lacking));
  }));
  it('are as they were published once all is given back', () => forAll(({ both }) => {
    while (both.placed.some(({ isThere }) => isThere)) both.removePod(0);
    const rowsNow = [...both.table.rows()];
    assert.ok(rowsNow.every(({ published }, index) => index === 0 || (rowsNow[index - 1]?.published ?? 0) < published));
    assert.deepEqual(rowsNow.reduce((sum, { count }) => sum + count, 0), both.nodes.length);
  }));
});

describe('what is missing', () => {
  it('is what no node has alone, where some node has all the rest, though another one is full', () => {
    const free = [{ cpu: 0 }, { cpu: 8 }].map((amount) => new Map(Object.entries(amount)));
    const table = new NodeCapacityTable(free.map((each, group): TableRow => ({ group, count: 1, free: each })));
    const request = table.toRowRequest(new Map([['cpu', 1], ['gpu', 1]]));
    assert.deepEqual(table.fewestMissing(request, { groups: Uint8Array.of(1, 1), rows: new Uint8Array() }), ['gpu']);
  });
});

describe('eligible rows', () => {
  it('are by node where a group is neither excluded nor eligible as a whole', () => assert.deepEqual(
    [[0, 1], [0, 2], []].map((groups) => isByNode({ groups: Uint8Array.from(groups), rows: new Uint8Array() })),
    [false, true, false],
  ));
});

describe('the least allocated row', () => {
  const table = (...free: readonly Amounts[]) => new NodeCapacityTable(
    free.map((amount, group): TableRow => ({ group, count: 1, free: new Map(Object.entries(amount)) })),
  );
  const weights = (...perUnit: readonly number[]) => [{ resource: 'cpu', perUnit: Float64Array.from(perUnit) }];
  const all: EligibleRows = { groups: Uint8Array.of(1, 1), rows: new Uint8Array() };

  it('of what was taken from is compared by its share, and not by its amount', () => {
    const both = table({ cpu: 8 }, { cpu: 4 });
    const one = both.toRowRequest(new Map([['cpu', 1]]));
    const taken = both.addPod(0, one);
    assert.equal(both.leastAllocated(one, all, weights(1 / 8, 1 / 4)), 1, '7 of 8 are less than 4 of 4');
    assert.equal(both.leastAllocated(one, { ...all, groups: Uint8Array.of(1, 0) }, weights(1 / 8, 1 / 4)), taken);
    const small = both.addPod(1, one);
    assert.equal(both.leastAllocated(one, all, weights(1 / 8, 1 / 4)), taken, '3 of 4 are less than 7 of 8');
    both.removePod(small, one);
    assert.equal(both.leastAllocated(one, all, weights(1 / 8, 1 / 4)), 1);
  });
  it('is none for what no node has, and for what no node has enough of', () => {
    const both = table({ cpu: 8 });
    for (const wants of [{ gpu: 1 }, { cpu: 9 }]) {
      assert.equal(both.leastAllocated(both.toRowRequest(new Map(Object.entries(wants))), all, weights(1 / 8)), NO_ROW);
    }
  });
  it('of equal ones is the published one: its node stays whole for as long as it can', () => {
    const both = table({ cpu: 4 }, { cpu: 4 });
    const none = both.toRowRequest(new Map());
    both.addPod(0, none);
    assert.equal(both.leastAllocated(none, all, weights(1 / 4, 1 / 4)), 1);
  });
});
