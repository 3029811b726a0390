// Builds the WireGuard program (pod-plane/wireguard/program), for `isthmus gateway node` outside an image
// and for tests.
import type { Environment } from '../../process/config.ts';
import type { OnProgress } from '../../process/programs/go-build.ts';
import { ensureGoProgram } from '../../process/programs/go-program.ts';

/**
 * Its path; builds it when it is missing.
 * @throws AppError `ToolMissing` when there is no suitable Go, `StartFailed` when the build fails.
 */
export function ensureWireguard(
  environment: Environment, onProgress: OnProgress, signal: AbortSignal,
): Promise<string> {
  const what = {
    module: 'pod-plane/wireguard/program', name: 'wireguard', what: 'WireGuard for the pod plane',
    takes: 'a few seconds', remedy: 'Or name a program that is there with --wireguard.',
  } as const;
  return ensureGoProgram(what, environment, onProgress, signal);
}
