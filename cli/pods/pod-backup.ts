// Backs up a pod's manifest to a file while the pod is deleted and recreated, so that an interruption loses nothing.
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Pod } from '../../api/objects/core.ts';
import { isNotFound, isRejection } from '../../kubernetes/flow/api-error.ts';
import { AppError, messageOf } from '../../process/errors.ts';

/** How a pod is recreated. */
export interface Renewal {
  /** Deletes it. A rejection leaves it in place. */
  readonly remove: () => Promise<void>;
  /** Waits until it is gone, and creates the replacement. */
  readonly make: () => Promise<void>;
}

/**
 * Recreates a pod while its manifest is in a file readable only by this user; the file is deleted on success, or when
 * the deletion was rejected. `tell` is called with the path first, in case the process is killed.
 * @throws AppError with the code of the error, `NotRecreated` where it had none, and how to create the pod from the
 * file; a rejection unchanged.
 */
export async function withPodBackup(pod: Pod, tell: (line: string) => void, { remove, make }: Renewal): Promise<void> {
  const path = join(await mkdtemp(join(tmpdir(), 'isthmus-move-')), `${pod.metadata.name}.json`);
  const forget = () => rm(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(pod, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  tell(`the pod's manifest is in ${path} until the pod is recreated`);
  try {
    await remove().catch(async (error: unknown) => {
      if (isRejection(error) && !isNotFound(error)) await forget();
      throw error;
    });
    await make();
  } catch (error) {
    if (!existsSync(path)) throw error;
    const code = error instanceof AppError ? error.code : 'NotRecreated';
    throw new AppError(
      code,
      `${messageOf(error)} The pod's manifest is in ${path}: once no pod of its name is there, make it with "kubectl ` +
        `create -f ${path}".`,
      { cause: error },
    );
  }
  await forget();
}
