// A map in the language of Graphviz. Texts from clusters only ever stand in quoted strings.
import { oneLine, type BoxState, type MapBox, type MapDrawing, type MapNeighbour } from './map-drawing.ts';

const COLOURS: Readonly<Record<BoxState, string>> =
  { plain: '#1f4b7a', ready: '#17663a', cordoned: '#7a4b00', lost: '#a3191f' };
/** Separates the lines of a label. */
const NEW_LINE = String.raw`\n`;

/** The map as a directed graph for `dot`. */
export function dotMap({ title, middle, from, to, notes }: MapDrawing): string {
  return [
    'digraph isthmus {',
    `  graph [rankdir=LR, labelloc=b, fontname="sans-serif", label=${quoted([title, ...notes])}];`,
    '  node [shape=box, style=rounded, fontname="sans-serif"];',
    '  edge [fontname="sans-serif"];',
    ...[middle, ...from, ...to].map(box),
    ...from.map((neighbour) => edge(neighbour, neighbour, middle)),
    ...to.map((neighbour) => edge(neighbour, middle, neighbour)),
    '}',
  ].join('\n');
}

function box({ id, name, lines, state }: MapBox): string {
  return `  ${quoted([id])} [label=${quoted([name, ...lines])}, color="${COLOURS[state]}"];`;
}

function edge({ link, state }: MapNeighbour, tail: MapBox, head: MapBox): string {
  const style = state === 'lost' ? 'dashed' : 'solid';
  return `  ${quoted([tail.id])} -> ${quoted([head.id])} [label=${quoted([link])}, style=${style}];`;
}

/** Graphviz reads escapes such as `\N` and entities of HTML in labels, too. */
function quoted(lines: readonly string[]): string {
  const escaped = lines.map((line) => oneLine(line).replaceAll('&', '&amp;').replaceAll(/["\\]/g, String.raw`\$&`));
  return `"${escaped.join(NEW_LINE)}"`;
}
