// The programs of real nodes: found on this machine's PATH, or built once into the user's cache folder.
import type { Environment } from '../../process/config.ts';
import type { OnProgress } from '../../process/programs/go-build.ts';
import { ensureGoProgram } from '../../process/programs/go-program.ts';
import { forQuickBuilds, linkerFlags } from '../plan/binary-plan.ts';

/** Absolute paths of what is built. */
export interface NodePrograms {
  /** kubelet and kube-proxy, which the first argument chooses between. */
  readonly kubernetes: string;
  /** Its shim lies beside it. */
  readonly containerd: string;
  readonly coredns: string;
}

const CONTAINERD = 'github.com/containerd/containerd/v2/cmd';
const REMEDY = 'Or use simulated nodes: leave out --nodes real.';

/**
 * The programs, after building what is not there.
 * @throws AppError `ToolMissing` when there is no fit Go, `StartFailed` when building fails.
 */
export async function ensureNodePrograms(
  given: Environment, onProgress: OnProgress, signal: AbortSignal,
): Promise<NodePrograms> {
  const environment = forQuickBuilds(given);
  const kubernetes = await ensureGoProgram({
    module: 'sandbox/node-programs/kubernetes', name: 'node-kubernetes', what: 'kubelet and kube-proxy',
    takes: 'about a minute', remedy: REMEDY, flags: linkerFlags,
  }, environment, onProgress, signal);
  const runtime = {
    module: 'sandbox/node-programs/containerd', tags: ['no_btrfs', 'no_devmapper', 'no_zfs'], remedy: REMEDY,
  };
  const shim = 'containerd-shim-runc-v2';
  await ensureGoProgram({
    ...runtime, name: shim, package: `${CONTAINERD}/${shim}`, what: "containerd's shim", takes: 'about a minute',
  }, environment, onProgress, signal);
  const containerd = await ensureGoProgram({
    ...runtime, name: 'containerd', package: `${CONTAINERD}/containerd`, what: 'containerd', takes: 'about 3 minutes',
  }, environment, onProgress, signal);
  const coredns = await ensureGoProgram({
    module: 'sandbox/node-programs/coredns', name: 'coredns', what: 'CoreDNS', takes: 'about a minute', remedy: REMEDY,
    tags: ['netgo', 'osusergo'], // it runs in an image without a C library
  }, environment, onProgress, signal);
  return { kubernetes, containerd, coredns };
}
