import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toHex } from '../../../../gateway/protocol/wireguard-keys.ts';
import {
  parseAnswer, toSetOperation, type WireguardConfiguration, type WireguardPeer,
} from '../../../../pod-plane/plan/wireguard-protocol.ts';

const key = (letter: string) => `${letter.repeat(42)}A=`;
const hex = (letter: string) => toHex(key(letter));
const peer = (letter: string, more: Partial<WireguardPeer> = {}): WireguardPeer =>
  ({ publicKey: key(letter), endpoint: '192.0.2.1:51820', allowedIPs: ['10.1.0.0/16'], keepaliveSeconds: 10, ...more });
const configuration = (
  peers: readonly WireguardPeer[], more: Partial<WireguardConfiguration> = {},
): WireguardConfiguration => ({ privateKey: key('P'), listenPort: 51_820, peers, ...more });
const lines = (before: WireguardConfiguration | undefined, after: WireguardConfiguration) =>
  toSetOperation(before, after)?.trimEnd().split('\n');

describe('a change of WireGuard\'s configuration', () => {
  it('of a new interface says everything', () => {
    assert.deepEqual(lines(undefined, configuration([peer('B')])), [
      'set=1', `private_key=${hex('P')}`,
      'listen_port=51820', 'replace_peers=true', `public_key=${hex('B')}`, 'endpoint=192.0.2.1:51820',
      'persistent_keepalive_interval=10', 'replace_allowed_ips=true', 'allowed_ip=10.1.0.0/16',
    ]);
  });
  it('ends with an empty line', () => assert.match(toSetOperation(undefined, configuration([])) ?? '', /[^\n]\n\n$/));
  it('that is none is nothing', () => assert.equal(
    toSetOperation(configuration([peer('B')]), configuration([peer('B')])), undefined,
  ));
  it('does not mention peers that stay', () => assert.deepEqual(
    lines(configuration([peer('B')]), configuration([peer('B'), peer('C', { allowedIPs: [] })]))?.filter(
      (line) => line.includes(hex('B')),
    ),
    [],
  ));
  it('removes who goes before it adds who comes', () => {
    assert.deepEqual(lines(configuration([peer('B')]), configuration([peer('C')]))?.slice(0, 4), [
      'set=1', `public_key=${hex('B')}`, 'remove=true', `public_key=${hex('C')}`,
    ]);
  });
  it('of an endpoint leaves the rest of the peer', () => assert.deepEqual(
    lines(configuration([peer('B')]), configuration([peer('B', { endpoint: '192.0.2.9:1' })])),
    ['set=1', `public_key=${hex('B')}`, 'update_only=true', 'endpoint=192.0.2.9:1'],
  ));
  it('leaves the endpoint that the peer was last seen at when none is known', () => assert.equal(
    toSetOperation(configuration([peer('B')]), configuration([peer('B', { endpoint: undefined })])), undefined,
  ));
  it('of the key leaves all peers', () => assert.deepEqual(
    lines(configuration([peer('B')]), configuration([peer('B')], { privateKey: key('Q') })),
    ['set=1', `private_key=${hex('Q')}`],
  ));
  it('takes all ranges from a peer', () => assert.deepEqual(
    lines(configuration([peer('B')]), configuration([peer('B', { allowedIPs: [] })]))?.slice(-1),
    ['replace_allowed_ips=true'],
  ));
});

describe('an answer', () => {
  it('tells peers with handshakes, bytes and where they are', () => {
    const text =
      `private_key=${hex('P')}\nlisten_port=51820\npublic_key=${hex('B')}\nendpoint=192.0.2.7:4242\nlast_handshake_time_sec=1700000000\nlast_handshake_time_nsec=500000000\nrx_bytes=12\ntx_bytes=34\nallowed_ip=10.1.0.0/16\npublic_key=${hex('C')}\nerrno=0\n\n`;
    assert.deepEqual(parseAnswer(text), {
      errno: 0, peers: [
        {
          publicKey: key('B'), endpoint: '192.0.2.7:4242', lastHandshakeMs: 1_700_000_000_500, rxBytes: 12, txBytes: 34,
        },
        { publicKey: key('C'), lastHandshakeMs: 0, rxBytes: 0, txBytes: 0 },
      ],
    });
  });
  it('tells an error by its number', () => assert.deepEqual(parseAnswer('errno=-22\n\n'), { errno: -22, peers: [] }));
});
