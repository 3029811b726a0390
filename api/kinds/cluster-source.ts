// ClusterSource (cluster-scoped) and Source (namespaced): the sources that may send pods to this cluster. The API is
// Admiralty 0.17's; clusterID and status are additions.
import type { Condition, KubernetesObject } from '../objects/core.ts';
import type { LabelSelector } from '../objects/selectors.ts';
import {
  conditionColumn, CONDITIONS, objectOf, OBSERVED_GENERATION, recordOf, text, type KindDefinition, type PrinterColumn,
  type Schema,
} from '../objects/schema.ts';

/** Status of a source's identity: `Ready`, and `Guarded` when a policy restricts it to its own objects. */
export interface SourceStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  /** The effective grants, for humans. */
  readonly allows?: AllowedToSource;
}

/** The effective grants of a source. */
export interface AllowedToSource {
  /** Where its pods may run. */
  readonly namespaces: string;
  readonly podSecurity: PodSecurityLevel;
  readonly streams: string;
}

/** A level of the Pod Security Standards. */
export type PodSecurityLevel = 'privileged' | 'baseline' | 'restricted';

/**
 * What a target grants a source. Missing fields behave as in Admiralty: all namespaces but the system's, and no further
 * limit.
 */
export interface SourceGrants {
  /** `OptedIn`: namespaces that admit the source by a label. Only for a ClusterSource. */
  readonly namespaces?: 'All' | 'OptedIn';
  /** Additional namespaces; the only ones when `namespaces` is missing. Only for a ClusterSource. */
  readonly namespaceSelector?: LabelSelector;
  /** Highest privilege level of the source's pods. */
  readonly podSecurity?: PodSecurityLevel;
  /** Pods to which the source may open logs, exec, attach and port-forward. `OwnDelegates` when missing. */
  readonly streams?: 'OwnDelegates' | 'All' | 'None';
}

/** A source for one namespace; both identities may be set, each becomes an RBAC subject. */
export interface Source extends KubernetesObject {
  readonly spec: { readonly userName?: string; readonly serviceAccountName?: string; readonly clusterID?: string }
    & Pick<SourceGrants, 'podSecurity' | 'streams'>;
  readonly status?: SourceStatus;
}

/** A source for all namespaces, or those that admit it. */
export interface ClusterSource extends KubernetesObject {
  readonly spec: {
    readonly userName?: string; readonly serviceAccount?: { readonly name: string; readonly namespace: string };
    readonly clusterID?: string
  } & SourceGrants;
  readonly status?: SourceStatus;
}

