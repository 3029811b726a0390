// Tables as kubectl prints them: columns as wide as their widest cell, three spaces between them.

const GAP = '   ';

/** The lines of a table, header first; a cell without text shows `<none>`. */
export function textTable(header: readonly string[], rows: readonly (readonly (string | undefined)[])[]): string {
  const cells =
    [header, ...rows.map((row) => row.map((cell) => (cell === undefined || cell === '' ? '<none>' : cell)))];
  const widths = header.map((_title, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(GAP).trimEnd()).join('\n');
}

/**
 * Time since then as kubectl shows ages (`duration.HumanDuration`): the two largest units that say enough. `now` in ms
 * since the epoch.
 */
export function ageOf(timestamp: string | undefined, now: number): string {
  const seconds = Math.floor((now - Date.parse(timestamp ?? '')) / 1_000);
  if (!Number.isFinite(seconds)) return '<unknown>';
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return joined(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return joined(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 8 ? joined(days, 'd', hours % 24, 'h') : `${days}d`;
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
