// Drift: leftovers of interrupted commands, and copies that were changed in a target. Pure.
import type { ObjectMeta } from '../../api/objects/core.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { targetRefOf } from '../../model/naming/target-ref.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { expiryOf } from '../../scheduler/policies/move-expiry.ts';
import { foundOr, type DoctorFacts, type Finding } from './doctor-facts.ts';

const CHECK = 'Drift';
/** The policy of a move without a time of expiry was left behind after this. In ms. */
const MOVE_MS = 15 * 60_000;
/** The scheduler deletes expired ones at once. In ms. */
const EXPIRED_MS = 60_000;
/** Changed copies are corrected within seconds. In ms. */
const REPAIR_MS = 60_000;

/** Everything of the kind. */
export function checkDrift(facts: DoctorFacts): readonly Finding[] {
  const findings = [
    ...virtualNodesWithoutTarget(facts), ...targetsWithoutVirtualNode(facts), ...leftOvers(facts),
    ...changedCopies(facts),
  ];
  return foundOr(findings, CHECK, 'nothing was left behind');
}

function nodeOf({ object: { metadata, status } }: DoctorFacts['targets'][number]): string {
  return status?.virtualNode ?? virtualNodeName(targetRefOf(metadata));
}

function virtualNodesWithoutTarget({ virtualNodes, targets }: DoctorFacts): readonly Finding[] {
  const wanted = new Set(targets.map(nodeOf));
  return virtualNodes.filter(({ metadata }) => !wanted.has(metadata.name ?? '')).map(({ metadata }): Finding => ({
    check: CHECK,
    severity: 'warning', subject: `Node ${metadata.name}`, message: 'it represents a target that does not exist',
    remedy: `Start the component virtual-node, which removes it, or run "kubectl delete node ${metadata.name}".`,
  }));
}

function targetsWithoutVirtualNode({ virtualNodes, targets }: DoctorFacts): readonly Finding[] {
  const there = new Set(virtualNodes.map(({ metadata }) => metadata.name));
  return targets.filter(
    (target) => target.object.status?.virtualNode !== undefined && !there.has(nodeOf(target)) && mayHaveNode(target),
  ).map((target): Finding => ({
    check: CHECK,
    severity: 'error', subject: `target ${target.name}`, message: `its virtual node ${nodeOf(target)} does not exist`,
    remedy: 'Start the component virtual-node: it recreates the Node.',
  }));
}

/** A target gets its node once it is Ready; what keeps it from that is a finding of its own. */
function mayHaveNode({ object: { status }, problem }: DoctorFacts['targets'][number]): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  return problem === undefined && (ready?.status !== 'False' || ready.reason === 'NodeMissing');
}

function leftOvers({ leftBehind, joining, moves, targets, nowMs }: DoctorFacts): readonly Finding[] {
  const names = new Set(targets.map(({ object }) => object.metadata.name));
  return [
    ...leftBehind.map(({ metadata, ...rest }): Finding => ({
      check: CHECK, severity: 'warning', subject: `ConfigMap ${metadata.name}`,
      message: `a target that was left by force keeps ${dataOf(rest)['remains'] ?? 'something of this source'}`,
      remedy: `Delete that in the target, then "kubectl delete configmap ${metadata.name} -n ${metadata.namespace}".`,
    })),
    ...joining.filter((name) => !names.has(name)).map((name): Finding => ({
      check: CHECK, severity: 'warning', subject: `target ${name}`, message: 'joining it was interrupted',
      remedy: `Run "isthmus join" again with the same token or another one, or "isthmus unpeer ${name}".`,
    })),
    ...moves.filter(({ metadata }) => nowMs > expectedEnd(metadata)).map(({ metadata }): Finding => ({
      check: CHECK, severity: 'warning', subject: `PlacementPolicy ${metadata.namespace}/${metadata.name}`,
      message: 'a move that was interrupted restricts pods to one target',
      remedy: `Run "kubectl delete placementpolicy ${metadata.name} -n ${metadata.namespace}".`,
    })),
  ];
}

/** When the policy of a move has gone in any case, in ms since the epoch. */
function expectedEnd(metadata: ObjectMeta): number {
  const expiry = expiryOf(metadata);
  return expiry === undefined ? Date.parse(metadata.creationTimestamp ?? '') + MOVE_MS : expiry + EXPIRED_MS;
}

function dataOf(object: object): Readonly<Record<string, string>> {
  return (object as { readonly data?: Readonly<Record<string, string>> }).data ?? {};
}

function changedCopies({ secretCopies, nowMs }: DoctorFacts): readonly Finding[] {
  const isOld = (timestamp: string | undefined) => nowMs - Date.parse(timestamp ?? '') > REPAIR_MS;
  return secretCopies.filter(
    ({ metadata, spec }) => !spec.intact && isOld(metadata.creationTimestamp),
  ).map(({ metadata }): Finding => ({
    check: CHECK, severity: 'warning',
    subject: `Secret ${metadata.namespace}/${metadata.name}`, message: 'it is not what its source wrote',
    remedy:
      'Its source corrects it while it can reach this cluster. If a webhook of this cluster changes it, the ' +
        'change is accepted; an older source does not record what it writes.',
  }));
}
