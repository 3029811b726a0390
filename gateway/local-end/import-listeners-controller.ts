// Maintains the listeners for imported Services while this gateway is active, and records their ports in the copies of
// exports. A port is published only once it is listened on.
import type { Logger } from 'pino';
import { EXPORTED_SERVICES, type ExportedService } from '../../api/kinds/service-discovery.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import type { ImportListeners } from './import-listener-server.ts';
import { planListeners, type AssignedListeners, type PortRange } from './import-listeners.ts';

/** Dependencies. */
export interface ImportListenersControllerOptions {
  /** Fenced: only the active gateway writes. */
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly exports: Informer<ExportedService, ExportedService>;
  readonly listeners: ImportListeners;
  readonly ports: PortRange;
  /** ID of this cluster while this gateway is active; undefined otherwise. */
  readonly activeAs: () => string | undefined;
  readonly logger: Logger;
}

const ALL = 'all';

/** Starts it. Call the returned function when this gateway became active or passive. */
export function startImportListeners(options: ImportListenersControllerOptions, signal: AbortSignal): () => void {
  const { exports, listeners, logger } = options;
  const memory: Memory = { taken: new Set(), given: new Map() };
  const controller = startController(
    {
      name: 'import-listeners', reconcile: () => follow(options, memory, signal), concurrency: 1, logger,
      ready: exports.synced,
    },
    signal,
  );
  const look = () => controller.enqueue(ALL);
  exports.onChange(look);
  signal.addEventListener('abort', () => listeners.close(), { once: true });
  look();
  return () => {
    if (options.activeAs() === undefined) listeners.close(); // at once: another gateway may be active from now on
    look();
  };
}

/** What a gateway knows of ports beyond the objects. */
interface Memory {
  readonly taken: Set<number>;
  given: AssignedListeners;
}

async function follow(
  options: ImportListenersControllerOptions, memory: Memory, signal: AbortSignal,
): Promise<ReconcileResult> {
  const { client, namespace, exports, listeners, ports: range, activeAs, logger } = options;
  for (;;) {
    const clusterId = activeAs();
    if (clusterId === undefined || signal.aborted) {
      listeners.close();
      memory.given = new Map(); // another gateway may assign others
      return DONE;
    }
    const { targets, numbers, changed, without } =
      planListeners({ clusterId, exports: [...exports.records()], range, ...memory });
    const inUse = await listeners.serve(targets);
    if (inUse.length > 0) {
      for (const port of inUse) memory.taken.add(port);
      logger.warn({ ports: inUse }, 'something else listens on ports for imports; using others');
      continue;
    }
    if (without.length > 0) logger.warn(
      { exports: without.slice(0, 10), count: without.length, ports: range },
      'no port is free for imports; widen --import-ports',
    );
    if (activeAs() === undefined) continue;
    memory.given = numbers;
    for (const [name, list] of changed) {
      await client.patch(
        EXPORTED_SERVICES, { namespace, name, subresource: 'status' },
        { patchType: 'merge', patch: { status: { listeners: list } } }, signal,
      ).catch(unless(isNotFound));
    }
    return DONE;
  }
}
