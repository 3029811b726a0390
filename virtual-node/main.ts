// Virtual nodes as one part of a process.
import { startVirtualNodes, type VirtualNodeOptions } from './virtual-node-controller.ts';

/** Starts the component; targets are run by the caller, who may share them. */
export function startVirtualNode(options: VirtualNodeOptions, signal: AbortSignal): void {
  startVirtualNodes(options, signal);
}
