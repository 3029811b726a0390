// `isthmus export flux`: a Kustomization for each target, in the namespace of the Secret with its kubeconfig: Flux
// reads no Secrets of other namespaces. It reads them again at every reconciliation, so credentials that change need no
// second export.
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { joinName, MAX_LABEL_LENGTH } from '../../model/naming/names.ts';
import {
  accessOf, registeredSecret, type Exported, type ExportedTargets, type LeftOut, type SecretRef,
} from './exported.ts';

/** What the Kustomizations deliver. */
export interface KustomizationRequest {
  /** What their names begin with. */
  readonly name: string;
  readonly source: SourceRef;
  readonly path: string;
  /** Namespace of all objects, in place of what they name. */
  readonly toNamespace?: string | undefined;
}

/** A source of Flux. */
export interface SourceRef {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** The Kustomizations, as Flux documents them for remote clusters. */
export function toKustomizations(exported: ExportedTargets, request: KustomizationRequest): Exported {
  const objects: KubernetesObject[] = [];
  const leftOut: LeftOut[] = [];
  for (const target of exported.targets) {
    const access = accessOf(target, exported.installNamespace, 'Flux');
    const { name = '' } = target.metadata;
    if (access.kind === 'none') leftOut.push({ target: name, why: access.why });
    else objects.push(kustomization(
      name, access.kind === 'secret' ? ownSecretOfFlux(target, exported) ?? access.secret : undefined, request,
    ));
  }
  return { objects, leftOut, notes: [] };
}

/** The Secret that Flux used before Isthmus found it. */
function ownSecretOfFlux(target: ClusterTarget, { discoveries }: ExportedTargets): SecretRef | undefined {
  const registered = registeredSecret(target, discoveries);
  return registered?.from.flux === undefined ? undefined : registered.secret;
}

function kustomization(
  target: string, secret: SecretRef | undefined, { name, source, path, toNamespace }: KustomizationRequest,
): KubernetesObject & { readonly spec: object } {
  const namespace = secret?.namespace ?? source.namespace;
  const { namespace: sourceNamespace, ...sourceRef } = source;
  return {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization',
    // Flux has the name as the value of a label on everything that it applies.
    metadata: { name: joinName([{ constant: name }, target], MAX_LABEL_LENGTH), namespace },
    spec: {
      interval: '10m', path, prune: true,
      sourceRef: { ...sourceRef, ...(sourceNamespace !== namespace && { namespace: sourceNamespace }) },
      ...(secret !== undefined && {
        kubeConfig: { secretRef: { name: secret.name, ...(secret.key !== undefined && { key: secret.key }) } },
      }),
      ...(toNamespace !== undefined && { targetNamespace: toNamespace }),
    },
  };
}
