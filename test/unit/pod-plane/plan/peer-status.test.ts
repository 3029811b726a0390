import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inUse, newest, peerStatus, type PeerFacts } from '../../../../pod-plane/plan/peer-status.ts';
import type { WireguardPeerState } from '../../../../pod-plane/plan/wireguard-protocol.ts';

const state = (publicKey: string, lastHandshakeMs: number): WireguardPeerState =>
  ({ publicKey, lastHandshakeMs, rxBytes: 0, txBytes: 0 });
const peer = { clusterId: 'us', addresses: ['gw.example:51820'], publicKeys: ['A'], ranges: ['10.2.0.0/16'] };
const facts = (more: Partial<PeerFacts> = {}): PeerFacts => ({
  peer, attempt: { number: 0, sinceMs: 0 }, endpoints: ['192.0.2.1:51820'], state: undefined, refused: undefined,
  answers: false, nowMs: 1_000_000, ...more,
});

describe('the status of a peer', () => {
  const rows: [string, PeerFacts, string, RegExp][] = [
    ['that answers', facts({ answers: true }), 'connected', /^connected$/],
    [
      'that has no part in the plan', facts({ refused: 'its range is ours', answers: true }), 'error',
      /^its range is ours$/,
    ],
    ['that is being dialled', facts(), 'connecting', /dialling gw\.example:51820/],
    [
      'whose addresses have all been tried', facts({ attempt: { number: 1, sinceMs: 0 } }), 'error',
      /no handshake; look for a firewall/,
    ],
    ['whose name is not resolved', facts({ endpoints: [] }), 'error', /no address was found; .* DNS of this node/],
    [
      'that can only dial out', facts({ peer: { ...peer, addresses: [] }, endpoints: [] }), 'connecting',
      /waiting for us/,
    ],
    [
      'that shakes hands and is silent', facts({ state: state('A', 999_000) }), 'error',
      /does not answer through the tunnel/,
    ],
    [
      'that shook hands long ago', facts({ state: state('A', 1), attempt: { number: 5, sinceMs: 0 } }), 'error',
      /no handshake/,
    ],
  ];
  for (const [what, given, status, words] of rows) {
    it(`${what} is ${status}`, () => {
      const found = peerStatus(given);
      assert.equal(found.status, status);
      assert.match(found.statusMessage, words);
      assert.equal(found.cause === undefined, status !== 'error');
    });
  }
});

describe('the key of a peer that changes it', () => {
  const changing = { ...peer, publicKeys: ['old', 'new'] };
  const rows: [string, WireguardPeerState | undefined, string[]][] = [
    ['is the first before any handshake', undefined, ['old', 'new']],
    ['is not one without a handshake', state('new', 0), ['old', 'new']],
    ['is the one of the latest handshake', state('new', 5), ['new', 'old']],
    ['is none that it has not told', state('stranger', 5), ['old', 'new']],
  ];
  for (const [what, given, keys] of rows) {
    it(what, () => assert.deepEqual(inUse({ peer: changing, state: given }).publicKeys, keys));
  }
  it('is found among its states by the time of the handshake', () => assert.equal(
    newest([state('old', 4), state('new', 5)])?.publicKey, 'new',
  ));
});
