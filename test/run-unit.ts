// Runs every pure suite in one process: they hold no state, so nothing is gained by a process each, and a leak would show.
// Suites are found beside this file in its compiled form; none at all is an error, not a success.

import { readdir } from 'node:fs/promises';

const folder = new URL('unit/', import.meta.url);
const suites = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.test.js')).toSorted();
if (suites.length === 0) throw new Error('no compiled unit test was found; run the build first');
for (const path of suites) await import(new URL(path, folder).href);
await import(new URL('architecture.test.js', import.meta.url).href);
