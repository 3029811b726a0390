// What a member tells the broker of its exports, with a broker of the test's own: one that is refused holds up no
// other.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { pino } from 'pino';
import { EXPORTED_SERVICES, OWN_EXPORT_LABEL, type ExportedService } from '../../../../api/kinds/service-discovery.ts';
import { BrokerRefusal, type BrokerRequest } from '../../../../gateway/broker/broker-request.ts';
import { ExportSharing } from '../../../../gateway/broker/export-sharing.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';
import { FakeCluster } from '../../../support/doubles/fake-cluster.ts';

const ACCESS = { brokerUrl: 'https://broker.test', authority: '' };
const own = (name: string, spec: Partial<ExportedService['spec']> = {}): ExportedService => {
  const made = exportOf('eu', { name, ...spec });
  return { ...made, metadata: { ...made.metadata, generation: 1, labels: { [OWN_EXPORT_LABEL]: 'true' } } };
};

describe('exports of a member', () => {
  let stop: AbortController;
  const refusals = new Map<string, number>();
  let cluster: FakeCluster;
  let sharing: ExportSharing;
  let asked: string[] = [];
  let lines: string[] = [];
  let now = 0;

  beforeEach(async () => {
    mock.method(performance, 'now', () => now);
    [stop, cluster, asked, lines, now] = [new AbortController(), new FakeCluster(), [], [], 1_000];
    refusals.clear();
    const ask = async <T>(_access: object, { method, path }: BrokerRequest): Promise<T> => {
      const name = path.split('/').at(-1) ?? '';
      asked.push(`${method} ${name}`);
      const status = refusals.get(name);
      if (status !== undefined) throw new BrokerRefusal(status, 'no');
      return {} as T;
    };
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    sharing = new ExportSharing({ client: cluster.client, namespace: 'isthmus-system', logger, ask });
    for (const name of ['a', 'b', 'c']) cluster.put(EXPORTED_SERVICES, own(name));
    void sharing.run(stop.signal);
    await cluster.settled();
    await sharing.receive('eu', { changedExports: [exportOf('eu', { name: 'gone' })] }, stop.signal);
  });
  afterEach(() => {
    stop.abort();
    mock.restoreAll();
  });

  async function told(): Promise<readonly string[]> {
    await cluster.settled();
    await sharing.share(ACCESS, 'eu', stop.signal);
    return asked.splice(0);
  }

  for (const status of [400, 403, 413]) {
    it(`are told and withdrawn although one is refused (${status}), which is said once`, async () => {
      refusals.set('a', status);
      assert.deepEqual(await told(), ['PUT a', 'PUT b', 'PUT c', 'DELETE gone']);
      assert.equal(lines.length, 1);
      assert.match(lines[0] ?? '', /"exports":\["shop\/a"\],"count":1/);
      assert.deepEqual(await told(), [], 'nothing has changed');
    });
  }

  it('that were refused say why, until they are taken', async () => {
    refusals.set('a', 403);
    await told();
    const noted = (name: string) =>
      cluster.writes.splice(0).filter(({ at }) => at.name === `eu.shop.${name}`).map(({ body }) => body);
    assert.deepEqual(noted('a'), [{ status: { refusal: 'The broker refuses (403): no.' } }]);
    await sharing.receive('eu', { changedExports: [own('a')] }, stop.signal);
    await told();
    assert.deepEqual(noted('a'), [{ status: { sharedGeneration: 1, refusal: null } }]);
  });

  it('that were refused are told again when they change, and after a minute', async () => {
    refusals.set('a', 403);
    await told();
    await sharing.receive(
      'eu', { changedExports: ['b', 'c'].map((name) => own(name)), goneExports: ['eu.shop.gone'] }, stop.signal,
    );
    assert.deepEqual(await told(), [], 'news of others are no reason');
    cluster.put(EXPORTED_SERVICES, own('a', { slices: [] }));
    assert.deepEqual(await told(), ['PUT a']);
    now += 60_000;
    refusals.clear();
    assert.deepEqual(await told(), ['PUT a']);
    now += 60_000;
    assert.deepEqual(await told(), [], 'it was taken');
  });

  const others = ['x', 'y'].map((name) => exportOf('us', { name }));
  for (const [what, news] of [['at first', { exports: others }], ['later', { changedExports: others }]] as const) {
    it(`of others are copied although one copy is rejected, ${what}; it is tried again after a minute`, async () => {
      cluster.takeWrites();
      cluster.failures.push(new ApiError(422, 'Invalid', 'no'));
      await sharing.receive('eu', news, stop.signal);
      const copied = (name: string) => `apply exportedservices isthmus-system/us.shop.${name}`;
      assert.deepEqual(cluster.takeWrites().filter((line) => line.startsWith('apply')), [copied('x'), copied('y')]);
      assert.match(lines.join(), /"export":"us\.shop\.x"/);
      await sharing.retry(stop.signal);
      assert.deepEqual(cluster.takeWrites(), []);
      now += 60_000;
      for (const asked of [[copied('x')], []]) {
        await sharing.retry(stop.signal);
        assert.deepEqual(cluster.takeWrites(), asked);
      }
    });
  }

  it('of others begin anew when this cluster cannot be written to', async () => {
    cluster.failures.push(new ApiError(503, '', 'away'));
    await assert.rejects(sharing.receive('eu', { changedExports: others }, stop.signal), /away/);
  });

  it('are all told again at once when the broker itself fails', async () => {
    refusals.set('a', 503);
    await assert.rejects(told(), /refuses \(503\)/);
    refusals.clear();
    asked = [];
    assert.deepEqual(await told(), ['PUT a', 'PUT b', 'PUT c', 'DELETE gone']);
  });
});
