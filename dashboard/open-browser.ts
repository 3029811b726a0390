// Opens the page in the user's browser. Other users of a machine can read the arguments of its processes, so the
// address with its key is not one: the browser gets the path of a file that only this user can read and that leads on.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What opens a file, by platform. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> =
  { darwin: ['open'], linux: ['xdg-open'], win32: ['rundll32', 'url.dll,FileProtocolHandler'] };

/** Resolves to a function that removes the file, and whether a browser was asked to open it. */
export async function openBrowser(
  address: string, platform: NodeJS.Platform = process.platform,
): Promise<{ readonly isStarted: boolean; readonly forget: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-ui-')); // of mode 0700
  const file = join(folder, 'open.html');
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${address}">`, { mode: 0o600 });
  const forget = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const [program, ...words] = OPENERS[platform] ?? [];
  return { isStarted: program !== undefined && (await started(program, [...words, file])), forget };
}

/** Whether the program could be started; its exit is not awaited. */
function started(program: string, words: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, words, { detached: true, stdio: 'ignore' });
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
    child.once('error', () => resolve(false));
  });
}
