// docs/admission-denials.md and the code name the same reasons.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

// Compiled tests are one folder deeper than their sources.
const ROOT = join(import.meta.dirname, '..', '..', '..', '..');

it('every reason for which admission refuses is documented, and no other', () => {
  const sources = readdirSync(join(ROOT, 'webhook'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(ROOT, 'webhook', file), 'utf8'));
  const given =
    sources.flatMap((text) => [...text.matchAll(/(?:\bdeny\(\s*|\breason: )'(\w+)'/g)].map(([, reason]) => reason));
  const page = readFileSync(join(ROOT, 'docs', 'admission-denials.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, reason]) => reason);
  assert.ok(given.length > 10);
  assert.deepEqual(new Set(documented), new Set(given));
});
