// From the source pod to the PodChaperon that asks a target to run it (contract §2.2).
// The labels of the delegate must not match the target's own selectors, so each key is moved under our prefix, injectively.
import { ADMIRALTY_API_VERSION } from '../api/resource-types.ts';
import type { Container, Pod, PodSpec, StringMap, VolumeMount } from '../api/core.ts';
import {
  OWN_PREFIX, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL, SOURCE_WATCHES_PODS_ANNOTATION, TRUE,
} from '../api/keys.ts';
import type { PodChaperon } from '../api/pod-chaperon.ts';
import { delegateName } from './names.ts';

/** The proxy pod on whose behalf a chaperon is made, and the source cluster it lives in (UID of kube-system). */
export interface ChaperonParent {
  readonly clusterId: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Labels of a chaperon that are ours to set. */
const RESERVED_LABELS: ReadonlySet<string> = new Set([PARENT_UID_LABEL, PARENT_CLUSTER_LABEL]);

/** Where the API server mounts the token of a pod's ServiceAccount: it is the source cluster's and worth nothing in a target. */
const SERVICE_ACCOUNT_MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The chaperon for a restored source pod. Its name, and so the delegate's, is a function of the parent's UID: that is the lock. */
export function toPodChaperon(sourcePod: Pod, parent: ChaperonParent): PodChaperon {
  const { labels = {}, annotations = {} } = sourcePod.metadata;
  return {
    apiVersion: ADMIRALTY_API_VERSION,
    kind: 'PodChaperon',
    metadata: {
      name: delegateName(parent.name, parent.uid),
      namespace: parent.namespace,
      labels: { ...prefixLabels(labels), [PARENT_UID_LABEL]: parent.uid, [PARENT_CLUSTER_LABEL]: parent.clusterId },
      annotations: {
        ...withoutOwn(annotations),
        [PARENT_NAME_ANNOTATION]: parent.name,
        [PARENT_NAMESPACE_ANNOTATION]: parent.namespace,
        [SOURCE_WATCHES_PODS_ANNOTATION]: TRUE,
      },
    },
    spec: toDelegateSpec(sourcePod.spec),
  };
}

/**
 * Moves each key under our domain: `app` becomes `P/app` as in Admiralty, and `a.io/x` becomes `a.io.P/x`, so that `a.io/x` and
 * `b.io/x` stay apart (Admiralty merges them). Injective for all keys that admission lets through (P/ itself is reserved).
 */
export function prefixLabels(labels: StringMap): StringMap {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [prefixKey(key), value]));
}

const OWN_DOMAIN = OWN_PREFIX.slice(0, -1);
const MAX_LABEL_PREFIX = 253;

function prefixKey(key: string): string {
  if (RESERVED_LABELS.has(OWN_PREFIX + key)) return `${OWN_DOMAIN}.${OWN_PREFIX}${key}`;
  const slash = key.indexOf('/');
  if (slash === -1) return OWN_PREFIX + key;
  const prefix = `${key.slice(0, slash)}.${OWN_DOMAIN}`;
  return prefix.length > MAX_LABEL_PREFIX ? key : `${prefix}/${key.slice(slash + 1)}`;
}

function withoutOwn(annotations: StringMap): StringMap {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith(OWN_PREFIX)));
}

function toDelegateSpec(spec: PodSpec): PodSpec {
  // The target resolves the priority class and places the pod itself.
  const { priority: _priority, nodeName: _nodeName, ...rest } = spec;
  return withoutServiceAccountToken(rest);
}

function withoutServiceAccountToken(spec: PodSpec): PodSpec {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const tokenVolumes = new Set(containers.flatMap((container) => (container.volumeMounts ?? []).filter(isTokenMount).map((mount) => mount.name)));
  if (tokenVolumes.size === 0) return spec;
  const strip = (container: Container): Container =>
    container.volumeMounts === undefined ? container : { ...container, volumeMounts: container.volumeMounts.filter((mount) => !isTokenMount(mount)) };
  return {
    ...spec,
    containers: spec.containers.map(strip),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(strip) }),
    ...(spec.volumes && { volumes: spec.volumes.filter((volume) => !tokenVolumes.has(volume.name)) }),
  };
}

function isTokenMount(mount: VolumeMount): boolean {
  return mount.mountPath === SERVICE_ACCOUNT_MOUNT_PATH;
}
