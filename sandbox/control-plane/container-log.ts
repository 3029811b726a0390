// Renders a container's log file as a kubelet does (`pkg/kubelet/kuberuntime/logs`, CRI log format), as far as `kubectl
// logs -f` needs. Pure.

/** Which part of a log is shown, and how (`core/v1` PodLogOptions). */
export interface LogView {
  /** So many of the last lines; all when missing. */
  readonly tailLines?: number;
  /** Not before this, in ms since the epoch. */
  readonly since?: number;
  readonly timestamps: boolean;
}

/** Reads the query of `/containerLogs` at `now` (ms since the epoch). */
export function toLogView(query: URLSearchParams, now: number): LogView {
  const [tail, seconds, time] = ['tailLines', 'sinceSeconds', 'sinceTime'].map((name) => query.get(name));
  const since = time ? Date.parse(time) : seconds ? now - Number(seconds) * 1_000 : undefined;
  return {
    timestamps: query.get('timestamps') === 'true', ...(tail && { tailLines: Number(tail) }),
    ...(since !== undefined && { since }),
  };
}

/** A record of the file: the tag `P` says that the line continues in the next one. */
const RECORD = /^(\S+) (?:stdout|stderr) ([FP])(?:\S*) (.*)$/s;

/** What is shown of records that were written while somebody looks. */
export function showRecords(records: readonly string[], { timestamps }: Pick<LogView, 'timestamps'>): string {
  return records.map((record) => {
    const [, time = '', tag, line = ''] = RECORD.exec(record) ?? [];
    return tag === undefined ? '' : `${timestamps ? `${time} ` : ''}${line}${tag === 'F' ? '\n' : ''}`;
  }).join('');
}

/** What is shown of the records that are there already. */
export function showLog(records: readonly string[], view: LogView): string {
  const { since = -Infinity, tailLines = Infinity } = view;
  const recent = records.filter((record) => !(Date.parse(record.slice(0, record.indexOf(' '))) < since));
  return showRecords(recent.slice(Math.max(0, recent.length - tailLines)), view);
}
