// What the build makes of object literals that begin with a spread: the same objects, of one hidden class.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { haveOneHiddenClass } from './support/rules/hidden-class.ts';

const { withSharedClasses } = await import(new URL('../../rewrite-spreads.mjs', import.meta.url).href) as {
  readonly withSharedClasses: (text: string) => string;
};

describe('a literal that begins with a spread', () => {
  const rows: Readonly<Record<string, readonly [text: string, rewritten: string]>> = {
    'gets one of undefined before it': ['f({ ...a, b });\n', 'f({...undefined,  ...a, b });\n'],
    'gets it inside another one': ['x = { a, b: { ...c, d } };', 'x = { a, b: {...undefined,  ...c, d } };'],
    'gets it in each of several':
      ['x = { ...a, b: {...c, d} };', 'x = {...undefined,  ...a, b: {...undefined, ...c, d} };'],
    'stays as it is once rewritten': ['f({...undefined,  ...a, b });', 'f({...undefined,  ...a, b });'],
    'stays as it is alone: that has one class': ['x = { ...a };', 'x = { ...a };'],
    'stays as it is behind another property': ['x = { a, ...b };', 'x = { a, ...b };'],
    'is not a pattern, a list or an argument':
      ['const { ...a } = b; f(...c, [...d, e]);', 'const { ...a } = b; f(...c, [...d, e]);'],
    'is not a text': ["x = '{ ...a, b }';", "x = '{ ...a, b }';"],
  };
  for (const [what, [text, rewritten]] of Object.entries(rows)) {
    it(what, () => assert.equal(withSharedClasses(text), rewritten));
  }

  it('makes objects of one hidden class, whatever it was written for', () => {
    const given = { b: 2, a: 1 };
    assert(haveOneHiddenClass((index) => ({ ...given, index })));
    assert(haveOneHiddenClass((index) => ({ ...given, a: index })));
    assert.deepEqual(Object.entries({ ...given, a: 3 }), [['b', 2], ['a', 3]]);
  });

  it('keeps a key like __proto__ as a key', () => {
    const given = JSON.parse('{"__proto__":{"x":1}}') as object;
    const copy = { ...given, b: 1 };
    assert.deepEqual([Object.keys(copy), Object.getPrototypeOf(copy)], [['__proto__', 'b'], Object.prototype]);
  });
});
