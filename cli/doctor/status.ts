// `isthmus status`: one cluster at a glance. Exits with 1 when something does not work now, so that scripts can ask.
import { Command } from 'commander';
import { exitWith } from '../../process/lifecycle.ts';
import { dotMap } from '../output/dot-map.ts';
import { svgMap } from '../output/svg-map.ts';
import { clusterMap } from './cluster-map.ts';
import { clusterStatus, statusText, type ClusterStatus } from './cluster-status.ts';
import { inspect, printLines, withInspectionFlags, type InspectionFlags, type InspectionFormat } from './inspection.ts';
import { structured } from '../output/structured.ts';

const MAPS = { dot: dotMap, svg: svgMap } as const;

type StatusFormat = InspectionFormat | keyof typeof MAPS;

/** The command for commander. */
export function statusCommand(): Command {
  const command = new Command('status').description(
    'Show the status of this cluster: components, targets, sources, elected pods, and the number of problems.',
  );
  return withInspectionFlags(
    command,
    'wide: with the conditions of each target and source; json, yaml: for programs; name: targets and sources ' +
      'that are not Ready; dot, svg: a map of sources and targets, for Graphviz or a browser',
    Object.keys(MAPS),
  ).action(show);
}

async function show(flags: InspectionFlags<StatusFormat>): Promise<void> {
  const status = clusterStatus(await inspect(flags, 'status'));
  printLines(printedStatus(status, flags.output));
  if (status.problems.errors > 0 || status.unread.length > 0) exitWith(1);
}

/** The status in a format; a table when none is given. */
export function printedStatus(status: ClusterStatus, output: StatusFormat | undefined): string {
  if (output === 'dot' || output === 'svg') return MAPS[output](clusterMap(status));
  const isDown = ({ ready }: { readonly ready: boolean }) => !ready;
  if (output === 'name') {
    return [...status.targets.filter(isDown).map(({ name }) => `target/${name}`), ...status.sources.filter(isDown).map(
      ({ name }) => `source/${name}`,
    )].join('\n');
  }
  return structured(status, output) ?? statusText(status, output === 'wide');
}
