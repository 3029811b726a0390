// Every documented key is written and read by whom its comment names.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';
import { documentedKeys, findUnusedKeys, type CodeFile } from '../../support/rules/documented-keys.ts';

const OUTSIDE = /^(?:node_modules|build|test|sandbox|benchmarks|docs|\.)/;

function productionFiles(): readonly CodeFile[] {
  const folders = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.filter(({ name }) => !OUTSIDE.test(name)).flatMap(({ name }) => {
    const paths = readdirSync(join(ROOT, name), { recursive: true, encoding: 'utf8' });
    const sources = paths.filter((path) => path.endsWith('.ts')).map((path) => `${name}/${path}`);
    return sources.map((path) => ({ path, text: textOf(path) }));
  });
}

describe('documented keys', () => {
  it('are written and read by whom they name', () => {
    const [keys, files] = [documentedKeys(textOf('api/objects/keys.ts')), productionFiles()];
    assert.ok(keys.length > 60 && files.length > 400);
    assert.deepEqual(findUnusedKeys(keys, files), []);
  });

  const found = (comment: string, code: string): readonly string[] => (
    findUnusedKeys(documentedKeys(`/** ${comment} */\nexport const A_LABEL = 'a';\n`), [{ path: 'a.ts', text: code }])
  );
  const BOTH = 'Label on pods, set by the scheduler, read by the webhook: a.';

  it('are found where nobody writes, reads or uses them, and where nobody is named', () => {
    assert.match(found(BOTH, 'const a = labels[A_LABEL];').join(), /nothing writes it$/);
    assert.match(found(BOTH, 'const { [A_LABEL]: a } = labels;').join(), /nothing writes it$/);
    assert.match(found(BOTH, 'const labels = { [A_LABEL]: TRUE };').join(), /nothing reads it$/);
    assert.match(found('Label, set by the user: a.', "import { A_LABEL } from './keys.ts';").join(), /drop it$/);
    assert.match(found('Label on pods, read by the webhook: a.', 'f(A_LABEL);').join(), /does not say who sets it$/);
  });

  it('may be written or read by others', () => {
    assert.deepEqual(found(BOTH, 'const labels = { x, [A_LABEL]: TRUE };\nf(labels[A_LABEL]);'), []);
    assert.deepEqual(found('Label on pods, set by the user, read by the webhook: a.', 'f(labels[A_LABEL]);'), []);
    assert.deepEqual(found('Label on pods, set by the scheduler, read by users: a.', 'f([[A_LABEL, TRUE]]);'), []);
  });
});
