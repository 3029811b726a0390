// The shell of join requests against a scripted API server: what it answers, and what it looks at before.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { startJoining } from '../../../../peering/invitation/join-controller.ts';
import { INVITATION_AUDIENCE } from '../../../../peering/invitation/join-decision.ts';
import { createReceiver } from '../../../../process/crypto/sealed-message.ts';
import { signToken } from '../../../../process/crypto/signed-token.ts';
import { ScriptedApiServer, SILENT, status, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const KEY = Buffer.alloc(32, 1);
const AT = { namespace: 'isthmus-system', resourceVersion: '5' };
const EXPIRES_MS = Date.now() + 600_000;
const INVITATION = {
  metadata: { ...AT, name: 'inv', uid: 'i1' },
  spec: { expiresAt: new Date(EXPIRES_MS).toISOString(), approval: 'Automatic' },
} as KubernetesObject;

async function joinRequest(): Promise<KubernetesObject> {
  const data = {
    server: 'https://a', certificateAuthority: 'CA', bearer: 'b', installNamespace: 'isthmus-system', targetName: 'eu',
    tokenSeconds: 600,
  };
  const expiresAt = Math.floor(EXPIRES_MS / 1_000);
  const token = await signToken(
    { issuer: 'target', audience: INVITATION_AUDIENCE, id: 'inv', notBefore: 0, expiresAt, data }, KEY,
  );
  const { publicKey } = await createReceiver();
  return {
    metadata: { ...AT, name: 'inv-0', uid: 'r1', creationTimestamp: new Date().toISOString() },
    spec: { invitation: 'inv', token, clusterID: 'source', targetName: 'eu', publicKey },
  } as KubernetesObject;
}

/** The first call about one request that `isLast`; the rest is answered as by a cluster without sources. */
async function callsOf(
  t: TestContext, answer: (exchange: Exchange) => boolean, isLast: (exchange: Exchange) => boolean,
): Promise<Exchange> {
  const [server, stopped] = [await ScriptedApiServer.start(), new AbortController()];
  t.after(async () => {
    stopped.abort();
    await server.stop();
  });
  const request = await joinRequest();
  startJoining({
    client: server.client, clusterId: 'target', installNamespace: 'isthmus-system', logger: SILENT,
    events: { record: () => undefined },
  }, stopped.signal);
  for (;;) {
    const exchange = await server.next();
    if (isLast(exchange)) return exchange;
    if (answer(exchange)) continue;
    if (exchange.query.get('watch') === 'true') exchange.open();
    else if (exchange.path.endsWith('/secrets/isthmus-invitation-key')) {
      exchange.answer(200, { metadata: {}, data: { key: KEY.toString('base64') } });
    } else if (exchange.path.endsWith('/joinrequests/inv-0')) exchange.answer(200, request);
    else {
      const items = exchange.path.endsWith('/joinrequests') ? [request] : [];
      exchange.answer(200, { metadata: { resourceVersion: '9' }, items });
    }
  }
}

const isWrite = ({ method }: Exchange): boolean => method !== 'GET';
const isOfInvitation = ({ path }: Exchange): boolean => path.endsWith('/invitations/inv');

describe('a join request', () => {
  it('with an invitation that the cache does not show yet is not refused', async (t) => {
    const write = await callsOf(t, (exchange) => {
      if (isOfInvitation(exchange)) exchange.answer(200, INVITATION);
      return isOfInvitation(exchange);
    }, isWrite);
    assert.match(write.path, /invitations\/inv\/status$/);
    assert.match(write.body, /"redeemedBy":"r1"/);
  });

  it('with an invitation that was withdrawn is refused', async (t) => {
    const write = await callsOf(t, (exchange) => {
      if (isOfInvitation(exchange)) exchange.answer(404, status(404, 'NotFound', 'gone'));
      return isOfInvitation(exchange);
    }, isWrite);
    assert.match(write.path, /joinrequests\/inv-0\/status$/);
    assert.match(write.body, /"reason":"InvitationGone"/);
  });

  it('that cannot be accepted says why while it is tried again', async (t) => {
    const write = await callsOf(t, (exchange) => {
      const { path } = exchange;
      if (/invitations\/inv/.test(path)) exchange.answer(200, INVITATION);
      else if (/serviceaccounts|validatingadmission/.test(path)) exchange.answer(404, status(404, 'NotFound', 'gone'));
      else return false;
      return true;
    }, ({ path }) => path.endsWith('/joinrequests/inv-0/status'));
    assert.match(write.body, /"phase":"Pending","reason":"PolicyMissing","message":".*isthmus install/);
  });
});
