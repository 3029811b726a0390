// Finding 10: what a target says of a pod that it was given, and of itself, and what the source makes of it.
import { eventually } from '../../support/history/eventually.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { path, type AttackedCluster, type Thing } from './clusters.ts';
import { elected, harmless, makePod } from './pods.ts';

const CONDITION = 'gates.example.com/approved-by-the-source';
const NETWORKS = 'k8s.v1.cni.cncf.io/networks';
const NOTE = 'example.com/note';
/** In the Service range of the sandbox's source. */
const ADDRESS = '10.64.0.99';

interface Status {
  readonly phase: string;
  readonly podIP?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
}

export const statusOf = (pod: Thing): Status => pod['status'] as Status;

/** A pod of the source that runs, and its delegate with the target that it is in. */
async function runningPod(
  attacked: Attacked,
  namespace: string,
): Promise<{ readonly proxy: string; readonly delegate: string; readonly target: AttackedCluster }> {
  await attacked.namespace(namespace);
  const made = await makePod(attacked.source.admin, namespace, elected({ name: 'believed' }, harmless()));
  const proxy = path('api/v1', 'pods', namespace, 'believed');
  await eventually(
    'it runs',
    async () => statusOf(await attacked.source.admin.json<Thing>({ method: 'GET', path: proxy })).phase === 'Running',
  );
  const delegate = path('api/v1', 'pods', namespace, (await attacked.delegateOf(made)).metadata.name);
  const found = await Promise.all(
    attacked.targets.map(async (target) =>
      (await target.admin.call({ method: 'GET', path: delegate })).status === 200 ? [target] : [],
    ),
  );
  return { proxy, delegate, target: found.flat()[0]! };
}

/**
 * The target writes a lie on the delegate, then a harmless note; once the proxy shows the note, the lie has been
 * heard.
 */
async function lie(
  attacked: Attacked,
  namespace: string,
  { subresource = '', patch, believed }: Lie,
): Promise<Outcome> {
  const { proxy, delegate, target } = await runningPod(attacked, namespace);
  const pod = await target.admin.json<Thing>({ method: 'GET', path: delegate });
  await target.admin.json({ method: 'PATCH', path: `${delegate}${subresource}`, body: patch(pod) });
  await target.admin.json({
    method: 'PATCH',
    path: delegate,
    body: { metadata: { annotations: { [NOTE]: 'heard' } } },
  });
  const shown = await eventually('the note is heard', async () => {
    const found = await attacked.source.admin.json<Thing>({ method: 'GET', path: proxy });
    return found.metadata.annotations?.[NOTE] === 'heard' ? found : undefined;
  });
  const got = believed(shown);
  return got === undefined
    ? stopped('a harmless annotation is shown, and not this')
    : through(`the proxy shows ${got}`);
}

interface Lie {
  readonly subresource?: string;
  readonly patch: (delegate: Thing) => object;
  /** What of the lie a proxy shows. */
  readonly believed: (proxy: Thing) => string | undefined;
}

const CONDITION_LIE: Lie = {
  subresource: '/status',
  patch: (delegate) => ({
    status: { conditions: [...(statusOf(delegate).conditions ?? []), { type: CONDITION, status: 'True' }] },
  }),
  believed: (proxy) =>
    statusOf(proxy).conditions?.some(({ type }) => type === CONDITION) === true ? `condition ${CONDITION}` : undefined,
};
const ADDRESS_LIE: Lie = {
  subresource: '/status',
  patch: () => ({ status: { podIP: ADDRESS, podIPs: [{ ip: ADDRESS }] } }),
  believed: (proxy) => (statusOf(proxy).podIP === ADDRESS ? `address ${ADDRESS}` : undefined),
};
const ANNOTATION_LIE: Lie = {
  patch: () => ({ metadata: { annotations: { [NETWORKS]: 'evil' } } }),
  believed: (proxy) => (proxy.metadata.annotations?.[NETWORKS] === undefined ? undefined : `annotation ${NETWORKS}`),
};

/** These attacks. */
export const LIE_ATTACKS: readonly Attack[] = [
  {
    finding: 10,
    what: 'a target sets a condition of its own on a delegate',
    make: (attacked) => lie(attacked, 'lie-condition', CONDITION_LIE),
  },
  {
    finding: 10,
    what: 'a target says that a pod has an address in the Service range of the source',
    make: (attacked) => lie(attacked, 'lie-address', ADDRESS_LIE),
  },
  {
    finding: 10,
    what: `a target annotates a delegate with ${NETWORKS}`,
    make: (attacked) => lie(attacked, 'lie-annotation', ANNOTATION_LIE),
  },
];
