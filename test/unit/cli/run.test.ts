import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checksAtStart } from '../../../cli/run.ts';
import type { Component } from '../../../cli/run-options.ts';

describe('what a process is not ready without, from its start', () => {
  const rows: readonly (readonly [components: readonly Component[], waitsFor: readonly string[]])[] = [
    [['webhook'], ['signing-keys']],
    [['scheduler'], ['signing-keys', 'targets', 'proxies']],
    [['delegate-controller'], ['targets', 'proxies']],
    [['virtual-node'], ['targets', 'proxies']],
    [['webhook', 'scheduler', 'delegate-controller', 'virtual-node'], ['signing-keys', 'targets', 'proxies']],
  ];
  for (const [components, waitsFor] of rows) {
    it(`${components.join(', ')}: ${waitsFor.join(', ')}`, () => {
      const checks = checksAtStart(components, { hasSynced: false });
      assert.deepEqual(Object.keys(checks), waitsFor);
      for (const holds of Object.values(checks)) assert.equal(holds(), false);
    });
  }

  it('the keys are asked for each time', () => {
    const keys = { hasSynced: false };
    const checks = checksAtStart(['webhook'], keys);
    keys.hasSynced = true;
    assert.deepEqual(Object.values(checks).map((holds) => holds()), [true]);
  });
});
