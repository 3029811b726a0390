// What all targets of a process share, and the events that they emit.
import type { Logger } from 'pino';
import type { DelegationMode } from '../api/kinds/cluster-target.ts';
import type { IdentityProblem } from '../model/naming/target-identity.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import type { Fence } from '../kubernetes/flow/fence.ts';
import type { ClusterConnection } from '../kubernetes/credentials/kubeconfig.ts';
import type { LocalAccess } from '../kubernetes/credentials/local-access.ts';
import type { TargetSession } from './target-session.ts';
import type { TenantRules } from './access/tenant-rules.ts';

/** Shared dependencies of all targets of a process. */
export interface TargetEnvironment {
  /** Client of the source cluster. */
  readonly source: ClusterClient;
  /** Connection to the source cluster, for targets with `self: true`. */
  readonly sourceConnection: ClusterConnection;
  readonly sourceId: string;
  readonly installNamespace: string;
  /** CONNECT endpoints of the gateways of this cluster, for targets with `spec.gateway`. */
  readonly gateways?: readonly URL[] | undefined;
  /** Limits for Targets of tenants; the defaults when missing. */
  readonly tenants?: TenantRules | undefined;
  /** What kubeconfigs of ClusterTargets may use of this process; nothing when missing. */
  readonly access?: LocalAccess | undefined;
  readonly userAgent: string;
  /** Fences all writes to targets; missing without leader election. */
  readonly fence?: Fence | undefined;
  readonly logger: Logger;
}

/** Notified by a target; `Target` is the TargetCluster. */
export interface TargetListener<Target> {
  /** A session is about to start: add listeners to its informers now. */
  sessionOpened(target: Target, session: TargetSession): void;
  /** Availability may have changed. */
  changed(target: Target): void;
  /** The delegation mode of its status: what `Auto` has found before. */
  storedDelegation(target: Target): DelegationMode | undefined;
  /** Whether a target of this key exists. */
  isTarget(key: string): boolean;
  /** Why it must not become the cluster of this UID, if anything: its pods run in the one that it was before. */
  movedTo(target: Target, clusterId: string, signal: AbortSignal): Promise<IdentityProblem | undefined>;
  /** The cluster UID became known; returns a reason against using the target, if any. */
  identified(target: Target): IdentityProblem | undefined;
}
