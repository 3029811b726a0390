// Compatibility with the sidecar injectors of Istio, Linkerd and Vault. The proxy pod runs nothing, so it carries their
// opt-out keys (model/proxy/sidecar-opt-outs.ts), and the delegate gets its sidecars from the target's injectors.
// Sidecars that a source's injector added before us, recognized by its status annotation, are removed from the pod (per
// each injection template).
import type { Container, Pod, PodSpec, StringMap, Volume } from '../../api/objects/core.ts';
import { withOwnProbes } from './istio-probes.ts';
import { parsedRecord, textsIn } from '../../model/objects/json-values.ts';

/** How to recognize an injector's changes. */
interface Injector {
  /** Annotation that it sets on an injected pod, with what it added. */
  readonly statusAnnotation: string;
  /** Names of what it added, from the annotation's value. */
  readonly injected: (status: string) => InjectedNames;
  /** Reverts what it changed in the pod's own containers. */
  readonly undo?: (pod: Pod) => Pod;
  /**
   * Annotations that it sets, including the status annotation. Its labels stay: they may be the user's own, and factual
   * ones are updated in the target (ADR 0041).
   */
  readonly annotations: readonly string[];
}

interface InjectedNames {
  readonly containers: readonly string[];
  readonly volumes: readonly string[];
}

const ISTIO: Injector = {
  statusAnnotation: 'sidecar.istio.io/status',
  injected: namesOfIstio,
  undo: withOwnProbes,
  annotations: ['sidecar.istio.io/status', 'istio.io/rev'],
};

const LINKERD: Injector = {
  statusAnnotation: 'linkerd.io/proxy-version',
  injected: () => ({
    containers: ['linkerd-proxy', 'linkerd-init', 'linkerd-network-validator', 'linkerd-debug'],
    volumes: ['linkerd-proxy-init-xtables-lock', 'linkerd-identity-end-entity', 'linkerd-identity-token'],
  }),
  annotations: ['linkerd.io/proxy-version', 'linkerd.io/created-by', 'linkerd.io/trust-root-sha256'],
};

const VAULT: Injector = {
  statusAnnotation: 'vault.hashicorp.com/agent-inject-status',
  injected: () => ({
    containers: ['vault-agent', 'vault-agent-init'],
    volumes: ['home-init', 'home-sidecar', 'vault-secrets', 'vault-config', 'vault-tls-secrets'],
  }),
  annotations: ['vault.hashicorp.com/agent-inject-status'],
};

const INJECTORS: readonly Injector[] = [ISTIO, LINKERD, VAULT];

/**
 * The pod as it was before injection; the same object when nothing was injected. So is a pod without containers, which
 * Go prints as null: the API server denies it after us, and says why.
 */
export function withoutInjectedSidecars(pod: Pod): Pod {
  if (!Array.isArray(pod.spec.containers)) return pod;
  const { annotations = {} } = pod.metadata;
  const found = INJECTORS.filter(({ statusAnnotation }) => Object.hasOwn(annotations, statusAnnotation));
  return found.length === 0 ? pod : found.reduce(withoutSidecars, pod);
}

function withoutSidecars(injectedPod: Pod, { statusAnnotation, injected, annotations: set, undo }: Injector): Pod {
  const pod = undo?.(injectedPod) ?? injectedPod;
  const { annotations = {} } = pod.metadata;
  const names = injected(annotations[statusAnnotation] ?? '');
  return {
    ...pod, metadata: { ...pod.metadata, annotations: without(annotations, set) },
    spec: withoutNamed(pod.spec, names),
  };
}

function withoutNamed(spec: PodSpec, { containers, volumes }: InjectedNames): PodSpec {
  const isKept = ({ name }: Container): boolean => !containers.includes(name);
  const unmounted = (container: Container): Container => {
    const mounts = container.volumeMounts?.filter(({ name }) => !volumes.includes(name));
    const isSame = mounts === undefined || mounts.length === container.volumeMounts?.length;
    return isSame ? container : { ...container, volumeMounts: mounts };
  };
  const { containers: own, initContainers = [], volumes: mounted = [], ...others } = spec;
  const rest = own.filter(isKept);
  return {
    ...others,
    containers: (rest.length > 0 ? rest : own).map(unmounted), // a pod must have a container
    ...unlessEmpty('initContainers', initContainers.filter(isKept).map(unmounted)),
    ...unlessEmpty('volumes', mounted.filter(({ name }: Volume) => !volumes.includes(name))),
  };
}

/** The API server omits empty lists, so a pod without any lacks the field. */
function unlessEmpty<K extends string, V>(field: K, list: readonly V[]): { readonly [field in K]?: readonly V[] } {
  return list.length === 0 ? {} : ({ [field]: list } as { readonly [field in K]: readonly V[] });
}

/** Istio lists what it added; the names of its default template replace an unreadable list. */
function namesOfIstio(status: string): InjectedNames {
  const listed = parsedRecord(status);
  const names = (key: string): readonly string[] => textsIn(listed[key]);
  const containers = [...names('initContainers'), ...names('containers')];
  return {
    containers: containers.length > 0 ? containers : ['istio-proxy', 'istio-init', 'istio-validation'],
    volumes: names('volumes'),
  };
}

function without(map: StringMap, keys: readonly string[]): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
}
