// Readers of objects: what users write into pods and policies, and what targets say of pods, chaperons and their own
// capacity.
import { strict as assert } from 'node:assert';
import jsonPatch from 'fast-json-patch';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { Pod } from '../../api/objects/core.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { ELECT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { toDelegatePod } from '../../delegate-controller/chaperon/make-delegate-pod.ts';
import { planFeedback } from '../../delegate-controller/feedback/feedback-plan.ts';
import { toTargetPodRecord } from '../../delegate-controller/target-cache/target-pod.ts';
import { toChaperonRecord, toDelegatePodRecord } from '../../model/delegate/cached-delegate.ts';
import { compileLabelPattern } from '../../model/objects/label-pattern.ts';
import { formatSelector, matchesLabelSelector, selectorProblem } from '../../model/objects/label-selector.ts';
import { readSentChanges } from '../../model/pod/live-changes.ts';
import { copiedStatus } from '../../model/pod/pod-status.ts';
import {
  formatAmount, formatBytes, formatMilliCpu, parseQuantity, toBytes, toMilli, toWhole,
} from '../../model/resources/quantity.ts';
import { shapeProblem, type Shape } from '../../model/objects/schema-check.ts';
import { toKnownSummary } from '../../model/delegate/cached-summary.ts';
import { policyProblem } from '../../scheduler/snapshot/policy-problem.ts';
import { schedulePod } from '../../scheduler/decision/schedule-pod.ts';
import { toRequirements, toTargetCapacity } from '../../scheduler/snapshot/target-capacity.ts';
import { toVirtualNode, toVirtualNodeStatus } from '../../virtual-node/node/virtual-node.ts';
import {
  answerFailure, answerReview, parseReview, printReview, type AdmissionResponse,
} from '../../webhook/review/admission-review.ts';
import { admitPod } from '../../webhook/admission/admit-pod.ts';
import type { Admission } from '../../webhook/review/admission-answer.ts';
import { constraintsOf } from '../../webhook/proxy/scheduling-constraints.ts';
import { reviewOf } from '../support/objects/admission.ts';
import {
  aChaperon, aDelegate, annotated, aPod, aProxyRecord, aTarget, inPhase, onNode, scheduled, withRequests,
} from '../support/objects/builders.ts';
import { hold, jsonOf, type FuzzTarget } from './fuzz-target.ts';

const ELECTED = aPod(annotated({ [ELECT_ANNOTATION]: '' }), withRequests({ cpu: '1' }));
const POD_TOKENS = [
  'multicluster.admiralty.io/elect', 'multicluster.admiralty.io/use-constraints-from-spec-for-proxy-pod-scheduling',
  'multicluster.admiralty.io/no-prefix-label-regexp', 'multicluster.admiralty.io/sourcepod-manifest',
  'isthmus.dev/admission-record', '{"spec":{}}', 'multicluster.admiralty.io/is-delegate', 'sidecar.istio.io/status',
  'schedulerName', 'admiralty-proxy', 'nodeName', 'nodeSelector', 'affinity', 'tolerations', 'initContainers',
  'containers', 'volumes', 'finalizers', 'oldObject', 'generateName', 'ownerReferences',
];

/** Reviews as the API server sends them, and as strangers do. */
const admissionReviews: FuzzTarget = {
  name: 'admission-reviews', reads: 'AdmissionReviews of pods, from the API server or a stranger',
  shape: 'json', maxBytes: 8_192, tokens: POD_TOKENS,
  seeds: [
    JSON.stringify(reviewOf(ELECTED)), JSON.stringify(reviewOf(aPod())),
    JSON.stringify(reviewOf(ELECTED, { operation: 'DELETE', object: null })),
    JSON.stringify(reviewOf(ELECTED, {}, 'admission.k8s.io/v1beta1')),
  ],
  run(input) {
    const parsed = parseReview(input.toString('utf8'));
    if (parsed.kind === 'invalid') return;
    const uid = parsed.kind === 'answered' ? parsed.uid : parsed.request.uid;
    const admission = parsed.kind === 'answered' ? parsed.admission : admitOrFail(parsed.request.object as Pod);
    const answer = JSON.parse(
      printReview(admission === undefined ? answerFailure(parsed.apiVersion, uid) : answerReview(
        parsed.apiVersion, uid, admission,
      )).toString(),
    ) as { readonly response: AdmissionResponse };
    hold(answer.response.uid === uid, 'an answer has the uid of its review');
    if (parsed.kind === 'review' && answer.response.patch !== undefined) {
      checkPatch(parsed.request.object, answer.response.patch);
    }
  },
};

