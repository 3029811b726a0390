// The map: the source on the left, its targets on the right, and a line for each whose width says how many pods it has.
import { addressOf } from '../wire/routes.ts';
import type { TargetCard, TargetsScreen } from '../wire/screens.ts';
import { svg } from './elements.ts';
import { count } from './parts.ts';

const WIDTH = 900;
const SOURCE = { x: 12, width: 190, height: 84 };
const TARGET = { x: 470, width: 418, height: 58, gap: 14 };
const SIZE = { width: TARGET.width, height: TARGET.height };
/** More are in the table only. */
const MOST_SHOWN = 24;
const LONGEST_NAME = 30;

/** The map of the screen. */
export function targetMap({ targets, waiting }: TargetsScreen): SVGElement {
  const shown = targets.slice(0, MOST_SHOWN);
  const height = Math.max(shown.length * (TARGET.height + TARGET.gap) + TARGET.gap, SOURCE.height + 70);
  const most = Math.max(1, ...shown.map(({ pods = 0 }) => pods));
  const middle = height / 2;
  const top = (index: number): number =>
    middle + (index - shown.length / 2) * (TARGET.height + TARGET.gap) + TARGET.gap / 2;
  return svg(
    'svg',
    {
      class: 'map', viewBox: `0 0 ${WIDTH} ${height}`, role: 'group',
      'aria-label': 'Map of this source and its targets',
    },
    shown.map((target, index) => line(target, middle, top(index) + TARGET.height / 2, most)),
    source(middle, waiting),
    shown.map((target, index) => box(target, top(index))),
  );
}

function line(target: TargetCard, from: number, to: number, most: number): SVGElement {
  const [start, end] = [SOURCE.x + SOURCE.width, TARGET.x];
  const bend = (start + end) / 2;
  const width = 1 + (6 * (target.pods ?? 0)) / most;
  const path = svg('path', {
    class: `line ${stateOf(target)} w${Math.round(width)}`,
    d: `M ${start} ${from} C ${bend} ${from} ${bend} ${to} ${end} ${to}`,
  });
  const label = target.rtt === undefined ? undefined
    : svg('text', { class: 'label', x: end - 10, y: to - 10, 'text-anchor': 'end' }, target.rtt);
  return svg('g', {}, path, label);
}

function source(middle: number, waiting: number | undefined): SVGElement {
  const y = middle - SOURCE.height / 2;
  const text = waiting === undefined ? 'pods unknown'
    : waiting === 0 ? 'no pods waiting' : `${count(waiting, 'pod')} waiting`;
  return svg(
    'a', { href: '/pending' },
    svg('rect', { class: 'box source', x: SOURCE.x, y, width: SOURCE.width, height: SOURCE.height, rx: 10 }),
    svg('text', { class: 'name', x: SOURCE.x + 16, y: y + 36 }, 'This source'),
    svg('text', { class: waiting === 0 ? 'label' : 'label strong', x: SOURCE.x + 16, y: y + 60 }, text),
  );
}

function box(target: TargetCard, y: number): SVGElement {
  const { name, pods, running } = target;
  const busy = pods === undefined ? 'pods unknown'
    : `${running ?? 0}/${count(pods, 'pod')} running${target.isReady ? '' : ' when last seen'}`;
  const details = [busy, ...freeOf(target), ...(target.gateway === undefined ? [] : ['gateway'])].join(' · ');
  return svg(
    'a', { href: addressOf({ screen: 'pods', filters: { target: name } }) },
    svg('rect', { class: `box ${stateOf(target)}`, x: TARGET.x, y, ...SIZE, rx: 10 }),
    svg('circle', { class: `dot ${stateOf(target)}`, cx: TARGET.x + 20, cy: y + 22, r: 5 }),
    svg('text', { class: 'name', x: TARGET.x + 34, y: y + 27 }, shortened(name)),
    svg(
      'text', { class: 'label', x: TARGET.x + TARGET.width - 14, y: y + 27, 'text-anchor': 'end' },
      target.isCordoned ? 'cordoned' : target.isReady ? '' : target.state,
    ),
    svg('text', { class: 'label', x: TARGET.x + 34, y: y + 46 }, details),
  );
}

function freeOf({ freeCpu, freeMemory, freeGpus }: TargetCard): readonly string[] {
  return [
    ...(freeCpu === undefined ? [] : [`${freeCpu} CPU`]), ...(freeMemory === undefined ? [] : [freeMemory]),
    ...(freeGpus === undefined || freeGpus === '0' ? [] : [`${freeGpus} GPU`]),
  ].map((text, index) => (index === 0 ? `free ${text}` : text));
}

function stateOf({ isReady, isCordoned }: TargetCard): string {
  return isReady ? (isCordoned ? 'cordoned' : 'ready') : 'lost';
}

function shortened(name: string): string {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}…`;
}
