// Elements of Headlamp's own components. React renders what a cluster sends as text, never as markup.
import type { UnreadablePart } from '../wire/screens.ts';
import { unreadableText } from './listings.ts';
import type { Child, Component, PluginLib, ReactElement } from './plugin-lib.ts';

/** How something is: Headlamp's colours of labels. */
export type Tone = 'error' | 'success' | 'warning' | '';

/** Makes elements. */
export interface Elements {
  readonly component: <P extends object>(type: Component<P>, props: P) => ReactElement;
  /** A section with a heading. */
  readonly section: (title: string, ...children: readonly Child[]) => ReactElement;
  /** Names with their values. */
  readonly facts: (facts: readonly (readonly [name: string, value: Child])[]) => ReactElement;
  /** A table; `empty` is said where it has no rows. */
  readonly table: (columns: readonly string[], rows: readonly (readonly Child[])[], empty: string) => ReactElement;
  readonly label: (text: string, tone: Tone) => ReactElement;
  readonly text: (text: string) => ReactElement;
  /** What could not be read. */
  readonly notices: (unreadable: readonly UnreadablePart[]) => readonly ReactElement[];
  /** A link to a page of Headlamp in the same cluster. */
  readonly link: (to: HeadlampPage, text: string) => ReactElement;
}

/** A page of Headlamp. */
export interface HeadlampPage {
  readonly route: 'customresource' | 'node' | 'pod';
  readonly params: Readonly<Record<string, string>>;
  readonly cluster: string;
}

/** Elements of this Headlamp. */
export function elementsOf({ React, CommonComponents: common, MuiMaterial }: PluginLib): Elements {
  const { createElement } = React;
  const text = (words: string): ReactElement => createElement('p', null, words);
  return {
    component: (type, props) => createElement(type, props),
    section: (title, ...children) => createElement(common.SectionBox, { title }, ...children),
    facts: (facts) => createElement(common.NameValueTable, { rows: facts.map(([name, value]) => ({ name, value })) }),
    table: (columns, rows, empty) => createElement(common.SimpleTable, {
      columns: columns.map((label, index) => ({ label, getter: (row: readonly Child[]) => row[index] })),
      data: rows, emptyMessage: empty,
    }),
    label: (words, tone) => createElement(common.StatusLabel, { status: tone }, words),
    text,
    notices: (unreadable) => unreadable.map((part) => (
      createElement(MuiMaterial.Alert, { severity: 'warning', key: part.what }, unreadableText(part))
    )),
    link: ({ route, params, cluster }, words) => (
      createElement(common.Link, { routeName: route, params, activeCluster: cluster }, words)
    ),
  };
}
