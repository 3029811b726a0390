// Shapes of objects from targets: the fields of pods, chaperons and summaries that are read here. Unlisted fields may
// be anything, because they are only copied or ignored. API servers print unset times as `null`, so times are not
// listed.
import { CLUSTER_SUMMARY_KIND } from '../../api/kinds/cluster-summary.ts';
import type { Shape } from '../objects/schema-check.ts';

const TEXT: Shape = { type: 'string' };
const TEXTS: Shape = { type: 'array', items: TEXT };
const TEXT_MAP: Shape = { type: 'object', additionalProperties: TEXT };
const NAMED: Shape = { type: 'array', items: { type: 'object', required: ['name'], properties: { name: TEXT } } };

const METADATA: Shape = {
  type: 'object',
  properties: {
    namespace: TEXT, name: TEXT, uid: TEXT,
    resourceVersion: TEXT, deletionTimestamp: TEXT, labels: TEXT_MAP, annotations: TEXT_MAP, finalizers: TEXTS,
    deletionGracePeriodSeconds: { type: 'integer' },
    ownerReferences:
      { type: 'array', items: { type: 'object', properties: { apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT } } },
  },
};

const CONDITIONS: Shape = {
  type: 'array',
  items: {
    type: 'object', required: ['type', 'status'], properties: { type: TEXT, status: TEXT, reason: TEXT, message: TEXT },
  },
};
const ADDRESSES: Shape = { type: 'array', items: { type: 'object', properties: { ip: TEXT } } };

const STATUS: Shape = {
  type: 'object',
  properties: {
    phase: TEXT, message: TEXT, reason: TEXT, podIP: TEXT, podIPs: ADDRESSES, conditions: CONDITIONS,
    containerStatuses: NAMED, initContainerStatuses: NAMED, ephemeralContainerStatuses: NAMED,
  },
};

/** A delegate pod, or a PodChaperon. */
export const REPORTED_POD_SHAPE: Shape =
  { type: 'object', required: ['metadata'], properties: { metadata: METADATA, status: STATUS } };

/** A ClusterSummary. */
export const SUMMARY_SHAPE: Shape =
  { type: 'object', required: ['metadata'], properties: { metadata: METADATA, ...CLUSTER_SUMMARY_KIND.properties } };
