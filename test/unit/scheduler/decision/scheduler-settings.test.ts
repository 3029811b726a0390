import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  readSettingsConfigMap, toSettingsConfigMap, type SchedulerSettings,
} from '../../../../scheduler/decision/scheduler-settings.ts';

describe('settings of the scheduler', () => {
  const cases: Record<string, SchedulerSettings> = {
    'none': { weights: {}, location: {} },
    'weights': { weights: { cost: 2.5, leastAllocated: 0 }, location: {} },
    'a place': { weights: {}, location: { region: 'eu', zone: 'eu-1' } },
  };
  for (const [what, settings] of Object.entries(cases)) {
    it(`come back as they were: ${what}`, () => assert.deepEqual(
      readSettingsConfigMap(toSettingsConfigMap(settings, 'isthmus-system')), settings,
    ));
  }

  it('are kept in the namespace of the installation', () => {
    assert.deepEqual(toSettingsConfigMap({}, 'ns').metadata, { namespace: 'ns', name: 'isthmus-scheduler' });
  });

  it('that cannot be read are none', () => {
    assert.deepEqual(readSettingsConfigMap({ data: { scoreWeights: 'cost=lots' } }), { location: {} });
    assert.deepEqual(readSettingsConfigMap({}), { weights: {}, location: {} });
  });
});
