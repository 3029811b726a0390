// What the installation tells its scheduler about placement, as the ConfigMap by which `isthmus explain` and `isthmus plan` know it too.
import type { KubernetesObject, StringMap } from '../../api/objects/core.ts';
import { SCHEDULER_SETTINGS_CONFIG_MAP } from '../../api/objects/keys.ts';
import type { PlacementWorld } from './placement-constraints.ts';
import { parseWeights } from '../snapshot/score-weights.ts';

/** Weights of scores and where the source is. */
export type SchedulerSettings = Pick<PlacementWorld, 'weights' | 'location'>;

/** A ConfigMap, as far as it matters here. */
export interface SettingsConfigMap extends KubernetesObject {
  readonly data?: StringMap;
}

/** The ConfigMap to keep. */
export function toSettingsConfigMap({ weights = {}, location }: SchedulerSettings, namespace: string): SettingsConfigMap {
  const text = Object.entries(weights).map(([name, weight]) => `${name}=${weight}`).join(',');
  const { region, zone } = location ?? {};
  const data = { scoreWeights: text, ...(region !== undefined && { region }), ...(zone !== undefined && { zone }) };
  return { metadata: { namespace, name: SCHEDULER_SETTINGS_CONFIG_MAP }, data };
}

/** Reads it back; what cannot be read is as if it had not been set. */
export function readSettingsConfigMap({ data = {} }: Pick<SettingsConfigMap, 'data'>): SchedulerSettings {
  const parsed = parseWeights(data['scoreWeights'] ?? '');
  const { region, zone } = data;
  return {
    ...(parsed.kind === 'weights' && { weights: parsed.weights }),
    location: { ...(region !== undefined && { region }), ...(zone !== undefined && { zone }) },
  };
}
