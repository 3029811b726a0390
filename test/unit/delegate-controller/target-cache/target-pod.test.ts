import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Pod, PodPhase, PodStatus } from '../../../../api/objects/core.ts';
import { RUN_ONCE_FINALIZER } from '../../../../api/objects/keys.ts';
import { TARGET_POD_FIELDS, toTargetPodRecord } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { FieldReader } from '../../../../kubernetes/json/json-fields.ts';
import type { SelectedFields } from '../../../../model/objects/fields.ts';
import { digestOf } from '../../../../model/pod/pod-status.ts';
import {
  aDelegate, aPod, frozen, inPhase, onNode, terminating, withMetadata, withoutOwner, withRequests, withSpec, withStatus,
  type Change,
} from '../../../support/objects/builders.ts';
import { unselectedReads } from '../../../support/rules/recorded-reads.ts';

describe('toTargetPodRecord', () => {
  it('remembers little of a pod of the target itself', () => {
    assert.deepEqual(
      toTargetPodRecord(frozen(aPod())), { key: 'team-a/web', uid: 'pod-uid', phase: 'Pending', terminating: false },
    );
  });

  it('remembers what a pod holds on its node', () => {
    const { occupies } = toTargetPodRecord(aPod(onNode('node-1'), inPhase('Running'), withRequests({ cpu: '1' })));
    assert.deepEqual(occupies, { nodeName: 'node-1', requests: new Map([['cpu', 1000], ['pods', 1]]) });
  });

  it('a pod that goes holds its room until it has ended', () => {
    assert.equal(
      toTargetPodRecord(aPod(onNode('node-1'), inPhase('Running'), terminating())).occupies?.nodeName, 'node-1',
    );
  });

  it('holds room exactly while it has a node and has not ended', () => {
    const phase = fc.constantFrom<PodPhase>('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown');
    fc.assert(
      fc.property(phase, fc.constantFrom('', 'node-1'), (phase, node) => {
        const holds = node !== '' && phase !== 'Succeeded' && phase !== 'Failed';
        assert.equal(toTargetPodRecord(aPod(onNode(node), inPhase(phase))).occupies !== undefined, holds);
      }),
    );
  });

  it('remembers of a delegate what its chaperon is to show', () => {
    const status = { phase: 'Running', hostIP: '192.168.0.1', podIP: '10.0.0.1' } as const;
    const record = toTargetPodRecord(aDelegate(withStatus({ ...status, qosClass: 'Burstable' })));
    assert.deepEqual(
      [record.chaperonUid, record.status, record.statusDigest], ['chaperon-uid', status, digestOf(status)],
    );
  });

  it('takes no pod for a delegate that only looks like one', () => assert.equal(
    toTargetPodRecord(aDelegate(withoutOwner())).chaperonUid, undefined,
  ));

  it('takes no pod for a delegate that a chaperon owns but does not control', () => {
    const ownerReferences = [{ apiVersion: 'x/v1', kind: 'PodChaperon', name: 'x', uid: 'u' }];
    assert.equal(toTargetPodRecord(aDelegate(withMetadata({ ownerReferences }))).chaperonUid, undefined);
  });
});

