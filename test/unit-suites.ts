// Runs a share of the pure suites in one process, `2/2` being the second half: they hold no state, so nothing is gained
// by a process each, and a leak would show. Suites are found beside this file in its compiled form; none at all is an
// error, not a success.

import { readdir } from 'node:fs/promises';

/**
 * Files that take two seconds or more alone, the longest first: they are dealt out before all others, or one share
 * would get most of them and end long after the rest. A file that is missing here costs time and nothing else.
 */
const LONGEST = [
  'unit/cli/placement/unheard-targets', 'unit/cli/command-line', 'unit/webhook/server/admission-server',
  'unit/kubernetes/flow/unsent-calls', 'unit/cli/wrong-input', 'figures', 'unit/kubernetes/lease/leader-election',
  'unit/cli/get/get', 'unit/process/tracing', 'unit/targets/tenant-targets-access', 'unit/process/programs/bounded-run',
  'unit/kubernetes/watch/reflector',
].map((name) => `${name}.test.js`);

const [share = 1, shares = 1] = (process.argv[2] ?? '1/1').split('/').map(Number);
const folder = new URL('unit/', import.meta.url);
const suites = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.test.js')).toSorted();
if (suites.length === 0) throw new Error('no compiled unit test was found; run the build first');
const all = ['architecture.test.js', 'figures.test.js', ...suites.map((path) => `unit/${path}`)];
const dealt = [...LONGEST.filter((path) => all.includes(path)), ...all.filter((path) => !LONGEST.includes(path))];
for (const path of dealt.filter((_path, index) => turnOf(index) === share)) {
  await import(new URL(path, import.meta.url).href);
}

/** Whose turn it is, from 1, there and back: whoever gets the longest of a round gets the shortest of the next. */
function turnOf(index: number): number {
  const place = index % (2 * shares);
  return place < shares ? place + 1 : 2 * shares - place;
}
