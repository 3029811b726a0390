// Liqo: a NamespaceOffloading elects the pods of its namespace, and a ResourceOffer limits what a cluster may use here.
import { NAMESPACE_ELECT_LABEL, NAMESPACE_ELECT_VALUE, CLUSTER_TARGET_NAME_LABEL } from '../../api/objects/keys.ts';
import type { ElectionStrategy, TargetSelector } from '../../api/kinds/namespace-election.ts';
import { ANY_SOURCE, type ResourceShareSpec } from '../../api/kinds/resource-share.ts';
import { apiVersionOf, RESOURCE_SHARES } from '../../api/resource-types.ts';
import type { ResourceList } from '../../api/objects/core.ts';
import type { NodeSelectorRequirement } from '../../api/objects/selectors.ts';
import { selectorProblem } from '../../model/objects/label-selector.ts';
import { parseResourceList } from '../../model/resources/resources.ts';
import { FieldReader } from '../translation/field-reader.ts';
import { concluded, titleOf, type Conversion, type Fields, type Manifest } from '../translation/manifest.ts';
import { namespaceElection, placementPolicy } from '../translation/policies.ts';
import { Report } from '../translation/report.ts';
import { clusterNames, reportLabels } from '../translation/target-selectors.ts';
import { mapAt } from '../translation/workloads.ts';

const STRATEGIES: ReadonlySet<string> = new Set(['Local', 'Remote', 'LocalAndRemote']);
/** Label of Liqo's virtual nodes: the peer that they stand for. */
const REMOTE_CLUSTER = 'liqo.io/remote-cluster-id';
/** Label that all of them have. */
const NODE_TYPE = 'liqo.io/type';

/** Converts a NamespaceOffloading. */
export function convertOffloading(offloading: Manifest): Conversion {
  const report = new Report(titleOf(offloading));
  const { namespace } = offloading;
  const spec = new FieldReader(mapAt(offloading.fields, 'spec'), 'spec', report);
  const strategy = readStrategy(spec, report);
  readMapping(spec, namespace, report);
  const terms = readTerms(spec.record('clusterSelector'), report);
  spec.finish();
  const [only] = terms;
  const selector: TargetSelector | undefined = terms.length === 1 ? only : undefined;
  const election = namespaceElection(
    namespace, { strategy, mapping: 'EnforceSameName', ...(selector !== undefined && { selector }) },
  );
  const elects = {
    apiVersion: 'v1', kind: 'Namespace',
    metadata: { name: namespace, labels: { [NAMESPACE_ELECT_LABEL]: NAMESPACE_ELECT_VALUE } },
  };
  if (namespace === undefined) report.unreadable('metadata.namespace', 'it is missing; name it with -n');
  return concluded(report, [elects, election, ...tiersOf(terms, namespace, report)]);
}

function readStrategy(spec: FieldReader, report: Report): ElectionStrategy {
  const strategy = spec.text('podOffloadingStrategy') ?? 'LocalAndRemote';
  if (!STRATEGIES.has(strategy)) {
    const known = [...STRATEGIES].join(', ');
    report.unreadable(spec.at('podOffloadingStrategy'), `${JSON.stringify(strategy)} is not one of ${known}`);
    return 'Local';
  }
  if (strategy === 'LocalAndRemote') {
    report.note(
      spec.at('podOffloadingStrategy'),
      'pods stay here only through a ClusterTarget with spec.self: true, which the selector must match as well',
    );
  }
  return strategy as ElectionStrategy;
}

/** Pods have the namespace of the same name in targets. */
function readMapping(spec: FieldReader, namespace = 'NAME', report: Report): void {
  const mapping = spec.text('namespaceMappingStrategy') ?? 'DefaultName';
  const remote = spec.text('remoteNamespaceName');
  const isSame = mapping === 'EnforceSameName' || (mapping === 'SelectedName' && remote === namespace);
  if (mapping === 'SelectedName' && !isSame) {
    report.lost(spec.at('remoteNamespaceName'), `pods have namespace ${namespace} in targets, under no other name`);
    return;
  }
  const change = isSame ? '' : ', not one with a suffix';
  report.note(
    spec.at('namespaceMappingStrategy'),
    `pods have namespace ${namespace} in targets${change}; create it there: isthmus allow namespace ${namespace}`,
  );
}

