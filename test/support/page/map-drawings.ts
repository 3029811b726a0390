// Readers of drawn maps, strict where viewers are lenient: what is not exactly of the form that is promised is an
// attack that got through.
import assert from 'node:assert/strict';
import type { MapDrawing, MapNeighbour } from '../../../cli/output/map-drawing.ts';

/** An element of an SVG document that has text of its own. */
export interface DrawnText {
  readonly element: string;
  readonly text: string;
}

/** What nobody can read, but for the ends of lines. */
const NO_CHARACTER = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u;
const ELEMENTS: ReadonlySet<string> = new Set(['svg', 'title', 'style', 'rect', 'g', 'path', 'text']);
const ATTRIBUTES: ReadonlySet<string> = new Set([
  'xmlns', 'role', 'viewBox', 'width', 'height', 'class', 'x', 'y', 'rx', 'd', 'text-anchor',
]);
const TAG = /<(?<close>\/?)(?<name>[a-z]+)(?<attributes>(?: [a-zA-Z-]+="[^"<&]*")*)(?<empty>\/?)>|(?<text>[^<]+)/gy;

/** The texts of a document. Throws AssertionError for anything but the elements and attributes of a map. */
export function textsOfSvg(document: string): readonly DrawnText[] {
  assert.doesNotMatch(document, NO_CHARACTER);
  const [open, texts]: [string[], DrawnText[]] = [[], []];
  let end = 0;
  for (const { 0: whole, groups = {}, index } of document.matchAll(TAG)) {
    assert.equal(index, end, `not of an SVG map: ${document.slice(end, index)}`);
    end = index + whole.length;
    if (groups['text'] !== undefined) texts.push(...textIn(open.at(-1) ?? '', groups['text']));
    else follow(open, groups);
  }
  assert.deepEqual([end, open], [document.length, []]);
  return texts;
}

function follow(open: string[], { name = '', close, empty, attributes = '' }: Readonly<Record<string, string>>): void {
  assert.ok(ELEMENTS.has(name), `element ${name}`);
  for (const [, attribute = ''] of attributes.matchAll(/ ([a-zA-Z-]+)=/g)) {
    assert.ok(ATTRIBUTES.has(attribute), `attribute ${attribute}`);
  }
  if (close === '/') assert.equal(open.pop(), name);
  else if (empty !== '/') open.push(name);
}

function textIn(element: string, text: string): readonly DrawnText[] {
  if (text.trim() === '') return [];
  assert.ok(!/&(?!amp;|lt;|gt;)/.test(text) && !text.includes('>'), `not escaped: ${text}`);
  const decoded = text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  return [{ element, text: decoded }];
}

/** A statement of a graph: the nodes that it names, and its attributes. */
export interface DrawnStatement {
  readonly nodes: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
}

const STRING = String.raw`"(?:[^"\\]|\\.)*"`;
const STATEMENT = new RegExp(
  String.raw`^  (${STRING}|graph|node|edge)(?: -> (${STRING}))? \[((?:[a-z]+=(?:${STRING}|\w+)(?:, )?)+)\];$`,
);

/** The statements of a graph; `\n` in texts is a new line. Throws AssertionError for anything else. */
export function statementsOfDot(graph: string): readonly DrawnStatement[] {
  assert.doesNotMatch(graph, NO_CHARACTER);
  const [first, ...lines] = graph.split('\n');
  assert.deepEqual([first, lines.pop()], ['digraph isthmus {', '}']);
  return lines.map((line) => {
    const [, tail = '', head, attributes = ''] = STATEMENT.exec(line) ?? assert.fail(`not of a map: ${line}`);
    return {
      nodes: [tail, ...(head === undefined ? [] : [head])].map(unquoted),
      attributes: Object.fromEntries([...attributes.matchAll(new RegExp(`([a-z]+)=(${STRING}|\\w+)`, 'g'))].map(
        ([, key = '', value = '']) => [key, unquoted(value)],
      )),
    };
  });
}

function unquoted(word: string): string {
  if (!word.startsWith('"')) return word;
  assert.ok(!/&(?!amp;)/.test(word), `an entity: ${word}`);
  return word.slice(1, -1).replaceAll(/\\(.)/g, (_all, letter: string) => {
    assert.ok(['n', '"', '\\'].includes(letter), `an escape of Graphviz: ${word}`);
    return letter === 'n' ? '\n' : letter;
  }).replaceAll('&amp;', '&');
}

/** A map of one target whose texts are all the given one. */
export function mapSaying(text: string): MapDrawing {
  const box: MapNeighbour = { id: text, name: text, lines: [text, text], state: 'ready', link: text };
  return { title: text, middle: { ...box, id: 'middle' }, from: [], to: [box], notes: [text] };
}

/** Texts that break out of what they are written into, where that is not careful. */
export const BREAKING_TEXTS: readonly string[] = [
  '"]; } digraph x { a [URL="javascript:alert(1)', String.raw`\" , URL="javascript:alert(1)`, '\\', String.raw`\N\G\E`,
  '<b>bold</b>', '</text><script>alert(1)</script>', '</title></style><image href="http://example.com/x"/>',
  '" onload="alert(1)', '&lt;script&gt;', '&#60;script&#62;', '&', ']]>', '<!-- ', '<?xml', '<![CDATA[',
  'eu\n"b" [label="forged"];', 'eu\r\nwest', 'eu\u2028west', '\u0000\u0008\u001b[31m', '\u202Etsew', '\uD800', '\uFFFE',
];
