// Karmada: a PropagationPolicy selects objects and says in which clusters they are. The workloads among them are
// elected, and get a PlacementPolicy each.
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import type { PlacementPolicySpec } from '../../api/kinds/placement-policy.ts';
import { FieldReader } from '../translation/field-reader.ts';
import { readPlacement, type Placement } from './karmada-placement.ts';
import { selectedBy, type SelectedPods } from './karmada-selection.ts';
import {
  concluded, titleOf, type Conversion, type ElectedWorkload, type Fields, type Manifest,
} from '../translation/manifest.ts';
import { clusterPlacementPolicy, placementPolicy } from '../translation/policies.ts';
import { Report } from '../translation/report.ts';
import { mapAt } from '../translation/workloads.ts';

/** Converts a PropagationPolicy or ClusterPropagationPolicy. `all` is the input, where its workloads may be. */
export function convertPropagation(policy: Manifest, all: readonly Manifest[]): Conversion {
  const report = new Report(titleOf(policy));
  const spec = new FieldReader(mapAt(policy.fields, 'spec'), 'spec', report);
  const selectors = spec.records('resourceSelectors');
  if (selectors.length === 0) report.lost('spec.resourceSelectors', 'it is empty, so the policy selects nothing');
  const selected = selectors.flatMap((selector) => selectedBy(selector, { policy, all, report }));
  const placement = readPlacement(spec.part('placement'), report);
  const failover = readOthers(spec, report);
  spec.finish();
  const deciding: Deciding = { policy, placement, failover, count: selected.length, report };
  const results = selected.map((pods) => policyFor(pods, deciding));
  return concluded(
    report, results.flatMap(({ objects }) => objects), results.flatMap(({ elected }) => elected),
  );
}

interface Deciding {
  readonly policy: Manifest;
  readonly placement: Placement;
  readonly failover: PlacementPolicySpec;
  /** How many policies this one becomes. */
  readonly count: number;
  readonly report: Report;
}

function policyFor(
  { podSelector, namespace, suffix, workload }: SelectedPods, { policy, placement, failover, count, report }: Deciding,
): { readonly objects: readonly Fields[]; readonly elected: readonly ElectedWorkload[] } {
  const { spec, election } = placement.forWorkload(workload, report);
  const name = count === 1 ? policy.name : joinName([policy.name, suffix], MAX_NAME_LENGTH);
  const whole = { ...(podSelector && { podSelector }), ...spec, ...failover };
  const isCluster = policy.kind === 'ClusterPropagationPolicy';
  const made = isCluster ? clusterPlacementPolicy(namespace, name, whole) : placementPolicy(namespace, name, whole);
  const says = Object.keys(spec).length + Object.keys(failover).length > 0;
  return {
    objects: says ? [made] : [], elected: workload === undefined ? [] : [{ manifest: workload, election }],
  };
}

/** The fields beside the placement. */
function readOthers(spec: FieldReader, report: Report): PlacementPolicySpec {
  for (const field of ['propagateDeps', 'association']) {
    if (spec.flag(field) === true) {
      report.note(spec.at(field), 'always so: ConfigMaps, Secrets, Services and Ingresses follow their pods');
    }
  }
  if ((spec.count('priority') ?? 0) > 0) {
    report.lost(spec.at('priority'), 'all policies that select a pod hold for it; let only one select each pod');
  }
  rejectUnless(spec, 'preemption', 'Never', 'all policies that select a pod hold for it, and none takes it over');
  rejectUnless(spec, 'schedulerName', 'default-scheduler', 'policies have no scheduler of their own');
  if (spec.text('conflictResolution') === 'Overwrite') {
    report.note(spec.at('conflictResolution'), 'pods get names of their own in targets, so nothing is overwritten');
  }
  if (spec.text('activationPreference') !== undefined) {
    report.note(spec.at('activationPreference'), 'always so: a changed policy holds for pods that are created later');
  }
  if (spec.flag('preserveResourcesOnDeletion') === true) {
    report.lost(spec.at('preserveResourcesOnDeletion'), 'pods in targets end with the pods of the source');
  }
  spec.reject({
    suspension: 'policies cannot be suspended; cordon the target, or leave the elect annotation away',
    dependentOverrides: 'OverridePolicies are not converted; write overrides into the policy',
    schedulePriority: 'set priorityClassName in the pod template',
  });
  return readFailover(spec.record('failover'), report);
}

function rejectUnless(spec: FieldReader, field: string, standard: string, why: string): void {
  const value = spec.text(field);
  if (value !== undefined && value !== standard) spec.reject({ [field]: why });
}

function readFailover(failover: FieldReader | undefined, report: Report): PlacementPolicySpec {
  if (failover === undefined) return {};
  failover.reject({ application: 'a pod that fails stays in its target, where it is restarted' });
  const cluster = failover.map('cluster');
  failover.finish();
  if (cluster === undefined) return {};
  report.note(failover.at('cluster'), 'pods leave a lost target once it must have stopped them, never before');
  return { failover: 'Fenced' };
}
