// A double of Headlamp's `pluginLib`: keeps what a plugin registers, answers its hooks from lists of a test, and
// renders elements as React does, into a tree whose texts are texts. The facts are those of Headlamp 0.45.
import assert from 'node:assert/strict';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type {
  Child, Component, HeadlampError, HeadlampObject, KnownKind, Listing, ListOptions, MapRelation, MapSource, ObjectClass,
  ObjectTable, PluginLib, ReactElement, TableColumn,
} from '../../../dashboard/headlamp/plugin-lib.ts';

/** An object as Headlamp has it. */
export function inHeadlamp(object: KubernetesObject, kind: string, cluster = 'source'): HeadlampObject {
  return { cluster, kind, jsonData: object };
}

/** A list that was read. */
export function listed(...items: readonly HeadlampObject[]): Listing {
  return { items, errors: null };
}

/** A list that may not be read. */
export function refused(error: Partial<HeadlampError> = {}): Listing {
  return { items: null, errors: [{ message: 'Forbidden', status: 403, cluster: 'source', ...error }] };
}

/** A list that is being read. */
export const READING: Listing = { items: null, errors: null };

/** What a plugin asked a hook for. */
export interface Asked {
  readonly kind: string;
  readonly options: ListOptions | readonly unknown[];
}

/** Headlamp as a test wants it. */
export interface HeadlampWorld {
  /** Lists by kind; those of a test's other clusters are in them. Empty where a kind is missing. */
  readonly lists?: Readonly<Record<string, Listing>>;
  /** What `useGet` gives; by kind. */
  readonly objects?: Readonly<Record<string, readonly [HeadlampObject | null, HeadlampError | null]>>;
  readonly selectedClusters?: readonly string[];
  /** Redux' state. */
  readonly state?: unknown;
  /** Without the function that Headlamp has since 0.45. */
  readonly isOld?: boolean;
}

/** What the plugin has registered. */
export interface Registered {
  readonly lib: PluginLib;
  readonly mapSources: MapSource[];
  readonly relations: MapRelation[];
  readonly sections: Component<{ readonly resource: HeadlampObject | null }>[];
  readonly columns: (<C>(table: ObjectTable<C>) => readonly (C | TableColumn)[])[];
  readonly routes: Parameters<PluginLib['registerRoute']>[0][];
  readonly entries: Parameters<PluginLib['registerSidebarEntry']>[0][];
  readonly asked: Asked[];
}

const KINDS: readonly KnownKind[] = ['CronJob', 'Deployment', 'Job', 'Node', 'Pod', 'ReplicaSet', 'StatefulSet'];

/** A Headlamp without anything registered. */
export function headlampDouble(world: HeadlampWorld = {}): Registered {
  const { selectedClusters = ['source'], state = { filter: { namespaces: new Set() } }, isOld = false } = world;
  const asked: Asked[] = [];
  const classOf = (kind: string): ObjectClass => ({
    useList: (options = {}) => {
      asked.push({ kind, options });
      return world.lists?.[kind] ?? listed();
    },
    useGet: (...options) => {
      asked.push({ kind, options });
      return world.objects?.[kind] ?? [null, null];
    },
  });
  const registered: Omit<Registered, 'lib'> =
    { mapSources: [], relations: [], sections: [], columns: [], routes: [], entries: [], asked };
  const lib: PluginLib = {
    React: { createElement: element, useMemo: (make) => make() },
    ReactRedux: { useSelector: (select) => select(state) },
    CommonComponents: {
      Link: 'Link', NameValueTable: 'NameValueTable', SectionBox: 'SectionBox', SimpleTable: 'SimpleTable',
      StatusLabel: 'StatusLabel',
    },
    MuiMaterial: { Alert: 'Alert' },
    K8s: {
      ResourceClasses: Object.fromEntries(KINDS.map((kind) => [kind, classOf(kind)])) as never,
      useSelectedClusters: () => selectedClusters,
    },
    Crd: { makeCustomResourceClass: ({ kind }) => classOf(kind) },
    registerMapSource: (source) => registered.mapSources.push(source),
    ...(!isOld && { registerResourceRelationProvider: (relation) => registered.relations.push(relation) }),
    registerDetailsViewSection: (section) => registered.sections.push(section),
    registerResourceTableColumnsProcessor: (processor) => registered.columns.push(processor),
    registerRoute: (route) => registered.routes.push(route),
    registerSidebarEntry: (entry) => registered.entries.push(entry),
  };
  return { lib, ...registered };
}

function element(type: unknown, props: object | null, ...children: readonly Child[]): ReactElement {
  return { type, props: { ...props, ...(children.length > 0 && { children }) } };
}

/** What is on the screen: one line for each text, headings, cells and links included. */
export function rendered(child: Child): readonly string[] {
  if (child === null || child === undefined || child === '') return [];
  if (typeof child === 'string') return [child];
  if (Array.isArray(child)) return (child as readonly Child[]).flatMap(rendered);
  const { type, props } = child as { readonly type: unknown; readonly props: ElementProps };
  if (typeof type === 'function') return rendered((type as Component<ElementProps>)(props));
  const names = Object.keys(props);
  assert.ok(!names.some((name) => DANGEROUS.test(name)), `${String(type)} ${names.join(' ')}`);
  return common(props);
}

/** What Headlamp's own components show. */
function common(props: ElementProps): readonly string[] {
  const { title, columns = [], data, rows = [], emptyMessage = '', children, params } = props;
  const text = rendered(children);
  return [
    ...(title === undefined ? [] : [`# ${title}`]),
    ...rows.map(({ name, value }) => `${name}: ${rendered(value).join(' ')}`),
    ...(data?.length === 0 ? [emptyMessage] : []),
    ...(data ?? []).map((row) => columns.map(({ getter }) => rendered(getter(row)).join(' ')).join(' | ')),
    ...(params === undefined ? text : [`[${text.join(' ')}](${Object.values(params).join('/')})`]),
  ];
}

/** Ways to put markup, scripts or foreign addresses into a page. */
const DANGEROUS = /^(?:dangerouslySetInnerHTML|on[A-Z].*|href|src|srcDoc|style|to)$/;

interface ElementProps {
  readonly title?: string;
  readonly children?: readonly Child[];
  readonly rows?: readonly { readonly name: string; readonly value: Child }[];
  readonly columns?: readonly { readonly label: string; readonly getter: (row: unknown) => Child }[];
  readonly data?: readonly unknown[];
  readonly emptyMessage?: string;
  readonly params?: Readonly<Record<string, string>>;
}
