import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { oneLine, type MapBox, type MapNeighbour } from '../../../../cli/output/map-drawing.ts';
import { svgMap } from '../../../../cli/output/svg-map.ts';
import { BREAKING_TEXTS, mapSaying, textsOfSvg } from '../../../support/page/map-drawings.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

const middle: MapBox = { id: 'cluster', name: 'This cluster', lines: ['2 pods'], state: 'plain' };
const target = (name: string): MapNeighbour => ({ ...middle, id: name, name, state: 'ready', link: '12ms' });
const map = { title: 'Map', middle, from: [], to: [], notes: [] };
const numbersOf = (document: string, element: string, attribute: string): readonly number[] =>
  [...document.matchAll(new RegExp(`<${element}[^>]* ${attribute}="([\\d.]+)"`, 'g'))]
    .map(([, value]) => Number(value));

describe('a map as SVG', () => {
  it('has each cluster with its lines, the text of its line, and the notes', () => {
    const texts = textsOfSvg(svgMap({ ...map, to: [target('eu')], notes: ['A note'] }));
    assert.deepEqual(texts.filter(({ element }) => element !== 'style').map(({ text }) => text), [
      'Map', '12ms', 'This cluster, 2 pods', 'This cluster', '2 pods', 'eu, 2 pods', 'eu', '2 pods', 'A note',
    ]);
  });

  it('has room for all of them, none above another', () => {
    const targets = ['a', 'b', 'c', 'd', 'e'].map(target);
    const document = svgMap({ ...map, from: [target('s')], to: targets, notes: ['A note'] });
    const [, , width = 0, height = 0] = /viewBox="([^"]*)"/.exec(document)?.[1]?.split(' ').map(Number) ?? [];
    const [, ...tops] = numbersOf(document.replace('class="back"', 'x="0" y="0"'), 'rect', 'y');
    assert.equal(tops.length, 7);
    const rows = tops.slice(2);
    for (const [index, top] of rows.entries()) assert.ok(index === 0 || top - (rows[index - 1] ?? 0) > 98);
    assert.ok(Math.max(...tops) + 98 < height && Math.max(...numbersOf(document, 'text', 'y')) < height);
    assert.ok(Math.max(...numbersOf(document, 'text', 'x')) + 300 <= width + 14);
  });

  it('shows that a target is lost by more than a colour', () => {
    const document = svgMap({ ...map, to: [{ ...target('eu'), state: 'lost' }] });
    assert.match(document, /<path class="lost"/);
    assert.match(document, /path\.lost \{ stroke-dasharray/);
  });

  it('shortens what does not fit, by characters, and has it whole in a title', () => {
    const long = '🚀'.repeat(60);
    const texts = textsOfSvg(svgMap({ ...map, to: [{ ...target(long), lines: [long] }] })).map(({ text }) => text);
    assert.ok(texts.includes(`${'🚀'.repeat(29)}…`) && texts.includes(`${'🚀'.repeat(37)}…`));
    assert.ok(texts.includes(`${long}, ${long}`));
  });
});

describe('hostile texts in an SVG map', () => {
  const countOf = (text: string): number => svgMap(mapSaying(text)).split(/<(?=[a-z])/).length;
  const assertSays = (text: string): void => {
    const [whole, ...parts] = textsOfSvg(svgMap(mapSaying(text)));
    if (text.trim() !== '') assert.equal(whole?.text, oneLine(text));
    assert.ok(parts.length <= 11);
    assert.equal(countOf(text), countOf('eu'));
  };

  for (const text of BREAKING_TEXTS) it(`stay texts: ${JSON.stringify(text)}`, () => assertSays(text));
  it('stay texts, whatever they are', () => fc.assert(
    fc.property(fc.string({ unit: codePoint, minLength: 1 }), assertSays),
  ));
});
