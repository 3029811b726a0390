import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Condition, PodStatus } from '../../../../api/objects/core.ts';
import {
  digestOf, copiedStatus, sourceConditions, statusOfContainers, toStatusPatch, withSourceConditions,
} from '../../../../model/pod/pod-status.ts';
import { afterMergePatch, frozen } from '../../../support/objects/builders.ts';

describe('copiedStatus', () => {
  it('keeps the fields that a user looks at', () => {
    const status: PodStatus = frozen({
      phase: 'Failed', conditions: [{ type: 'Ready', status: 'False' }],
      message: 'm', reason: 'Evicted', observedGeneration: 2, hostIP: '192.168.0.1', hostIPs: [{ ip: '192.168.0.1' }],
      resources: { requests: { cpu: '1' } }, allocatedResources: { cpu: '1' },
      podIP: '10.1.0.1', podIPs: [{ ip: '10.1.0.1' }],
      startTime: '2026-01-01T00:00:00Z', containerStatuses: [{ name: 'app' }],
      initContainerStatuses: [{ name: 'init' }], ephemeralContainerStatuses: [{ name: 'debug' }],
    });
    assert.deepEqual(copiedStatus(status), status);
  });

  it("drops what belongs to the target itself, and what it does not know", () => {
    const status = {
      phase: 'Running', qosClass: 'Guaranteed', nominatedNodeName: 'n', extra: 1,
    } as PodStatus;
    assert.deepEqual(copiedStatus(status), { phase: 'Running' });
  });

  it('shares what needs no cutting, and no more', () => {
    const containerStatuses = [{ name: 'a', state: {} }, { name: 'b'.repeat(5_000) }];
    const status = { conditions: [{ type: 'Ready', status: 'True' }], containerStatuses } as unknown as PodStatus;
    const lastWrite = copiedStatus(frozen(status));
    assert.equal(lastWrite.conditions, status.conditions);
    assert.equal(lastWrite.containerStatuses?.[0], status.containerStatuses?.[0]);
    assert.deepEqual(lastWrite.containerStatuses?.map(({ name }) => name.length), [1, 4_096]);
  });

  it('of its own output is the same again', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('phase', 'reason', 'podIP', 'hostIP', 'x', '__proto__'), fc.string()),
        (status) => {
        const once = copiedStatus(status);
        assert.deepEqual(copiedStatus(once), once);
      }),
    );
  });
});

describe('C2-13: a status that a target has blown up', () => {
  const size = (status: unknown) => JSON.stringify(copiedStatus(status as PodStatus)).length;
  const deep = (depth: number): unknown => (depth === 0 ? 'x' : { deeper: deep(depth - 1) });
  const cases: Record<string, readonly [status: unknown, most: number]> = {
    'a text that is too long is cut': [{ message: 'x'.repeat(1e6) }, 4_200],
    'so is a list': [{ podIPs: Array.from({ length: 1e5 }, () => ({ ip: '10.0.0.1' })) }, 256 * 20],
    'so are fields without number': [
      { containerStatuses: [Object.fromEntries(Array.from({ length: 1e4 }, (_, index) => [`f${index}`, 1]))] },
      256 * 12,
    ],
    'so is nesting without end': [{ containerStatuses: [deep(1_000)] }, 400],
    'so is the whole': [
      {
        containerStatuses: Array.from(
          { length: 256 }, () => ({ name: 'a', state: Array.from({ length: 256 }, () => 'x'.repeat(4_000)) }),
        ),
      },
      1_000_000,
    ],
  };
  for (const [sentence, [status, most]] of Object.entries(cases)) {
    it(sentence, () => assert.ok(size(status) <= most, String(size(status))));
  }
});

describe('statusOfContainers', () => {
  it('leaves out containers of each kind that the pod does not have', () => {
    const all = [{ name: 'app' }, { name: 'mesh' }];
    const mine = [{ name: 'app' }];
    const status: PodStatus =
      { phase: 'Running', containerStatuses: all, initContainerStatuses: all, ephemeralContainerStatuses: all };
    assert.deepEqual(statusOfContainers(status, ['app']), {
      phase: 'Running', containerStatuses: mine, initContainerStatuses: mine, ephemeralContainerStatuses: mine,
    });
  });
});

describe('conditions of the source', () => {
  const gate: Condition = { type: 'a.io/gate', status: 'True' };
  const ready: Condition = { type: 'Ready', status: 'True' };

  it('are all but those of kubelets and schedulers', () => {
    assert.deepEqual(
      sourceConditions(
        [ready, gate, { type: 'PodScheduled', status: 'True' }, { type: 'DisruptionTarget', status: 'True' }],
      ).map(({ type }) => type),
      ['a.io/gate', 'DisruptionTarget'],
    );
    assert.deepEqual(sourceConditions(undefined), []);
  });

  it('stay, unless the target has its own word on them', () => {
    assert.deepEqual(withSourceConditions({ conditions: [ready] }, [gate]).conditions, [ready, gate]);
    assert.deepEqual(withSourceConditions({ conditions: [{ ...gate, status: 'False' }] }, [gate]).conditions, [
      { ...gate, status: 'False' },
    ]);
    assert.deepEqual(withSourceConditions({}, []), {});
  });
});

describe('digestOf', () => {
  const condition: Condition = { type: 'Ready', status: 'True', lastProbeTime: null, reason: 'R' };

  it('is the same for statuses that are the same', () => {
    assert.equal(digestOf({ phase: 'Running', conditions: [condition] }), digestOf(
      { phase: 'Running', conditions: [{ ...condition }] },
    ));
  });

  // A chaperon is a custom resource, whose fields its API server sorts; a pod's come in the order of the Go struct.
  it('does not depend on the order of fields at any depth', () => {
    const sorted: Condition = { lastProbeTime: null, reason: 'R', status: 'True', type: 'Ready' };
    assert.equal(
      digestOf({ conditions: [sorted], phase: 'Running' }), digestOf({ phase: 'Running', conditions: [condition] }),
    );
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
    assert.deepEqual(
      afterMergePatch(before, toStatusPatch(now)), { phase: 'Running', conditions: [], qosClass: 'Burstable' },
    );
  });
});
