// Runs a share of the pure suites in one process, `2/2` being the second half: they hold no state, so nothing is gained
// by a process each, and a leak would show. Suites are found beside this file in its compiled form; none at all is an
// error, not a success.

import { readdir } from 'node:fs/promises';

const named = (...names: readonly string[]): readonly string[] => names.map((name) => `${name}.test.js`);

/** Files that mostly wait on clocks: the last share has them, and nothing else, while the others use the processors. */
const WAITING = named(
  'unit/cli/placement/unheard-targets', 'unit/kubernetes/flow/unsent-calls', 'unit/webhook/server/admission-server',
  'unit/process/tracing', 'unit/process/programs/bounded-run', 'unit/kubernetes/watch/reflector',
);
/**
 * Files that take two seconds or more alone, the longest first: they are dealt out before all others, or one share
 * would get most of them and end long after the rest. A file that is missing here costs time and nothing else.
 */
const LONGEST = named(
  'unit/cli/wrong-input', 'unit/cli/command-line', 'figures', 'unit/targets/tenant-targets-access', 'unit/cli/get/get',
  'unit/cli/plan/read-objects', 'unit/cli/convert/golden', 'unit/kubernetes/lease/leader-election',
);

const [share = 1, shares = 1] = (process.argv[2] ?? '1/1').split('/').map(Number);
const folder = new URL('unit/', import.meta.url);
const suites = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.test.js')).toSorted();
if (suites.length === 0) throw new Error('no compiled unit test was found; run the build first');
const all = ['architecture.test.js', 'figures.test.js', ...suites.map((path) => `unit/${path}`)];
const waiting = shares === 1 ? [] : all.filter((path) => WAITING.includes(path));
const busy = all.filter((path) => !waiting.includes(path));
const dealt = [...LONGEST.filter((path) => busy.includes(path)), ...busy.filter((path) => !LONGEST.includes(path))];
const own = share === shares && shares > 1 ? waiting : dealt.filter((_path, index) => turnOf(index) === share);
for (const path of own) await import(new URL(path, import.meta.url).href);

/** Whose turn it is, from 1, there and back: whoever gets the longest of a round gets the shortest of the next. */
function turnOf(index: number): number {
  const among = Math.max(1, shares - 1);
  const place = index % (2 * among);
  return place < among ? place + 1 : 2 * among - place;
}
