// Does what a viewer asked for on the page, by the code of the command of the same name and with the viewer's client.
import { parseTarget } from '../cli/clusters/cluster-flags.ts';
import { cordonTarget, drainTarget } from '../cli/pods/drain-target.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { within } from '../kubernetes/flow/abort.ts';
import type { Action } from './wire/actions.ts';

/** How long a call may take, and how long pods may stay after their eviction, in ms. */
const [ACT_MS, DRAIN_MS] = [15_000, 300_000];

/**
 * Resolves to what was done, in a sentence.
 * @throws AppError `BadInput` for a text that names no target, and what the command throws.
 */
export async function act(
  client: ClusterClient, { kind, target }: Action, signal: AbortSignal,
): Promise<string> {
  const ref = parseTarget(target);
  if (kind === 'drain') {
    const options = { evictUnmanaged: false, forMs: DRAIN_MS };
    await drainTarget(client, ref, options, { tell: () => undefined, signal });
    return `Target ${target} is drained.`;
  }
  await within(ACT_MS, signal, (either) => cordonTarget(client, ref, kind === 'cordon', either));
  return `Target ${target} is ${kind}ed.`;
}
