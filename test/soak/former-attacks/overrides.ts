// Finding 6: a policy of the namespace that asks for more on the delegate than the proxy shows.
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { path, said } from './clusters.ts';
import { elected, harmless, makePod, powersOf, RESTRICTED } from './pods.ts';

/** An account of the namespace in every cluster, which harmless pods do not run under. */
const MIGHTY = 'mighty';
const OVERRIDES: Readonly<Record<string, unknown>> = {
  '/spec/hostPID': true,
  '/spec/containers/0/securityContext': { privileged: true },
  '/spec/volumes': [{ name: 'host', hostPath: { path: '/' } }],
  '/spec/serviceAccountName': MIGHTY,
};

/** A policy of the namespace patches the delegates of harmless pods, in each of four ways. */
async function override(attacked: Attacked): Promise<Outcome> {
  const namespace = 'overridden';
  await attacked.namespace(namespace, RESTRICTED);
  const tenant = await attacked.tenant(attacked.source, namespace);
  const accounts = path('api/v1', 'serviceaccounts', namespace);
  for (const { admin } of attacked.clusters)
    await admin.json({ method: 'POST', path: accounts, body: { metadata: { name: MIGHTY } } });
  const came: string[] = [];
  const refused: string[] = [];
  for (const [index, [to, value]] of Object.entries(OVERRIDES).entries()) {
    const name = `evil-${index}`;
    const spec = {
      podSelector: { matchLabels: { app: name } },
      overrides: [{ targets: {}, patch: [{ op: 'add', path: to, value }] }],
    };
    const answer = await tenant.call({
      method: 'POST',
      path: path('apis/isthmus.dev/v1alpha1', 'placementpolicies', namespace),
      body: { apiVersion: 'isthmus.dev/v1alpha1', kind: 'PlacementPolicy', metadata: { name }, spec },
    });
    if (answer.status >= 300) {
      refused.push(said(answer));
      continue;
    }
    const delegate = await attacked.delegateOf(
      await makePod(tenant, namespace, elected({ name, labels: { app: name } }, harmless())),
    );
    came.push(...powersOf(delegate));
  }
  if (came.length > 0) return through(`delegates of harmless proxies have ${came.join(', ')}`);
  const first = refused[0] ?? 'the others do nothing';
  return stopped(`${refused.length} of ${Object.keys(OVERRIDES).length} policies refused, ${first}`);
}

/** These attacks. */
export const OVERRIDE_ATTACKS: readonly Attack[] = [
  {
    finding: 6,
    what: '`overrides` of a PlacementPolicy set hostPID, privileged, a hostPath and another account',
    make: override,
  },
];
