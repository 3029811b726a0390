// What the targets of a process share, and what they tell.
import type { Logger } from 'pino';
import type { DelegationMode } from '../api/kinds/cluster-target.ts';
import type { IdentityProblem } from '../model/naming/target-identity.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import type { Fence } from '../kubernetes/flow/fence.ts';
import type { ClusterConnection } from '../kubernetes/credentials/kubeconfig.ts';
import type { TargetSession } from './target-session.ts';
import type { TenantRules } from './tenant-rules.ts';

/** What all targets of a process share. */
export interface TargetEnvironment {
  /** Client of the source cluster. */
  readonly source: ClusterClient;
  /** How to reach the source cluster, for targets with `self: true`. */
  readonly sourceConnection: ClusterConnection;
  readonly sourceId: string;
  readonly installNamespace: string;
  /** CONNECT endpoints of the gateways of this cluster, for targets with `spec.gateway`. */
  readonly gateways?: readonly URL[] | undefined;
  /** What Targets of tenants are held to; the defaults when missing. */
  readonly tenants?: TenantRules | undefined;
  readonly userAgent: string;
  /** Guards all writes to targets; missing where there is no leader election. */
  readonly fence?: Fence | undefined;
  readonly logger: Logger;
}

/** Hears what happens to a target; `Target` is the TargetCluster that tells it. */
export interface TargetListener<Target> {
  /** A session is about to start: add listeners to its informers now. */
  sessionOpened(target: Target, session: TargetSession): void;
  /** Availability may have changed. */
  changed(target: Target): void;
  /** How pods were delegated to it so far. */
  settledDelegation(target: Target): DelegationMode | undefined;
  /** Whether there is a target of this key. */
  isTarget(key: string): boolean;
  /** Which cluster it is has become known; what is given back speaks against using it. */
  identified(target: Target): IdentityProblem | undefined;
}
