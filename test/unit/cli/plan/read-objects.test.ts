// What `isthmus convert` reads may have been written by anybody, also to do harm.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import { readObjects } from '../../../../cli/plan/read-objects.ts';
import { FOR_KUBECTL } from '../../../../model/objects/yaml-limits.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

const OBJECT = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';

function problemIn(text: string): string {
  const read = readObjects(text);
  assert.equal(read.kind, 'invalid', text.slice(0, 80));
  return read.kind === 'invalid' ? read.problem : '';
}

function objectsIn(text: string) {
  const read = readObjects(text);
  assert.ok(read.kind === 'objects', read.kind === 'invalid' ? read.problem : '');
  return read.objects;
}

/** Each line has ten of the line before. */
function laughs(levels: number): string {
  const lines = Array.from({ length: levels }, (_value, level) => {
    const items = level === 0 ? Array(10).fill('ha') : Array(10).fill(`*l${level - 1}`);
    return `l${level}: &l${level} [${items.join(', ')}]`;
  });
  return `${OBJECT}data:\n  ${lines.join('\n  ')}\n`;
}

describe('reading manifests', () => {
  it('takes several documents, empty ones, Lists and Lists of Lists', () => {
    const pod = '{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: c}}';
    const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: PodList, items: [${pod}]}\n`;
    const objects = objectsIn(`${OBJECT}---\n---\n# nothing\n---\n${list}`);
    assert.deepEqual(
      objects.map(({ group, version, kind, name, namespace }) => [group, version, kind, name, namespace]),
      [['', 'v1', 'ConfigMap', 'a', undefined], ['', 'v1', 'Pod', 'b', 'c']],
    );
  });
  it('takes JSON, and merge keys as kubectl does', () => {
    assert.equal(objectsIn(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } })).length, 1);
    const [merged] = objectsIn('apiVersion: v1\nkind: Pod\nmetadata:\n  <<: {name: a}\n  namespace: b\n');
    assert.deepEqual([merged?.name, merged?.namespace], ['a', 'b']);
  });
  it('takes a byte order mark in a later document, and JSON objects one after the other', () => {
    assert.equal(objectsIn(`${OBJECT}---\r\n\uFEFF${OBJECT}`).length, 2);
    const object = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '} {' } }, undefined, 2);
    const places = objectsIn(`${object}\n${object}\n`).map(({ name, line }) => [name, line]);
    assert.deepEqual(places, [['} {', 1], ['} {', 8]]);
  });
  it('takes an anchor that is used often', () => {
    const names = Array.from({ length: 20 }, (_value, index) => `k${index}: *n`).join(', ');
    assert.equal(objectsIn(`apiVersion: v1\nkind: ConfigMap\nmetadata: {name: &n a, labels: {${names}}}\n`).length, 1);
  });
  it('takes a manifest of many objects', () => {
    assert.equal(objectsIn(`${OBJECT}---\n`.repeat(500)).length, 500);
  });
  it('takes a map of many keys in linear time', () => {
    const data = Array.from({ length: 20_000 }, (_value, index) => `  k${index}: v`).join('\n');
    assert.equal(objectsIn(`${OBJECT}data:\n${data}\n`).length, 1);
  });

  const wrong: Record<string, readonly [text: string, problem: RegExp]> = {
    'an open bracket': ['a: [', /^is not valid YAML: /],
    'a tab as indentation': ['a:\n\t- b', /^is not valid YAML: /],
    'one key twice': [`${OBJECT}kind: Secret\n`, /^is not valid YAML: it has the key "kind" twice$/],
    'one key twice, deeper': [`${OBJECT}data: {a: 1, b: 2, "a": 3}\n`, /the key "a" twice/],
    'an unknown alias': [`${OBJECT}data: *nobody\n`, /./],
    'a text': ['hello world', /holds something that is not an object/],
    'a list': ['- 1', /holds something that is not an object/],
    'an object without kind': ['apiVersion: v1', /an object in it has no kind/],
    'a kind that is a number': ['apiVersion: v1\nkind: 1', /an object in it has no kind/],
    'an object without apiVersion': ['kind: Pod\nmetadata: {name: a}', /a Pod without apiVersion/],
    'an object without metadata': ['apiVersion: v1\nkind: Pod', /a Pod without metadata/],
    'a name that is a number': ['apiVersion: v1\nkind: Pod\nmetadata: {name: 1}', /a Pod whose name or namespace/],
    'a namespace that is a list':
      ['apiVersion: v1\nkind: Pod\nmetadata: {namespace: []}', /a Pod whose name or namespace/],
    'a List of texts': ['apiVersion: v1\nkind: List\nitems: [a]', /is not an object/],
    'deep nesting': [`${OBJECT}data: ${'['.repeat(100_000)}`, /^is too large or too deeply nested$/],
    'deep nesting by indentation': [
      `${OBJECT}data:\n${Array.from({ length: 100 }, (_value, depth) => `${' '.repeat(depth + 1)}a:`).join('\n')}`,
      /^is too large or too deeply nested$/,
    ],
    'a billion laughs': [laughs(9), /^uses aliases too often/],
    'an alias within itself': [`${OBJECT}data: &a [*a]\n`, /within what they stand for$/],
    'more words than there may be': ['[,'.repeat(10) + 'a,'.repeat(501_000), /^is too large or too deeply nested$/],
    'bytes that are not text': ['\u0000\u0001\uFFFD', /./],
  };
  for (const [sentence, [text, problem]] of Object.entries(wrong)) {
    it(`rejects ${sentence}`, () => assert.match(problemIn(text), problem));
  }

  it('gives back an own field __proto__, and no prototype', () => {
    const [object] = objectsIn(`${OBJECT}__proto__: {polluted: yes}\n`);
    assert.equal(Object.hasOwn(object?.fields ?? {}, '__proto__'), true);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });
  it('reads what is printed, whatever it is', () => {
    const value = fc.jsonValue({ maxDepth: 3 }).map((any) => JSON.parse(JSON.stringify(any)) as unknown); // no -0
    fc.assert(fc.property(value, (data) => {
      const fields = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data };
      assert.deepEqual(objectsIn(stringify(fields, FOR_KUBECTL))[0]?.fields, fields);
    }));
  });
  it('answers any text with objects or a problem', () => {
    fc.assert(fc.property(fc.string({ unit: codePoint, maxLength: 200 }), (text) => {
      assert.match(readObjects(text).kind, /^(objects|invalid)$/);
    }));
  });
});
