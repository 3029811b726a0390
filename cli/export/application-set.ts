// `isthmus export argocd`: an ApplicationSet that makes an Application for each target, by the names that Argo CD knows
// the clusters by. Argo's credentials stay where they are.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { argoClusterNames, toNamedTarget } from '../../model/naming/argo-cluster-names.ts';
import { HAS_LEFT, hasLeft, type Exported, type ExportedTargets, type LeftOut } from './exported.ts';

/** What the Applications deliver. */
export interface ApplicationSetRequest {
  readonly name: string;
  /** Namespace of Argo CD. */
  readonly namespace: string;
  readonly project: string;
  readonly repo: string;
  readonly path: string;
  readonly revision: string;
  /** Namespace for objects that name none. */
  readonly toNamespace?: string | undefined;
}

/** The ApplicationSet, as Argo CD's list generator has it; no object when Argo CD knows none of the targets. */
export function toApplicationSet(
  { targets, discoveries }: ExportedTargets, request: ApplicationSetRequest,
): Exported {
  const names = argoClusterNames(targets.map(toNamedTarget), discoveries);
  const elements: { readonly target: string; readonly cluster: string }[] = [];
  const leftOut: LeftOut[] = [];
  for (const { metadata } of targets) {
    const { name: target = '' } = metadata;
    const cluster = names.get(target);
    if (hasLeft(metadata)) leftOut.push({ target, why: HAS_LEFT });
    else if (cluster === undefined) leftOut.push({ target, why: UNKNOWN });
    else elements.push({ target, cluster });
  }
  return { objects: elements.length === 0 ? [] : [applicationSet(elements, request)], leftOut, notes: [] };
}

const UNKNOWN =
  'no TargetDiscovery has found its cluster in Argo CD; register the cluster with "argocd cluster add", and follow ' +
    'Argo CD with a TargetDiscovery (spec.from.argoCD)';

function applicationSet(
  elements: readonly { readonly target: string; readonly cluster: string }[],
  { name, namespace, project, repo, path, revision, toNamespace }: ApplicationSetRequest,
): KubernetesObject & { readonly spec: object } {
  return {
    apiVersion: 'argoproj.io/v1alpha1', kind: 'ApplicationSet', metadata: { name, namespace },
    spec: {
      goTemplate: true, goTemplateOptions: ['missingkey=error'],
      generators: [{ list: { elements } }],
      template: {
        metadata: { name: `${name}-{{.target}}` },
        spec: {
          project, source: { repoURL: repo, path, targetRevision: revision },
          destination: { name: '{{.cluster}}', ...(toNamespace !== undefined && { namespace: toNamespace }) },
        },
      },
    },
  };
}
