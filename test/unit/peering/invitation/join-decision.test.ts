import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Invitation, JoinRequest } from '../../../../api/kinds/invitation.ts';
import {
  joinKeyOf, decideJoin, refusalOfToken, toInvitationData, type JoinCase,
} from '../../../../peering/invitation/join-decision.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const request: JoinRequest = {
  metadata: { name: 'i-1', uid: 'request-1' },
  spec: { invitation: 'i', token: 't', clusterID: 'source-1', targetName: 'c2', publicKey: '{"x":"1","y":"2"}' },
};
const joinKey = joinKeyOf('{"y":"2","x":"1"}');
const interrupted = { name: 'c2-source-1', clusterId: 'source-1', joinKey };
const invitation = (spec: Partial<Invitation['spec']> = {}, status?: Invitation['status']): Invitation => ({
  metadata: { name: 'i' },
  spec: { expiresAt: '2026-01-01T12:10:00Z', approval: 'Automatic', ...spec }, ...(status && { status }),
});
const judged = (change: Partial<JoinCase>): string => {
  const decision = decideJoin(
    { request, invitation: invitation(), tokenId: 'i', ownClusterId: 'target', sources: [], now: NOW, ...change },
  );
  return decision.kind === 'accept' ? 'accept' : `${decision.kind} ${decision.reason}`;
};
const manual = (approvedClusterID?: string): Invitation =>
  invitation({ approval: 'Manual', ...(approvedClusterID !== undefined && { approvedClusterID }) });

