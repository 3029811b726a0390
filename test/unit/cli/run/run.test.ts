import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checksAtStart } from '../../../../cli/run/run.ts';
import type { Component } from '../../../../cli/run/run-options.ts';

describe('what a process is not ready without, from its start', () => {
  const rows: readonly (readonly [components: readonly Component[], waitsFor: readonly string[], source?: boolean])[] =
    [
    [['webhook'], []],
    [['scheduler'], ['targets', 'proxies']],
    [['delegate-controller'], ['targets', 'proxies']],
    [['virtual-node'], ['targets', 'proxies']],
    [['delegate-controller', 'peering'], [], false],
    [['discovery'], []],
    [['scheduler', 'discovery'], ['targets', 'proxies']],
    [['webhook', 'scheduler', 'delegate-controller', 'virtual-node'], ['targets', 'proxies']],
  ];
  for (const [components, waitsFor, source = true] of rows) {
    it(`${components.join(', ')}${source ? '' : ' of a cluster that is no source'}: ${waitsFor.join(', ')}`, () => {
      const checks = checksAtStart({ components, source });
      assert.deepEqual(Object.keys(checks), waitsFor);
      for (const holds of Object.values(checks)) assert.equal(holds(), false);
    });
  }
});
