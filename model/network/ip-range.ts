// Address ranges in CIDR form, of both families. Nothing is resolved; an invalid text gives undefined.

/** A range; `first` and `last` are addresses as numbers. */
export interface IpRange {
  readonly text: string;
  readonly version: 4 | 6;
  /** Length of the prefix in bits. */
  readonly length: number;
  readonly first: bigint;
  readonly last: bigint;
}

/** Parses a range in CIDR form; undefined when it is invalid. Host bits are ignored. */
export function parseRange(text: string): IpRange | undefined {
  const [, address = '', digits = ''] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const bits = parseAddressBits(address);
  const version = address.includes(':') ? 6 : 4;
  const free = (version === 6 ? 128 : 32) - Number(digits);
  if (bits === undefined || digits === '' || free < 0) return undefined;
  const size = 1n << BigInt(free);
  const first = (bits / size) * size;
  return { text, version, length: Number(digits), first, last: first + size - 1n };
}

/** An address as a number; undefined when it is invalid. */
export function parseAddressBits(text: string): bigint | undefined {
  return text.includes(':') ? parseV6(text) : parseV4(text);
}

/** Whether two ranges have an address in common. */
export function doOverlap(one: IpRange, other: IpRange): boolean {
  return one.version === other.version && one.first <= other.last && other.first <= one.last;
}

/** Whether two CIDRs have an address in common; an invalid one has none. */
export function doCidrsOverlap(one: string, other: string): boolean {
  const [left, right] = [parseRange(one), parseRange(other)];
  return left !== undefined && right !== undefined && doOverlap(left, right);
}

/** Whether an address is in one of the ranges, written as CIDRs. */
export function isInAny(ranges: readonly string[], address: string): boolean {
  return ranges.some((text) => {
    const range = parseRange(text);
    return range !== undefined && isWithin(range, address);
  });
}

/** Whether an address is in the range. */
export function isWithin(range: IpRange, address: string): boolean {
  const bits = parseAddressBits(address);
  return bits !== undefined && address.includes(':') === (range.version === 6) && bits >= range.first
    && bits <= range.last;
}

/** The dotted form of an IPv4 address. */
export function formatV4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join('.');
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

/** The last two groups may be an IPv4 address (RFC 4291, 2.2), as systems print addresses that embed one. */
function parseV6(text: string): bigint | undefined {
  const dotted = text.slice(text.lastIndexOf(':') + 1);
  const low = dotted.includes('.') ? parseV4(dotted) : undefined;
  if (low !== undefined) {
    return parseGroups(`${text.slice(0, -dotted.length)}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`);
  }
  return parseGroups(text);
}

function parseGroups(text: string): bigint | undefined {
  const [head = '', tail, ...more] = text.split('::');
  if (more.length > 0) return undefined;
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const missing = 8 - before.length - after.length;
  if (missing < 0 || (tail === undefined && missing !== 0)) return undefined;
  const all = [...before, ...Array.from({ length: missing }, () => '0'), ...after];
  if (!all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

/** A set of ranges; a lookup takes time logarithmic in their number. */
export class RangeSet {
  /** By version, disjoint and sorted. */
  readonly #merged: Readonly<Record<4 | 6, readonly Pick<IpRange, 'first' | 'last'>[]>>;

  constructor(ranges: readonly IpRange[]) {
    const merged = (version: 4 | 6) => merge(ranges.filter((range) => range.version === version));
    this.#merged = { 4: merged(4), 6: merged(6) };
  }

  /** Whether one of the ranges contains the address. */
  has(address: string): boolean {
    const bits = parseAddressBits(address);
    if (bits === undefined) return false;
    const ranges = this.#merged[address.includes(':') ? 6 : 4];
    let [from, to] = [0, ranges.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((ranges[middle]?.last ?? 0n) < bits) from = middle + 1;
      else to = middle;
    }
    const range = ranges[from];
    return range !== undefined && range.first <= bits;
  }
}

function merge(ranges: readonly IpRange[]): readonly Pick<IpRange, 'first' | 'last'>[] {
  const merged: { readonly first: bigint; last: bigint }[] = [];
  for (const { first, last } of ranges.toSorted((one, other) => (one.first < other.first ? -1 : 1))) {
    const before = merged.at(-1);
    if (before === undefined || first > before.last + 1n) merged.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  return merged;
}
