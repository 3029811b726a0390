// The driver of the pod plane, with a program and a network of the test's own: what it does as peers, their names and
// its own ranges change.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Echo } from '../../../../gateway/tunnel/echo.ts';
import type { PodPeer } from '../../../../pod-plane/plan/pod-plane-plan.ts';
import type { WireguardConfiguration } from '../../../../pod-plane/plan/wireguard-protocol.ts';
import { LINK_NAMES, type NetworkKeeper } from '../../../../pod-plane/network/node-network.ts';
import { newPrivateKey } from '../../../../pod-plane/wireguard/make-wireguard-key.ts';
import { WireguardDriver, type WireguardDriverOptions } from '../../../../pod-plane/wireguard/wireguard-cable.ts';
import type { WireguardProcess } from '../../../../pod-plane/wireguard/wireguard-process.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const PEER: PodPeer = {
  clusterId: 'us', addresses: ['gateway.example:51820'], publicKeys: [newPrivateKey()], ranges: ['10.2.0.0/16'],
};

describe('the driver of the pod plane', () => {
  let configured: WireguardConfiguration[] = [];
  let driver: WireguardDriver | undefined;
  beforeEach(() => {
    configured = [];
    mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1_000_000 });
  });
  afterEach(async () => {
    mock.timers.reset();
    await driver?.close();
  });

  const done = async (): Promise<void> => undefined;

  function started(
    more: Partial<WireguardDriverOptions> = {}, network: Partial<Pick<NetworkKeeper, 'keep' | 'check' | 'close'>> = {},
  ): WireguardDriver {
    const process = {
      configure: async (wanted: WireguardConfiguration) => void configured.push(wanted), peers: async () => [],
      close: done,
    };
    const keeper = { failure: undefined, keep: done, check: done, close: done, ...network };
    driver = new WireguardDriver({
      clusterId: 'eu', program: '', names: LINK_NAMES, listenPort: 51_820, privateKey: newPrivateKey(), prefixes: [],
      isReachable: true, pathMtu: 1_500, changed: () => undefined, logger: SILENT, ...more,
    }, process as unknown as WireguardProcess, keeper as unknown as NetworkKeeper);
    return driver;
  }

  async function after(seconds: number, of: WireguardDriver): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 1) {
      mock.timers.tick(1_000);
      for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    }
    await of.settled();
  }

  it('dials a peer whose name gets an address only later', async () => {
    const addresses = new Map<string, string>();
    const dialling = started({ resolve: async (name) => addresses.get(name) });
    dialling.connect(PEER);
    await nextTurn();
    await dialling.settled();
    assert.deepEqual(configured.at(-1)?.peers.map(({ endpoint }) => endpoint), [undefined]);
    addresses.set('gateway.example:51820', '192.0.2.1:51820');
    await after(3, dialling);
    assert.deepEqual(configured.at(-1)?.peers.map(({ endpoint }) => endpoint), ['192.0.2.1:51820']);
  });

  it('leaves a peer alone whose name has no address yet: it may be dialling in', async () => {
    const waiting = started({ resolve: async () => undefined });
    waiting.connect(PEER);
    await nextTurn();
    await waiting.settled();
    configured = [];
    await after(10, waiting);
    assert.deepEqual(configured, []);
  });

  it('dials all peers anew at once that do not answer, however many there are', async () => {
    const dialling = started({ resolve: async () => '192.0.2.1:51820' });
    for (const number of [1, 2, 3]) {
      dialling.connect({
        ...PEER, clusterId: `us-${number}`, publicKeys: [newPrivateKey()], ranges: [`10.${number}.0.0/16`],
      });
    }
    await nextTurn();
    await dialling.settled();
    configured = [];
    await after(2, dialling);
    assert.deepEqual(configured.map(({ peers }) => peers.length), [0, 3]);
  });

  it('answers at its tunnel address also after that has changed', async () => {
    const own = (address: string) => [{ own: `${address}/32`, seen: `${address}/32` }];
    const moving = started({ prefixes: own('127.0.77.1') });
    await moving.settled();
    moving.usePrefixes(own('127.0.77.2'));
    await moving.settled();
    assert.equal(moving.failure, undefined);
    const free = await Echo.open('127.0.77.1'); // nothing listens there any more
    free.close();
    await assert.rejects(Echo.open('127.0.77.2'), /EADDRINUSE/);
  });

  it('is closed for all who close it only when the network of the node is as before', async () => {
    let hasRemoved: () => void = () => undefined;
    const removed = new Promise<void>((resolve) => (hasRemoved = resolve));
    const ending = started({}, { close: () => removed });
    const ends: string[] = [];
    void ending.close().then(() => ends.push('its program has ended'));
    void ending.close().then(() => ends.push('another gateway starts'));
    for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    assert.deepEqual(ends, []);
    hasRemoved();
    await ending.close();
    assert.deepEqual(ends, ['its program has ended', 'another gateway starts']);
  });

  it('changes nothing of the network any more once it is closed, though it was looking at its peers then', async () => {
    const done: string[] = [];
    let hasChecked: () => void = () => undefined;
    const checked = new Promise<void>((resolve) => (hasChecked = resolve));
    const ending = started({ resolve: async () => '192.0.2.1:51820' }, {
      keep: async () => void done.push('keep'), check: () => checked, close: async () => void done.push('close'),
    });
    ending.connect(PEER);
    await nextTurn();
    await ending.settled();
    await after(5, ending); // the last second checks the network
    await ending.close();
    mock.timers.tick(2_000); // by now the peer would be tried anew
    hasChecked();
    for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    await ending.settled();
    assert.equal(done.at(-1), 'close');
  });
});
