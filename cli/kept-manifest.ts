// A pod that is deleted to be made anew is in a file until it is there again: whatever ends the command between the two, nothing is lost.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Pod } from '../api/core.ts';
import { AppError, messageOf } from '../process/errors.ts';

/**
 * Runs `work` while the manifest lies in a file that only this user can read; it goes when the work has succeeded. `tell` hears of it first, for
 * those whose process is killed.
 * @throws AppError with the code of what `work` threw, `NotMadeAnew` where that had none, and how the pod is made from the file.
 */
export async function withKeptManifest(pod: Pod, tell: (line: string) => void, work: () => Promise<void>): Promise<void> {
  const path = join(await mkdtemp(join(tmpdir(), 'isthmus-move-')), `${pod.metadata.name}.json`);
  await writeFile(path, `${JSON.stringify(pod, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  tell(`the pod's manifest is in ${path} until it is made anew`);
  try {
    await work();
  } catch (error) {
    const code = error instanceof AppError ? error.code : 'NotMadeAnew';
    throw new AppError(code, `${messageOf(error)} The pod's manifest is in ${path}: once no pod of its name is there, make it with "kubectl create -f ${path}".`, { cause: error });
  }
  await rm(dirname(path), { recursive: true });
}
