import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leasedComponents, leaseTimings } from '../../../../cli/run/leadership.ts';
import type { Component } from '../../../../cli/run/run-options.ts';
import { LEASE_TIMINGS, QUICK_LEASE_TIMINGS } from '../../../../kubernetes/lease/lease-record.ts';

describe('the components that hold a Lease', () => {
  const rows: readonly (readonly [acting: readonly Component[], leased: readonly Component[]])[] = [
    [['scheduler', 'delegate-controller', 'virtual-node', 'peering'], [
      'scheduler', 'delegate-controller', 'virtual-node',
    ]],
    [['delegate-controller', 'peering'], ['delegate-controller']],
    [['virtual-node', 'kubelet-api', 'peering'], ['virtual-node']],
    [['kubelet-api'], []],
    [['peering'], ['peering']],
    [['discovery'], ['discovery']],
    [['scheduler', 'peering', 'discovery'], ['scheduler']],
    [['scheduler'], ['scheduler']],
    [[], []],
  ];
  for (const [acting, leased] of rows) {
    it(`of ${acting.join(', ') || 'none'}: ${leased.join(', ') || 'none'}`, () => assert.deepEqual(
      leasedComponents(acting), leased,
    ));
  }
});

describe('how fast a standby takes over', () => {
  const rows: readonly (
    readonly [what: string, acting: readonly Component[], takesPods: boolean, timings: typeof LEASE_TIMINGS]
  )[] = [
    ['a source: soon', ['scheduler', 'delegate-controller', 'virtual-node', 'peering'], true, QUICK_LEASE_TIMINGS],
    ['a component of a source by itself: soon', ['scheduler'], true, QUICK_LEASE_TIMINGS],
    [
      'the delegate controller of a cluster that runs no pods of others: soon', ['delegate-controller'], false,
      QUICK_LEASE_TIMINGS,
    ],
    ['a target: with few renewals', ['delegate-controller', 'peering'], true, LEASE_TIMINGS],
  ];
  for (const [what, acting, takesPods, timings] of rows) {
    it(what, () => assert.equal(leaseTimings(acting, takesPods), timings));
  }
});
