// The installation's placement settings, stored in a ConfigMap that `isthmus explain` and `isthmus plan` read.
import type { KubernetesObject, StringMap } from '../../api/objects/core.ts';
import { SCHEDULER_SETTINGS_CONFIG_MAP } from '../../api/objects/own-names.ts';
import type { PlacementContext } from './placement-constraints.ts';
import { parseWeights } from '../../model/proxy/score-weights.ts';

/** Score weights and location of the source. */
export type SchedulerSettings = Pick<PlacementContext, 'weights' | 'location'>;

/** The fields of the ConfigMap that are used. */
export interface SettingsConfigMap extends KubernetesObject {
  readonly data?: StringMap;
}

/** The ConfigMap with the settings. */
export function toSettingsConfigMap(
  { weights = {}, location }: SchedulerSettings, namespace: string,
): SettingsConfigMap {
  const text = Object.entries(weights).map(([name, weight]) => `${name}=${weight}`).join(',');
  const { region, zone } = location ?? {};
  const data = { scoreWeights: text, ...(region !== undefined && { region }), ...(zone !== undefined && { zone }) };
  return { metadata: { namespace, name: SCHEDULER_SETTINGS_CONFIG_MAP }, data };
}

/** Parses the ConfigMap; an invalid value counts as unset. */
export function readSettingsConfigMap({ data = {} }: Pick<SettingsConfigMap, 'data'>): SchedulerSettings {
  const parsed = parseWeights(data['scoreWeights'] ?? '');
  const { region, zone } = data;
  return {
    ...(parsed.kind === 'weights' && { weights: parsed.weights }),
    location: { ...(region !== undefined && { region }), ...(zone !== undefined && { zone }) },
  };
}