const USER_NAME: Schema = text('User that the source authenticates as.', { maxLength: 1024 });
const CLUSTER_ID: Schema = text(
  "UID of the source's kube-system Namespace. With it, an admission policy limits the source to its " +
    'own objects.',
  { maxLength: 63, pattern: '^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$' },
);
/** Level of the Pod Security Standards that is enforced for pods of a source. */
export const POD_SECURITY: Schema = text(
  'Level of the Pod Security Standards that pods of the source must meet, in addition to what their namespace ' +
    'enforces. privileged (the default): no limit. Needs clusterID.',
  { enum: ['privileged', 'baseline', 'restricted'] },
);
const STREAMS: Schema = text(
  'For which pods the source may use logs, exec, attach and port-forward. OwnDelegates (the default): its own, ' +
    'each on request. All: every pod in namespaces where it may run pods, for sources that cannot request it, ' +
    'such as those of Admiralty. None: none.',
  { enum: ['OwnDelegates', 'All', 'None'] },
);
/** Where pods of a ClusterSource may run. */
export const NAMESPACES: Schema = text(
  'Where pods of the source may run. OptedIn: in namespaces with label isthmus.dev/sources=all, or with its name ' +
    'there, or with label multicluster-scheduler=enabled. All, which also applies if neither this nor ' +
    'namespaceSelector is set: in every namespace. Never in kube-* and the install namespace.',
  { enum: ['All', 'OptedIn'] },
);
/** A `meta/v1` LabelSelector for namespaces. */
export const NAMESPACE_SELECTOR: Schema = objectOf(
  'Labels of namespaces that pods of the source may run in, in addition to those that have opted in.',
  {
    matchLabels: {
      type: 'object',
      description: 'Labels that all must be there.',
      additionalProperties: { type: 'string' },
    },
    matchExpressions: {
      type: 'array',
      description: 'Requirements that all must be met.',
      items: recordOf({
        key: text('Key of the label.'),
        operator: text('In, NotIn, Exists or DoesNotExist.', { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] }),
        values: { type: 'array', description: 'Values for In and NotIn.', items: { type: 'string' } },
      }, ['key', 'operator']),
    },
  },
);
const LEVEL_NEEDS_CLUSTER = [{
  rule: "!has(self.podSecurity) || self.podSecurity == 'privileged' || has(self.clusterID)",
  message: 'podSecurity needs clusterID: without it pods of the source cannot be told from those of others',
}];
const STATUS: Schema = objectOf('Its outcome.', {
  observedGeneration: OBSERVED_GENERATION,
  conditions: CONDITIONS,
  allows: objectOf('The effective limits of the source.', {
    namespaces: text('Where its pods may run.'),
    podSecurity: text('Level of the Pod Security Standards that its pods must meet.'),
    streams: text('For which pods it may use logs, exec, attach and port-forward.'),
  }),
}, [], { 'x-kubernetes-preserve-unknown-fields': true });
const CONDITION_COLUMNS: readonly PrinterColumn[] = [
  conditionColumn('Ready', 'Ready'),
  conditionColumn('Guarded', 'Guarded'),
  { name: 'Namespaces', type: 'string', jsonPath: '.status.allows.namespaces' },
  { name: 'Pod security', type: 'string', jsonPath: '.status.allows.podSecurity' },
  { name: 'Streams', type: 'string', jsonPath: '.status.allows.streams', priority: 1 },
  { name: 'Cluster', type: 'string', jsonPath: '.spec.clusterID', priority: 1 },
];

/** CRD of Source. */
export const SOURCE_KIND: KindDefinition = {
  kind: 'Source',
  plural: 'sources',
  shortName: 'src',
  scope: 'Namespaced',
  description: 'An identity that a source cluster uses to run pods in this namespace.',
  ...identity('.spec.serviceAccountName', {
    userName: USER_NAME,
    clusterID: CLUSTER_ID,
    podSecurity: POD_SECURITY,
    streams: STREAMS,
    serviceAccountName: text('ServiceAccount of this namespace that the source authenticates as.', { maxLength: 253 }),
  }),
};

/** CRD of ClusterSource. */
export const CLUSTER_SOURCE_KIND: KindDefinition = {
  kind: 'ClusterSource',
  plural: 'clustersources',
  shortName: 'csrc',
  scope: 'Cluster',
  description: 'An identity that a source cluster uses to run pods in many namespaces.',
  ...identity('.spec.serviceAccount.name', {
    userName: USER_NAME,
    clusterID: CLUSTER_ID,
    namespaces: NAMESPACES,
    namespaceSelector: NAMESPACE_SELECTOR,
    podSecurity: POD_SECURITY,
    streams: STREAMS,
    serviceAccount: objectOf('ServiceAccount that the source authenticates as.', {
      name: text('Name of the ServiceAccount.', { minLength: 1, maxLength: 253 }),
      namespace: text('Namespace of the ServiceAccount.', { minLength: 1, maxLength: 63 }),
    }, ['name', 'namespace']),
  }),
};

/** The columns and the schema of both kinds, which differ in the fields of their spec. */
function identity(
  accountPath: string, fields: Readonly<Record<string, Schema>>,
): Pick<KindDefinition, 'columns' | 'required' | 'properties'> {
  return {
    columns: [
      { name: 'Service account', type: 'string', jsonPath: accountPath },
      { name: 'User', type: 'string', jsonPath: '.spec.userName' },
      ...CONDITION_COLUMNS,
    ],
    required: ['spec'],
    properties: {
      spec: objectOf(
        'The identity of the source, and what it may do.',
        fields,
        [],
        { 'x-kubernetes-validations': LEVEL_NEEDS_CLUSTER },
      ),
      status: STATUS,
    },
  };
}
