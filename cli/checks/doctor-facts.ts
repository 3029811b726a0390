// Inputs of `isthmus doctor` and `isthmus status`, as read from one cluster and its targets. Contains no secrets: of
// kubeconfig Secrets only the dates of their tokens and certificates are kept.
import type { ClusterSource, Source } from '../../api/kinds/cluster-source.ts';
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Lease, Node, Pod } from '../../api/objects/core.ts';
import type { ClustersetMember } from '../../api/kinds/gateway.ts';
import type { PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import type { TargetDiscovery } from '../../api/registry/target-discovery.ts';
import type { MutatingWebhookConfiguration } from '../../api/resource-types.ts';
import type { SecretCopy } from '../../api/kinds/secret-copy.ts';
import type { AdmiraltyEvidence } from '../../model/naming/live-admiralty.ts';

/** Validity of a token or certificate, in ms since the epoch. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** What an API server shows to unauthenticated clients. */
export interface ServerProbe {
  /** Offset of its clock against this machine's in ms, and its uncertainty. */
  readonly aheadMs: number;
  readonly uncertainMs: number;
  /** Of its serving certificate. */
  readonly certificate: Validity | undefined;
}

/** A target as used by this source. */
export interface TargetFacts {
  /** `NAME` or `NAMESPACE/NAME`. */
  readonly name: string;
  readonly object: ClusterTarget | Target;
  /** Of the token in its kubeconfig; undefined when the token has no expiry. */
  readonly token: Validity | undefined;
  /** Whether peering wrote the kubeconfig, and so renews the token. */
  readonly isRenewed: boolean;
  /** Of the certificates in `certificate-authority-data`. */
  readonly authorities: readonly Validity[];
  /** Undefined when the server was not probed; the error text when it did not respond. */
  readonly server: ServerProbe | string | undefined;
  /** Kubernetes version, such as `v1.36.3`; undefined when unknown. */
  readonly kubernetes: string | undefined;
  /** Its API server does not accept the credentials; its condition tells that once a watch ends. */
  readonly isUnauthorized?: boolean;
  /** Why its kubeconfig cannot be used. */
  readonly problem?: string | undefined;
}

/** Result of a dry run with an elected pod. */
export type WebhookProbe =
  /** No namespace has opted in. */
  | { readonly kind: 'not-opted-in' }
  | { readonly kind: 'mutated' }
  /** The pod was returned unchanged. */
  | { readonly kind: 'bypassed'; readonly namespace: string }
  /** Others than the webhook deny it in every namespace. */
  | { readonly kind: 'denied-by-others'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Something that could not be read. */
export interface Unread {
  /** Plural of a type, `version`, or `Secret NAMESPACE/NAME`. */
  readonly what: string;
  readonly message: string;
  /** Whether this user may not read it; otherwise the call failed. */
  readonly isForbidden: boolean;
}

/** Admiralty's webhook configurations, as {@link DoctorFacts.unread} names them. */
export const ADMIRALTY_WEBHOOKS = 'webhooks of Admiralty';
/** A pod that is created as a dry run, likewise. */
export const TRIAL_POD = 'dry runs of pods';
/** The Leases of Admiralty's processes, likewise. */
export const LEASES_OF_ADMIRALTY = 'leases of Admiralty';

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
  readonly unread: readonly Unread[];
  /** Stored objects of an installation of this version, by `Kind namespace/name`. */
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
  /** PodChaperons: pods of other clusters that run here. */
  readonly chaperons: readonly KubernetesObject[];
  readonly secretCopies: readonly SecretCopy[];
  /** Members of the clusterset. */
  readonly members: readonly ClustersetMember[];
  /** ConfigMaps that list what remains in targets left with --force. */
  readonly leftBehind: readonly KubernetesObject[];
  /** Targets whose joining was not finished. */
  readonly joining: readonly string[];
  /** Traces of an Admiralty running in this cluster. */
  readonly admiralty: AdmiraltyEvidence;
  /** Registries of other tools whose clusters become targets. */
  readonly discoveries: readonly TargetDiscovery[];
  /** Policies of moves. */
  readonly moves: readonly PlacementPolicy[];
}

/**
 * A finding. `ok` needs nothing; `warning` will need something; `unknown` could not be checked; `error` is broken
 * now.
 */
export type Severity = 'ok' | 'warning' | 'unknown' | 'error';

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

/** The findings of a check; where there are none, that all is well. */
export function foundOr(
  findings: readonly Finding[], check: string, message: string, subject = 'this cluster',
): readonly Finding[] {
  return findings.length > 0 ? findings : [{ check, severity: 'ok', subject, message }];
}

/** Key of an object in {@link DoctorFacts.stored}. */
export function storedKey({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** What of a Deployment of ours says which program it runs. */
interface Container {
  readonly image?: string;
  readonly args?: readonly string[];
}

/** The container of a Deployment of ours. */
export function containerOf(deployment: object): Container {
  const { spec } = deployment as {
    readonly spec?: { readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } } }
  };
  return spec?.template?.spec?.containers?.[0] ?? {};
}
