// Finding 8: what somebody could do who has the token of a component.
import { eventually } from '../../support/history/eventually.ts';
import { documents, Packaging } from '../../support/peers/packaging.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { INSTALLED, path, said, type AttackedCluster } from './clusters.ts';

const RBAC = 'apis/rbac.authorization.k8s.io/v1';
const GROUP = 'rbac.authorization.k8s.io';
const MIGHTY = 'clusterrole-aggregation-controller';
const COMPONENTS = [
  'isthmus-webhook',
  'isthmus-scheduler',
  'isthmus-delegate-controller',
  'isthmus-virtual-node',
  'isthmus-peering',
];
/** What no component of a cluster that only sends pods has a use for. */
const NEEDLESS = [
  { verb: 'create', resource: 'pods' },
  { verb: 'create', resource: 'pods', subresource: 'exec' },
  { verb: 'create', group: GROUP, resource: 'roles' },
  { verb: 'create', group: GROUP, resource: 'clusterrolebindings' },
];

/** With the account of peering, in a target: the right to ask for tokens in kube-system, and then one. */
async function bindRequester(attacked: Attacked): Promise<Outcome> {
  const [target] = attacked.targets;
  const peering = await attacked.account(target, INSTALLED, 'isthmus-peering');
  // What is marked as of a source is removed where there is none.
  const labels = { 'app.kubernetes.io/part-of': 'isthmus' };
  const subjects = [{ kind: 'ServiceAccount', namespace: INSTALLED, name: 'isthmus-peering' }];
  const binding = {
    metadata: { name: 'evil', labels },
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'isthmus-token-requester' },
    subjects,
  };
  const bound = await peering.call({ method: 'POST', path: path(RBAC, 'rolebindings', 'kube-system'), body: binding });
  if (bound.status !== 201) return stopped(said(bound));
  const asked = {
    method: 'POST',
    path: path('api/v1', 'serviceaccounts', 'kube-system', `${MIGHTY}/token`),
    body: { spec: {} },
  };
  await eventually('a token', () => peering.json(asked), 10_000);
  return through(`it is bound, and has a token of ${MIGHTY}`);
}

/** With the account of a component that the network can reach, in the source: every Secret of the install namespace. */
async function readSecrets(attacked: Attacked, component: string): Promise<Outcome> {
  const client = await attacked.account(attacked.source, INSTALLED, component);
  const answer = await client.call({ method: 'GET', path: path('api/v1', 'secrets', INSTALLED) });
  if (answer.status !== 200) return stopped(said(answer));
  const { items } = JSON.parse(answer.text) as {
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
  };
  const keys = items.map(({ metadata }) => metadata.name).filter((name) => !name.endsWith('-kubeconfig'));
  return keys.length > 0 ? through(`it reads ${keys.join(', ')}`) : stopped('it reads kubeconfigs alone');
}

async function may({ admin }: AttackedCluster, user: string, resourceAttributes: object): Promise<boolean> {
  const spec = { user, groups: ['system:authenticated', 'system:serviceaccounts'], resourceAttributes };
  const review = { method: 'POST', path: '/apis/authorization.k8s.io/v1/subjectaccessreviews', body: { spec } };
  return (await admin.json<{ readonly status: { readonly allowed: boolean } }>(review)).status.allowed;
}

/** Installs Isthmus by its command line for a source that is no target, as far as the checkout knows the difference. */
async function installByCommand(attacked: Attacked): Promise<void> {
  const { source } = attacked;
  const at = path('apis/admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations', undefined, 'isthmus');
  const { webhooks } = await source.admin.json<{
    readonly webhooks: readonly { readonly clientConfig: { readonly url: string } }[];
  }>({ method: 'GET', path: at });
  const url = ['--webhook-url', new URL(webhooks[0]!.clientConfig.url).origin];
  const narrow = await attacked.run(source, 'install', '--role', 'source', ...url);
  if (narrow.code !== 0 && !narrow.stderr.includes('unknown option')) throw new Error(narrow.stderr);
}

/** Gives the components the permissions that the Kustomize overlay for a source has, and no others. */
async function installByKustomize({ source: { admin, kubeconfig }, checkout }: Attacked): Promise<void> {
  const packaging = await Packaging.open(AbortSignal.timeout(600_000));
  const rendered = await packaging.kubectl(['kustomize', `${checkout.kustomize}/overlays/source`]);
  if (rendered.code !== 0) throw new Error(rendered.stderr);
  const items = documents(rendered.stdout).filter(({ apiVersion }) => apiVersion?.startsWith(GROUP) === true);
  const bindings = [
    path(RBAC, 'clusterrolebindings'),
    ...[INSTALLED, 'kube-system'].map((namespace) => path(RBAC, 'rolebindings', namespace)),
  ];
  for (const collection of bindings)
    await admin.json({ method: 'DELETE', path: `${collection}?labelSelector=app.kubernetes.io/part-of=isthmus` });
  const applied = await packaging.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
    kubeconfig,
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
  if (applied.code !== 0) throw new Error(applied.stderr);
}

/** What the components of the source may do that none of a source has a use for. */
async function askPermissions({ source }: Attacked): Promise<Outcome> {
  const found = await Promise.all(
    COMPONENTS.flatMap((component) =>
      NEEDLESS.map(async (attributes) => {
        const isAllowed = await may(source, `system:serviceaccount:${INSTALLED}:${component}`, {
          namespace: 'kube-system',
          ...attributes,
        });
        return isAllowed
          ? [`${component}: ${attributes.verb} ${[attributes.resource, attributes.subresource ?? []].flat().join('/')}`]
          : [];
      }),
    ),
  );
  return found.flat().length > 0 ? through(found.flat().join(', ')) : stopped('none of them may');
}

/** These attacks; the last two install anew, so they come last. */
export const COMPONENT_ATTACKS: readonly Attack[] = [
  {
    finding: 8,
    what: 'with the token of isthmus-peering, in a target: the right to ask for tokens in kube-system, and one',
    make: bindRequester,
  },
  {
    finding: 8,
    what: 'with the token of isthmus-scheduler, in a source: keys that lie in the install namespace',
    make: (attacked) => readSecrets(attacked, 'isthmus-scheduler'),
  },
  {
    finding: 8,
    what: 'with the token of isthmus-virtual-node, in a source: the same',
    make: (attacked) => readSecrets(attacked, 'isthmus-virtual-node'),
  },
  {
    finding: 8,
    what: 'with the token of any component of a cluster that is a source only: pods, exec and RBAC in kube-system',
    make: async (attacked) => {
      await installByCommand(attacked);
      return askPermissions(attacked);
    },
  },
  {
    finding: 8,
    what: 'the same, with the permissions of the Kustomize overlay for a source',
    make: async (attacked) => {
      await installByKustomize(attacked);
      return askPermissions(attacked);
    },
  },
];
