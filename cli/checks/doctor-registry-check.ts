// Whether the registries that targets come from are followed, and which entries need an administrator. Pure.
import {
  DUPLICATES, REGISTRY_READ, REMOVALS_HELD, type TargetDiscovery,
} from '../../api/registry/target-discovery.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { DoctorFacts, Finding } from './doctor-facts.ts';

const CHECK = 'Registries';
/** Maximum number of entries of one registry in a message. */
const MOST = 5;

/** Each registry is followed, nothing is held, and every entry became a target or says why not. */
export function checkRegistries({ discoveries }: DoctorFacts): readonly Finding[] {
  if (discoveries.length === 0) {
    return [{ check: CHECK, severity: 'ok', subject: 'this cluster', message: 'no registry is followed' }];
  }
  return discoveries.flatMap((discovery) => {
    const found = findingsOf(discovery);
    const subject = subjectOf(discovery);
    const { targets = 0, found: entries = 0 } = discovery.status ?? {};
    const message = `${targets} of ${entries} entries are targets`;
    return found.length > 0 ? found : [{ check: CHECK, severity: 'ok', subject, message } as const];
  });
}

function findingsOf(discovery: TargetDiscovery): readonly Finding[] {
  const { conditions, clusters = [] } = discovery.status ?? {};
  const subject = subjectOf(discovery);
  const of = (severity: Finding['severity'], message: string, remedy: string): Finding =>
    ({ check: CHECK, severity, subject, message, remedy });
  const read = findCondition(conditions, REGISTRY_READ);
  if (read === undefined) return [of(
    'error', 'nothing follows it',
    'Run the component discovery: "isthmus run --components discovery", or discovery.enabled=true of the chart.',
  )];
  const [held, twins] = [REMOVALS_HELD, DUPLICATES].map((type) => findCondition(conditions, type));
  const refused = clusters.filter(({ state }) => state === 'Refused' || state === 'Unreachable');
  return [
    ...(read.status === 'True' ? [] : [of('error', read.message ?? '', 'See docs/discovery.md.')]),
    ...(held?.status === 'True'
      ? [of('warning', held.message ?? '', 'Restore the registry, or confirm them in spec.removal.confirmed.')]
      : []),
    ...(twins?.status === 'True'
      ? [of('warning', twins.message ?? '', 'Nothing, or take one of the two out of its registry.')]
      : []),
    ...refused.slice(0, MOST).map(({ entry, message = '' }) =>
      of('warning', `${entry}: ${message}`, 'Change the entry in its registry, or leave it out with spec.selector.')),
  ];
}

function subjectOf({ metadata }: TargetDiscovery): string {
  return `TargetDiscovery ${metadata.name}`;
}
