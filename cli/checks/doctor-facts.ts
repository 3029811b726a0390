// What `isthmus doctor` and `isthmus status` look at, as read from one cluster and its targets. Nothing in here is secret: of Secrets with kubeconfigs
// only the times of their tokens and certificates are kept.
import type { ClusterSource, Source } from '../../api/kinds/cluster-source.ts';
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Lease, Node, Pod } from '../../api/objects/core.ts';
import type { Cluster } from '../../api/kinds/gateway.ts';
import type { PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import type { MutatingWebhookConfiguration } from '../../api/resource-types.ts';
import type { SecretCopy } from '../../api/kinds/secret-copy.ts';
import type { AdmiraltySigns } from '../../model/naming/live-admiralty.ts';

/** From when to when something holds, in ms since the epoch. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** What an API server shows to anybody who asks. */
export interface ServerProbe {
  /** How much its clock is ahead of this machine's, in ms, and by how much this may be wrong. */
  readonly aheadMs: number;
  readonly uncertainMs: number;
  /** Of its serving certificate. */
  readonly certificate: Validity | undefined;
}

/** A target as this source uses it. */
export interface TargetFacts {
  /** `NAME` or `NAMESPACE/NAME`. */
  readonly name: string;
  readonly object: ClusterTarget | Target;
  /** Of the token in its kubeconfig; undefined where that has none which says when it ends. */
  readonly token: Validity | undefined;
  /** Whether peering wrote the kubeconfig, and so renews the token. */
  readonly isRenewed: boolean;
  /** Of the certificates in `certificate-authority-data`. */
  readonly authorities: readonly Validity[];
  /** Undefined where the server was not asked, the text of what went wrong where it did not answer. */
  readonly server: ServerProbe | string | undefined;
  /** Kubernetes' own, such as `v1.36.3`; undefined where it was not told. */
  readonly kubernetes: string | undefined;
  /** Why its kubeconfig cannot be used. */
  readonly problem?: string | undefined;
}

/** What became of an elected pod in a dry run. */
export type WebhookProbe =
  /** No namespace has opted in. */
  | { readonly kind: 'nowhere' }
  | { readonly kind: 'asked' }
  /** The pod came back as it was sent. */
  | { readonly kind: 'passed-by'; readonly namespace: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Everything that was read. */
export interface DoctorFacts {
  readonly installNamespace: string;
  /** Of this machine. */
  readonly nowMs: number;
  /** Of this program. */
  readonly version: string;
  /** `v1.36.3`. */
  readonly kubernetes: string | undefined;
  readonly server: ServerProbe | string | undefined;
  /** What could not be read, and why. */
  readonly unread: readonly { readonly what: string; readonly message: string }[];
  /** What an installation of this version has, as it is stored, by `Kind namespace/name`. */
  readonly stored: ReadonlyMap<string, KubernetesObject>;
  readonly webhook: MutatingWebhookConfiguration | undefined;
  readonly probe: WebhookProbe;
  /** Of the install namespace. */
  readonly leases: readonly Lease[];
  readonly deployments: readonly KubernetesObject[];
  readonly targets: readonly TargetFacts[];
  readonly sources: readonly (Source | ClusterSource)[];
  readonly virtualNodes: readonly Node[];
  readonly electedPods: readonly Pod[];
  /** PodChaperons: pods of others that run here. */
  readonly chaperons: readonly KubernetesObject[];
  readonly secretCopies: readonly SecretCopy[];
  /** Members of the clusterset. */
  readonly members: readonly Cluster[];
  /** ConfigMaps that say what remained in targets which were left by force. */
  readonly leftBehind: readonly KubernetesObject[];
  /** Names of targets whose joining was not finished. */
  readonly joining: readonly string[];
  /** Signs of an Admiralty that works in this cluster. */
  readonly admiralty: AdmiraltySigns;
  /** Policies of moves. */
  readonly moves: readonly PlacementPolicy[];
}

/** What a check has found. `ok` needs nothing; `warning` will need something; `error` does not work now. */
export type Severity = 'ok' | 'warning' | 'error';

/** One finding. */
export interface Finding {
  /** CamelCase. */
  readonly check: string;
  readonly severity: Severity;
  /** What it is about. */
  readonly subject: string;
  readonly message: string;
  /** What to do; missing for what is well. */
  readonly remedy?: string;
}

/** Key of an object in {@link DoctorFacts.stored}. */
export function storedKey({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}
