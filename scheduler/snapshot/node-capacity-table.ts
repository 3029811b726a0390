// Free node shapes of one target in typed arrays: a row for each distinct free vector of a node group, a column for
// each resource. A published row's vector never changes, only the number of nodes that still have it. A pod added to
// a row moves its node to a row of its own, which returns to the origin when its last pod is released. Releasing
// everything restores exactly the published table.

/** A request as columns of one table; zero amounts are omitted. */
export interface RowRequest {
  /** Requested resources that no node of the table has: nothing fits. */
  readonly unknown: readonly string[];
  readonly columns: readonly number[];
  readonly amounts: readonly number[];
}

/** Equal nodes, as added to a table. */
export interface TableRow {
  readonly group: number;
  readonly count: number;
  readonly free: ReadonlyMap<string, number>;
}

/**
 * Weights that determine the least allocated node: 1 ÷ allocatable of the group's nodes, 0 for a resource that does
 * not count.
 */
export interface AllocatableWeights {
  readonly resource: string;
  /** By group. */
  readonly perUnit: Float64Array;
}

/** Which rows a pod may use. */
export interface EligibleRows {
  /** By group: 0 none, 1 all, 2 those listed in `rows`. */
  readonly groups: Uint8Array;
  /** By published row: 1 for the eligible ones of a group with value 2. */
  readonly rows: Uint8Array;
}

/** Whether single rows of some group are eligible, not all or none: such rows are of one table alone. */
export function isByNode({ groups }: EligibleRows): boolean {
  return groups.includes(2);
}

/** No row. */
export const NO_ROW = -1;

/** Rows of free vectors. */
export class NodeCapacityTable {
  /** Resource of each column. */
  readonly resources: readonly string[];
  readonly #columns: ReadonlyMap<string, number>;
  readonly #published: number;
  #rows: number;
  #free: Float64Array;
  #count: Int32Array;
  #group: Int32Array;
  #origin: Int32Array;
  #users: Int32Array;
  readonly #spare: number[] = [];

  /** Rows must be sorted by their free fraction under the weights passed to {@link leastAllocated}, largest first. */
  constructor(rows: readonly TableRow[]) {
    this.resources = [...new Set(rows.flatMap(({ free }) => [...free.keys()]))];
    this.#columns = new Map(this.resources.map((resource, column) => [resource, column]));
    this.#published = this.#rows = rows.length;
    this.#free = new Float64Array(rows.length * this.resources.length);
    this.#count = Int32Array.from(rows, ({ count }) => count);
    this.#group = Int32Array.from(rows, ({ group }) => group);
    this.#origin = new Int32Array(rows.length).fill(NO_ROW);
    this.#users = new Int32Array(rows.length);
    for (const [row, { free }] of rows.entries()) {
      for (const [resource, amount] of free) {
        this.#free[row * this.resources.length + (this.#columns.get(resource) ?? 0)] = amount;
      }
    }
  }

  /** The request in this table's columns. */
  toRowRequest(requests: ReadonlyMap<string, number>): RowRequest {
    const unknown: string[] = [];
    const columns: number[] = [];
    const amounts: number[] = [];
    for (const [resource, amount] of requests) {
      if (amount <= 0) continue;
      const column = this.#columns.get(resource);
      if (column === undefined) {
        unknown.push(resource);
        continue;
      }
      columns.push(column);
      amounts.push(amount);
    }
    return { unknown, columns, amounts };
  }

  /** The first row of an eligible group that fits, or {@link NO_ROW}. */
  firstFit(request: RowRequest, eligible: EligibleRows): number {
    return request.unknown.length > 0 ? NO_ROW : this.#firstFit(request, eligible, this.#rows);
  }

