// The ClusterProfile of a target: what other tools may know of it. It names the Secret with the kubeconfig and holds no
// credentials: a tool that is to use the cluster must be allowed to read that Secret.
import { hash } from 'node:crypto';
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject, StringMap } from '../../api/objects/core.ts';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import { PROFILE_DIGEST_ANNOTATION } from '../../api/objects/keys.ts';
import {
  CLUSTER_MANAGER, MANAGER_LABEL, MAX_PROPERTY_NAME, MAX_PROPERTY_VALUE, type AccessProvider, type ClusterProfile,
  type ClusterProfileStatus, type ClusterProperty,
} from '../../api/placement/cluster-inventory.ts';
import { setCondition, type ConditionUpdate } from '../../model/objects/conditions.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/** An API server, as it is dialled. */
export interface PublishedServer {
  readonly server: URL;
  /** PEM bundle. */
  readonly certificateAuthority?: string | undefined;
  readonly serverName?: string | undefined;
  /** Whether it is dialled without a proxy or gateway, and its certificate is verified. */
  readonly isDirect: boolean;
  /** What sort of credentials the kubeconfig has: `token`, `certificate` or another. */
  readonly credentials: string;
}

/** What is known of a ClusterTarget. */
export interface PublishedTarget {
  readonly name: string;
  readonly uid: string;
  readonly labels: StringMap;
  readonly spec: TargetSpec;
  /** UID of its kube-system Namespace, where it is known. */
  readonly clusterId: string | undefined;
  /** Whether it may get new pods and, if not, why. */
  readonly availability: { readonly kind: 'ready' } | ({ readonly kind: 'unavailable' } & Rejection);
  /** ClusterProperties of the cluster itself. */
  readonly properties: readonly ClusterProperty[];
  /** The Secret with its kubeconfig; undefined for the source itself. */
  readonly place: {
    readonly namespace: string; readonly name: string; readonly key: string; readonly context?: string | undefined
  } | undefined;
  /** Its API server; undefined until a kubeconfig was read. */
  readonly endpoint: PublishedServer | undefined;
}

/** Name of the property that identifies a cluster in its clusterset (KEP-2149). */
const CLUSTER_ID_PROPERTY = 'cluster.clusterset.k8s.io';
/** The access provider whose plugin reads a kubeconfig from a Secret. */
const PROVIDER = 'kubeconfig-secretreader';
/** Name of the extension with a plugin's settings. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';
/** Labels that say what our own components do, and the one that only managers of clusters set. */
const NOT_PUBLISHED = /^(isthmus\.dev\/|multicluster\.admiralty\.io\/|x-k8s\.io\/cluster-manager$)/;
/** Why a target is unavailable although its API server answers. */
const ANSWERING: ReadonlySet<string> = new Set(['ControllerSilent', 'AdmiraltyLives', 'NotInstalled', 'Forbidden']);
/** Why it is unavailable because its API server does not answer. */
const NOT_ANSWERING: ReadonlySet<string> = new Set(['Unreachable', 'ApiServerError']);
/** Longest message of a condition in characters: a server may be anybody's. */
const MOST_OF_MESSAGE = 1_000;

