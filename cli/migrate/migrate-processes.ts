// Admiralty's processes are stopped and started by the replicas of their Deployments: nothing of its release goes, so that it can be taken back.
import { BEFORE_MIGRATION_ANNOTATION } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { DEPLOYMENTS, LEASES, PODS } from '../../api/resource-types.ts';
import { readAdmiraltyLeases } from '../../targets/admiralty/admiralty-signs.ts';
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { isHeld } from '../../model/naming/live-admiralty.ts';
import type { AdmiraltyComponent, Deployment } from './admiralty-installation.ts';
import { leaseName } from '../run/leadership.ts';
import { untilSo, type Migration } from './migration.ts';

const TYPE: ResourceType<Deployment> = DEPLOYMENTS as ResourceType<Deployment>;
/** Components of ours that hold a Lease while they act. */
const ACTING = ['scheduler', 'delegate-controller', 'virtual-node', 'peering'];

/** Scales a process to nothing, and waits until its pods are gone and its Lease is renewed by nobody. */
export async function stopProcess(component: AdmiraltyComponent, migration: Migration): Promise<void> {
  const { client, installation, signal, tell } = migration;
  const deployment = installation.deployments.get(component);
  if (deployment !== undefined) {
    const { metadata: { namespace, name = '' }, spec: { replicas = 1 } } = deployment;
    const metadata = replicas === 0 ? {} : { metadata: { annotations: { [BEFORE_MIGRATION_ANNOTATION]: String(replicas) } } };
    if (replicas > 0) await client.patch(TYPE, { namespace, name }, { patchType: 'merge', patch: { ...metadata, spec: { replicas: 0 } } }, signal);
    const labelSelector = Object.entries(deployment.spec.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`).join(',');
    await untilSo(`${namespace}/${name} has no pods`, async () => (await client.list(PODS, { namespace, labelSelector }, signal)).length === 0, migration);
  }
  await untilNobodyRenews(component, migration);
  tell(`  ${component} is stopped`);
}

/** A Lease that was given back, or that has run out; a process that was cut off from its Deployment would go on renewing it. */
async function untilNobodyRenews(component: AdmiraltyComponent, migration: Migration): Promise<void> {
  const { client, signal } = migration;
  const leases = () => readAdmiraltyLeases(client, [leaseOf(component)], signal);
  await untilSo(`nobody renews Lease ${leaseOf(component)}`, async () => (await leases()).every((lease) => !isHeld(lease, Date.now())), migration);
  for (const { metadata: { namespace, name = '', uid = '', resourceVersion } } of await leases()) {
    await client.delete(LEASES, { namespace, name }, { preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) } }, signal).catch(ignoreStale);
  }
}

/** Gives a process its replicas back, and waits until it acts. */
export async function startProcess(component: AdmiraltyComponent, migration: Migration): Promise<void> {
  const { client, installation, signal, tell } = migration;
  const deployment = installation.deployments.get(component);
  if (deployment === undefined) return;
  const { namespace, name = '' } = deployment.metadata;
  const live = await client.get(TYPE, { namespace, name }, signal);
  const replicas = Number(live.metadata.annotations?.[BEFORE_MIGRATION_ANNOTATION] ?? Math.max(1, live.spec.replicas ?? 1));
  await client.patch(TYPE, { namespace, name }, { patchType: 'merge', patch: { metadata: { annotations: { [BEFORE_MIGRATION_ANNOTATION]: null } }, spec: { replicas } } }, signal);
  if (component === 'restarter') return; // nobody waits for it
  const acts = async (): Promise<boolean> => (await readAdmiraltyLeases(client, [leaseOf(component)], signal)).some((lease) => isHeld(lease, Date.now()));
  await untilSo(`${component} of Admiralty acts (Lease ${leaseOf(component)})`, acts, migration);
  tell(`  ${component} acts again`);
}

function leaseOf(component: AdmiraltyComponent): string {
  return `admiralty-${component}`;
}

/** Waits until no component of ours acts in this cluster. */
export async function untilStandby(migration: Migration): Promise<void> {
  const { client, installNamespace: namespace, signal } = migration;
  const held = async (): Promise<boolean> => (await client.list(LEASES, { namespace }, signal)).some((lease) => ACTING.some((component) => lease.metadata.name === leaseName(component)) && isHeld(lease, Date.now()));
  await untilSo('the components of Isthmus stand by', async () => !(await held()), migration);
}

/** Waits until components of ours act in this cluster. */
export async function untilLeading(migration: Migration, components: readonly string[]): Promise<void> {
  const { client, installNamespace: namespace, signal } = migration;
  const acts = async (component: string): Promise<boolean> => (await client.list(LEASES, { namespace }, signal)).some((lease) => lease.metadata.name === leaseName(component) && isHeld(lease, Date.now()));
  for (const component of components) await untilSo(`${component} of Isthmus acts (start it: the chart's Deployments, or "isthmus run")`, () => acts(component), migration);
}
