// The Services of all clusters as a table.
import type { ServiceExport, ServiceImport } from '../../api/kinds/service-discovery.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { textTable } from '../output/text-table.ts';

/** A row for each exported name. */
export function servicesTable(exports: readonly ServiceExport[], imports: readonly ServiceImport[]): string {
  const exported = new Map(exports.map((one) => [objectKey(one.metadata), one]));
  const imported = new Map(imports.map((one) => [objectKey(one.metadata), one]));
  const keys = [...new Set([...exported.keys(), ...imported.keys()])].toSorted();
  const rows = keys.map((key) => [
    ...key.split('/'), ...importCells(imported.get(key)), exportCell(exported.get(key)),
    conflictCell(exported.get(key)),
  ]);
  return textTable(['NAMESPACE', 'NAME', 'TYPE', 'IP', 'CLUSTERS', 'EXPORTED HERE', 'CONFLICT'], rows);
}

function importCells(imported: ServiceImport | undefined): readonly (string | undefined)[] {
  return [
    imported?.spec?.type, imported?.spec?.ips?.join(','),
    imported?.status?.clusters?.map(({ cluster }) => cluster).join(','),
  ];
}

function exportCell(exported: ServiceExport | undefined): string {
  if (exported === undefined) return 'no';
  const conditions = exported.status?.conditions;
  const failing = ['Valid', 'Ready'].map((type) => findCondition(conditions, type))
    .find((condition) => condition?.status === 'False');
  if (failing !== undefined) return failing.reason ?? 'no';
  return findCondition(conditions, 'Ready') === undefined ? 'not yet' : 'yes';
}

function conflictCell(exported: ServiceExport | undefined): string | undefined {
  const conflict = findCondition(exported?.status?.conditions, 'Conflict');
  return conflict?.status === 'True' ? conflict.reason : undefined;
}
