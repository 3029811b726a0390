// What the commands of `isthmus export` have in common: the targets that they are asked for, the objects that they
// print, and the reasons why a target is not among them.
import { DEFAULT_KUBECONFIG_KEY, type ClusterTarget, type KubeconfigSecret } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { DISCOVERED_BY_LABEL, LEFT_REGISTRY_ANNOTATION, REGISTRY_ENTRY_ANNOTATION } from '../../api/objects/keys.ts';
import type { RegistryChoice } from '../../api/registry/registry-choice.ts';
import type { TargetDiscovery } from '../../api/registry/target-discovery.ts';
import { isDnsSubdomain } from '../../model/naming/label-syntax.ts';
import { toLabelValue } from '../../model/naming/names.ts';

/** Targets to export, with what explains where they came from. */
export interface ExportedTargets {
  readonly targets: readonly ClusterTarget[];
  readonly discoveries: readonly TargetDiscovery[];
  readonly installNamespace: string;
}

/** What is printed. */
export interface Exported {
  readonly objects: readonly KubernetesObject[];
  /** Targets without a counterpart. */
  readonly leftOut: readonly LeftOut[];
  /** What remains to be done by hand. */
  readonly notes: readonly string[];
  /** Why nothing can be printed for these targets, and what to change. */
  readonly problem?: string;
}

/** A target without a counterpart, and why. */
export interface LeftOut {
  readonly target: string;
  readonly why: string;
}

/** A kubeconfig by the Secret that holds it. */
export interface SecretRef {
  readonly namespace: string;
  readonly name: string;
  /** Missing where the tool's own default holds. */
  readonly key?: string;
}

/** The Secret with the kubeconfig of a target, or why another tool cannot use the target by a kubeconfig. */
export type TargetAccess =
  | { readonly kind: 'secret'; readonly secret: SecretRef & { readonly key: string } }
  | { readonly kind: 'this-cluster' }
  | { readonly kind: 'none'; readonly why: string };

/** Why a target whose cluster has left its registry is exported for no tool. */
export const HAS_LEFT = 'its cluster has left its registry';

/** Whether it has. */
export function hasLeft({ annotations }: ClusterTarget['metadata']): boolean {
  return annotations?.[LEFT_REGISTRY_ANNOTATION] !== undefined;
}

/** Keys that a Secret can have: they become parts of commands for a shell. */
const SECRET_KEY = /^[-._a-zA-Z0-9]+$/;

/** How a target is reached. `tool` names the tool that connects to it, for the reason. */
export function accessOf({ metadata, spec }: ClusterTarget, installNamespace: string, tool: string): TargetAccess {
  if (spec.self === true) return { kind: 'this-cluster' };
  if (spec.kubeconfigSecret === undefined) return { kind: 'none', why: 'it has no kubeconfig' };
  if (hasLeft(metadata)) return { kind: 'none', why: HAS_LEFT };
  if (spec.gateway !== undefined) {
    return { kind: 'none', why: `it is reached through the gateway of Isthmus, which ${tool} does not use` };
  }
  return accessBySecret(spec.kubeconfigSecret, installNamespace, tool);
}

function accessBySecret(
  { namespace, name, key = DEFAULT_KUBECONFIG_KEY, context }: KubeconfigSecret, installNamespace: string, tool: string,
): TargetAccess {
  if (context !== undefined) {
    const named = JSON.stringify(context);
    return { kind: 'none', why: `it uses context ${named} of its kubeconfig, and ${tool} only the current-context` };
  }
  if (!SECRET_KEY.test(key)) return { kind: 'none', why: `${JSON.stringify(key)} is no key of a Secret` };
  const ref = { namespace: namespace ?? installNamespace, name };
  const wrong = Object.values(ref).find((text) => !isDnsSubdomain(text));
  if (wrong !== undefined) return { kind: 'none', why: `${JSON.stringify(wrong)} is no name of an object` };
  return { kind: 'secret', secret: { ...ref, key } };
}

const ENTRY = /^Secret ([-a-z0-9]+)\/([-a-z0-9.]+)(?: key ([-._a-zA-Z0-9]+))?$/;

/**
 * The registry's own Secret that a target was made of, with the settings of its TargetDiscovery; undefined where the
 * target was not made of a Secret or its TargetDiscovery is gone.
 */
export function registeredSecret(
  { metadata: { labels = {}, annotations = {} } }: ClusterTarget, discoveries: readonly TargetDiscovery[],
): { readonly from: RegistryChoice; readonly secret: SecretRef } | undefined {
  const label = labels[DISCOVERED_BY_LABEL];
  const discovery = discoveries.find(({ metadata }) => toLabelValue(metadata.name ?? '') === label);
  const [, namespace, name, key] = ENTRY.exec(annotations[REGISTRY_ENTRY_ANNOTATION] ?? '') ?? [];
  if (discovery === undefined || namespace === undefined || name === undefined) return undefined;
  return { from: discovery.spec.from, secret: { namespace, name, ...(key !== undefined && { key }) } };
}
