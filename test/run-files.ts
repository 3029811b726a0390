// Runs files of tests in the order in which they are named, where `node --test` would sort them by name:
// `run-files.js FILES-AT-ONCE SECONDS-FOR-EACH FILE…`.
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const [concurrency, seconds, ...files] = process.argv.slice(2);
const results = run({ files, concurrency: Number(concurrency), timeout: Number(seconds) * 1_000 });
results.on('test:fail', () => {
  process.exitCode = 1;
});
results.compose(new spec()).pipe(process.stdout);
