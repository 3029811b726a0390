// Virtual nodes as one part of a process.
import { startTargetRemoval, type RemovalOptions } from './target-removal-controller.ts';
import { startVirtualNodes, type VirtualNodeOptions } from './virtual-node-controller.ts';

/** Starts the component; targets are run by the caller, who may share them. */
export function startVirtualNode(options: VirtualNodeOptions & RemovalOptions, signal: AbortSignal): void {
  startVirtualNodes(options, signal);
  startTargetRemoval(options, signal);
}
