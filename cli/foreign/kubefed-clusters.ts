// KubeFed's registered clusters: a TargetDiscovery makes targets of them, with their names and labels.
import { apiVersionOf, TARGET_DISCOVERIES } from '../../api/resource-types.ts';
import type { TargetDiscoverySpec } from '../../api/registry/target-discovery.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import { concluded, titleOf, type Conversion, type Manifest } from '../translation/manifest.ts';
import { Report } from '../translation/report.ts';
import { mapAt } from '../translation/workloads.ts';

/** Converts a KubeFedCluster, together with all others of its namespace. */
export function convertKubeFedCluster(cluster: Manifest, all: readonly Manifest[]): Conversion {
  const report = new Report(titleOf(cluster));
  const { namespace, kind, group } = cluster;
  if (namespace === undefined) {
    report.unreadable('metadata.namespace', 'it is missing; name it with -n');
    return concluded(report, []);
  }
  report.note('', 'the component discovery follows KubeFedClusters, and may read Secrets where you let it');
  const together = all.filter((other) => other.kind === kind && other.group === group && other.namespace === namespace);
  const keys = together.flatMap(({ fields }) => Object.keys(mapAt(mapAt(fields, 'metadata'), 'labels')));
  const copyLabels = [...new Set(keys)].toSorted();
  const spec: TargetDiscoverySpec = {
    from: { kubeFed: {} }, namespaces: [namespace], ...(copyLabels.length > 0 && { target: { copyLabels } }),
  };
  return concluded(report, [{
    apiVersion: apiVersionOf(TARGET_DISCOVERIES), kind: 'TargetDiscovery',
    metadata: { name: joinName([{ constant: 'kubefed' }, namespace], MAX_NAME_LENGTH) }, spec,
  }]);
}
