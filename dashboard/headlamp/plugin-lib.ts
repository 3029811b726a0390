// The part of Headlamp's global `pluginLib` that the plugin uses, as Headlamp 0.45 and newer have it. Headlamp makes
// every request, with the viewer's permissions; the plugin has hooks of React and of Headlamp, and registers what it
// shows.
import type { KubernetesObject } from '../../api/objects/core.ts';

/** What `createElement` gives; only React looks into it. */
export interface ReactElement {
  readonly type: unknown;
  readonly props: unknown;
}

/** What an element may hold. React shows texts as texts. */
export type Child = ReactElement | string | undefined | null | readonly Child[];

/** A component of React. */
export type Component<P extends object = object> = (props: P) => Child;

/** An object of a cluster as Headlamp keeps it. */
export interface HeadlampObject {
  /** Headlamp's name of the cluster. */
  readonly cluster: string;
  readonly kind: string;
  /** The object as the API server gave it. */
  readonly jsonData: KubernetesObject;
}

/** Why a request failed. */
export interface HeadlampError {
  readonly message: string;
  /** HTTP status; missing where there was no answer. */
  readonly status?: number | undefined;
  readonly cluster?: string | undefined;
  readonly namespace?: string | undefined;
}

/** A list with its watch. Items may be of some clusters or namespaces only, with an error for each of the others. */
export interface Listing {
  /** Null while nothing has been read. */
  readonly items: readonly HeadlampObject[] | null;
  readonly errors: readonly HeadlampError[] | null;
}

/** Which objects to list: those of the selected clusters where `clusters` is missing. */
export interface ListOptions {
  readonly clusters?: readonly string[];
  readonly namespace?: readonly string[];
  readonly labelSelector?: string;
}

/** The class of a kind, with its hooks. */
export interface ObjectClass {
  useList(options?: ListOptions): Listing;
  useGet(
    name: string, namespace?: string, options?: { readonly cluster?: string },
  ): readonly [HeadlampObject | null, HeadlampError | null, ...unknown[]];
}

/** Kinds whose classes the plugin takes from Headlamp. */
export type KnownKind = 'CronJob' | 'Deployment' | 'Job' | 'Node' | 'Pod' | 'ReplicaSet' | 'StatefulSet';

/** What a class of a custom resource is made from. */
export interface CustomResource {
  readonly apiInfo: readonly { readonly group: string; readonly version: string }[];
  readonly kind: string;
  readonly pluralName: string;
  readonly singularName: string;
  readonly isNamespaced: boolean;
}

/** A box on the map. Headlamp takes name, kind and status from the object, unless they are given. */
export interface MapNode {
  /** The UID of the object, so that Headlamp shows it once, whichever source has it. */
  readonly id: string;
  readonly kubeObject?: HeadlampObject;
  readonly label?: string;
  readonly subtitle?: string;
  readonly status?: 'error' | 'success' | 'warning';
  readonly detailsComponent?: Component;
}

/** A line on the map. */
export interface MapEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  /** An end that many groups share: it is shown in each, and does not make one group of them (Headlamp 0.45). */
  readonly nonGroupingSide?: 'source' | 'target';
}

/** What a source of the map has; null while it is being read. */
export type MapData = { readonly nodes: readonly MapNode[]; readonly edges: readonly MapEdge[] } | null;

/** A source of the map. */
export interface MapSource {
  readonly id: string;
  readonly label: string;
  readonly useData: () => MapData;
}

/** Edges between the objects of two of Headlamp's own sources. */
export interface MapRelation {
  readonly id: string;
  readonly fromSource: string;
  readonly toSource: string;
  readonly predicate: (from: MapNode, to: MapNode) => boolean;
  readonly buildEdgesWithIndex: (from: readonly MapNode[], byUid: ReadonlyMap<string, MapNode>) => MapEdge[];
}

/** A column of a table of objects. */
export interface TableColumn {
  readonly id: string;
  readonly label: string;
  readonly gridTemplate: string;
  readonly getValue: (object: HeadlampObject) => string;
}

/** A table of Headlamp with its columns; those of Headlamp's own that need no code are names. */
export interface ObjectTable<C> {
  readonly id: string;
  readonly columns: readonly C[];
}

/** The components of Headlamp and of its style library that are shown. */
export interface CommonComponents {
  readonly Link: unknown;
  readonly NameValueTable: unknown;
  readonly SectionBox: unknown;
  readonly SimpleTable: unknown;
  readonly StatusLabel: unknown;
}

/** `pluginLib`. */
export interface PluginLib {
  readonly React: {
    readonly createElement: (type: unknown, props: object | null, ...children: readonly Child[]) => ReactElement;
    useMemo<T>(make: () => T, on: readonly unknown[]): T;
  };
  readonly ReactRedux: { useSelector<T>(select: (state: unknown) => T): T };
  readonly CommonComponents: CommonComponents;
  readonly MuiMaterial: { readonly Alert: unknown };
  readonly K8s: {
    readonly ResourceClasses: Readonly<Record<KnownKind, ObjectClass>>;
    useSelectedClusters(): readonly string[];
  };
  readonly Crd: { makeCustomResourceClass(resource: CustomResource): ObjectClass };
  registerMapSource(source: MapSource): void;
  /** Since Headlamp 0.45. */
  readonly registerResourceRelationProvider?: (relation: MapRelation) => void;
  registerDetailsViewSection(section: Component<{ readonly resource: HeadlampObject | null }>): void;
  registerResourceTableColumnsProcessor(processor: <C>(table: ObjectTable<C>) => readonly (C | TableColumn)[]): void;
  registerRoute(route: {
    readonly path: string; readonly name: string; readonly exact: boolean; readonly sidebar: string;
    readonly component: () => Child;
  }): void;
  registerSidebarEntry(entry: {
    readonly parent: string; readonly name: string; readonly label: string; readonly url: string;
  }): void;
}
