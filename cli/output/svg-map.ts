// A map as an SVG document of its own: no script, nothing loaded, light and dark by the viewer's setting. What is
// shortened is whole in the title of its box, which viewers show when pointed at.
import {
  MOST_LINES, oneLine, type MapBox, type MapDrawing, type MapNeighbour,
} from './map-drawing.ts';

const BOX = { width: 300, height: 44 + MOST_LINES * 18, gap: 16 };
/** Between two columns, where the lines are. */
const BETWEEN = 170;
const MARGIN = 20;
const NOTE_HEIGHT = 22;
/** Characters that fit into a box, and at a line. */
const FITS = { name: 30, line: 38, link: 22 };

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1b2430; } .name { font-size: 15px; font-weight: 600; }
  rect { fill: #ffffff; stroke-width: 2; } path { fill: none; stroke-width: 2; } .back { fill: #f6f7f9; }
  .plain { stroke: #1f4b7a; } .ready { stroke: #17663a; } .cordoned { stroke: #7a4b00; } .lost { stroke: #a3191f; }
  path.lost { stroke-dasharray: 6 5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6ebf2; } rect { fill: #1a212b; } .back { fill: #11161d; }
    .plain { stroke: #7db8f5; } .ready { stroke: #84dca7; } .cordoned { stroke: #f3c26b; } .lost { stroke: #ff9da1; }
  }
`;

/** The left upper corner of a box. */
interface Place {
  readonly x: number;
  readonly y: number;
}

/** The map as a document. */
export function svgMap({ title, middle, from, to, notes }: MapDrawing): string {
  const rows = Math.max(1, from.length, to.length);
  const drawn = MARGIN * 2 + rows * (BOX.height + BOX.gap) - BOX.gap;
  const height = drawn + notes.length * NOTE_HEIGHT;
  const columns = [from, [middle], to].filter((column) => column.length > 0);
  const width = MARGIN * 2 + columns.length * (BOX.width + BETWEEN) - BETWEEN;
  const center: Place = { x: columnAt(from.length > 0 ? 1 : 0), y: (drawn - BOX.height) / 2 };
  const placed = (neighbours: readonly MapNeighbour[], x: number) => neighbours.map((neighbour, index) => (
    { neighbour, place: { x, y: rowAt(index, neighbours.length, drawn) } }
  ));
  const [left, right] = [placed(from, columnAt(0)), placed(to, center.x + BOX.width + BETWEEN)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}" width="${width}">`,
    `<title>${escaped(title)}</title>`, `<style>${STYLE}</style>`,
    `<rect class="back" width="${width}" height="${height}"/>`,
    ...left.map(({ neighbour, place }) => line(neighbour, place, center)),
    ...right.map(({ neighbour, place }) => line(neighbour, center, place)),
    ...[...left, { neighbour: middle, place: center }, ...right].map(({ neighbour, place }) => box(neighbour, place)),
    ...notes.map((note, index) => text(note, { x: MARGIN, y: drawn + index * NOTE_HEIGHT })),
    '</svg>',
  ].join('\n');
}

function columnAt(index: number): number {
  return MARGIN + index * (BOX.width + BETWEEN);
}

/** Columns are centred. */
function rowAt(index: number, rows: number, height: number): number {
  return (height - (rows * (BOX.height + BOX.gap) - BOX.gap)) / 2 + index * (BOX.height + BOX.gap);
}

/** From the right edge of one box to the left edge of another, with its text where it arrives. */
function line({ link, state }: MapNeighbour, tail: Place, head: Place): string {
  const [x1, y1] = [tail.x + BOX.width, tail.y + BOX.height / 2];
  const [x2, y2] = [head.x, head.y + BOX.height / 2];
  const bend = (x1 + x2) / 2;
  const path = `<path class="${state}" d="M ${x1} ${y1} C ${bend} ${y1} ${bend} ${y2} ${x2} ${y2}"/>`;
  if (link === '') return path;
  const written = escaped(shortened(link, FITS.link));
  return `${path}\n<text x="${x2 - 8}" y="${y2 - 8}" text-anchor="end">${written}</text>`;
}

function box({ name, lines, state }: MapBox, { x, y }: Place): string {
  return [
    `<g><title>${escaped([name, ...lines].join(', '))}</title>`,
    `<rect class="${state}" x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="10"/>`,
    text(shortened(name, FITS.name), { x: x + 14, y: y + 25 }, 'name'),
    ...lines.slice(0, MOST_LINES)
      .map((each, index) => text(shortened(each, FITS.line), { x: x + 14, y: y + 46 + index * 18 })),
    '</g>',
  ].join('\n');
}

function text(words: string, { x, y }: Place, kind = 'line'): string {
  return `<text class="${kind}" x="${x}" y="${y}">${escaped(words)}</text>`;
}

function shortened(words: string, most: number): string {
  const characters = Array.from(oneLine(words));
  return characters.length <= most ? words : `${characters.slice(0, most - 1).join('')}…`;
}

/** As the text of an element. Attributes have no text of a cluster. */
function escaped(words: string): string {
  return oneLine(words).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
