// Stops and starts Admiralty's processes by scaling their Deployments: nothing of its release is deleted, so that the
// migration can be rolled back.
import { BEFORE_MIGRATION_ANNOTATION } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { DEPLOYMENTS, LEASES, PODS } from '../../api/resource-types.ts';
import { readAdmiraltyLeases } from '../../targets/admiralty/admiralty-detection.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { isHeld } from '../../model/naming/live-admiralty.ts';
import type { AdmiraltyComponent, Deployment } from './admiralty-installation.ts';
import { leaseName } from '../run/leadership.ts';
import { untilSo, type Migration } from './migration.ts';

const TYPE: ResourceType<Deployment> = DEPLOYMENTS as ResourceType<Deployment>;
/** Our components with leader election. */
const ACTING = ['scheduler', 'delegate-controller', 'virtual-node', 'peering', 'discovery'];

/** Scales a process to zero, and waits until its pods are gone and its Lease is no longer renewed. */
export async function stopProcess(component: AdmiraltyComponent, migration: Migration): Promise<void> {
  const { client, installation, signal, tell } = migration;
  const deployment = installation.deployments.get(component);
  if (deployment !== undefined) {
    const { metadata: { namespace, name = '' }, spec: { replicas = 1 } } = deployment;
    const metadata = { annotations: { [BEFORE_MIGRATION_ANNOTATION]: String(replicas) } };
    if (replicas > 0) await client.patch(
      TYPE, { namespace, name }, { patchType: 'merge', patch: { metadata, spec: { replicas: 0 } } }, signal,
    );
    const labelSelector =
      Object.entries(deployment.spec.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`).join(',');
    await untilSo(
      `${namespace}/${name} has no pods`,
      // one that was evicted stays when its Deployment is scaled
      async () => (await client.list(PODS, { namespace, labelSelector }, signal))
        .every(({ status }) => isTerminal(status?.phase)), migration,
    );
  }
  await untilNobodyRenews(component, migration);
  tell(`  ${component} is stopped`);
}

/** A released or expired Lease; a process outside its Deployment would keep renewing it. */
async function untilNobodyRenews(component: AdmiraltyComponent, migration: Migration): Promise<void> {
  const { client, signal } = migration;
  const leases = () => readAdmiraltyLeases(client, [leaseOf(component)], signal);
  await untilSo(
    `nobody renews Lease ${leaseOf(component)}`,
    async () => (await leases()).every((lease) => !isHeld(lease, Date.now())), migration,
  );
  for (const { metadata: { namespace, name = '', uid = '', resourceVersion } } of await leases()) {
    await client.delete(
      LEASES, { namespace, name },
      { preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) } }, signal,
    ).catch(ignoreStale);
  }
}

/** Restores a process's replicas, and waits until it is leader. */
export async function startProcess(component: AdmiraltyComponent, migration: Migration): Promise<void> {
  const { client, installation, signal, tell } = migration;
  const deployment = installation.deployments.get(component);
  if (deployment === undefined) return;
  const { namespace, name = '' } = deployment.metadata;
  const live = await client.get(TYPE, { namespace, name }, signal);
  const replicas =
    Number(live.metadata.annotations?.[BEFORE_MIGRATION_ANNOTATION] ?? Math.max(1, live.spec.replicas ?? 1));
  await client.patch(
    TYPE, { namespace, name },
    {
      patchType: 'merge',
      patch: { metadata: { annotations: { [BEFORE_MIGRATION_ANNOTATION]: null } }, spec: { replicas } },
    },
    signal,
  );
  if (component === 'restarter') return; // no need to wait for it
  const acts = async (): Promise<boolean> =>
    (await readAdmiraltyLeases(client, [leaseOf(component)], signal)).some((lease) => isHeld(lease, Date.now()));
  await untilSo(`${component} of Admiralty acts (Lease ${leaseOf(component)})`, acts, migration);
  tell(`  ${component} acts again`);
}

function leaseOf(component: AdmiraltyComponent): string {
  return `admiralty-${component}`;
}

/** Waits until no component of Isthmus is leader in this cluster. */
export async function untilStandby(migration: Migration): Promise<void> {
  const { client, installNamespace: namespace, signal } = migration;
  const held = async (): Promise<boolean> => (await client.list(LEASES, { namespace }, signal)).some(
    (lease) => ACTING.some((component) => lease.metadata.name === leaseName(component)) && isHeld(lease, Date.now()),
  );
  await untilSo('the components of Isthmus stand by', async () => !(await held()), migration);
}

/** Waits until our components are leaders in this cluster. */
export async function untilLeading(migration: Migration, components: readonly string[]): Promise<void> {
  const { client, installNamespace: namespace, signal } = migration;
  const acts = async (component: string): Promise<boolean> => (await client.list(LEASES, { namespace }, signal)).some(
    (lease) => lease.metadata.name === leaseName(component) && isHeld(lease, Date.now()),
  );
  for (const component of components) await untilSo(
    `${component} of Isthmus acts (start it: the chart's Deployments, or "isthmus run")`, () => acts(component),
    migration,
  );
}
