// helm and kubectl for tests of the chart, the Kustomize files and the documentation: one program, from the Go module
// `packaging`. Not needed in production.
import type { Environment } from '../../process/config.ts';
import type { OnProgress } from '../../process/programs/go-build.ts';
import { ensureGoProgram } from '../../process/programs/go-program.ts';
import { forQuickBuilds } from '../plan/binary-plan.ts';

/** How to start a tool: the executable and its first argument. */
export type ToolCommand = readonly [program: string, tool: string];

/** The tools. */
export interface PackagingTools {
  readonly helm: ToolCommand;
  readonly kubectl: ToolCommand;
}

/**
 * The tools, after building them when they are not there.
 * @throws AppError `ToolMissing` when there is no fit Go, `StartFailed` when building fails.
 */
export async function ensurePackagingTools(
  environment: Environment, onProgress: OnProgress, signal: AbortSignal,
): Promise<PackagingTools> {
  const what = {
    module: 'sandbox/packaging', name: 'packaging', what: 'helm and kubectl for tests', takes: 'about a minute',
    remedy: 'Only tests need them.',
  } as const;
  const program = await ensureGoProgram(what, forQuickBuilds(environment), onProgress, signal);
  return { helm: [program, 'helm'], kubectl: [program, 'kubectl'] };
}
