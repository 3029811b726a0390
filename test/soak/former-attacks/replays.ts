// Findings 4 and 6: proxies that show one pod and run another, by what admission wrote for another pod, or by a policy
// of the namespace.
import { eventually } from '../../support/history/eventually.ts';
import type { RawApiClient } from '../../support/attackers/raw-api-client.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { ELECT, path, type Thing } from './clusters.ts';
import { elected, evil, harmless, judgeDelegate, makePod, RESTRICTED, unlessRefused } from './pods.ts';

const GENERATED = { generateName: 'job-' };

/** What admission writes on a pod that is never stored. */
async function writtenOn(client: RawApiClient, namespace: string, spec: object): Promise<Thing> {
  return makePod(client, namespace, elected(GENERATED, spec), '?dryRun=All');
}

/** What admission wrote, on a pod that is harmless. */
const pasted = ({ metadata: { annotations } }: Thing): object => ({
  metadata: { ...GENERATED, annotations },
  spec: harmless(),
});

/** CPU of the delegate's containers. */
function cpuOf({ spec }: Thing): string {
  const { containers } = spec as {
    readonly containers: readonly { readonly resources?: { readonly requests?: { readonly cpu?: string } } }[];
  };
  return containers.map(({ resources }) => resources?.requests?.cpu ?? '0').join('+');
}

/** Three pods of 1m carry what was written on one of 8 CPUs, under a quota of 100m. */
async function passQuota(attacked: Attacked): Promise<Outcome> {
  const namespace = 'small-quota';
  await attacked.namespace(namespace);
  const tenant = await attacked.tenant(attacked.source, namespace);
  const written = await writtenOn(tenant, namespace, harmless('8'));
  const quota = { metadata: { name: 'small' }, spec: { hard: { 'requests.cpu': '100m' } } };
  await attacked.source.admin.json({ method: 'POST', path: path('api/v1', 'resourcequotas', namespace), body: quota });
  await eventually(
    'the quota counts',
    async () =>
      (
        await attacked.source.admin.json<Thing>({
          method: 'GET',
          path: path('api/v1', 'resourcequotas', namespace, 'small'),
        })
      )['status'] as object | undefined,
  );
  return unlessRefused(async () => {
    const cpus: string[] = [];
    for (let index = 0; index < 3; index += 1)
      cpus.push(cpuOf(await attacked.delegateOf(await makePod(tenant, namespace, pasted(written)))));
    const got = `under a quota of 100m three delegates ask for ${cpus.join(', ')} CPU`;
    return cpus.includes('8') ? through(got) : stopped(got);
  });
}

/** What was written on an evil pod, used after the namespace takes harmless ones only. */
async function passTightenedPolicy(attacked: Attacked): Promise<Outcome> {
  const namespace = 'tightened';
  await attacked.namespace(namespace);
  const tenant = await attacked.tenant(attacked.source, namespace);
  const written = await writtenOn(tenant, namespace, evil());
  await attacked.source.admin.json({
    method: 'PATCH',
    path: `/api/v1/namespaces/${namespace}`,
    body: { metadata: { labels: RESTRICTED } },
  });
  return unlessRefused(async () => judgeDelegate(attacked, await makePod(tenant, namespace, pasted(written))));
}

/** A pod that is made as proxy and elected by a later PATCH, with what admission wrote on the pod of somebody else. */
async function electLater(attacked: Attacked): Promise<Outcome> {
  const namespace = 'elected-later';
  await attacked.namespace(namespace);
  const [victim, tenant] = [
    await attacked.tenant(attacked.source, namespace, 'victim'),
    await attacked.tenant(attacked.source, namespace),
  ];
  const written = await writtenOn(victim, namespace, evil());
  await attacked.source.admin.json({
    method: 'PATCH',
    path: `/api/v1/namespaces/${namespace}`,
    body: { metadata: { labels: RESTRICTED } },
  });
  return unlessRefused(async () => judgeDelegate(attacked, await patchLater(tenant, namespace, written)));
}

/** Makes the proxy, not elected, then elects it. */
async function patchLater(tenant: RawApiClient, namespace: string, written: Thing): Promise<Thing> {
  const [[elect]] = [Object.keys(ELECT)];
  const annotations = Object.fromEntries(
    Object.entries(written.metadata.annotations ?? {}).filter(([key]) => key !== elect),
  );
  const made = await makePod(tenant, namespace, {
    metadata: { ...GENERATED, annotations, ...finalizersOf(written) },
    spec: asProxy(written),
  });
  return tenant.json<Thing>({
    method: 'PATCH',
    path: path('api/v1', 'pods', namespace, made.metadata.name),
    body: { metadata: { annotations: ELECT } },
  });
}

function finalizersOf({ metadata }: Thing): object {
  const { finalizers } = metadata as { readonly finalizers?: readonly string[] };
  return finalizers === undefined ? {} : { finalizers };
}

/** A harmless pod with the scheduling of a proxy. */
function asProxy({ spec }: Thing): object {
  const { schedulerName, tolerations, nodeSelector } = spec as Readonly<Record<string, unknown>>;
  return { ...harmless(), schedulerName, tolerations, nodeSelector };
}

/**
 * A proxy made by hand in a namespace that has opted out, so that no webhook sees it, with what was written on a pod
 * while it was opted in.
 */
async function optOut(attacked: Attacked): Promise<Outcome> {
  const namespace = 'opted-out';
  return unlessRefused(async () => judgeDelegate(attacked, await makeByHand(attacked, namespace, evil())));
}

/**
 * Makes a proxy by hand in a new namespace that has opted out, with what was written on a pod of this spec; with
 * our finalizer unless told otherwise. Throws for a refusal.
 */
export async function makeByHand(
  attacked: Attacked,
  namespace: string,
  spec: object,
  isHeld = true,
): Promise<Thing> {
  await attacked.namespace(namespace);
  const tenant = await attacked.tenant(attacked.source, namespace);
  const written = await writtenOn(tenant, namespace, spec);
  await attacked.source.admin.json({
    method: 'PATCH',
    path: `/api/v1/namespaces/${namespace}`,
    body: { metadata: { labels: { ...RESTRICTED, 'multicluster-scheduler': null } } },
  });
  const pod = {
    metadata: { ...GENERATED, annotations: written.metadata.annotations, ...(isHeld && finalizersOf(written)) },
    spec: asProxy(written),
  };
  return makePod(tenant, namespace, pod);
}

/** These attacks. */
export const REPLAY_ATTACKS: readonly Attack[] = [
  {
    finding: 4,
    what: 'what admission wrote on a pod of 8 CPUs is carried by three of 1m, under a quota of 100m',
    make: passQuota,
  },
  {
    finding: 4,
    what: 'what it wrote on a privileged pod is carried by a harmless one, after Pod Security was tightened',
    make: passTightenedPolicy,
  },
  {
    finding: 4,
    what: 'a proxy made by hand, with what it wrote on the pod of another user, gets `elect` by a PATCH',
    make: electLater,
  },
  { finding: 4, what: 'a proxy made by hand in a namespace that has opted out, where no webhook looks', make: optOut },
];
