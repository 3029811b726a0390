// Builds and prints `isthmus status`. Pure.
import type { TargetStatus } from '../../api/kinds/cluster-target.ts';
import { PARENT_CLUSTER_LABEL, TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { diagnose } from '../checks/doctor-checks.ts';
import type { DoctorFacts, Finding } from '../checks/doctor-facts.ts';
import { statusOf } from '../get/pod-table.ts';
import { nodeOf } from '../get/target-table.ts';
import { textTable } from '../output/text-table.ts';

/** A cluster at a glance. */
export interface ClusterStatus {
  /** Of Isthmus, and of Kubernetes. */
  readonly version: string;
  readonly kubernetes: string | undefined;
  /** Leader by component. */
  readonly components: Readonly<Record<string, string>>;
  readonly targets: readonly {
    readonly name: string; readonly ready: boolean; readonly message: string; readonly pods: number;
    /** Whether its virtual node is cordoned: it gets no new pods. */
    readonly cordoned: boolean;
    /** As its status shows them; missing where they are not known. */
    readonly free?: TargetStatus['free'] | undefined;
    readonly rtt?: string | undefined;
    /** The member of the clusterset whose gateway leads to it; missing where it is dialled directly. */
    readonly gateway?: string | undefined;
  }[];
  readonly sources: readonly {
    readonly name: string; readonly ready: boolean; readonly message: string; readonly pods: number
  }[];
  /** Elected pods by phase. */
  readonly electedPods: Readonly<Record<string, number>>;
  /** Number of findings of `isthmus doctor`. */
  readonly problems: { readonly errors: number; readonly warnings: number };
  /** What could not be read, and is unknown above. */
  readonly unread: readonly string[];
}

/** Derives the status from the facts. */
export function clusterStatus(facts: DoctorFacts): ClusterStatus {
  const findings = diagnose(facts);
  const count = (severity: Finding['severity']) => findings.filter((finding) => finding.severity === severity).length;
  const cordoned = new Set(
    facts.virtualNodes.flatMap(({ metadata: { name }, spec }) => (spec?.unschedulable === true ? [name] : [])),
  );
  return {
    version: facts.version,
    kubernetes: facts.kubernetes,
    components: Object.fromEntries(
      findings.filter(({ check, severity }) => check === 'Components' && severity !== 'unknown')
        .map(({ subject, message }) => [subject, message]),
    ),
    targets: facts.targets.map(({ name, object, problem }) => {
      const ready = findCondition(object.status?.conditions, 'Ready');
      const key = `${object.metadata.namespace === undefined ? 'ClusterTarget' : 'Target'}/${name}`;
      return {
        name, ready: ready?.status === 'True' && problem === undefined,
        message: problem ?? ready?.message ?? 'no component has processed it yet',
        pods: facts.electedPods.filter(({ metadata }) => metadata.annotations?.[TARGET_ANNOTATION] === key).length,
        cordoned: cordoned.has(nodeOf(object)),
        free: object.status?.free, rtt: object.status?.rtt, gateway: object.spec.gateway?.cluster,
      };
    }),
    sources: facts.sources.map(({ metadata, spec, status }) => {
      const ready = findCondition(status?.conditions, 'Ready');
      const own = facts.chaperons.filter(
        ({ metadata: { labels } }) => spec.clusterID !== undefined && labels?.[PARENT_CLUSTER_LABEL] === spec.clusterID,
      );
      return {
        name: objectKey(metadata), ready: ready?.status === 'True',
        message: ready?.message ?? 'its identity has not been created yet',
        pods: own.length,
      };
    }),
    electedPods: counted(facts.electedPods.map(statusOf)),
    problems: { errors: count('error'), warnings: count('warning') },
    unread: facts.unread.map(({ what }) => what),
  };
}

function counted(words: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const word of words.toSorted()) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/** The status as text; with `wide` also the conditions of each target and source. */
export function statusText(status: ClusterStatus, wide: boolean): string {
  const { version, kubernetes, components, targets, sources, electedPods, problems, unread } = status;
  const unknown = (what: string, ...kinds: readonly string[]) => {
    const missing = kinds.filter((kind) => unread.includes(kind));
    return missing.length === 0 ? [] : [`${what}: unknown, ${missing.join(' and ')} could not be read`];
  };
  /** `counted`: the kind that its pods are counted by. */
  const rowOf = (counted: string) => (
    { name, ready, message, pods, cordoned }: ClusterStatus['sources'][number] & { readonly cordoned?: boolean },
  ) => [
    name, `${ready ? 'Ready' : 'NotReady'}${cordoned === true ? ',SchedulingDisabled' : ''}`,
    unread.includes(counted) ? '<unknown>' : String(pods), ...(wide || !ready ? [message] : ['']),
  ];
  const table = (first: string, rows: Parameters<typeof textTable>[1]) =>
    textTable([first, 'STATUS', 'PODS', 'MESSAGE'], rows);
  const pods = Object.entries(electedPods).map(([phase, count]) => `${count} ${phase}`).join(', ');
  return [
    `Isthmus ${version}, Kubernetes ${kubernetes ?? 'of unknown version'}`,
    ...Object.entries(components).map(([component, message]) => `${component}: ${message}`),
    ...unknown('components', 'leases'),
    ...(unread.includes('pods') ? unknown('elected pods', 'pods') : [`elected pods: ${pods === '' ? 'none' : pods}`]),
    ...unknown('targets', 'clustertargets', 'targets'),
    ...unknown('sources', 'clustersources', 'sources'),
    ...(targets.length === 0 ? [] : ['', table('TARGET', targets.map(rowOf('pods')))]),
    ...(sources.length === 0 ? [] : ['', table('SOURCE', sources.map(rowOf('podchaperons')))]),
    ...(problems.errors + problems.warnings === 0 ? [] : [
      '', `${problems.errors} errors, ${problems.warnings} warnings: run "isthmus doctor".`,
    ]),
  ].join('\n');
}
