// The ClusterProfile of a target: what other tools may know of it. It names the Secret with the kubeconfig and holds no
// credentials: a tool that is to use the cluster must be allowed to read that Secret.
import { hash } from 'node:crypto';
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { Condition, KubernetesObject, StringMap } from '../../api/objects/core.ts';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import { PROFILE_DIGEST_ANNOTATION } from '../../api/objects/keys.ts';
import {
  CLUSTER_MANAGER, MANAGER_LABEL, MAX_PROPERTY_NAME, MAX_PROPERTY_VALUE, type AccessProvider, type ClusterProfile,
  type ClusterProfileStatus, type ClusterProperty,
} from '../../api/placement/cluster-inventory.ts';
import { canonicalJson } from '../../model/objects/canonical-json.ts';
import { serverStateOf, type ServerState } from '../../model/delegate/availability-reasons.ts';
import { findCondition, setCondition, type ConditionUpdate } from '../../model/objects/conditions.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/** How an API server is dialled. */
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
  /** UID of its kube-system Namespace; undefined until it is known. */
  readonly clusterId: string | undefined;
  /** Whether it may get new pods and, if not, why. */
  readonly availability: { readonly kind: 'ready' } | ({ readonly kind: 'unavailable' } & Rejection);
  /** Whether its session has read all that it follows, so that its API server answers. */
  readonly isSynced: boolean;
  /** ClusterProperties of the cluster itself; undefined until they were read. */
  readonly properties: readonly ClusterProperty[] | undefined;
  /** The Secret with its kubeconfig; undefined for the source itself. */
  readonly secretRef: {
    readonly namespace: string; readonly name: string; readonly key: string; readonly context?: string | undefined
  } | undefined;
  /** Its API server; undefined until a kubeconfig was read. */
  readonly endpoint: PublishedServer | undefined;
}

/** What we write of a profile's status. */
export type OwnStatus = Required<Pick<ClusterProfileStatus, 'conditions' | 'properties' | 'accessProviders'>>;

/** The condition that tells the health of a cluster. */
const HEALTHY = 'ControlPlaneHealthy';
/** Name of the property that identifies a cluster in its clusterset (KEP-2149). */
const CLUSTER_ID_PROPERTY = 'cluster.clusterset.k8s.io';
/** The access provider whose plugin reads a kubeconfig from a Secret. */
const PROVIDER = 'kubeconfig-secretreader';
/** Name of the extension with a plugin's settings. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';
/** Labels that say what our own components do, and the one that only managers of clusters set. */
const NOT_PUBLISHED = /^(isthmus\.dev\/|multicluster\.admiralty\.io\/|x-k8s\.io\/cluster-manager$)/;
/** The health of the control plane by what is known of the API server. */
const HEALTH: Readonly<Record<ServerState, Condition['status']>> =
  { answers: 'True', reached: 'Unknown', fails: 'False', unknown: 'Unknown', 'not-tried': 'Unknown' };
/** Longest message of a condition in characters: the server that sent it is untrusted. */
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

/**
 * What we write of its status; `now` is an RFC 3339 time. What is not known yet stays as it was: a scheduler that has
 * just started must not take back what another one has published.
 */
export function toProfileStatus(before: ClusterProfileStatus, target: PublishedTarget, now: string): OwnStatus {
  return {
    conditions: conditionsOf(before, target, now), properties: propertiesOf(before, target),
    accessProviders: isUnread(target) ? before.accessProviders ?? [] : providersOf(target),
  };
}

/** Whether its status is what we want. Fields of others do not count. */
export function hasStatus(
  before: ClusterProfileStatus, { conditions, properties, accessProviders }: OwnStatus,
): boolean {
  return canonicalJson(before.conditions) === canonicalJson(conditions)
    && canonicalJson(before.properties) === canonicalJson(properties)
    && (isPruned(before) || canonicalJson(before.accessProviders) === canonicalJson(accessProviders));
}

/**
 * All three fields are written at once, so that one alone is missing only where the served schema does not have it: it
 * would be missing after another write as well.
 */
function isPruned({ conditions, properties, accessProviders }: ClusterProfileStatus): boolean {
  return findCondition(conditions, HEALTHY) !== undefined && properties !== undefined && accessProviders === undefined;
}

function conditionsOf(
  { conditions }: ClusterProfileStatus, { availability, isSynced }: PublishedTarget, now: string,
): readonly Condition[] {
  const isConnecting = availability.kind === 'unavailable' && availability.reason === 'Connecting' && !isSynced;
  if (isConnecting && conditions !== undefined && findCondition(conditions, HEALTHY) !== undefined) return conditions;
  return setCondition(conditions, healthCondition(availability, isSynced), now);
}

/** The health is that of the API server: a target may answer and get no new pods. */
function healthCondition(availability: PublishedTarget['availability'], isSynced: boolean): ConditionUpdate {
  const type = HEALTHY;
  if (availability.kind === 'ready') {
    return { type, status: 'True', reason: 'Answering', message: "the cluster's API server answers" };
  }
  const { reason } = availability;
  const message = availability.message.slice(0, MOST_OF_MESSAGE);
  const isAnswering = reason === 'Connecting' && isSynced;
  return { type, status: isAnswering ? 'True' : HEALTH[serverStateOf(reason)], reason, message };
}

/**
 * The cluster's own properties as they are, except its ID: that is ours to say, because a cluster could name another's.
 * It is the ID in our clusterset where it has one, else the UID of its kube-system Namespace.
 */
function propertiesOf(before: ClusterProfileStatus, target: PublishedTarget): readonly ClusterProperty[] {
  const { properties: published = [] } = before;
  const { properties = published, spec, clusterId } = target;
  const known = new Map(properties.map(({ name, value }) => [name, value]));
  const id = (spec.gateway ?? spec.podPlane)?.cluster ?? clusterId
    ?? published.find(({ name }) => name === CLUSTER_ID_PROPERTY)?.value;
  if (id === undefined) known.delete(CLUSTER_ID_PROPERTY);
  else known.set(CLUSTER_ID_PROPERTY, id);
  return [...known].map(([name, value]) => ({ name, value }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** `about.k8s.io` ClusterProperty, as an untrusted cluster returns it. */
type StoredProperty = KubernetesObject & { readonly spec?: { readonly value?: unknown } };

/** Maximum number of published properties of one cluster: a cluster's properties are untrusted. */
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

/** Whether its kubeconfig has not been read. The source itself has none. */
function isUnread({ secretRef, endpoint }: PublishedTarget): boolean {
  return secretRef !== undefined && endpoint === undefined;
}

/** None where the Secret alone does not lead to the cluster: through a gateway or proxy, with commands or files. */
function providersOf({ secretRef, endpoint }: PublishedTarget): readonly AccessProvider[] {
  if (secretRef === undefined || endpoint === undefined || !endpoint.isDirect) return [];
  if (endpoint.credentials !== 'token' && endpoint.credentials !== 'certificate') return [];
  const { server, certificateAuthority, serverName } = endpoint;
  const { namespace, name, key, context } = secretRef;
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
