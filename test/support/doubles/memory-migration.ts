// A migration from Admiralty whose clusters are in memory.
import type { KubernetesObject, Lease } from '../../../api/objects/core.ts';
import type { AdmiraltyComponent, Deployment } from '../../../cli/migrate/admiralty-installation.ts';
import { migrationTarget, type Migration } from '../../../cli/migrate/migration.ts';
import type { TargetRef } from '../../../model/naming/target-ref.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import { BEGIN } from './virtual-waits.ts';

/** The migration, and what it told. */
export interface MemoryMigration extends Migration {
  readonly told: string[];
}

/** Of a cluster with the ID `own-id`, whose Admiralty calls it `hub`. */
export function memoryMigration(
  { client }: MemoryCluster, more: Partial<Migration> = {}, components: readonly Deployment[] = [],
): MemoryMigration {
  const deployments = components.map(
    (deployment) => [deployment.metadata.labels?.['component'] as AdmiraltyComponent, deployment] as const,
  );
  const told: string[] = [];
  return {
    client, installNamespace: 'isthmus-system', clusterId: 'own-id', targets: [], signal: new AbortController().signal,
    installation: {
      deployments: new Map(deployments), webhooks: [], clusterName: 'hub', sourceRole: 'mc-source',
      summaryViewerRole: 'mc-viewer',
    },
    told, tell: (line) => told.push(line), ...more,
  };
}

/** A target of the migration, which may still run Admiralty. */
export function memoryTarget({ client }: MemoryCluster, name: string, isAdmiraltyThere = false, namespace?: string) {
  const ref: TargetRef =
    namespace === undefined ? { kind: 'ClusterTarget', name } : { kind: 'Target', namespace, name };
  return migrationTarget(ref, client, isAdmiraltyThere);
}

/** A Lease that is held for so many s from {@link BEGIN}. */
export function heldLease(namespace: string, name: string, seconds: number): Lease {
  const spec = { holderIdentity: 'pod-1', renewTime: new Date(BEGIN).toISOString(), leaseDurationSeconds: seconds };
  return { metadata: { namespace, name }, spec };
}

/** A Deployment of Admiralty, with a label that says which of its components it runs. */
export function admiraltyDeployment(
  component: AdmiraltyComponent, replicas: number, annotations: Readonly<Record<string, string>> = {},
): Deployment & KubernetesObject {
  return {
    metadata: { namespace: 'adm', name: `mc-${component}`, labels: { component }, annotations },
    spec: {
      replicas, selector: { matchLabels: { component, release: 'mc' } },
      template: { metadata: { labels: { component } }, spec: { containers: [] } },
    },
  };
}
