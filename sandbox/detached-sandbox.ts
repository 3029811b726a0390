// `sandbox up --detach`: the same command as a background process that outlives this one. Until it is ready it reports
// over IPC; afterwards it logs to the cache folder.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError, type ErrorCode } from '../process/errors.ts';

/** What the child tells its parent. */
export type SupervisorMessage =
  | { readonly kind: 'progress'; readonly text: string }
  | { readonly kind: 'ready'; readonly output: string }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

/** What to start. */
export interface DetachedStart {
  /** The arguments of this program for the child, which names it supervised. */
  readonly args: readonly string[];
  /** Absolute path of the log. */
  readonly logPath: string;
  readonly onProgress: (text: string) => void;
}

/** Where a detached sandbox of a folder logs: outside the folder, whose files are removed when the sandbox ends. */
export function supervisorLogPath(cacheFolder: string, directory: string): string {
  const key = createHash('sha256').update(directory).digest('hex').slice(0, 8);
  return join(cacheFolder, 'logs', `sandbox-${key}.log`);
}

/**
 * Starts the child and resolves, once its sandbox is ready, with the text to print. Aborting the signal ends the child.
 * Throws AppError with the child's own code when it fails.
 */
export async function startDetached(
  { args, logPath, onProgress }: DetachedStart, signal: AbortSignal,
): Promise<string> {
  await mkdir(dirname(logPath), { recursive: true });
  const log = await open(logPath, 'w', 0o600);
  const program = process.argv[1] ?? '';
  const child =
    spawn(process.execPath, [program, ...args], { detached: true, stdio: ['ignore', log.fd, log.fd, 'ipc'] });
  await log.close();
  const end = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', end, { once: true });
  try {
    return await new Promise<string>((resolve, reject) => {
      let failure = new AppError('StartFailed', `The detached sandbox ended before it was ready; see ${logPath}.`);
      child.once('error', reject);
      child.once('disconnect', () => reject(signal.aborted ? signal.reason : failure)); // comes after every message
      child.on('message', (message: SupervisorMessage) => {
        if (message.kind === 'progress') onProgress(message.text);
        else if (message.kind === 'ready') resolve(message.output);
        else failure = new AppError(message.code, message.message);
      });
    });
  } finally {
    signal.removeEventListener('abort', end);
    if (child.connected) child.disconnect();
    child.unref();
  }
}

/** The child's side of the channel. */
export interface SupervisorChannel {
  tell(message: SupervisorMessage): void;
  /** Tells the last message and cuts the channel, which would keep this process alive. */
  end(message: SupervisorMessage): void;
  /** Aborts when the parent goes away; of no meaning once the sandbox is ready. */
  readonly parentGone: AbortSignal;
}

/** The channel of a supervised process to the one that started it. */
export function supervisorChannel(): SupervisorChannel {
  const gone = new AbortController();
  process.once('disconnect', () => gone.abort('the starting process went away'));
  return {
    tell: (message) => {
      if (process.connected) process.send?.(message);
    },
    end: (message) => {
      if (!process.connected) return;
      process.send?.(message, undefined, undefined, () => {
        if (process.connected) process.disconnect();
      });
    },
    parentGone: gone.signal,
  };
}
