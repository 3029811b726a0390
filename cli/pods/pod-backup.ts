// A pod that is deleted to be made anew is in a file until it is there again: whatever ends the command between the two, nothing is lost.
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Pod } from '../../api/objects/core.ts';
import { isNotFound, isRejection } from '../../kubernetes/flow/api-error.ts';
import { AppError, messageOf } from '../../process/errors.ts';

/** How a pod is made anew. */
export interface Renewal {
  /** Deletes it. A refusal leaves it there. */
  readonly remove: () => Promise<void>;
  /** Waits until it has gone, and makes the next one. */
  readonly make: () => Promise<void>;
}

/**
 * Makes a pod anew while its manifest lies in a file that only this user can read; it goes when that has succeeded, or when the pod may not be deleted.
 * `tell` hears of it first, for those whose process is killed.
 * @throws AppError with the code of what was thrown, `NotMadeAnew` where that had none, and how the pod is made from the file; a refusal as it came.
 */
export async function withPodBackup(pod: Pod, tell: (line: string) => void, { remove, make }: Renewal): Promise<void> {
  const path = join(await mkdtemp(join(tmpdir(), 'isthmus-move-')), `${pod.metadata.name}.json`);
  const forget = () => rm(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(pod, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  tell(`the pod's manifest is in ${path} until it is made anew`);
  try {
    await remove().catch(async (error: unknown) => {
      if (isRejection(error) && !isNotFound(error)) await forget();
      throw error;
    });
    await make();
  } catch (error) {
    if (!existsSync(path)) throw error;
    const code = error instanceof AppError ? error.code : 'NotMadeAnew';
    throw new AppError(code, `${messageOf(error)} The pod's manifest is in ${path}: once no pod of its name is there, make it with "kubectl create -f ${path}".`, { cause: error });
  }
  await forget();
}
