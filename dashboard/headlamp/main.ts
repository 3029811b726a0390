// The plugin of Headlamp: registers what it shows, once. Headlamp runs it as a script, with `pluginLib` as a global.
import type { Pod } from '../../api/objects/core.ts';
import { elementsOf } from './elements.ts';
import { delegateRelation, mapSource } from './map-source.ts';
import { nodeSection } from './node-section.ts';
import { targetOfPod } from './pod-facts.ts';
import { podSection } from './pod-section.ts';
import type { Component, HeadlampObject, ObjectTable, PluginLib, TableColumn } from './plugin-lib.ts';
import { targetClasses } from './target-kinds.ts';
import { targetsPage } from './targets-page.ts';

const PODS_TABLE = 'headlamp-pods';
const PAGE = { name: 'isthmus-targets', label: 'Isthmus targets', path: '/isthmus/targets' } as const;

/** Registers everything with this Headlamp. */
function register(lib: PluginLib): void {
  const [elements, classes] = [elementsOf(lib), targetClasses(lib)];
  lib.registerMapSource(mapSource(lib, elements));
  lib.registerResourceRelationProvider?.(delegateRelation);
  const [pod, node] = [podSection(lib, elements), nodeSection(classes, elements)];
  const section: Component<{ readonly resource: HeadlampObject | null }> = ({ resource }) => {
    if (resource?.kind === 'Pod') return elements.component(pod, { pod: resource });
    return resource?.kind === 'Node' ? elements.component(node, { node: resource }) : null;
  };
  lib.registerDetailsViewSection(section);
  lib.registerResourceTableColumnsProcessor(withTargetColumn);
  const page = targetsPage(lib, classes, elements);
  const { name, label, path } = PAGE;
  lib.registerRoute({ path, name, exact: true, sidebar: name, component: () => elements.component(page, {}) });
  lib.registerSidebarEntry({ parent: 'cluster', name, label, url: path });
}

/** The column goes before the age, which is the last one. */
function withTargetColumn<C>({ id, columns }: ObjectTable<C>): readonly (C | TableColumn)[] {
  if (id !== PODS_TABLE) return columns;
  const target: TableColumn = {
    id: 'isthmus-target', label: 'Target', gridTemplate: 'auto',
    getValue: ({ jsonData }) => targetOfPod(jsonData as Pod) ?? '',
  };
  const age = columns.findIndex((column) => column === 'age');
  return age === -1 ? [...columns, target] : [...columns.slice(0, age), target, ...columns.slice(age)];
}

const { pluginLib } = globalThis as { readonly pluginLib?: PluginLib };
if (pluginLib !== undefined) register(pluginLib);
