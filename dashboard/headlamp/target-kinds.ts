// ClusterTargets and Targets in Headlamp: the classes that read them, and their pages.
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_TARGETS, TARGETS } from '../../api/resource-types.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import type { HeadlampPage } from './elements.ts';
import type { ObjectClass, PluginLib } from './plugin-lib.ts';

/** Their plurals. */
export const TARGET_PLURALS = { ClusterTarget: CLUSTER_TARGETS.plural, Target: TARGETS.plural } as const;

/** The class of each kind. */
export type TargetClasses = Readonly<Record<TargetRef['kind'], ObjectClass>>;

/** The classes for this Headlamp; to be made once, since Headlamp's hooks tell classes apart. */
export function targetClasses({ Crd }: PluginLib): TargetClasses {
  const make = ({ group, version, kind, plural, namespaced }: ResourceType): ObjectClass => (
    Crd.makeCustomResourceClass({
      apiInfo: [{ group, version }], kind, pluralName: plural, singularName: kind.toLowerCase(),
      isNamespaced: namespaced,
    })
  );
  return { ClusterTarget: make(CLUSTER_TARGETS), Target: make(TARGETS) };
}

/** Headlamp's page of a target's own object. */
export function targetPage(target: TargetRef, cluster: string): HeadlampPage {
  const { group, plural } = target.kind === 'ClusterTarget' ? CLUSTER_TARGETS : TARGETS;
  const namespace = target.kind === 'Target' ? target.namespace : '-';
  return { route: 'customresource', params: { crd: `${plural}.${group}`, namespace, crName: target.name }, cluster };
}
