// Checks of `isthmus gateway verify` beyond connections: Services of all clusters, and gateway failover. Pure.
import type { ClustersetGateway } from '../../api/kinds/gateway.ts';
import type { ServiceExport, ServiceImport } from '../../api/kinds/service-discovery.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { objectKey } from '../../model/pod/pod.ts';
import type { Check } from './gateway-checks.ts';

/** Parts of the verification, by Submariner's names. */
export const VERIFICATIONS = ['connectivity', 'service-discovery', 'gateway-failover'] as const;
/** One of {@link VERIFICATIONS}. */
export type Verification = (typeof VERIFICATIONS)[number];

/** What was read of Services. */
export interface ServiceFacts {
  readonly exports: readonly ServiceExport[];
  readonly imports: readonly ServiceImport[];
  /** The DNS server's answer for each import, by `namespace/name`: addresses, or why there are none. */
  readonly answers: ReadonlyMap<string, readonly string[] | string>;
}

const STALE_MS = 60_000;

/** Each export is published, each import has an address and a name that resolves. */
export function checkServices({ exports, imports, answers }: ServiceFacts): readonly Check[] {
  if (exports.length + imports.length === 0) return [{
    what: 'a Service is exported', holds: false,
    detail: 'none is, here or elsewhere: run "isthmus service export NAME -n NAMESPACE"',
  }];
  return [...exports.map(checkExport), ...imports.map(
    (imported) => checkImport(imported, answers.get(objectKey(imported.metadata))),
  )];
}

function checkExport({ metadata, status }: ServiceExport): Check {
  const what = `the others know of ${objectKey(metadata)}`;
  const ready = findCondition(status?.conditions, 'Ready');
  if (ready === undefined) {
    return { what, holds: false, detail: 'no component has processed it: run "isthmus service run" in this cluster' };
  }
  const conflict = findCondition(status?.conditions, 'Conflict');
  const contradicted = conflict?.status === 'True' ? `; ${conflict.reason}: ${conflict.message}` : '';
  return { what, holds: ready.status === 'True', detail: `${ready.message}${contradicted}` };
}

function checkImport({ metadata, spec, status }: ServiceImport, answer: readonly string[] | string | undefined): Check {
  const what = `${objectKey(metadata)} of ${exportersOf(status)} resolves`;
  const ready = findCondition(status?.conditions, 'Ready');
  if (ready?.status === 'False') return { what, holds: false, detail: ready.message ?? '' };
  if (typeof answer !== 'object') return { what, holds: false, detail: answer ?? 'it was not requested' };
  if (answer.length === 0) return {
    what, holds: false, detail: 'it has no healthy endpoint: see "isthmus gateway diagnose" and the pods behind it',
  };
  return {
    what, holds: true, detail: `${answer.slice(0, 3).join(', ')}${spec?.type === 'Headless' ? ' (headless)' : ''}`,
  };
}

function exportersOf(status: ServiceImport['status']): string {
  return (status?.clusters ?? []).map(({ cluster }) => cluster).join(', ') || 'nobody';
}

/** Each backend has one active gateway and at least one standby. Nothing is killed. */
export function checkFailover(gateways: readonly ClustersetGateway[], nowMs: number): readonly Check[] {
  const alive = gateways.flatMap(({ metadata: { name = '' }, status }) => {
    const isAlive = status !== undefined && nowMs - Date.parse(status.heartbeat) < STALE_MS;
    return isAlive ? [{ name, status }] : [];
  });
  const backends = [...new Set(alive.map(({ status }) => status.backend ?? 'mtls'))].toSorted();
  if (backends.length === 0) {
    return [{ what: 'a gateway runs', holds: false, detail: 'none does: start one with "isthmus gateway run"' }];
  }
  return backends.map((backend) => {
    const standbys = alive
      .filter(({ status }) => (status.backend ?? 'mtls') === backend && status.haStatus === 'passive')
      .map(({ name }) => name);
    const remedy = backend === 'mtls'
      ? 'run a second "isthmus gateway run"'
      : 'run "isthmus gateway node" on a second node, and label it isthmus.dev/gateway=true';
    return {
      what: `a standby takes over from the gateway (${backend})`, holds: standbys.length > 0,
      detail: standbys.length > 0 ? standbys.join(', ') : `there is none: ${remedy}`,
    };
  });
}