/** A new one, as small as the kind allows: fields that change are applied once it is there. */
export function toNewProfile(namespace: string, { name, uid }: Pick<PublishedTarget, 'name' | 'uid'>): ClusterProfile {
  return {
    metadata: {
      namespace, name, labels: { [MANAGER_LABEL]: CLUSTER_MANAGER },
      ownerReferences: [{ apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterTarget', name, uid }],
    },
    spec: { displayName: name, clusterManager: { name: CLUSTER_MANAGER } },
  };
}

/** Its labels for server-side apply, with a digest of them, so that labels that are gone are seen as well. */
export function toProfileMetadata(
  { metadata: { namespace = '', name = '', uid = '' } }: ClusterProfile, target: PublishedTarget,
): KubernetesObject {
  const published = Object.entries(target.labels).filter(([key]) => !NOT_PUBLISHED.test(key));
  const labels = { ...Object.fromEntries(published), [MANAGER_LABEL]: CLUSTER_MANAGER };
  const sorted = Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const digest = hash('sha256', JSON.stringify(sorted), 'hex').slice(0, 16);
  return { metadata: { namespace, name, uid, labels, annotations: { [PROFILE_DIGEST_ANNOTATION]: digest } } };
}

/** Its status; `now` is an RFC 3339 time. */
export function toProfileStatus(
  before: ClusterProfileStatus, target: PublishedTarget, now: string,
): ClusterProfileStatus {
  return {
    conditions: setCondition(before.conditions, healthCondition(target.availability), now),
    properties: propertiesOf(target), accessProviders: providersOf(target),
  };
}

/** The health is that of the API server: a target may answer and get no new pods. */
function healthCondition(availability: PublishedTarget['availability']): ConditionUpdate {
  const type = 'ControlPlaneHealthy';
  if (availability.kind === 'ready') {
    return { type, status: 'True', reason: 'Answering', message: "the cluster's API server answers" };
  }
  const { reason } = availability;
  const message = availability.message.slice(0, MOST_OF_MESSAGE);
  if (ANSWERING.has(reason)) return { type, status: 'True', reason, message };
  return { type, status: NOT_ANSWERING.has(reason) ? 'False' : 'Unknown', reason, message };
}

/**
 * The cluster's own properties as they are; its ID is that in our clusterset where it has one, else what it says
 * itself, else the UID of its kube-system Namespace.
 */
function propertiesOf({ properties, spec, clusterId }: PublishedTarget): readonly ClusterProperty[] {
  const member = (spec.gateway ?? spec.podPlane)?.cluster;
  const known = new Map<string, string>();
  if (clusterId !== undefined) known.set(CLUSTER_ID_PROPERTY, clusterId);
  for (const { name, value } of properties) known.set(name, value);
  if (member !== undefined) known.set(CLUSTER_ID_PROPERTY, member);
  return [...known].map(([name, value]) => ({ name, value }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** `about.k8s.io` ClusterProperty, as somebody else's cluster says that it has it. */
type StoredProperty = KubernetesObject & { readonly spec?: { readonly value?: unknown } };

/** Properties of one cluster that are published at most: what a cluster says of itself is not ours. */
export const MOST_PROPERTIES = 100;

/** What a cluster says of itself, out of its ClusterProperties. */
export function toProperties(objects: readonly KubernetesObject[]): readonly ClusterProperty[] {
  return objects.flatMap((object) => {
    const { metadata: { name = '' }, spec } = object as StoredProperty;
    const value = spec?.value;
    return typeof value === 'string' && isValid(name, value) ? [{ name, value }] : [];
  }).slice(0, MOST_PROPERTIES);
}

/** What the kind's schema accepts: one property that it does not would keep out all. */
function isValid(name: string, value: string): boolean {
  return name !== '' && name.length <= MAX_PROPERTY_NAME && value !== '' && value.length <= MAX_PROPERTY_VALUE;
}

/** None where the Secret alone does not lead to the cluster: through a gateway or proxy, with commands or files. */
function providersOf({ place, endpoint }: PublishedTarget): readonly AccessProvider[] {
  if (place === undefined || endpoint === undefined || !endpoint.isDirect) return [];
  if (endpoint.credentials !== 'token' && endpoint.credentials !== 'certificate') return [];
  const { server, certificateAuthority, serverName } = endpoint;
  const { namespace, name, key, context } = place;
  const cluster = {
    server: server.href,
    ...(certificateAuthority !== undefined && {
      'certificate-authority-data': Buffer.from(certificateAuthority, 'utf8').toString('base64'),
    }),
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
    extensions: [{
      name: EXEC_EXTENSION, extension: { name, namespace, key, ...(context !== undefined && { context }) },
    }],
  };
  return [{ name: PROVIDER, cluster }];
}
