// Finding 7: pods that were made by hand and then cannot go, and their namespaces with them.
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { eventually } from '../../support/history/eventually.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { path, type Thing } from './clusters.ts';
import { elected, harmless, makePod, unlessRefused } from './pods.ts';
import { makeByHand } from './replays.ts';

/** How long what was deleted may still be there, in ms: its grace is a second. */
const POLLING = { forMs: 45_000, everyMs: 250 };
const NEVER = new AbortController().signal;

async function untilGone({ source }: Attacked, where: string): Promise<boolean> {
  const isGone = async (): Promise<true | undefined> =>
    (await source.admin.call({ method: 'GET', path: where })).status === 404 ? true : undefined;
  return (await pollUntil(isGone, POLLING, NEVER)) === true;
}

function remove({ source }: Attacked, where: string): Promise<unknown> {
  return source.admin.json({ method: 'DELETE', path: where, body: { gracePeriodSeconds: 1 } });
}

async function virtualNode({ source }: Attacked): Promise<string> {
  const { items } = await source.admin.json<{ readonly items: readonly Thing[] }>({
    method: 'GET',
    path: '/api/v1/nodes?labelSelector=virtual-kubelet.io/provider=admiralty',
  });
  return items[0]!.metadata.name;
}

/** A pod that names a virtual node itself. */
async function makeStranger(attacked: Attacked, namespace: string): Promise<Thing> {
  await attacked.namespace(namespace);
  const tenant = await attacked.tenant(attacked.source, namespace);
  return makePod(tenant, namespace, {
    metadata: { name: 'stranger' },
    spec: { ...harmless(), nodeName: await virtualNode(attacked) },
  });
}

async function deleteStranger(attacked: Attacked): Promise<Outcome> {
  return unlessRefused(async () => {
    await makeStranger(attacked, 'strangers');
    const where = path('api/v1', 'pods', 'strangers', 'stranger');
    await remove(attacked, where);
    return (await untilGone(attacked, where))
      ? stopped('it goes')
      : through(`it is still Terminating ${POLLING.forMs / 1_000} s later`);
  });
}

async function deleteNamespace(attacked: Attacked): Promise<Outcome> {
  return unlessRefused(async () => {
    await makeStranger(attacked, 'doomed');
    await attacked.source.admin.json({ method: 'DELETE', path: '/api/v1/namespaces/doomed' });
    return (await untilGone(attacked, '/api/v1/namespaces/doomed'))
      ? stopped('both go')
      : through(`both are still Terminating ${POLLING.forMs / 1_000} s later`);
  });
}

/** A proxy that runs, and whose maker takes our finalizer away before it is deleted. */
async function deleteUnheld(attacked: Attacked): Promise<Outcome> {
  const namespace = 'unheld';
  await attacked.namespace(namespace);
  const tenant = await attacked.tenant(attacked.source, namespace);
  const proxy = await makePod(tenant, namespace, elected({ name: 'unheld' }, harmless()));
  const where = path('api/v1', 'pods', namespace, 'unheld');
  await eventually(
    'it runs',
    async () =>
      ((await tenant.json<Thing>({ method: 'GET', path: where }))['status'] as { readonly phase: string }).phase ===
      'Running',
  );
  await tenant.json({ method: 'PATCH', path: where, body: { metadata: { finalizers: null } } });
  return removeProxy(attacked, proxy);
}

/** A proxy that was made by hand and never had our finalizer, once it has a delegate. */
async function deleteNeverHeld(attacked: Attacked): Promise<Outcome> {
  return unlessRefused(async () => {
    const proxy = await makeByHand(attacked, 'never-held', harmless(), false);
    await attacked.delegateOf(proxy);
    return removeProxy(attacked, proxy);
  });
}

/** Deletes a proxy, and looks whether it goes and its delegate with it. */
async function removeProxy(attacked: Attacked, proxy: Thing): Promise<Outcome> {
  const where = path('api/v1', 'pods', proxy.metadata.namespace, proxy.metadata.name);
  await remove(attacked, where);
  const isGone = await untilGone(attacked, where);
  const noDelegate = async (): Promise<true | undefined> =>
    (await attacked.delegatesOf(proxy)).length === 0 ? true : undefined;
  const isStopped = (await pollUntil(noDelegate, POLLING, NEVER)) === true;
  const [left, running] = [isGone ? 'has gone' : 'is still Terminating', isStopped ? 'has gone' : 'runs on'];
  const got = `${POLLING.forMs / 1_000} s later the proxy ${left} and its delegate ${running}`;
  return isGone && isStopped ? stopped('proxy and delegate go') : through(got);
}

/** These attacks. */
export const LEFTOVER_ATTACKS: readonly Attack[] = [
  { finding: 7, what: 'a pod with `nodeName` of a virtual node is deleted', make: deleteStranger },
  { finding: 7, what: 'the namespace of such a pod is deleted', make: deleteNamespace },
  {
    finding: 7,
    what: 'a proxy that was made by hand without our finalizer is deleted',
    make: deleteNeverHeld,
  },
  { finding: 7, what: 'a proxy from which its maker took our finalizer is deleted', make: deleteUnheld },
];
