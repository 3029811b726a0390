// One suite for every cable driver: what its users rely on, whatever carries the bytes.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CableDriver } from '../../gateway/protocol/cable-driver.ts';

/** Two members that can be connected, made anew for each suite. */
export interface DriverPair {
  readonly one: CableDriver;
  readonly other: CableDriver;
  /** Where `other` is reached; empty when only `other` can dial. */
  readonly addresses: { readonly one: readonly string[]; readonly other: readonly string[] };
  close(): Promise<void>;
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!holds() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(holds());
}

/** Registers the suite. */
export function describeCableDriver(name: string, make: () => Promise<DriverPair>): void {
  describe(`the contract of cable drivers, ${name}`, () => {
    let pair: DriverPair;
    before(async () => {
      pair = await make();
    });
    after(() => pair.close());
    const status = (driver: CableDriver) => driver.connections().map((connection) => connection.status);

    it('has a name and no cables before a peer is wanted', () => {
      assert.match(pair.one.name, /^[a-z]+$/);
      assert.deepEqual(pair.one.connections(), []);
    });

    it('says that it is connecting, then that it is connected, on both sides', async () => {
      pair.one.connect({ clusterId: 'other', addresses: pair.addresses.other });
      assert.deepEqual(status(pair.one).filter((one) => one === 'connected'), []);
      pair.other.connect({ clusterId: 'one', addresses: pair.addresses.one });
      await until(() => status(pair.one)[0] === 'connected' && status(pair.other)[0] === 'connected');
      assert.equal(pair.one.connections()[0]?.clusterId, 'other');
      assert.equal(pair.other.connections()[0]?.clusterId, 'one');
    });

    it('connects twice to the same peer as once', () => {
      pair.one.connect({ clusterId: 'other', addresses: pair.addresses.other });
      assert.deepEqual(status(pair.one), ['connected']);
    });

    it('measures round trips and counts bytes', async () => {
      await until(() => pair.one.connections()[0]?.latencyRTT !== undefined);
      const [connection] = pair.one.connections();
      assert.match(connection?.latencyRTT?.last ?? '', /^[\d.]+(?:µs|ms|s)$/);
      assert.ok((connection?.rxBytes ?? 0) > 0 && (connection?.txBytes ?? 0) > 0);
    });

    it('forgets a peer that is no longer wanted, and the peer learns of it', async () => {
      pair.one.disconnect('other');
      assert.deepEqual(pair.one.connections(), []);
      await until(() => status(pair.other)[0] !== 'connected');
      assert.notEqual(pair.other.connections()[0]?.statusMessage, '');
    });

    it('connects again', async () => {
      pair.one.connect({ clusterId: 'other', addresses: pair.addresses.other });
      await until(() => status(pair.one)[0] === 'connected' && status(pair.other)[0] === 'connected');
    });

    it('ends cleanly, and twice as once', async () => {
      await pair.one.close();
      await pair.one.close();
      await until(() => status(pair.other)[0] !== 'connected');
    });
  });
}
