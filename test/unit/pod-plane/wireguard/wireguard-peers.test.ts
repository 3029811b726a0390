// The peers of a node's WireGuard: which address of each is tried, which key is in use, and what is said of it. Time is
// the test's own, and nothing is sent.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { CableConnection } from '../../../../gateway/protocol/cable-driver.ts';
import type { PodPeer } from '../../../../pod-plane/plan/pod-plane-plan.ts';
import type { WireguardPeerState } from '../../../../pod-plane/plan/wireguard-protocol.ts';
import { WireguardPeers } from '../../../../pod-plane/wireguard/wireguard-peers.ts';

const NOW = 1_000_000;
const [FIRST, SECOND] = ['192.0.2.1:51820', '192.0.2.2:51820'];
const aPeer = (more: Partial<PodPeer> = {}): PodPeer => ({
  clusterId: 'us', addresses: [FIRST, SECOND], publicKeys: ['A'], ranges: ['10.2.0.0/16'], ...more,
});
const state = (publicKey: string, lastHandshakeMs: number, more: Partial<WireguardPeerState> = {}) =>
  ({ publicKey, lastHandshakeMs, rxBytes: 0, txBytes: 0, ...more });

/** Peers of which these are known, with their addresses resolved. */
async function known(...all: readonly PodPeer[]): Promise<WireguardPeers> {
  const peers = new WireguardPeers();
  for (const peer of all) peers.put(peer);
  await Promise.all(all.map(({ clusterId }) => peers.resolve(clusterId)));
  return peers;
}

function connection(peers: WireguardPeers, refused = new Map<string, string>()): CableConnection {
  const [only, ...more] = peers.connections(refused);
  assert.ok(only !== undefined && more.length === 0);
  return only;
}

/** What is said of a peer whose traffic comes from this endpoint. */
function seenAt(peers: WireguardPeers, endpoint: string) {
  peers.observe([state('A', NOW, { endpoint })]);
  const { usingIP, usingNAT } = connection(peers);
  return { usingIP, usingNAT };
}

const inOwnTime = (): void => {
  beforeEach(() => mock.timers.enable({ apis: ['Date'], now: NOW }));
  afterEach(() => mock.timers.reset());
};

describe('a peer', () => {
  inOwnTime();
  it('is new, changed or as it was', () => {
    const peers = new WireguardPeers();
    assert.equal(peers.put(aPeer()), true);
    assert.equal(peers.put(aPeer()), false);
    for (const change of [{ ranges: ['10.3.0.0/16'] }, { publicKeys: ['B', 'A'] }, { addresses: [SECOND] }]) {
      assert.equal(peers.put(aPeer(change)), true, JSON.stringify(change));
    }
    assert.deepEqual(peers.inUse().length, 1);
  });

  it('is removed once', () => {
    const peers = new WireguardPeers();
    peers.put(aPeer());
    assert.deepEqual([peers.remove('other'), peers.remove('us'), peers.remove('us')], [false, true, false]);
    assert.deepEqual(peers.inUse(), []);
  });

  it('that goes while its names are resolved stays gone', async () => {
    const peers = new WireguardPeers();
    peers.put(aPeer());
    const resolved = peers.resolve('us');
    peers.remove('us');
    await resolved;
    assert.deepEqual([peers.endpointOf('us'), peers.connections(new Map())], [undefined, []]);
  });

  it('has an IPv6 address in brackets, and what is none left out', async () => {
    const peers = await known(aPeer({ addresses: ['[2001:db8::1]:51820', '192.0.2.1', ':1', '192.0.2.1:99999'] }));
    assert.equal(peers.endpointOf('us'), '[2001:db8::1]:51820');
    mock.timers.tick(2_000);
    peers.look();
    assert.equal(peers.endpointOf('us'), '[2001:db8::1]:51820', 'there is only this one');
  });
});

describe('the address of a peer that is tried', () => {
  inOwnTime();
  const FAR: readonly (readonly [what: string, afterMs: number, handshakeMs: number, tried: string])[] = [
    ['stays while there is time to shake hands', 1_999, 0, FIRST],
    ['is the next after that', 2_000, 0, SECOND],
    ['stays while a gateway that shook hands may be starting', 8_000, NOW + 1, FIRST],
    ['is the next where that never answers', 8_001, NOW + 1, SECOND],
    ['does not stay for a handshake of before', 2_000, NOW - 60_000, SECOND],
  ];
  for (const [what, afterMs, handshakeMs, tried] of FAR) it(what, async () => {
    const peers = await known(aPeer());
    if (handshakeMs > 0) peers.observe([state('A', handshakeMs)]);
    mock.timers.tick(afterMs);
    assert.deepEqual(peers.look().moved, tried === FIRST ? [] : ['us']);
    assert.equal(peers.endpointOf('us'), tried);
  });

  it('is the first again after the last', async () => {
    const peers = await known(aPeer());
    const tried = [2_000, 2_000, 2_000].map((ms) => {
      mock.timers.tick(ms);
      peers.look();
      return peers.endpointOf('us');
    });
    assert.deepEqual(tried, [SECOND, FIRST, SECOND]);
  });

  it('is the first of new ones, and stays when only keys change', async () => {
    const peers = await known(aPeer());
    mock.timers.tick(2_000);
    peers.look();
    peers.put(aPeer({ publicKeys: ['B', 'A'] }));
    assert.equal(peers.endpointOf('us'), SECOND);
    peers.put(aPeer({ addresses: [SECOND, FIRST] }));
    await peers.resolve('us');
    assert.equal(peers.endpointOf('us'), SECOND, 'the first of the new ones');
  });

  it('is none of a peer that can only dial out, which is not tried', async () => {
    const peers = await known(aPeer({ addresses: [] }));
    mock.timers.tick(60_000);
    const endpoints = ['us', 'other'].map((clusterId) => peers.endpointOf(clusterId));
    assert.deepEqual([peers.look().moved, endpoints], [[], [undefined, undefined]]);
  });
});

