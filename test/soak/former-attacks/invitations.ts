// Findings 3 and 11: what somebody does with an invitation beyond joining once where he was invited.
import { SignJWT } from 'jose';
import { generateKeyPairSync } from 'node:crypto';
import { eventually } from '../../support/history/eventually.ts';
import { stopped, through, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { INSTALLED, path, said, type AttackedCluster, type Thing } from './clusters.ts';

const REQUESTS = path('apis/isthmus.dev/v1alpha1', 'joinrequests', INSTALLED);
/** What is tried beyond the ten that are allowed. */
const ATTEMPTS = 25;
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const KEY = JSON.stringify(publicKey.export({ format: 'jwk' }));

/** What an invitation's token says, and the token. */
interface Invited {
  readonly token: string;
  readonly claims: Readonly<Record<string, unknown>> & { readonly jti: string; readonly bearer: string };
}

async function invite(attacked: Attacked, target: AttackedCluster, ...flags: readonly string[]): Promise<Invited> {
  const { stdout, stderr, code } = await attacked.run(target, 'invite', ...flags);
  if (code !== 0) throw new Error(stderr);
  const token = stdout.trim();
  return {
    token,
    claims: JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Invited['claims'],
  };
}

const joinRequest = (name: string, spec: object): object => ({
  apiVersion: 'isthmus.dev/v1alpha1',
  kind: 'JoinRequest',
  metadata: { name },
  spec: { targetName: 'eu', publicKey: KEY, ...spec },
});

/** Makes one after the other, as they were allowed to be named, then under other names. */
async function askOften(attacked: Attacked): Promise<Outcome> {
  const [target] = attacked.targets;
  const {
    token,
    claims: { jti, bearer },
  } = await invite(attacked, target, '--name', 'eu', '--approval');
  const client = attacked.caller(target, bearer);
  let made = 0;
  let last = '';
  for (let index = 0; index < ATTEMPTS; index += 1) {
    const answer = await client.call({
      method: 'POST',
      path: REQUESTS,
      body: joinRequest(`${jti}-${index}`, { invitation: jti, token, clusterID: `cluster-${index}` }),
    });
    if (answer.status === 201) made += 1;
    else last = said(answer);
  }
  const got = `${made} of ${ATTEMPTS} were stored${last === '' ? '' : `, then ${last}`}`;
  return made > 10 ? through(got) : stopped(got);
}

/** Signs an invitation for one namespace again as one for all, with the key that was planted, or else found. */
async function widen(attacked: Attacked): Promise<Outcome> {
  const [target] = attacked.targets;
  const namespace = 'invited';
  await attacked.namespace(namespace);
  const { claims } = await invite(attacked, target, '--name', 'eu', '--namespace', namespace);
  // checkouts keep it in the install namespace or in one of its own
  const keys = await target.admin.json<{ readonly items: readonly { readonly data: { readonly key: string } }[] }>({
    method: 'GET',
    path: '/api/v1/secrets?fieldSelector=metadata.name%3Disthmus-invitation-key',
  });
  const [{ data } = { data: { key: '' } }] = keys.items;
  const { namespace: _offered, ...wide } = claims;
  const token = await new SignJWT(wide)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(Buffer.from(data.key, 'base64'));
  const client = attacked.caller(target, claims.bearer);
  const name = `${claims.jti}-0`;
  await client.json({
    method: 'POST',
    path: REQUESTS,
    body: joinRequest(name, { invitation: claims.jti, token, clusterID: 'made-up' }),
  });
  const status = await eventually(
    'an answer',
    async () =>
      (await client.json<Thing>({ method: 'GET', path: `${REQUESTS}/${name}` }))['status'] as
        { readonly phase?: string; readonly message?: string } | undefined,
  );
  if (status.phase !== 'Accepted') return stopped(`${status.phase}: ${status.message}`);
  const { items } = await target.admin.json<{ readonly items: readonly Thing[] }>({
    method: 'GET',
    path: '/apis/multicluster.admiralty.io/v1alpha1/clustersources',
  });
  return items.some(({ spec }) => (spec as { readonly clusterID?: string }).clusterID === 'made-up')
    ? through('it is let in, for the whole cluster')
    : stopped(`it is let in, for namespace ${namespace} alone`);
}

/** These attacks. */
export const INVITATION_ATTACKS: readonly Attack[] = [
  {
    finding: 3,
    what: 'who was invited into one namespace leaves it out of the token, signed with the planted key',
    make: widen,
  },
  { finding: 11, what: `who was invited makes ${ATTEMPTS} JoinRequests`, make: askOften },
];
