// Findings 2, 3 and 11: what a source does in a target with the identity that peering gave it, and who was invited
// with his invitation.
import { eventually } from '../../support/history/eventually.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { INSTALLED, path, said, type AttackedCluster, type Thing } from './clusters.ts';
import { evil } from './pods.ts';

/** Writes roles without having what they give: with its token anybody is cluster-admin. */
export const MIGHTY = 'clusterrole-aggregation-controller';
const APPLICATION = 'apis/multicluster.admiralty.io/v1alpha1';

/** The labels by which a target knows what is this source's. */
export const own = ({ sourceId }: Attacked): object => ({ 'multicluster.admiralty.io/parent-cluster-name': sourceId });

/** Creates something as the source in the first target; whether it was stored tells whether it got through. */
async function plant(attacked: Attacked, where: string, body: object): Promise<Outcome> {
  const answer = await (await attacked.sourceIn(attacked.targets[0])).call({ method: 'POST', path: where, body });
  return answer.status === 201 ? through('201: it is stored') : refused(answer);
}

/** Stopped, if that is what the answer says. */
export function refused(answer: { readonly status: number; readonly text: string }): Outcome {
  if (answer.status !== 403 && answer.status !== 422) throw new Error(said(answer));
  return stopped(said(answer));
}

/** Has the target run a privileged pod under a mighty account in a namespace of the system. */
async function runPrivileged(attacked: Attacked, namespace: string, serviceAccountName: string): Promise<Outcome> {
  const [target] = attacked.targets;
  const source = await attacked.sourceIn(target);
  const body = {
    apiVersion: 'multicluster.admiralty.io/v1alpha1',
    kind: 'PodChaperon',
    metadata: { name: 'evil', labels: own(attacked) },
    spec: evil({ serviceAccountName }),
  };
  const made = await source.call({ method: 'POST', path: path(APPLICATION, 'podchaperons', namespace), body });
  if (made.status !== 201) return refused(made);
  await eventually(
    'the pod is there',
    () => target.admin.json<Thing>({ method: 'GET', path: path('api/v1', 'pods', namespace, 'evil') }),
    20_000,
  );
  await source.call({ method: 'DELETE', path: path(APPLICATION, 'podchaperons', namespace, 'evil') });
  return through(`a privileged pod of account ${serviceAccountName} runs`);
}

/** A pod of somebody else in the target, which runs. */
async function strangerIn(target: AttackedCluster, namespace: string, labels: object): Promise<string> {
  const where = path('api/v1', 'pods', namespace);
  const spec = { containers: [{ name: 'main', image: 'example/stranger:1' }] };
  await target.admin.json({ method: 'POST', path: where, body: { metadata: { name: 'stranger', labels }, spec } });
  await eventually(
    'the stranger runs',
    async () =>
      (
        (await target.admin.json<Thing>({ method: 'GET', path: `${where}/stranger` }))['status'] as {
          readonly phase: string;
        }
      ).phase === 'Running',
  );
  return `${where}/stranger`;
}

/** Label of a pod that another source has in the target. */
const OF_ANOTHER = { 'multicluster.admiralty.io/parent-cluster-name': 'another' };

async function enter(attacked: Attacked, namespace: string, labels: object): Promise<Outcome> {
  const [target] = attacked.targets;
  await attacked.namespace(namespace);
  const pod = await strangerIn(target, namespace, labels);
  const answer = await (
    await attacked.sourceIn(target)
  ).upgrade(`${pod}/exec?container=main&command=echo&command=got-in&stdout=1`, 'v5.channel.k8s.io', 'got-in');
  return answer.status === 101
    ? through(`101${answer.text.includes('got-in') ? ': a command ran in it' : ''}`)
    : refused(answer);
}

async function readLogs(attacked: Attacked, namespace: string, labels: object): Promise<Outcome> {
  const [target] = attacked.targets;
  await attacked.namespace(namespace);
  const pod = await strangerIn(target, namespace, labels);
  const answer = await (await attacked.sourceIn(target)).call({ method: 'GET', path: `${pod}/log` });
  return answer.status === 200 ? through(`200: ${answer.text.length} bytes of its log`) : refused(answer);
}

const secret = (attacked: Attacked, name: string, more: object = {}): object => ({
  metadata: { name, labels: own(attacked) },
  ...more,
});
/** 32 bytes that the attacker knows. */
const KNOWN_KEY = Buffer.alloc(32, 'k').toString('base64');
const ports = [{ port: 80 }];

/** These attacks. */
export const SOURCE_ATTACKS: readonly Attack[] = [
  {
    finding: 3,
    what: 'a source makes a privileged PodChaperon in kube-system',
    make: (attacked) => runPrivileged(attacked, 'kube-system', MIGHTY),
  },
  {
    finding: 3,
    what: 'the same in the install namespace, under the account of Isthmus',
    make: (attacked) => runPrivileged(attacked, INSTALLED, 'isthmus'),
  },
  {
    finding: 3,
    what: "a source runs a command in a stranger's pod",
    make: (attacked) => enter(attacked, 'strangers-exec', {}),
  },
  {
    finding: 3,
    what: "a source runs a command in another source's delegate",
    make: (attacked) => enter(attacked, 'others-exec', OF_ANOTHER),
  },
  {
    finding: 3,
    what: "a source reads the log of a stranger's pod",
    make: (attacked) => readLogs(attacked, 'strangers-logs', {}),
  },
  {
    finding: 3,
    what: "a source reads the log of another source's delegate",
    make: (attacked) => readLogs(attacked, 'others-logs', OF_ANOTHER),
  },
  {
    finding: 3,
    what: 'a source plants the key that signs manifests, where there is none',
    make: (attacked) =>
      plant(
        attacked,
        path('api/v1', 'secrets', INSTALLED),
        secret(attacked, 'isthmus-signing-keys', { data: { key: KNOWN_KEY } }),
      ),
  },
  {
    finding: 3,
    what: 'a source plants the key of invitations, where there is none',
    make: (attacked) =>
      plant(
        attacked,
        path('api/v1', 'secrets', INSTALLED),
        secret(attacked, 'isthmus-invitation-key', { data: { key: KNOWN_KEY } }),
      ),
  },
  {
    finding: 3,
    what: 'a source makes a bootstrap token',
    make: (attacked) =>
      plant(
        attacked,
        path('api/v1', 'secrets', 'kube-system'),
        secret(attacked, 'bootstrap-token-abcdef', { type: 'bootstrap.kubernetes.io/token' }),
      ),
  },
  {
    finding: 3,
    what: 'a source makes a Service with externalIPs',
    make: (attacked) =>
      plant(attacked, path('api/v1', 'services', 'default'), {
        metadata: { name: 'evil', labels: own(attacked) },
        spec: { ports, externalIPs: ['10.0.0.1'] },
      }),
  },
];
