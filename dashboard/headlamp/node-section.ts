// The section on the page of a virtual node: whether its target gets new pods, and how much it has.
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import { shortTargetName, targetKey } from '../../model/naming/target-ref.ts';
import type { Elements } from './elements.ts';
import { unreadablePartOf } from './listings.ts';
import type { Child, Component, HeadlampObject } from './plugin-lib.ts';
import { nodeFacts, targetFacts, type NodeFacts } from './target-facts.ts';
import { targetPage, TARGET_PLURALS, type TargetClasses } from './target-kinds.ts';

/** What the section is given. */
interface NodeProps {
  readonly node: HeadlampObject;
}

/** A node that is a virtual node. */
interface VirtualNode extends NodeProps {
  readonly facts: NodeFacts;
}

/** The section, which is empty for nodes that are not virtual. */
export function nodeSection(classes: TargetClasses, elements: Elements): Component<NodeProps> {
  const withTarget = targetSection(classes, elements);
  return function NodeSection({ node }) {
    const facts = nodeFacts(node.jsonData);
    return facts === undefined ? null : elements.component(withTarget, { node, facts });
  };
}

function targetSection(classes: TargetClasses, elements: Elements): Component<VirtualNode> {
  const { section, facts: list, notices, table } = elements;
  return function TargetSection({ node: { cluster }, facts }) {
    const { target, resources } = facts;
    const namespace = target.kind === 'Target' ? target.namespace : undefined;
    const [found, error] = classes[target.kind].useGet(target.name, namespace, { cluster });
    const more = found === null ? [] : targetFacts(found.jsonData as ClusterTarget | Target);
    const { message = '', status } = error ?? {};
    const unreadable = error === null
      ? [] : [unreadablePartOf(TARGET_PLURALS[target.kind], { message, status, cluster }, 'get')];
    return section(
      'Isthmus target', ...notices(unreadable), list([...availability(elements, facts, cluster), ...more]),
      table(['Resource', 'Allocatable', 'Capacity'], resources.map(({ name, allocatable, capacity }) => (
        [name, allocatable, capacity]
      )), 'The target has not reported its capacity yet.'),
    );
  };
}

function availability(
  { label, link }: Elements, { target, state, message, isCordoned }: NodeFacts, cluster: string,
): readonly (readonly [string, Child])[] {
  return [
    [target.kind, link(targetPage(target, cluster), shortTargetName(targetKey(target)))],
    ['State', label(state, state === 'Ready' ? 'success' : 'error')],
    ...(message === undefined ? [] : [['What to change', message] as const]),
    ...(isCordoned ? [['Cordoned', 'It gets no new pods until it is uncordoned.'] as const] : []),
  ];
}