/** An object that no API server lets through is answered with a failure, as the server does. */
function admitOrFail(pod: Pod): Admission | undefined {
  try {
    return admitPod(pod);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return undefined;
    throw error;
  }
}

function checkPatch(object: unknown, encoded: string): void {
  const patch = JSON.parse(Buffer.from(encoded, 'base64').toString()) as jsonPatch.Operation[];
  hold(patch.length < 100, 'a patch has few operations');
  const { newDocument } = jsonPatch.applyPatch(structuredClone(object), patch, true, true, false);
  // no API server lets it through
  if (shapeProblem(object, POD_SHAPE) !== undefined || (object as Pod).spec.containers.length === 0) return;
  const again = admitPod(newDocument as Pod);
  assert.ok(again.kind === 'mutate', `a proxy is admitted again: ${JSON.stringify(again)}`);
  assert.deepEqual(again.patch, [], 'and has nothing to be changed');
}

const TEXT: Shape = { type: 'string' };
const TEXTS: Shape = { type: 'object', additionalProperties: TEXT };
const POD_SHAPE: Shape = {
  type: 'object', required: ['metadata', 'spec'],
  properties: {
    metadata: {
      type: 'object',
      properties: { name: TEXT, generateName: TEXT, namespace: TEXT, labels: TEXTS, annotations: TEXTS },
    },
    spec: {
      type: 'object', required: ['containers'],
      properties: {
        containers: { type: 'array', items: { type: 'object', required: ['name'], properties: { name: TEXT } } },
        nodeSelector: TEXTS, schedulerName: TEXT,
        tolerations: {
          type: 'array',
          items: {
            type: 'object',
            properties:
              { key: TEXT, operator: TEXT, value: TEXT, effect: TEXT, tolerationSeconds: { type: 'integer' } },
          },
        },
        affinity: { type: 'object' }, topologySpreadConstraints: { type: 'array', items: { type: 'object' } },
      },
    },
  },
};

const DELEGATE = aDelegate(scheduled(), inPhase('Running'));
const STATUS_TOKENS = [
  '"phase":"Succeeded"', '"conditions":[', '"type":"Ready"', '"podIP":"10.0.0.1"', '"containerStatuses":',
  '"reason":"Unschedulable"', '"deletionTimestamp":', 'multicluster.admiralty.io/parent-uid',
  'isthmus.dev/carried-changes', '"state":{"terminated":',
];

/**
 * A delegate pod, or its chaperon, as a target that lies may show it. An object that cannot be read is passed over by
 * informers.
 */
const targetPods: FuzzTarget = {
  name: 'target-pods', reads: "delegate pods and PodChaperons as a target's API server shows them",
  shape: 'json', maxBytes: 8_192, tokens: STATUS_TOKENS,
  seeds: [
    JSON.stringify(DELEGATE),
    JSON.stringify({
      ...DELEGATE,
      status: {
        phase: 'Failed', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'm' }],
        podIPs: [{ ip: '10.0.0.1' }],
        containerStatuses: [{ name: 'app', ready: false, state: { terminated: { exitCode: 1 } } }],
      },
    }),
    JSON.stringify({ ...aChaperon(), status: { phase: 'Succeeded' } }),
  ],
  run(input) {
    const said = jsonOf(input) as Pod | undefined;
    if (said === undefined) return;
    const record = orSkipped(() => toDelegatePodRecord(said));
    const chaperon = orSkipped(() => toChaperonRecord(said));
    orSkipped(() => toTargetPodRecord(said));
    const proxy = aProxyRecord(onNode('admiralty-a'), inPhase('Pending'));
    planFeedback(proxy, { kind: 'known', chaperon: record?.asChaperon ?? chaperon, delegate: record });
    const status = copiedStatus((typeof said === 'object' && said !== null ? said.status : undefined) ?? {});
    hold(JSON.stringify(status).length < 3 << 20, 'a status is no larger than what etcd takes');
    hold(JSON.stringify(copiedStatus(status)) === JSON.stringify(status), 'what was cut is not cut again');
  },
};

