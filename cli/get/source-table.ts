// `isthmus get sources` in a target: who may send pods, and their effective permissions.
import type { ClusterSource, Source } from '../../api/kinds/cluster-source.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { objectKey } from '../../model/pod/pod.ts';
import type { Table } from './pod-table.ts';
import { ageOf } from '../output/text-table.ts';

/** One row for each source; what is not known is left empty. */
export function sourceTable(
  sources: readonly (Source | ClusterSource)[], { now, wide }: { readonly now: number; readonly wide: boolean },
): Table {
  const header = [
    'NAME', 'READY', 'GUARDED', 'NAMESPACES', 'POD SECURITY', 'STREAMS', 'AGE', ...(wide ? ['CLUSTER', 'MESSAGE'] : []),
  ];
  const rows = sources.map(({ metadata, spec, status = {} }) => {
    const { namespaces, podSecurity, streams } = status.allows ?? {};
    const [ready, guarded] = ['Ready', 'Guarded'].map((type) => findCondition(status.conditions, type));
    const more =
      wide ? [spec.clusterID, [ready, guarded].find((condition) => condition?.status !== 'True')?.message] : [];
    return [
      objectKey(metadata), ready?.status === 'True' ? 'True' : (ready?.reason ?? 'Unknown'),
      guarded?.status ?? 'Unknown', namespaces, podSecurity, streams, ageOf(metadata.creationTimestamp, now), ...more,
    ];
  });
  return { header, rows: rows.toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1)) };
}
