// The corpus in the repository: a file of JSON for each target, inputs as text where they are UTF-8, else as Base64 in
// a list of one.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const fileOf = (name: string): URL => new URL(`../../../test/fuzz/corpus/${name}.json`, import.meta.url);
/** Most bytes of one target's corpus; all together stay below 300 kB. */
const MAX_CORPUS_BYTES = 14_000;

/** Inputs that were kept of a target; none where there is no file. */
export function readCorpus(name: string): readonly Buffer[] {
  const file = fileOf(name);
  if (!existsSync(file)) return [];
  const entries = JSON.parse(readFileSync(file, 'utf8')) as readonly (string | readonly [string])[];
  return entries.map(
    (entry) => (typeof entry === 'string' ? Buffer.from(entry, 'utf8') : Buffer.from(entry[0], 'base64')),
  );
}

/** Writes as many inputs as have room, the smallest first. */
export function writeCorpus(name: string, corpus: readonly Buffer[]): void {
  const entries = corpus.toSorted((one, other) => one.length - other.length).map((input) => {
    const text = input.toString('utf8');
    return JSON.stringify(Buffer.from(text, 'utf8').equals(input) ? text : [input.toString('base64')]);
  });
  let room = MAX_CORPUS_BYTES;
  const kept = entries.filter((entry) => (room -= entry.length + 2) >= 0);
  writeFileSync(fileOf(name), `[\n${kept.join(',\n')}\n]\n`);
}
