import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { dotMap } from '../../../../cli/output/dot-map.ts';
import { oneLine, type MapBox } from '../../../../cli/output/map-drawing.ts';
import { BREAKING_TEXTS, mapSaying, statementsOfDot } from '../../../support/page/map-drawings.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

const middle: MapBox = { id: 'cluster', name: 'This cluster', lines: ['2 pods'], state: 'plain' };

/** What the graph of {@link mapSaying} has, with what is shown of the text in it. */
function assertSays(text: string): void {
  const [shown, statements] = [oneLine(text), statementsOfDot(dotMap(mapSaying(text)))];
  assert.deepEqual(statements.map(({ nodes }) => nodes), [
    ['graph'], ['node'], ['edge'], ['middle'], [shown], ['middle', shown],
  ]);
  assert.deepEqual(statements.map(({ attributes }) => attributes['label']), [
    `${shown}\n${shown}`, undefined, undefined, `${shown}\n${shown}\n${shown}`, `${shown}\n${shown}\n${shown}`, shown,
  ]);
  assert.deepEqual(Object.keys(statements.at(-2)?.attributes ?? {}), ['label', 'color']);
}

describe('a map for Graphviz', () => {
  it('leads from sources over the middle to targets, and marks what is lost', () => {
    const graph = dotMap({
      title: 'Map', notes: [], middle,
      from: [{ ...middle, id: 'source/paris', name: 'paris', link: '', state: 'ready' }],
      to: [{ ...middle, id: 'target/eu', name: 'eu', link: '12ms', state: 'lost' }],
    });
    assert.deepEqual(graph.split('\n'), [
      'digraph isthmus {',
      '  graph [rankdir=LR, labelloc=b, fontname="sans-serif", label="Map"];',
      '  node [shape=box, style=rounded, fontname="sans-serif"];',
      '  edge [fontname="sans-serif"];',
      String.raw`  "cluster" [label="This cluster\n2 pods", color="#1f4b7a"];`,
      String.raw`  "source/paris" [label="paris\n2 pods", color="#17663a"];`,
      String.raw`  "target/eu" [label="eu\n2 pods", color="#a3191f"];`,
      '  "source/paris" -> "cluster" [label="", style=solid];',
      '  "cluster" -> "target/eu" [label="12ms", style=dashed];',
      '}',
    ]);
  });
});

describe('a text on a map', () => {
  it('stays as it is, where all of it can be read', () => assert.equal(oneLine('eu-west, 日本 🚀'), 'eu-west, 日本 🚀'));
  it('shows that something cannot be read', () => assert.equal(oneLine('eu\r\n\u202Ewest'), 'eu\u{FFFD}west'));
});

describe('hostile texts in a map for Graphviz', () => {
  for (const text of BREAKING_TEXTS) it(`stay texts: ${JSON.stringify(text)}`, () => assertSays(text));
  it('stay texts, whatever they are', () => fc.assert(fc.property(fc.string({ unit: codePoint }), assertSays)));
});