describe('a pod that is resized in place', () => {
  const INFEASIBLE = { type: 'PodResizePending', status: 'True', reason: 'Infeasible' } as const;
  const has = (cpu: string, allocated = cpu) =>
    ({ name: 'app', resources: { requests: { cpu } }, allocatedResources: { cpu: allocated } });
  /** What it holds on its node, in milli-CPU, when its spec asks for 2 CPU. */
  const held = (status: PodStatus, generation = 2, ...changes: Change<Pod>[]): number | undefined => {
    const pod = aPod(
      onNode('node-1'), withRequests({ cpu: '2' }), withMetadata({ generation }), withStatus(status), ...changes,
    );
    const read = new FieldReader(TARGET_POD_FIELDS as SelectedFields).read(Buffer.from(JSON.stringify(pod))) as Pod;
    return toTargetPodRecord(read).occupies?.requests.get('cpu');
  };
  const rows: Record<string, readonly [found: number | undefined, milliCpu: number]> = {
    'holds what it has until it has less': [held({ containerStatuses: [has('5')] }), 5_000],
    'holds what it was allocated until it has less': [held({ containerStatuses: [has('2', '5')] }), 5_000],
    'holds what it asks for until it has more': [held({ containerStatuses: [has('1')] }), 2_000],
    'holds what it has when its node can never give it more':
      [held({ containerStatuses: [has('1')], conditions: [INFEASIBLE] }), 1_000],
    'holds what it asks for while its node may give it later':
      [held({ containerStatuses: [has('1')], conditions: [{ ...INFEASIBLE, reason: 'Deferred' }] }), 2_000],
    'holds what it asks for where no status says otherwise': [held({ containerStatuses: [{ name: 'app' }] }), 2_000],
    'holds what it asks for when it never was resized': [held({ containerStatuses: [has('5')] }, 1), 2_000],
    'holds what a sidecar has': [
      held({ initContainerStatuses: [{ ...has('3'), name: 'side' }] }, 2, withSpec({ initContainers: [
        { name: 'side', restartPolicy: 'Always', resources: { requests: { cpu: '1' } } },
      ] })), 5_000,
    ],
    'holds what it has as a whole': [
      held(
        { resources: { requests: { cpu: '7' } }, allocatedResources: { cpu: '6' } }, 2,
        withSpec({ resources: { requests: { cpu: '4' } } }),
      ), 7_000,
    ],
  };
  for (const [sentence, [found, milliCpu]] of Object.entries(rows)) it(sentence, () => assert.equal(found, milliCpu));
});

describe('TARGET_POD_FIELDS', () => {
  const fields = TARGET_POD_FIELDS as SelectedFields;
  const reader = new FieldReader(fields);
  const resources = fc.record(
    {
      requests: fc.dictionary(fc.constantFrom('cpu', 'memory', 'x.io/gpu'), fc.constantFrom('1', '250m', '1Gi')),
      limits: fc.constant({ cpu: '2' }),
    },
    { requiredKeys: [] },
  );
  const containers = fc.array(
    fc.record(
      { name: fc.constantFrom('a', 'b'), image: fc.string(), resources, restartPolicy: fc.constant('Always') },
      { requiredKeys: ['name'] },
    ),
    { maxLength: 3 },
  );
  const aPodOfAnyKind = fc
    .record({
      base: fc.constantFrom(aPod(), aDelegate(), aDelegate(withoutOwner())),
      metadata: fc.record(
        {
          deletionTimestamp: fc.constant('2026-01-01T00:00:00Z'), labels: fc.constant({ a: 'b' }),
          generation: fc.nat(3), deletionGracePeriodSeconds: fc.nat(60),
          finalizers: fc.constant(['x/y', RUN_ONCE_FINALIZER]),
        },
        { requiredKeys: [] },
      ),
      spec: fc.record(
        {
          nodeName: fc.constantFrom('', 'node-1'), containers, initContainers: containers,
          overhead: fc.constant({ cpu: '1m' }), resources,
        },
        { requiredKeys: ['containers'] },
      ),
      status: fc.record(
        {
          phase: fc.constantFrom('Pending', 'Running', 'Failed'), podIP: fc.ipV4(),
          conditions: fc.constantFrom(
            [{ type: 'Ready', status: 'True' }], [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
          ),
          containerStatuses: containers, initContainerStatuses: containers, resources,
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ base, metadata, spec, status }) => (
      { ...base, metadata: { ...base.metadata, ...metadata }, spec: { ...base.spec, ...spec }, status }
    ))
    .map((pod) => JSON.parse(JSON.stringify(pod)) as Pod);

  it('are all that the record is made of: it is the same with and without the other fields', () => {
    fc.assert(
      fc.property(aPodOfAnyKind, (pod) => assert.deepEqual(
        toTargetPodRecord(reader.read(Buffer.from(JSON.stringify(pod))) as Pod), toTargetPodRecord(pod),
      )),
    );
  });

  it('name every field that is read, also one that no pod here has', () => {
    fc.assert(
      fc.property(aPodOfAnyKind, (pod) => assert.deepEqual(unselectedReads(pod, fields, toTargetPodRecord), [])),
    );
    assert.deepEqual(
      unselectedReads(
        aPod(), fields, (pod) => pod.spec.containers.map(({ image = '' }) => `${image}${pod.spec.schedulerName ?? ''}`),
      ),
      ['spec.containers[].image', 'spec.schedulerName'],
    );
  });
});
