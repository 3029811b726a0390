// The machine and commit of a measurement: figures mean nothing without the one and cannot be repeated without the
// other.
import { execFile } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The machine that benchmarks ran on. */
export interface Machine {
  /** Model of the processor. */
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  /** Over 1, 5 and 15 minutes, when the benchmarks began: what else the machine was doing. */
  readonly loadAverage: readonly number[];
  /** Operating system and architecture as Node.js names them. */
  readonly platform: string;
  /** Version of Node.js. */
  readonly node: string;
}

/** Describes this machine as it is now. */
export function describeMachine(): Machine {
  const processors = cpus();
  return {
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    loadAverage: loadavg(),
    platform: `${process.platform}/${process.arch}`,
    node: process.versions.node,
  };
}

/** Runs git with these arguments in the checkout and gives what it printed. */
export type Git = (...args: readonly string[]) => Promise<string>;

/** The folder of the checkout: compiled files are one folder deeper than their sources. */
export const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));

const gitOfCheckout: Git = async (...args) => (await promisify(execFile)('git', [...args], { cwd: CHECKOUT })).stdout;

/** The commit that is measured, with `-dirty` when files of code differ from it; `unknown` outside git. */
export async function describeCommit(git: Git = gitOfCheckout): Promise<string> {
  try {
    const commit = (await git('rev-parse', 'HEAD')).trim();
    const changes = (await git('status', '--porcelain', '--', ':!docs')).trim();
    return changes === '' ? commit : `${commit}-dirty`;
  } catch {
    return 'unknown';
  }
}
