// The discovery component of a process: makes targets of the clusters that registries of other tools list.
import { startTargetDiscovery, type DiscoveryOptions } from './target-discovery-controller.ts';

/** Starts it; it runs until `signal` is aborted. */
export function startDiscovery(options: DiscoveryOptions, signal: AbortSignal): void {
  startTargetDiscovery({ ...options, logger: options.logger.child({ component: 'discovery' }) }, signal);
}