function orSkipped<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A chaperon as a source may write it: the delegate is made from it alone. */
const chaperons: FuzzTarget = {
  name: 'chaperons', reads: 'PodChaperons, from a source', shape: 'json', maxBytes: 8_192,
  tokens: [...STATUS_TOKENS, 'hostPID', 'serviceAccountName', 'ownerReferences', 'finalizers', 'nodeName'],
  seeds: [JSON.stringify(aChaperon()), JSON.stringify(
    aChaperon(annotated({ 'multicluster.admiralty.io/x': 'y', 'k8s.v1.cni.cncf.io/networks': 'host' })),
  )],
  run(input) {
    const said = jsonOf(input) as PodChaperon | null | undefined;
    // no API server stores these
    if (typeof said !== 'object' || said === null || typeof said.metadata !== 'object' || said.metadata === null) {
      return;
    }
    if (
      typeof said.metadata.namespace !== 'string' || typeof said.metadata.name !== 'string'
        || shapeProblem(said.spec, { type: 'object' }) !== undefined
    ) return;
    const { metadata, spec } = toDelegatePod(said);
    hold(
      metadata.name === said.metadata.name && metadata.namespace === said.metadata.namespace,
      'a delegate lies where its chaperon lies',
    );
    hold(
      metadata.ownerReferences?.length === 1 && metadata.ownerReferences[0]?.kind === 'PodChaperon',
      'a delegate is owned by its chaperon alone',
    );
    assert.deepEqual({ ...spec, schedulerName: '' }, { ...said.spec, schedulerName: '' });
  },
};

const SUMMARY = {
  metadata: { name: 'singleton', labels: { 'topology.kubernetes.io/region': 'eu' } },
  capacity: { cpu: '8', memory: '16Gi', pods: '220' }, allocatable: { cpu: '8', memory: '16Gi', pods: '220' },
  free: { cpu: '6', memory: '12Gi', pods: '200' }, commonLabels: { a: 'b' },
  nodeGroups: [{
    labels: { z: '1' }, perNodeLabels: ['kubernetes.io/hostname'], taints: [{ key: 'k', effect: 'NoSchedule' }],
    shape: { cpu: '4', memory: '8Gi', pods: '110' }, holes: [{ count: 2, free: { cpu: '3' }, nodes: 'abcdefgh' }],
  }], shares: [{ source: '*', limits: { cpu: '2' } }],
  gpus: [{ resource: 'nvidia.com/gpu', allocatable: 1, free: 1, largest: 1 }],
};
const WANTED = toRequirements(aPod(withRequests({ cpu: '1', memory: '1Gi' })).spec);

