// Which labels of a target's nodes its virtual node gets. The target chooses them, so none may attract pods that are
// not meant for a target, identify a single machine, or be one that the source's API server rejects.
import type { StringMap } from '../../api/objects/core.ts';
import { ADMIRALTY_PREFIX } from '../../api/objects/keys.ts';
import { isLabel } from '../../model/naming/label-syntax.ts';
import { compileLabelPattern } from '../../model/objects/label-pattern.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';

/** An administrator's settings for a target's labels. */
export interface LabelSettings {
  /** `spec.excludedLabelsRegexp`: matching labels are not shown; when it is invalid, no label of the target is. */
  readonly excluded?: string | undefined;
  /** Labels of the (Cluster)Target. Those of a ClusterTarget override the target's. */
  readonly labels?: StringMap | undefined;
}

/** Labels that Kubernetes' own components read and every node may set on itself (admission plugin NodeRestriction). */
const WELL_KNOWN: ReadonlySet<string> = new Set([
  'kubernetes.io/arch', 'kubernetes.io/os',
  'topology.kubernetes.io/region', 'topology.kubernetes.io/zone', 'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
  'beta.kubernetes.io/arch', 'beta.kubernetes.io/os', 'beta.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/zone',
]);
/** The only labels shown for a tenant's Target. */
const SHOWN_OF_TENANTS: ReadonlySet<string> = new Set([
  'kubernetes.io/arch', 'kubernetes.io/os', 'topology.kubernetes.io/region', 'topology.kubernetes.io/zone',
  'node.kubernetes.io/instance-type',
]);
/** Hardware features, by Node Feature Discovery. */
const FEATURES = 'feature.node.kubernetes.io/';
/** Domains, with subdomains, whose labels tell Kubernetes or us what a node is for. */
const RESERVED_DOMAINS =
  ['kubernetes.io', 'k8s.io', ADMIRALTY_PREFIX.slice(0, -1), 'isthmus.dev', 'virtual-kubelet.io'];
/** Labels that identify a machine; those of a single-node target would. */
const IDENTITIES: ReadonlySet<string> =
  new Set(['k3s.io/hostname', 'k3s.io/internal-ip', 'k3s.io/external-ip', 'alpha.eksctl.io/instance-id']);
const OTHER_RESERVED: ReadonlySet<string> = new Set(['type', '__proto__']);
/** Maximum number of labels, more than any node has. */
const MOST = 128;

/** The labels to show, of all that the target reports for its nodes. */
export function shownLabels(
  target: TargetRef, reported: StringMap, { excluded = '', labels: administrators = {} }: LabelSettings,
): StringMap {
  const isTenantOwned = target.kind === 'Target';
  const mayShow = isTenantOwned ? (key: string) => SHOWN_OF_TENANTS.has(key) : (key: string) => !isReserved(key);
  const pattern = excluded === '' ? undefined : compileLabelPattern(excluded);
  if (pattern?.kind === 'invalid') return {};
  const shown = Object.entries(reported)
    .filter(([key, value]) => mayShow(key) && isLabel(key, value) && pattern?.matches(key, value) !== true)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .slice(0, MOST);
  return Object.fromEntries(
    shown.map(([key, value]) => [key, (isTenantOwned ? undefined : ownValue(administrators, key)) ?? value]),
  );
}

function isReserved(key: string): boolean {
  if (WELL_KNOWN.has(key) || key.startsWith(FEATURES)) return false;
  const [domain = ''] = key.split('/');
  return IDENTITIES.has(key) || OTHER_RESERVED.has(key) || (
    key.includes('/') && RESERVED_DOMAINS.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`))
  );
}

function ownValue(labels: StringMap, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
