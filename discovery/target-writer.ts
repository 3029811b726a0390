// Writes what was decided about targets, each for itself: one that cannot be written holds up no other.
import type { Logger } from 'pino';
import type { ClusterTarget } from '../api/kinds/cluster-target.ts';
import { messageOf } from '../process/errors.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../kubernetes/flow/api-error.ts';
import { NotLeaderError } from '../kubernetes/flow/fence.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { executeAndRead } from '../kubernetes/controller/execute-plan.ts';
import { toKnownTarget, type KnownTarget } from './plan/known-target.ts';
import type { TargetWrites } from './plan/plan-discovery.ts';

/** How long in ms a target that was made counts as existing although no watch has delivered it. */
const REMEMBERED_MS = 30_000;

/** Writes targets, and remembers those it has made until a watch delivers them. */
export class TargetWriter {
  readonly #options: { readonly client: ClusterClient; readonly logger: Logger };
  readonly #made = new Map<string, { readonly target: KnownTarget; readonly at: number }>();

  constructor(options: { readonly client: ClusterClient; readonly logger: Logger }) {
    this.#options = options;
  }

  /** Targets that were made and are not among these names. */
  madeBeside(names: ReadonlySet<string>): readonly KnownTarget[] {
    for (const [name, { at }] of this.#made) {
      if (names.has(name) || performance.now() - at > REMEMBERED_MS) this.#made.delete(name);
    }
    return [...this.#made.values()].map(({ target }) => target);
  }

  /**
   * Writes all. Returns why some could not be written, by target.
   * @throws NotLeaderError when this process may not write.
   */
  async write(writes: readonly TargetWrites[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const failures = new Map<string, string>();
    let refused: NotLeaderError | undefined;
    await Promise.all(writes.map(async (one) => {
      try {
        await this.#writeOne(one, signal);
      } catch (error) {
        if (error instanceof NotLeaderError) refused = error;
        else failures.set(one.target, explained(error));
      }
    }));
    signal.throwIfAborted();
    if (refused !== undefined) throw refused;
    return failures;
  }

  async #writeOne({ target, plan }: TargetWrites, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    const [first] = plan;
    const written = await executeAndRead(client, plan, signal);
    if (first?.kind === 'create' && written !== undefined) {
      this.#made.set(target, { target: toKnownTarget(written as ClusterTarget), at: performance.now() });
      logger.info({ target }, 'made a target of a registered cluster');
    }
    if (first?.kind === 'delete') {
      this.#made.delete(target);
      logger.info({ target }, 'removed a target whose cluster has left its registry');
    }
  }
}

function explained(error: unknown): string {
  const hasChanged = isAlreadyExists(error) || isConflict(error) || isNotFound(error);
  return hasChanged ? `it has just changed: ${messageOf(error)}` : messageOf(error);
}