describe('decideJoin', () => {
  const rows: readonly [string, Partial<JoinCase>, string][] = [
    ['lets in who comes first, in time', {}, 'accept'],
    ['refuses the token of another invitation', { tokenId: 'j' }, 'refuse WrongInvitation'],
    ['refuses the target itself', { ownClusterId: 'source-1' }, 'refuse SameCluster'],
    ['refuses when the invitation was taken back', { invitation: undefined }, 'refuse InvitationGone'],
    ['refuses at the very end of its time', { now: Date.parse('2026-01-01T12:10:00Z') }, 'refuse InvitationExpired'],
    ['accepts just before', { now: Date.parse('2026-01-01T12:09:59.999Z') }, 'accept'],
    [
      'refuses a second cluster', { invitation: invitation({}, { redeemedBy: 'request-0', clusterID: 'source-0' }) },
      'refuse AlreadyRedeemed',
    ],
    [
      'refuses the same cluster a second time: its token was used, perhaps by who copied it',
      { invitation: invitation({}, { redeemedBy: 'request-0', clusterID: 'source-1' }) }, 'refuse AlreadyRedeemed',
    ],
    [
      'goes on with whom it had let in before it was interrupted, also when time has run out',
      { invitation: invitation({}, { redeemedBy: 'request-1', clusterID: 'source-1' }), now: NOW * 2 }, 'accept',
    ],
    [
      'refuses who says it is a source that is there', { sources: [{ name: 'other', clusterId: 'source-1' }] },
      'refuse AlreadyASource',
    ],
    [
      'refuses who would get the account of a source that is there',
      { sources: [{ name: 'c2-source-1', clusterId: 'source-1-of-somebody-else' }] }, 'refuse AlreadyASource',
    ],
    [
      'refuses one namespace to who says it is a source of all',
      { invitation: invitation({ namespace: 'team' }), sources: [{ name: 'other', clusterId: 'source-1' }] },
      'refuse AlreadyASource',
    ],
    [
      'refuses all namespaces to who says it is a source of one',
      { sources: [{ namespace: 'team', name: 'other', clusterId: 'source-1' }] }, 'refuse AlreadyASource',
    ],
    [
      'lets a source of one namespace into another',
      {
        invitation: invitation({ namespace: 'team' }),
        sources: [{ namespace: 'others', name: 'c2-source-1', clusterId: 'source-1' }],
      },
      'accept',
    ],
    [
      'lets in another cluster beside those that are there',
      { sources: [{ name: 'c2-source-0', clusterId: 'source-0' }] }, 'accept',
    ],
    [
      'goes on with whom it had let in, whose source is there by now',
      {
        invitation: invitation({}, { redeemedBy: 'request-1', clusterID: 'source-1' }),
        sources: [{ name: 'c2-source-1', clusterId: 'source-1' }],
      },
      'accept',
    ],
    [
      'goes on with a source that was interrupted and has another invitation: its key says so',
      { sources: [interrupted] }, 'accept',
    ],
    [
      'does not go on with who has another key', { sources: [{ ...interrupted, joinKey: joinKeyOf('{"x":"3"}') }] },
      'refuse AlreadyASource',
    ],
    [
      'does not go on with a source that was let in without a key',
      { sources: [{ ...interrupted, joinKey: undefined }] }, 'refuse AlreadyASource',
    ],
    [
      'does not go on where the key is none',
      {
        request: { ...request, spec: { ...request.spec, publicKey: '{' } },
        sources: [{ ...interrupted, joinKey: undefined }],
      },
      'refuse AlreadyASource',
    ],
    [
      'does not give the name of one source to another that has its key',
      { sources: [{ ...interrupted, clusterId: 'source-2' }] }, 'refuse AlreadyASource',
    ],
    [
      'does not give who was let in to one namespace all of them', { sources: [{ ...interrupted, namespace: 'team' }] },
      'refuse AlreadyASource',
    ],
    [
      'goes on in the namespace that it was let in to',
      { invitation: invitation({ namespace: 'team' }), sources: [{ ...interrupted, namespace: 'team' }] }, 'accept',
    ],
    [
      'does not forget the others over one that was interrupted',
      { sources: [interrupted, { name: 'other', clusterId: 'source-1' }] }, 'refuse AlreadyASource',
    ],
    ['waits for an approval', { invitation: manual() }, 'wait ApprovalPending'],
    ['lets in who was approved', { invitation: manual('source-1') }, 'accept'],
    ['refuses others than the one that was approved', { invitation: manual('source-2') }, 'refuse AnotherApproved'],
    [
      'refuses who comes too late, approved or not', { invitation: manual('source-1'), now: NOW * 2 },
      'refuse InvitationExpired',
    ],
  ];
  for (const [what, change, expected] of rows) it(what, () => assert.equal(judged(change), expected));

  it('says what to delete, and where', () => {
    const messageOf = (change: Partial<JoinCase>) => {
      const decision = decideJoin(
        { request, invitation: invitation(), tokenId: 'i', ownClusterId: 't', sources: [], now: NOW, ...change },
      );
      return decision.kind === 'refuse' ? decision.message : '';
    };
    assert.match(
      messageOf({ sources: [{ name: 'other', clusterId: 'source-1' }] }),
      /deleted in the target \(kubectl delete clustersource other\)/,
    );
    assert.match(
      messageOf({
        invitation: invitation({ namespace: 'team' }),
        sources: [{ namespace: 'team', name: 'other', clusterId: 'source-1' }],
      }),
      /\(kubectl delete source other -n team\)/,
    );
  });

  it('says whom the invitation was used by, and how it is approved', () => {
    const used = decideJoin({
      request, invitation: invitation({}, { redeemedBy: 'r', clusterID: 'source-0' }), tokenId: 'i', ownClusterId: 't',
      sources: [], now: NOW,
    });
    assert.match(used.kind === 'refuse' ? used.message : '', /used by cluster source-0/);
    const pending =
      decideJoin({ request, invitation: manual(), tokenId: 'i', ownClusterId: 't', sources: [], now: NOW });
    assert.match(pending.kind === 'wait' ? pending.message : '', /isthmus approve i$/);
  });
});

describe('toInvitationData', () => {
  const data =
    { server: 's', certificateAuthority: 'ca', bearer: 'b', installNamespace: 'n', targetName: 't', tokenSeconds: 600 };
  it('takes what an invitation holds, with and without a namespace', () => {
    assert.deepEqual(toInvitationData(data), data);
    assert.deepEqual(toInvitationData({ ...data, namespace: 'team' }), { ...data, namespace: 'team' });
  });
  for (const field of Object.keys(data)) {
    it(`takes nothing without ${field}`, () => assert.equal(
      toInvitationData({ ...data, [field]: undefined }), undefined,
    ));
  }
  it('takes no namespace that is no text', () => assert.equal(toInvitationData({ ...data, namespace: 1 }), undefined));
});

describe('refusalOfToken', () => {
  it('tells who comes too late what the page of joining says, and who comes with another token what is wrong with it',
    () => {
    const { reason, message } = refusalOfToken({ reason: 'TokenExpired', message: 'it has expired' });
    assert.deepEqual([reason, message], ['InvitationExpired', 'the invitation has expired; ask for another one']);
    const other = refusalOfToken({ reason: 'SignatureInvalid', message: 'it was changed' });
    assert.deepEqual([other.reason, other.message], ['SignatureInvalid', 'the token is refused: it was changed']);
  });
});