describe('a name among the addresses of a peer', () => {
  inOwnTime();
  const NAMED = aPeer({ addresses: ['gateway.example:51820'] });
  /** What each look-up is answered with. */
  const lookUps = (peer: PodPeer) => {
    const asked: ((found: string | undefined) => void)[] = [];
    const peers = new WireguardPeers(() => new Promise((resolve) => asked.push(resolve)));
    peers.put(peer);
    const answered = async (found: string | undefined) => {
      const changed = peers.resolve(peer.clusterId);
      asked.splice(0).forEach((answer) => answer(found));
      return changed;
    };
    return { peers, asked, answered };
  };

  it('is looked up again until it has an address, and while that does not answer', async () => {
    const { peers, answered } = lookUps(NAMED);
    assert.equal(await answered(undefined), false);
    assert.equal(peers.endpointOf('us'), undefined);
    mock.timers.tick(2_000);
    assert.deepEqual(peers.look().moved, ['us'], 'another attempt is due');
    assert.equal(await answered(FIRST), true);
    assert.equal(peers.endpointOf('us'), FIRST);
    assert.deepEqual([await answered(FIRST), await answered(SECOND)], [false, true]);
    assert.equal(peers.endpointOf('us'), SECOND);
  });

  it('leads to where it led before while it does not resolve', async () => {
    const { peers, answered } = lookUps(NAMED);
    await answered(FIRST);
    assert.equal(await answered(undefined), false);
    assert.equal(peers.endpointOf('us'), FIRST);
  });

  it('is looked up once at a time, and no late answer for a former name counts', async () => {
    const { peers, asked } = lookUps(NAMED);
    const [first, second] = [peers.resolve('us'), peers.resolve('us')];
    assert.equal(asked.length, 1);
    assert.equal(await second, false);
    peers.put(aPeer({ addresses: ['other.example:51820'] }));
    const third = peers.resolve('us');
    const [late, now] = asked;
    now?.(SECOND);
    assert.equal(await third, true);
    late?.(FIRST);
    assert.equal(await first, false);
    assert.equal(peers.endpointOf('us'), SECOND);
  });
});

describe('the key of a peer', () => {
  inOwnTime();
  const rotating = aPeer({ publicKeys: ['new', 'old'] });
  const rows: readonly (readonly [
    what: string, states: readonly WireguardPeerState[], used: readonly string[], isChanged: boolean,
  ])[] = [
    ['is the newest before any handshake', [], ['new', 'old'], false],
    ['is the old one while it shakes hands with that', [state('new', 0), state('old', 5)], ['old', 'new'], true],
    ['is the new one as soon as that shook hands later', [state('old', 5), state('new', 6)], ['new', 'old'], false],
    ['is none that the peer has not announced', [state('stranger', 9)], ['new', 'old'], false],
  ];
  for (const [what, states, used, isChanged] of rows) it(what, async () => {
    const peers = await known(rotating);
    assert.equal(peers.observe(states), isChanged);
    assert.deepEqual(peers.inUse().map(({ publicKeys }) => publicKeys), [used]);
  });

  it('changes once, not at each look', async () => {
    const peers = await known(rotating);
    const states = [state('old', 5)];
    assert.deepEqual([peers.observe(states), peers.observe(states), peers.observe([])], [true, false, true]);
  });

  it('is in rotation while it has announced another', async () => {
    const peers = await known(aPeer());
    assert.equal(peers.isRotating, false);
    peers.put(rotating);
    assert.equal(peers.isRotating, true);
  });
});

describe('what is said of a peer', () => {
  inOwnTime();
  it('is behind NAT where it is seen elsewhere than announced', async () => {
    const peers = await known(aPeer());
    assert.deepEqual(seenAt(peers, FIRST), { usingIP: '192.0.2.1', usingNAT: false });
    assert.deepEqual(seenAt(peers, '192.0.2.1:40000'), { usingIP: '192.0.2.1', usingNAT: true });
    assert.deepEqual(seenAt(peers, '[2001:db8::7]:51820'), { usingIP: '2001:db8::7', usingNAT: true });
  });

  it('has no address and no bytes before the program has told of it', async () => {
    const { usingIP, usingNAT, rxBytes, txBytes, status } = connection(await known(aPeer()));
    assert.deepEqual([usingIP, usingNAT, rxBytes, txBytes, status], [undefined, false, 0, 0, 'connecting']);
  });

  it('is what the plan says where that leaves it out', async () => {
    const peers = await known(aPeer());
    const { status, statusMessage } = connection(peers, new Map([['us', 'its range is ours'], ['eu', 'another']]));
    assert.deepEqual([status, statusMessage], ['error', 'its range is ours']);
  });

  it('has the bytes of the key in use, not of the other', async () => {
    const peers = await known(aPeer({ publicKeys: ['new', 'old'] }));
    peers.observe([state('old', 5, { rxBytes: 1, txBytes: 2 }), state('new', 6, { rxBytes: 3, txBytes: 4 })]);
    const { rxBytes, txBytes } = connection(peers);
    assert.deepEqual([rxBytes, txBytes], [3, 4]);
  });

  it('is not a change of status while it is not connected, whatever is tried', async () => {
    const peers = await known(aPeer());
    peers.observe([state('A', NOW)]);
    mock.timers.tick(30_000);
    assert.deepEqual(peers.look(), { isStatusChanged: false, moved: ['us'] });
  });
});
