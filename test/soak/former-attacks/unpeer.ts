// Finding 12: `isthmus unpeer` of names that are not there.
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { INSTALLED, path } from './clusters.ts';

const RBAC = 'apis/rbac.authorization.k8s.io/v1';

/** Runs it, and looks whether something that is not its own has gone; puts that back. */
async function unpeer(attacked: Attacked, target: string, collection: string, name: string): Promise<Outcome> {
  const { admin } = attacked.source;
  const before = await admin.json<{ readonly metadata: object }>({ method: 'GET', path: `${collection}/${name}` });
  const { code, stdout, stderr } = await attacked.run(attacked.source, 'unpeer', target);
  const after = await admin.call({ method: 'GET', path: `${collection}/${name}` });
  const words = `exit ${code}: ${(stderr || stdout).trim().replaceAll('\n', ' ').slice(0, 120)}`;
  if (after.status === 200) return stopped(`it is still there, ${words}`);
  const { metadata } = before as { readonly metadata: Readonly<Record<string, unknown>> };
  await admin.json({
    method: 'POST',
    path: collection,
    body: { ...before, metadata: { name, labels: metadata['labels'] } },
  });
  return through(`it has gone, ${words}`);
}

async function ofUsers(attacked: Attacked): Promise<Outcome> {
  const secrets = path('api/v1', 'secrets', 'production');
  await attacked.namespace('production');
  await attacked.source.admin.json({
    method: 'POST',
    path: secrets,
    body: { metadata: { name: 'ours-kubeconfig' }, data: { precious: 'eA==' } },
  });
  return unpeer(attacked, 'production/ours', secrets, 'ours-kubeconfig');
}

async function ofNobody(attacked: Attacked): Promise<Outcome> {
  const { code, stdout, stderr } = await attacked.run(attacked.source, 'unpeer', 'nope');
  const got = `exit ${code}: ${(stderr || stdout).trim().replaceAll('\n', ' ').slice(0, 150)}`;
  return code === 0 ? through(got) : stopped(got);
}

/** These attacks. */
export const UNPEER_ATTACKS: readonly Attack[] = [
  {
    finding: 12,
    what: '`unpeer production/ours` without such a Target, beside the Secret `ours-kubeconfig` of a user',
    make: ofUsers,
  },
  {
    finding: 12,
    what: '`unpeer isthmus-system/x` without such a Target, beside permission to read kubeconfigs',
    make: (attacked) =>
      unpeer(attacked, `${INSTALLED}/x`, path(RBAC, 'rolebindings', INSTALLED), 'isthmus-target-secret-reader'),
  },
  { finding: 12, what: '`unpeer nope` without such a ClusterTarget', make: ofNobody },
];
