// The status of a cluster as a map: who sends pods to it, and where it sends its own. Pure.
import type { MapBox, MapDrawing, MapNeighbour } from '../output/map-drawing.ts';
import type { ClusterStatus } from './cluster-status.ts';

type TargetStatus = ClusterStatus['targets'][number];
type SourceStatus = ClusterStatus['sources'][number];

/** The map; the same status gives the same map. */
export function clusterMap(status: ClusterStatus): MapDrawing {
  const { targets, sources, unread } = status;
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1);
  return {
    title: 'This cluster, its sources and its targets', middle: middleOf(status),
    from: sources.toSorted(byName).map((source) => sourceBox(source, unread)),
    to: targets.toSorted(byName).map((target) => targetBox(target, unread)),
    notes: notesOf(status),
  };
}

function middleOf({ version, kubernetes, electedPods, problems, unread }: ClusterStatus): MapBox {
  const phases = Object.entries(electedPods).map(([phase, count]) => `${count} ${phase}`).join(', ');
  const pods = unread.includes('pods') ? 'unknown' : phases === '' ? 'none' : phases;
  return {
    id: 'cluster', name: 'This cluster', state: 'plain',
    lines: [
      `Isthmus ${version}, Kubernetes ${kubernetes ?? 'of unknown version'}`, `elected pods: ${pods}`,
      ...(problems.errors + problems.warnings === 0 ? [] : [
        `${problems.errors} errors, ${problems.warnings} warnings: isthmus doctor`,
      ]),
    ],
  };
}

function targetBox(target: TargetStatus, unread: readonly string[]): MapNeighbour {
  const { name, ready, message, cordoned, pods, rtt, gateway } = target;
  const state = `${ready ? 'Ready' : 'NotReady'}${cordoned ? ', cordoned' : ''}`;
  return {
    id: `target/${name}`, name, state: ready ? (cordoned ? 'cordoned' : 'ready') : 'lost',
    lines: [
      ready ? state : `${state}: ${message}`, podsText(pods, unread.includes('pods')),
      ...(ready ? freeLine(target) : []),
    ],
    link: [...(rtt === undefined ? [] : [rtt]), ...(gateway === undefined ? [] : [`gateway ${gateway}`])].join(', '),
  };
}

function freeLine({ free: { cpu, memory, gpu } = {} }: TargetStatus): readonly string[] {
  const parts = [
    ...(cpu === undefined ? [] : [`${cpu} CPU`]), ...(memory === undefined ? [] : [memory]),
    ...(gpu === undefined || gpu === '0' ? [] : [`${gpu} GPU`]),
  ];
  return parts.length === 0 ? [] : [`free: ${parts.join(', ')}`];
}

function sourceBox({ name, ready, message, pods }: SourceStatus, unread: readonly string[]): MapNeighbour {
  return {
    id: `source/${name}`, name, state: ready ? 'ready' : 'lost', link: '',
    lines: [ready ? 'Ready' : `NotReady: ${message}`, `here: ${podsText(pods, unread.includes('podchaperons'))}`],
  };
}

function podsText(pods: number, isUnknown: boolean): string {
  return isUnknown ? 'pods unknown' : `${pods} pod${pods === 1 ? '' : 's'}`;
}

function notesOf({ targets, unread }: ClusterStatus): readonly string[] {
  if (unread.length > 0) return [`Could not be read, so it may be missing here: ${unread.join(', ')}`];
  return targets.length === 0 ? ['No targets yet. Connect one with "isthmus peer".'] : [];
}
