import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runInThisContext } from 'node:vm';
import { oneScript } from '../../../manifests/one-script.ts';

/** A script of these modules, by their paths. */
function scriptOf(modules: Readonly<Record<string, string>>): string {
  return oneScript('a/main.js', (path) => {
    const text = modules[path];
    assert.ok(text !== undefined, `nothing asks for ${path}`);
    return text;
  });
}

/** What the script says; it says it with `say`. */
function said(modules: Readonly<Record<string, string>>): readonly unknown[] {
  const words: unknown[] = [];
  const run = runInThisContext(`(function (say) {${scriptOf(modules)}})`) as (say: (word: unknown) => void) => void;
  run((word) => { words.push(word); });
  return words;
}

describe('one script of several modules', () => {
  it('runs each once, before those that import it', () => {
    assert.deepEqual(said({
      'a/main.js': "import { one } from './b.js';\nimport { two } from '../c/d.js';\nsay(one + two);\n",
      'a/b.js': "import { two } from '../c/d.js';\nsay('b');\nexport const one = two + 1;\n",
      'c/d.js': "say('d');\nexport const two = 2;\nexport {};\n//# sourceMappingURL=d.js.map",
    }), ['d', 'b', 5]);
  });

  it('knows functions, classes, renamed imports, and imports in several lines', () => {
    assert.deepEqual(said({
      'a/main.js': "import { make as build,\n  Thing, } from './b.js';\nsay(build() instanceof Thing);\n",
      'a/b.js': 'export class Thing {\n}\nexport function make() {\n  return new Thing();\n}\n',
    }), [true]);
  });

  it('keeps names of one module from another', () => {
    assert.deepEqual(said({
      'a/main.js': "import { b } from './b.js';\nconst secret = 1;\nsay([secret, b]);\n",
      'a/b.js': 'const secret = 2;\nexport const b = secret;\n',
    }), [[1, 2]]);
  });

  it('leaves texts alone that look like an export or import', () => {
    const text = "  export const a = import('b')";
    assert.deepEqual(said({ 'a/main.js': `say(${JSON.stringify(text)});\n` }), [text]);
  });

  for (const [what, text] of [
    ['a package', "import { hash } from 'node:crypto';\n"], ['all of a module', "import * as b from './b.js';\n"],
    ['its effects alone', "import './b.js';\n"], ['the default', "import b from './b.js';\n"],
    ['to give on', "export * from './b.js';\n"], ['to give on by name', "export { b } from './b.js';\n"],
  ] as const) {
    it(`is refused where a module imports ${what}`, () => {
      assert.throws(() => scriptOf({ 'a/main.js': text, 'a/b.js': 'export const b = 1;\n' }), /^Error: a\/main\.js /);
    });
  }

  for (const text of ['export default 1;\n', 'export let a = 1;\n', 'export async function a() {\n}\n']) {
    it(`is refused where a module has ${text.trim()}`, () => {
      assert.throws(() => scriptOf({ 'a/main.js': text }), /of another form: export/);
    });
  }
});
