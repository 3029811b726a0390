// metrics-server for `npm run soak -- streams`, from the Go module `metrics`. It is too dear to build for every run of
// the tests; nothing in production needs it.
import type { Environment } from '../../../process/config.ts';
import type { OnProgress } from '../../../process/programs/go-build.ts';
import { ensureGoProgram } from '../../../process/programs/go-program.ts';
import { forQuickBuilds } from '../../../sandbox/plan/binary-plan.ts';

/**
 * Its path, after building it when it is not there.
 * @throws AppError `ToolMissing` when there is no fit Go, `StartFailed` when building fails.
 */
export function ensureMetricsServer(
  environment: Environment, onProgress: OnProgress, signal: AbortSignal,
): Promise<string> {
  const what = {
    module: 'sandbox/metrics', name: 'metrics', what: 'metrics-server for a test', takes: 'about two minutes',
    remedy: 'Only that test needs it.',
  } as const;
  return ensureGoProgram(what, forQuickBuilds(environment), onProgress, signal);
}
