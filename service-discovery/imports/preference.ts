// Which endpoints of an import are preferred in this cluster (Cilium cluster mesh, service affinity).
import type { Service } from '../../api/objects/core.ts';
import { CILIUM_AFFINITY_ANNOTATION } from '../../api/objects/keys.ts';

/** Preferred endpoints: local ones, remote ones, or no preference. */
export type Preference = 'local' | 'remote' | 'none';

/** The preference in a Service's annotation (Cilium, `service.cilium.io/affinity`); our default is `local`. */
export function preferenceOf(service: Service | undefined): Preference {
  const affinity = service?.metadata.annotations?.[CILIUM_AFFINITY_ANNOTATION];
  return affinity === 'remote' || affinity === 'none' ? affinity : 'local';
}
