// Whose endpoints of an import come first in this cluster (Cilium's cluster mesh, service affinity).
import type { Service } from '../../api/objects/core.ts';
import { CILIUM_AFFINITY_ANNOTATION } from '../../api/objects/keys.ts';

/** Whose endpoints a Service's name is answered with: those here first, those of others first, or all alike. */
export type Preference = 'local' | 'remote' | 'none';

/** The preference that a Service of this cluster says (Cilium, `service.cilium.io/affinity`); ours, `local`, when it says nothing that is known. */
export function preferenceOf(service: Service | undefined): Preference {
  const said = service?.metadata.annotations?.[CILIUM_AFFINITY_ANNOTATION];
  return said === 'remote' || said === 'none' ? said : 'local';
}
