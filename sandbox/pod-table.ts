// Pods as `kubectl get pods -o wide` prints them, so that the demo needs no kubectl.
import type { Pod } from '../api/objects/core.ts';
import { textTable } from '../cli/output/text-table.ts';
import { isTerminating } from '../model/pod/pod.ts';

/** One cluster's pods, under its name. */
export interface ClusterPods {
  readonly cluster: string;
  readonly pods: readonly Pod[];
}

const HEADER = ['NAME', 'READY', 'STATUS', 'AGE', 'IP', 'NODE'];

/** A table for each cluster. `now` is in ms since the epoch; lines are cut at `width` characters. */
export function toPodTables(clusters: readonly ClusterPods[], now: number, width: number): string {
  return clusters.map((cluster) => toPodTable(cluster, now, width)).join('\n');
}

function toPodTable({ cluster, pods }: ClusterPods, now: number, width: number): string {
  const sorted = pods.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const table = textTable(HEADER, sorted.map((pod) => toRow(pod, now)));
  const body = pods.length === 0 ? ['(no pods)'] : table.split('\n');
  return [
    `── ${cluster} ${'─'.repeat(Math.max(0, 60 - cluster.length))}`,
    ...body.map((line) => line.slice(0, width)), '',
  ].join('\n');
}

function toRow(pod: Pod, now: number): readonly (string | undefined)[] {
  const { status, spec, metadata } = pod;
  const ready = (status?.containerStatuses ?? []).filter(
    (container) => (container as { readonly ready?: boolean }).ready === true,
  ).length;
  return [
    nameOf(pod),
    `${ready}/${spec.containers.length}`,
    isTerminating(pod) ? 'Terminating' : (status?.phase ?? 'Pending'),
    `${Math.max(0, Math.round((now - Date.parse(metadata.creationTimestamp ?? '')) / 1000))}s`,
    status?.podIP,
    spec.nodeName,
  ];
}

function nameOf({ metadata: { name = '' } }: Pod): string {
  return name;
}