/** The terms of a `core/v1` NodeSelector, of which one must match. None means every cluster. */
function readTerms(selector: FieldReader | undefined, report: Report): readonly TargetSelector[] {
  if (selector === undefined) return [];
  const terms = selector.records('nodeSelectorTerms').map((term) => {
    const expressions = term.value('matchExpressions') ?? [];
    term.finish();
    const isEmpty = Array.isArray(expressions) && expressions.length === 0 && !term.has('matchFields');
    const problem = isEmpty
      ? 'is empty, and a term without requirements selects no cluster; leave out clusterSelector to select all'
      : selectorProblem({ matchExpressions: expressions });
    if (problem === undefined) return expressionsOf(expressions as readonly NodeSelectorRequirement[], term, report);
    report.unreadable(term.at('matchExpressions'), `it ${problem}`);
    return [];
  });
  selector.finish();
  const isRestricted = terms.length > 0 && terms.every((expressions) => expressions.length > 0);
  return isRestricted ? terms.map((matchExpressions) => ({ matchExpressions })) : [];
}

function expressionsOf(
  expressions: readonly NodeSelectorRequirement[], term: FieldReader, report: Report,
): readonly NodeSelectorRequirement[] {
  const field = term.at('matchExpressions');
  return expressions.flatMap(({ key, operator, values = [] }) => {
    if (key === NODE_TYPE) return [];
    if (key !== REMOTE_CLUSTER) {
      reportLabels({ matchExpressions: [{ key, operator, values }] }, "Liqo's virtual nodes", { field, report });
      return [{ key, operator, ...(values.length > 0 && { values }) }];
    }
    const names = clusterNames(values, field, report) ?? [];
    report.note(field, 'the ClusterTargets must have the names of the clusters in Liqo');
    return [{ key: CLUSTER_TARGET_NAME_LABEL, operator, ...(names.length > 0 && { values: names }) }];
  });
}

/** Alternatives are tiers: one of them must match, the first that has room. */
function tiersOf(
  terms: readonly TargetSelector[], namespace: string | undefined, report: Report,
): readonly Fields[] {
  if (terms.length <= 1) return [];
  report.note('spec.clusterSelector', 'of several terms, an earlier one is preferred here');
  return [placementPolicy(namespace, 'offloading', { tiers: terms.map((targets) => ({ targets })) })];
}

/** Converts a ResourceOffer, which Liqo 1.0 removed. */
export function convertResourceOffer(offer: Manifest): Conversion {
  const report = new Report(titleOf(offer));
  const spec = new FieldReader(mapAt(offer.fields, 'spec'), 'spec', report);
  const cluster = spec.text('clusterId') ?? '';
  report.lost(
    'spec.clusterId',
    `a source is known by the UID of its Namespace kube-system, and ${JSON.stringify(cluster)} is none; the ` +
      'ResourceShare is for every source that has none of its own, until you write the UID into spec.source',
  );
  const limits = { ...limitsIn(spec.map('resourceQuota'), 'hard'), ...limitsIn(spec.map('resources'), 'limits') };
  const { invalid } = parseResourceList(limits);
  spec.reject({ labels: 'label the ClusterTarget in the source', prices: 'set them in the ClusterTarget there' });
  spec.finish();
  if (Object.keys(limits).length === 0 || invalid.length > 0) {
    const [wrong] = invalid;
    report.lost(
      'spec.resources', wrong === undefined ? 'it has no limits' : `${wrong.resource} is not a valid quantity`,
    );
    return { objects: [], findings: report.findings };
  }
  const share: ResourceShareSpec = { source: ANY_SOURCE, limits };
  const object = {
    apiVersion: apiVersionOf(RESOURCE_SHARES), kind: 'ResourceShare', metadata: { name: offer.name }, spec: share,
  };
  report.note('', 'apply the ResourceShare in the cluster that lends its resources');
  return concluded(report, [object]);
}

/** Quantities within `nested`, or the object itself where it has no such field. */
function limitsIn(holder: Fields | undefined, nested: string): ResourceList {
  if (holder === undefined) return {};
  const list = Object.hasOwn(holder, nested) ? mapAt(holder, nested) : holder;
  return Object.fromEntries(
    Object.entries(list)
      .map(([name, value]) => [name, typeof value === 'number' || typeof value === 'string' ? value : 'none']),
  );
}
