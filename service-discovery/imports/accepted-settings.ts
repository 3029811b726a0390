// What an API server accepts of the ports and policies that another cluster has exported: one invalid field blocks the
// write of the import's Service, and with it the endpoints of all clusters.
import type { ServicePort } from '../../api/objects/core.ts';
import type { ServiceSettings } from '../../api/kinds/service-discovery.ts';
import { isDnsLabel, isQualifiedName } from '../../model/naming/label-syntax.ts';

const PROTOCOLS: readonly string[] = ['TCP', 'UDP', 'SCTP'];
const MAX_PORT = 65_535;
const MAX_AFFINITY_SECONDS = 86_400;

/** The port, without an invalid application protocol; none where the API server refuses it. */
export function acceptedPort(port: ServicePort): readonly ServicePort[] {
  const { name = '', protocol = 'TCP', port: number, appProtocol } = port;
  const isNumber = Number.isInteger(number) && number > 0 && number <= MAX_PORT;
  if (!isNumber || !PROTOCOLS.includes(protocol) || (name !== '' && !isDnsLabel(name))) return [];
  if (appProtocol === undefined || isQualifiedName(appProtocol)) return [port];
  const { appProtocol: _invalid, ...rest } = port;
  return [rest];
}

/** The policies with values that all API servers know; the others have their defaults. */
export function acceptedPolicies(
  { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, trafficDistribution }: ServiceSettings,
): Omit<ServiceSettings, 'type' | 'ports'> {
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 0;
  const isConfigured = sessionAffinity === 'ClientIP' && seconds > 0 && seconds <= MAX_AFFINITY_SECONDS;
  return {
    ...isOneOf(sessionAffinity, 'None', 'ClientIP') && { sessionAffinity },
    ...isConfigured && sessionAffinityConfig !== undefined && { sessionAffinityConfig },
    ...isOneOf(internalTrafficPolicy, 'Cluster', 'Local') && { internalTrafficPolicy },
    ...trafficDistribution !== undefined && { trafficDistribution },
  };
}

function isOneOf(value: string | undefined, ...known: readonly string[]): value is string {
  return value !== undefined && known.includes(value);
}
