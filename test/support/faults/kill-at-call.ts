// Loaded into a process of ours with `node --import`: ends it, as kill -9 does, at one of the calls that it makes to
// API servers. The calls that concern one pod are counted; the n-th ends the process before it is sent, or after it was
// answered. Nothing in the product knows of this.
import { Transport, type Call } from '../../../kubernetes/http/transport.ts';

/** Where a process is to end. */
export interface KillPoint {
  /** Calls whose path or body names this pod are counted. */
  readonly pod: string;
  /** From 1. */
  readonly nth: number;
  readonly when: 'before' | 'after';
}

/** The module to import, with the point in its query: a process that is started so has no other way to be told. */
export function killAt({ pod, nth, when }: KillPoint): string {
  const url = new URL(import.meta.url);
  url.search = new URLSearchParams({ pod, nth: String(nth), when }).toString();
  return url.href;
}

type Send = (this: Transport, call: Call, signal?: AbortSignal) => Promise<unknown>;

function arm({ pod, nth, when }: KillPoint): void {
  let count = 0;
  const transport = Transport.prototype as { call: Send };
  const { call: send } = transport;
  transport.call = async function call(request, signal) {
    const isMeant = !isAside(request.path) && `${request.path} ${JSON.stringify(request.body ?? {})}`.includes(pod);
    const isIt = isMeant && (count += 1) === nth;
    if (isIt && when === 'before') end(request);
    try {
      return await send.call(this, request, signal);
    } finally {
      if (isIt) end(request);
    }
  };
}

/** Events are written beside the way of a pod: nothing waits for them. */
function isAside(path: string): boolean {
  return path.includes('/events');
}

function end({ method, path }: { readonly method: string; readonly path: string }): void {
  process.stderr.write(`ends at ${method} ${path}\n`);
  process.kill(process.pid, 'SIGKILL');
}

const query = new URL(import.meta.url).searchParams;
if (query.has('pod')) arm({
  pod: query.get('pod') ?? '', nth: Number(query.get('nth')), when: query.get('when') === 'before' ? 'before' : 'after',
});