/** What a target says of its room. Whatever it says, pods still find a place in the others. */
const summaries: FuzzTarget = {
  name: 'cluster-summaries', reads: 'the ClusterSummary of a target', shape: 'json', maxBytes: 8_192, tokens: [
    '"nodeGroups":', '"holes":', '"count":', '"free":', '"shape":', '"cpu":"1e309"', '"pods":"-1"', '"taints":',
    '"shares":', '"limits":', 'kubernetes.io/hostname',
  ],
  seeds: [JSON.stringify(SUMMARY), JSON.stringify(
    { metadata: {}, capacity: SUMMARY.capacity, allocatable: SUMMARY.allocatable },
  )],
  run(input) {
    const summary = orSkipped(() => toKnownSummary(undefined, jsonOf(input) as ClusterSummary));
    if (summary === undefined) return;
    const capacity = toTargetCapacity(summary);
    const decision = schedulePod({ namespace: 'team-a', requirements: WANTED, rejectedBy: new Map() }, [
      { ...aTarget('liar'), capacity }, aTarget('honest'),
    ]);
    hold(
      decision.kind === 'chosen' && Number.isFinite(decision.score),
      'an honest target has room for the pod, so there is a choice',
    );
    for (const amount of capacity.free.values()) hold(Number.isSafeInteger(amount), 'room is a number');
    const node = toVirtualNode({ kind: 'ClusterTarget', name: 'liar' }, summary);
    hold(node.metadata.labels?.['type'] === 'virtual-kubelet', 'a virtual node is marked as one');
    toVirtualNodeStatus(summary, { sourceId: 's', kubelet: undefined }, undefined, '2026-01-01T00:00:00Z');
  },
};

/** Texts that users write into annotations, selectors and resource lists. */
const userTexts: FuzzTarget = {
  name: 'user-texts',
  reads: "quantities, label selectors, expressions and constraints, from users", shape: 'text', maxBytes: 2_048,
  tokens: [
    'Ki', 'Mi', 'Ei', 'm', 'n', 'e309', 'E+5', '.', 'matchLabels:', 'matchExpressions:',
    '- {key: a, operator: In, values: [b]}', 'operator: Exists', 'nodeSelector:', 'tolerations:', 'affinity:',
    'topologySpreadConstraints:', '&a', '*a', '(a{0,99}|b)*', '[[:alpha:]]', '\\p{L}', '(?i)', '(?:', '$',
    '{"images":{"a":"b"}}',
  ],
  seeds: [
    '1.5Gi', '500m', '12e6', '-1', 'nodeSelector: {a: b}\ntolerations: [{key: k, operator: Exists}]\n',
    '{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"NotIn","values":["d"]}]}',
    '^app=(web|db)-[0-9]+$', '{"of":"x","changes":{"images":{"app":"app:2"}}}',
    '{"podSelector":{},"rules":[{"require":{"matchLabels":{"a":"b"}}}]}',
  ],
  run(input) {
    const text = input.toString('utf8');
    const quantity = parseQuantity(text);
    if (quantity.kind === 'quantity') checkQuantity(toMilli(quantity), toBytes(quantity), toWhole(quantity));
    const said = jsonOf(input);
    if (selectorProblem(said) === undefined) {
      const selector: LabelSelector = said as never;
      hold(typeof matchesLabelSelector(selector, { a: 'b' }) === 'boolean', 'a selector matches or does not');
      hold(formatSelector(selector).length > 0, 'a selector can be shown');
    }
    policyProblem(said, 'namespace');
    const pattern = compileLabelPattern(text);
    if (pattern.kind === 'pattern') pattern.matches('app', 'web-'.repeat(15));
    const constraints = constraintsOf(aPod(annotated({ [PROXY_CONSTRAINTS_ANNOTATION]: text })));
    hold(constraints.kind === 'deny' || constraints.kind === 'constraints', 'constraints are read or refused');
    readSentChanges(text);
  },
};

function checkQuantity(
  milli: ReturnType<typeof toMilli>, bytes: ReturnType<typeof toBytes>, whole: ReturnType<typeof toWhole>,
): void {
  for (
    const [value, printed, read] of [[milli, formatMilliCpu(milli), toMilli], [bytes, formatBytes(bytes), toBytes], [
      whole, formatAmount(whole), toWhole,
    ]] as const
  ) {
    hold(Number.isSafeInteger(value), 'an amount is a safe integer');
    const again = parseQuantity(printed);
    hold(again.kind === 'quantity' && read(again) === value, `what is printed reads as what it was: ${printed}`);
  }
}

/** All of them. */
export const OBJECT_TARGETS: readonly FuzzTarget[] = [admissionReviews, targetPods, chaperons, summaries, userTexts];
