// Runs a share of the pure suites in one process, `2/2` being the second half: they hold no state, so nothing is gained
// by a process each, and a leak would show. Suites are found beside this file in its compiled form; none at all is an
// error, not a success.

import { readdir } from 'node:fs/promises';

const [share = 1, shares = 1] = (process.argv[2] ?? '1/1').split('/').map(Number);
const folder = new URL('unit/', import.meta.url);
const suites = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.test.js')).toSorted();
if (suites.length === 0) throw new Error('no compiled unit test was found; run the build first');
const whole = ['architecture.test.js', 'figures.test.js'].map((name) => new URL(name, import.meta.url));
const all = [...suites.map((path) => new URL(path, folder)), ...whole];
for (const suite of all.filter((_suite, index) => index % shares === share - 1)) await import(suite.href);
