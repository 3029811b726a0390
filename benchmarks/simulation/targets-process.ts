// A process with many simulated targets. It gets its orders as messages of its parent, and ends with it.
import { LightApiServer, type ServerCertificate } from './light-api-server.ts';
import { fillTarget, simulateTarget, type LongRunningPods, type TargetShape } from './simulated-target.ts';

/** What a parent asks for. */
export type Order =
  | {
    readonly kind: 'start'; readonly count: number; readonly shape: TargetShape;
    readonly certificate: ServerCertificate
  }
  | { readonly kind: 'count' }
  /** What each target has had for long, in the order of their URLs. */
  | { readonly kind: 'fill'; readonly pods: readonly LongRunningPods[] }
  /** These targets, by their index, no longer answer anything; or answer again. */
  | { readonly kind: 'silence'; readonly targets: readonly number[]; readonly isSilent: boolean };

/** What it is told. */
export type Report =
  | { readonly kind: 'started'; readonly urls: readonly string[] }
  | { readonly kind: 'filled' }
  /** Requests and connections of each target since the start. */
  | { readonly kind: 'counted'; readonly requests: readonly number[]; readonly connections: readonly number[] };

const servers: LightApiServer[] = [];
const ended = new AbortController();

async function start({ count, shape, certificate }: Extract<Order, { kind: 'start' }>): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const server = await LightApiServer.start(certificate);
    simulateTarget(server.store, { ...shape, seed: shape.seed + index }, ended.signal);
    servers.push(server);
  }
  report({ kind: 'started', urls: servers.map(({ url }) => url) });
}

function fill({ pods }: Extract<Order, { kind: 'fill' }>): void {
  for (const [index, { store }] of servers.entries()) {
    const own = pods[index];
    if (own !== undefined) fillTarget(store, own);
  }
  report({ kind: 'filled' });
}

function silence({ targets, isSilent }: Extract<Order, { kind: 'silence' }>): void {
  for (const index of targets) {
    const server = servers[index];
    if (server !== undefined) server.fault = () => (isSilent ? new Promise(() => undefined) : undefined);
  }
}

function report(message: Report): void {
  process.send?.(message);
}

process.on('message', (order: Order) => {
  if (order.kind === 'start') void start(order);
  else if (order.kind === 'fill') fill(order);
  else if (order.kind === 'silence') silence(order);
  else report({
    kind: 'counted', requests: servers.map(({ requests }) => requests),
    connections: servers.map(({ connections }) => connections),
  });
});
process.once('disconnect', () => process.exit());
