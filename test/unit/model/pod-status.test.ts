import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Condition, PodStatus } from '../../../api/core.ts';
import { digestOf, mirroredStatus, toStatusPatch } from '../../../model/pod-status.ts';
import { afterMergePatch, frozen } from '../../support/builders.ts';

describe('mirroredStatus', () => {
  it('keeps the fields that a user looks at', () => {
    const status: PodStatus = frozen({
      phase: 'Failed', conditions: [{ type: 'Ready', status: 'False' }], message: 'm', reason: 'Evicted', podIP: '10.1.0.1', podIPs: [{ ip: '10.1.0.1' }],
      startTime: '2026-01-01T00:00:00Z', containerStatuses: [{ name: 'app' }], initContainerStatuses: [{ name: 'init' }], ephemeralContainerStatuses: [{ name: 'debug' }],
    });
    assert.deepEqual(mirroredStatus(status), status);
  });

  it("drops what belongs to the target itself, and what it does not know", () => {
    const status = { phase: 'Running', hostIP: '192.168.0.1', hostIPs: [{ ip: '192.168.0.1' }], qosClass: 'Guaranteed', nominatedNodeName: 'n', extra: 1 } as PodStatus;
    assert.deepEqual(mirroredStatus(status), { phase: 'Running' });
  });

  it('of its own output is the same again', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('phase', 'reason', 'podIP', 'hostIP', 'x', '__proto__'), fc.string()), (status) => {
        const once = mirroredStatus(status);
        assert.deepEqual(mirroredStatus(once), once);
      }),
    );
  });
});

describe('digestOf', () => {
  const condition: Condition = { type: 'Ready', status: 'True', lastProbeTime: null, reason: 'R' };

  it('is the same for statuses that are the same', () => {
    assert.equal(digestOf({ phase: 'Running', conditions: [condition] }), digestOf({ phase: 'Running', conditions: [{ ...condition }] }));
  });

  // A chaperon is a custom resource, whose fields its API server sorts; a pod's come in the order of the Go struct.
  it('does not depend on the order of fields at any depth', () => {
    const sorted: Condition = { lastProbeTime: null, reason: 'R', status: 'True', type: 'Ready' };
    assert.equal(digestOf({ conditions: [sorted], phase: 'Running' }), digestOf({ phase: 'Running', conditions: [condition] }));
  });

  // A merge patch takes nulls out, and an API server prints them for times that a pod never had.
  it('takes a field that is null for one that is absent', () => {
    const { lastProbeTime: _null, ...without } = condition;
    assert.equal(digestOf({ conditions: [without] }), digestOf({ conditions: [condition] }));
  });

  it('depends on the order of lists', () => {
    const other: Condition = { type: 'PodScheduled', status: 'True' };
    assert.notEqual(digestOf({ conditions: [condition, other] }), digestOf({ conditions: [other, condition] }));
  });

  it('tells any two statuses apart that differ in a text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        assert.equal(digestOf({ message: one }) === digestOf({ message: other }), one === other);
      }),
    );
  });

  it('tells a field from another with the same text', () => {
    assert.notEqual(digestOf({ message: 'x' }), digestOf({ reason: 'x' }));
  });
});

describe('toStatusPatch', () => {
  it('leaves nothing of what was shown before, and touches nothing that is not mirrored', () => {
    const before: PodStatus = { phase: 'Pending', reason: 'Waiting', podIP: '10.0.0.1', qosClass: 'Burstable' };
    const now: PodStatus = frozen({ phase: 'Running', conditions: [] });
    assert.deepEqual(afterMergePatch(before, toStatusPatch(now)), { phase: 'Running', conditions: [], qosClass: 'Burstable' });
  });
});