  /** Number of nodes that fit, counted up to `most`. */
  countFitting(request: RowRequest, eligible: EligibleRows, most: number): number {
    let nodes = 0;
    if (request.unknown.length > 0) return 0;
    for (let row = 0; row < this.#rows && nodes < most; row += 1) {
      if (this.#isEligible(row, eligible) && this.#hasRoom(row, request)) nodes += this.#count[row] ?? 0;
    }
    return Math.min(nodes, most);
  }

  #firstFit(request: RowRequest, eligible: EligibleRows, end: number): number {
    for (let row = 0; row < end; row += 1) {
      if (this.#isEligible(row, eligible) && this.#hasRoom(row, request)) return row;
    }
    return NO_ROW;
  }

  /** The fitting row of the least allocated node (largest free fraction, by the weighted mean), or {@link NO_ROW}. */
  leastAllocated(request: RowRequest, eligible: EligibleRows, weights: readonly AllocatableWeights[]): number {
    if (request.unknown.length > 0) return NO_ROW;
    let best = this.#firstFit(request, eligible, this.#published); // the first published row that fits has most free
    let most = best === NO_ROW ? -1 : this.#freeFraction(best, weights);
    for (let row = this.#published; row < this.#rows; row += 1) {
      if (!this.#isEligible(row, eligible) || !this.#hasRoom(row, request)) continue;
      const fraction = this.#freeFraction(row, weights);
      if (fraction > most) [most, best] = [fraction, row];
    }
    return best;
  }

  /**
   * Missing resources of the eligible row that lacks the fewest, for a request that fits nowhere; undefined when no row
   * is eligible.
   */
  fewestMissing(request: RowRequest, eligible: EligibleRows): readonly string[] | undefined {
    const least = request.unknown.length > 0 ? 0 : 1; // a row that lacks nothing would fit
    let fewest = Infinity;
    let nearest = NO_ROW;
    for (let row = 0; row < this.#rows && fewest > least; row += 1) {
      if (!this.#isEligible(row, eligible)) continue;
      const missing = this.#missingColumns(row, request).length;
      if (missing < fewest) [fewest, nearest] = [missing, row];
    }
    if (nearest === NO_ROW) return undefined;
    return [
      ...request.unknown, ...this.#missingColumns(nearest, request).map((column) => this.resources[column] ?? ''),
    ];
  }

  #missingColumns(row: number, { columns, amounts }: RowRequest): number[] {
    return columns.filter((column, i) => (this.#free[row * this.resources.length + column] ?? 0) < (amounts[i] ?? 0));
  }

  #isEligible(row: number, eligible: EligibleRows): boolean {
    if ((this.#count[row] ?? 0) <= 0) return false;
    const all = eligible.groups[this.#group[row] ?? 0];
    return all === 1 || (all === 2 && eligible.rows[this.#publishedRowOf(row)] === 1);
  }

  #publishedRowOf(row: number): number {
    return row < this.#published ? row : (this.#origin[row] ?? row);
  }

  #hasRoom(row: number, { columns, amounts }: RowRequest): boolean {
    const start = row * this.resources.length;
    for (let i = 0; i < columns.length; i += 1) {
      if ((this.#free[start + (columns[i] ?? 0)] ?? 0) < (amounts[i] ?? 0)) return false;
    }
    return true;
  }

  #freeFraction(row: number, weights: readonly AllocatableWeights[]): number {
    const group = this.#group[row] ?? 0;
    let fraction = 0;
    for (const { resource, perUnit } of weights) {
      fraction += (
        this.#free[row * this.resources.length + (this.#columns.get(resource) ?? 0)] ?? 0
      ) * (perUnit[group] ?? 0);
    }
    return fraction;
  }

  /** Adds a pod to a node of the row. Returns the node's new row, the argument of {@link removePod}. */
  addPod(row: number, request: RowRequest): number {
    const taken = row < this.#published ? this.#split(row) : row;
    this.#users[taken] = (this.#users[taken] ?? 0) + 1;
    this.#add(taken, request, -1);
    return taken;
  }

  /** Undoes one {@link addPod}. */
  removePod(taken: number, request: RowRequest): void {
    this.#add(taken, request, 1);
    const users = (this.#users[taken] ?? 0) - 1;
    this.#users[taken] = users;
    if (users > 0) return;
    const origin = this.#origin[taken] ?? 0;
    this.#count[origin] = (this.#count[origin] ?? 0) + 1;
    this.#count[taken] = 0;
    this.#spare.push(taken);
  }

  #add(row: number, { columns, amounts }: RowRequest, sign: 1 | -1): void {
    const start = row * this.resources.length;
    for (let i = 0; i < columns.length; i += 1) {
      const at = start + (columns[i] ?? 0);
      this.#free[at] = (this.#free[at] ?? 0) + sign * (amounts[i] ?? 0);
    }
  }

  #split(origin: number): number {
    const row = this.#spare.pop() ?? this.#newRow();
    const width = this.resources.length;
    this.#count[origin] = (this.#count[origin] ?? 0) - 1;
    this.#count[row] = 1;
    this.#group[row] = this.#group[origin] ?? 0;
    this.#origin[row] = origin;
    this.#users[row] = 0;
    this.#free.copyWithin(row * width, origin * width, (origin + 1) * width);
    return row;
  }

  #newRow(): number {
    if (this.#rows === this.#count.length) this.#grow();
    this.#rows += 1;
    return this.#rows - 1;
  }

  #grow(): void {
    const size = this.#rows * 2 + 8;
    const larger = (array: Int32Array) => {
      const grown = new Int32Array(size);
      grown.set(array);
      return grown;
    };
    [this.#count, this.#group, this.#origin, this.#users] =
      [larger(this.#count), larger(this.#group), larger(this.#origin), larger(this.#users)];
    const free = new Float64Array(size * this.resources.length);
    free.set(this.#free);
    this.#free = free;
  }

  /** All rows that still have nodes, as plain data in table order, each with the published row of its nodes. */
  *rows(): Generator<TableRow & { readonly published: number }> {
    for (let row = 0; row < this.#rows; row += 1) {
      const count = this.#count[row] ?? 0;
      if (count > 0) {
        yield { group: this.#group[row] ?? 0, count, free: this.#freeOf(row), published: this.#publishedRowOf(row) };
      }
    }
  }

  #freeOf(row: number): ReadonlyMap<string, number> {
    const start = row * this.resources.length;
    return new Map(this.resources.map((resource, column) => [resource, this.#free[start + column] ?? 0]));
  }
}
