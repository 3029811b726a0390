// The scheduler as one part of a process.
import { startScheduling, type SchedulingOptions } from './scheduling-controller.ts';

/** Starts the component; proxies, targets and inputs are run by the caller, who may share them. */
export function startScheduler(options: SchedulingOptions, signal: AbortSignal): void {
  startScheduling({ ...options, logger: options.logger.child({ component: 'scheduler' }) }, signal);
}
