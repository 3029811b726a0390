// Words that this project once used in place of the field's terms. None may come back into documentation, comments or
// messages of production code. Each has the term to use instead.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const DOCS = ['README.md', 'docs'];
/** Floors whose comments and messages were rewritten. */
const FLOORS = [
  'benchmarks', 'cli', 'gateway', 'kubernetes', 'manifests', 'peering', 'pod-plane', 'process', 'sandbox',
  'service-discovery', 'targets', 'webhook',
];
/** Records of their time stay as they were written. */
const RECORDS = ['docs/adr', 'docs/results'];

/** A phrase that must not come back, and what to write. */
type Phrase = readonly [phrase: RegExp, instead: string];

const NOWHERE: readonly Phrase[] = [
  [/\bis no quantity\b/, 'is not a valid quantity'],
  [/\bis no valid\b/, 'is not valid'],
  [/\bas kubectl finds it\b/, 'the kubectl default'],
  [/\bbehind the back of\b/, 'in the background'],
  [/\bgone with the next word\b/i, 'cleared by the next status update'],
  [/\bkept-summary\b/, 'pod-mode-summary'],
  [/\bonly who is asked asks\b/i, 'queried on demand, cached'],
  [/\bpeace with the injectors\b/i, 'compatibility with sidecar injectors'],
  [/\bis it well\b/i, 'health checks'],
  [/\bthat knows its server to be slow\b/i, 'extends leaseDurationSeconds when renewals are slow'],
  [/\bin no hole\b|\bholes by groups\b/i, 'free capacity by node shape'],
];

/** Words of the code that users never read. */
const NOT_IN_DOCS: readonly Phrase[] = [[/\bcables?\b/i, 'gateway connection']];

const NOT_IN_FLOORS: readonly Phrase[] = [
  [/\bmade anew\b/, 'recreated'],
  [/\b(?:is|are|be|was|were) let in(?:to)?\b/, 'admitted'],
  [/\breckon/i, 'compute'],
  [/\bthe (?:live )?word of\b/i, 'status, or an uncached read'],
  [/\bis no (?:member|snapshot|token|certificate|elected pod)\b/, 'is not a valid …'],
  [/\bShell (?:of|in|:)/, 'what it reconciles'],
];

function filesBelow(path: string, extension: string): readonly string[] {
  if (path.endsWith(extension)) return [path];
  const found = readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' });
  const paths = found.filter((one) => one.endsWith(extension)).map((one) => join(path, one));
  return paths.filter((one) => !RECORDS.some((record) => one.startsWith(`${record}/`)));
}

/** Text as one line per paragraph of comment or message, so that a phrase is found across line breaks. */
const flowing = (text: string): string => text
  .replaceAll(/(['"`]) \+\s+\1/g, '')
  .replaceAll(/\s*\n\s*(?:\/\/|\*)? ?/g, ' ');

function findings(
  paths: readonly string[], phrases: readonly Phrase[], read: (path: string) => string,
): readonly string[] {
  return paths.flatMap((path) => {
    const text = flowing(read(path));
    return phrases.flatMap(([phrase, instead]) => {
      const found = phrase.exec(text);
      return found === null ? [] : [`${path}: "${found[0]}"; write: ${instead}`];
    });
  });
}

const fromDisk = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('words that were replaced', () => {
  it('are in no page of documentation', () => {
    const pages = DOCS.flatMap((path) => filesBelow(path, '.md'));
    assert.ok(pages.length > 20);
    assert.deepEqual(findings(pages, [...NOWHERE, ...NOT_IN_DOCS], fromDisk), []);
  });

  it('are in no comment and no message', () => {
    const sources = FLOORS.flatMap((floor) => filesBelow(floor, '.ts'));
    assert.ok(sources.length > 300);
    assert.deepEqual(findings(sources, [...NOWHERE, ...NOT_IN_FLOORS], fromDisk), []);
  });

  it('are found, also across a line break of a comment', () => {
    const read = (): string => '// Pods are made\n// anew.\n/**\n * It is\n * no quantity.\n */';
    assert.equal(findings(['one.ts'], [...NOWHERE, ...NOT_IN_FLOORS], read).length, 2);
  });
});
