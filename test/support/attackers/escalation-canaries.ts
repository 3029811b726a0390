// What nobody may come by: a Secret, a pod, a ConfigMap and more in each namespace, and the account of an administrator
// with its token.
import type { KubernetesObject } from '../../../api/objects/core.ts';
import {
  PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL,
} from '../../../api/objects/keys.ts';

/** Cluster ID of a source that is not there. */
export const OTHER_SOURCE = 'another-source';
/** ServiceAccount in kube-system that may do everything; a Secret has its token. */
export const ADMINISTRATOR = 'canary-administrator';
/** Secrets that are known by their names in the namespace of keys. */
const WELL_KNOWN = ['isthmus-webhook-certificates'];

const textOf = (what: string, namespace: string): string => `CANARY-${what}-of-${namespace}-which-nobody-may-read`;

/** What a canary says, by what it is: `environment of pods in stranger`. */
export function canaryTexts(namespaces: readonly string[]): ReadonlyMap<string, string> {
  return new Map(namespaces.flatMap((namespace) => [
    [`Secrets in ${namespace}`, textOf('secret', namespace)],
    [`ConfigMaps in ${namespace}`, textOf('config', namespace)],
    [`environment of pods in ${namespace}`, textOf('environment', namespace)],
  ]));
}

const metadata = (namespace: string, more: object = {}) => ({ namespace, name: 'canary', ...more });
const OTHERS = {
  labels: { [PARENT_CLUSTER_LABEL]: OTHER_SOURCE, [PARENT_UID_LABEL]: 'other-uid' },
  annotations: { [PARENT_NAME_ANNOTATION]: 'x', [PARENT_NAMESPACE_ANNOTATION]: 'x' },
};

/** Canaries of one namespace, in the order in which they are made. */
export function canariesOf(namespace: string): readonly KubernetesObject[] {
  const container = {
    name: 'app', image: 'app:1', env: [{ name: 'PASSWORD', value: textOf('environment', namespace) }],
    // the namespace of keys takes none but restricted pods
    securityContext: {
      allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
  const objects: readonly object[] = [
    {
      apiVersion: 'v1', kind: 'Secret', metadata: metadata(namespace),
      stringData: { password: textOf('secret', namespace) },
    },
    {
      apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(namespace),
      data: { password: textOf('config', namespace) },
    },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata(namespace) },
    {
      apiVersion: 'v1', kind: 'Pod', metadata: metadata(namespace, OTHERS),
      spec: { automountServiceAccountToken: false, containers: [container], nodeSelector: { no: 'where' } },
    },
    { apiVersion: 'v1', kind: 'Service', metadata: metadata(namespace), spec: { ports: [{ port: 80 }] } },
    {
      apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: metadata(namespace),
      spec: { defaultBackend: { service: { name: 'canary', port: { number: 80 } } } },
    },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: metadata(namespace), rules: [] },
    {
      apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'PodChaperon', metadata: metadata(namespace, OTHERS),
      spec: { containers: [container] },
    },
    {
      apiVersion: 'isthmus.dev/v1alpha1', kind: 'SourceLease', metadata: metadata(namespace, OTHERS),
      spec: { holder: 'h', durationSeconds: 60, renewTime: '2026-01-01T00:00:00.000000Z' },
    },
    ...(
      namespace === 'isthmus-system-keys' ? WELL_KNOWN.map(
        (name) => ({
          apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name },
          stringData: { key: textOf('secret', namespace) },
        }),
      ) : []
    ),
  ];
  return objects as readonly KubernetesObject[];
}

/** The administrator: an account, its binding, and a Secret that Kubernetes puts its token into. */
export function administratorObjects(): readonly KubernetesObject[] {
  const account = { namespace: 'kube-system', name: ADMINISTRATOR };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: ADMINISTRATOR },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
    {
      apiVersion: 'v1', kind: 'Secret',
      metadata: { ...account, annotations: { 'kubernetes.io/service-account.name': ADMINISTRATOR } },
      type: 'kubernetes.io/service-account-token',
    },
  ] as readonly KubernetesObject[];
}
