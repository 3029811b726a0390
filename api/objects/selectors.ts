// Selectors of nodes (`core/v1`) and of labels (`meta/v1`).

/** `core/v1` NodeSelectorRequirement. */
export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** `core/v1` NodeSelectorTerm: all of its requirements must hold. */
export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

/** `meta/v1` LabelSelector: all of its requirements must hold; an empty one selects everything. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
}
