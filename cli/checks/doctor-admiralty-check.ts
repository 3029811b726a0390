// Whether Admiralty runs in this cluster, and whether it left finalizers in the source that no controller removes.
// Pure.
import { isLive, signsText } from '../../model/naming/live-admiralty.ts';
import type { DoctorFacts, Finding } from './doctor-facts.ts';

const CHECK = 'Admiralty';
const REMEDY =
  'Run "isthmus migrate admiralty": it migrates what Admiralty has here; --dry-run prints what it would do.';

/**
 * In a source the two would conflict over its pods; in a target each PodChaperon gets one delegate, from either.
 */
export function checkAdmiralty({ admiralty, targets }: DoctorFacts): readonly Finding[] {
  if (!isLive(admiralty)) {
    return [{ check: CHECK, severity: 'ok', subject: 'this cluster', message: 'Admiralty is not running here' }];
  }
  const message = `Admiralty is running here: ${signsText(admiralty)}`;
  if (targets.length > 0) return [{
    check: CHECK, severity: 'error', subject: 'this cluster', message: `${message}; Isthmus stands by in this source`,
    remedy: REMEDY,
  }];
  return [{ check: CHECK, severity: 'warning', subject: 'this cluster', message, remedy: REMEDY }];
}
