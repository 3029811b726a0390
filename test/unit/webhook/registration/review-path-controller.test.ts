// The secret path between API servers, configurations and replicas: whoever is a step behind is still let in.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { WEBHOOK_PATHS } from '../../../../api/admission-rules.ts';
import type { KubernetesObject, Secret } from '../../../../api/objects/core.ts';
import type { WebhookConfiguration } from '../../../../api/resource-types.ts';
import { WEBHOOK_CERTIFICATES_SECRET } from '../../../../api/objects/own-names.ts';
import { keyNamespace } from '../../../../model/access/key-namespace.ts';
import { ReviewPaths } from '../../../../webhook/registration/review-path-controller.ts';
import { PLAIN, segmentData, storedSegment, type PathTimes } from '../../../../webhook/registration/review-path.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import { StoredObjects } from '../../../support/doubles/stored-objects.ts';

const NAMESPACE = 'isthmus-system';
const GROUP = '/apis/admissionregistration.k8s.io/v1';
const MUTATING = `${GROUP}/mutatingwebhookconfigurations/isthmus`;
const VALIDATING = `${GROUP}/validatingwebhookconfigurations/isthmus`;
const SECRET = `/api/v1/namespaces/${keyNamespace(NAMESPACE)}/secrets/${WEBHOOK_CERTIFICATES_SECRET}`;
const PODS = 'pods.isthmus.multicluster.admiralty.io';
const TARGETS = 'targets.isthmus.multicluster.admiralty.io';
const [OURS, OLD] = ['a'.repeat(48), 'b'.repeat(48)];
const NOW = Date.parse('2026-01-01T12:00:00Z');
const AT_ONCE: PathTimes = { rollout: 0, spread: 0, overlap: 60_000, renew: 3_600_000 };

const plainOf = (name: string): string => WEBHOOK_PATHS[name] ?? '';
const withClient = (name: string, clientConfig: object): KubernetesObject =>
  ({ metadata: { name: 'isthmus' }, webhooks: [{ name, clientConfig }] }) as KubernetesObject;
const byService = (name: string, path?: string): KubernetesObject =>
  withClient(name, { service: { namespace: NAMESPACE, name: 'w', ...(path !== undefined && { path }) } });
const secretWith = (segment: string, since: number): Secret =>
  ({ metadata: { name: WEBHOOK_CERTIFICATES_SECRET }, data: segmentData({ segment, since }) });
const segmentIn = (stored: StoredObjects): string | undefined =>
  storedSegment(stored.get(SECRET) ?? { metadata: {} })?.segment;
const pathIn = (stored: StoredObjects, at: string): string | undefined => {
  const [webhook] = (stored.get(at) as WebhookConfiguration).webhooks ?? [];
  return webhook?.clientConfig.service?.path;
};

async function start(
  t: TestContext, objects: Readonly<Record<string, KubernetesObject>>, times: PathTimes = AT_ONCE,
) {
  t.mock.timers.enable({ apis: ['Date'], now: NOW });
  const stored = await StoredObjects.start(t, objects);
  const ending = new AbortController();
  t.after(() => ending.abort());
  const paths: ReviewPaths =
    new ReviewPaths({ client: stored.client, installNamespace: NAMESPACE, logger: SILENT, times }, ending.signal);
  const patched = (at: string) => stored.until((writes) => writes.some(({ path }) => path === at));
  return { stored, paths, patched, end: () => ending.abort() };
}

/** Turns of the event loop in which a watch delivers what was put; each is a task of its own. */
async function delivered(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

describe('the path of the webhook', { timeout: 60_000 }, () => {
  it('is made where there is none, kept in the Secret, and written into both configurations', async (t) => {
    const { stored, paths, patched } =
      await start(t, { [MUTATING]: byService(PODS), [VALIDATING]: byService(TARGETS) });
    await paths.ready;
    const segment = segmentIn(stored) ?? assert.fail('no path was stored');
    assert.match(segment, /^[0-9a-f]{48}$/);
    await Promise.all([patched(MUTATING), patched(VALIDATING)]);
    assert.deepEqual([pathIn(stored, MUTATING), pathIn(stored, VALIDATING)],
      [`/${segment}${plainOf(PODS)}`, `/${segment}${plainOf(TARGETS)}`]);
    assert.deepEqual([...new Set(stored.writes.filter(({ path }) => path !== SECRET).map(({ manager }) => manager))],
      ['isthmus-webhook-path']);
    assert.deepEqual(paths.open(), [segment], 'and plain paths were never open');
  });
  it('of another replica is used, and not made anew', async (t) => {
    const { stored, paths, patched } =
      await start(t, { [SECRET]: secretWith(OURS, NOW - 1_000), [MUTATING]: byService(PODS) });
    await paths.ready;
    await patched(MUTATING);
    assert.equal(pathIn(stored, MUTATING), `/${OURS}${plainOf(PODS)}`);
    assert.deepEqual(stored.writes.map(({ path }) => path), [MUTATING]);
  });
  it('is that of the replica that was first where two make one at once', async (t) => {
    const { stored, paths } = await start(t, {});
    stored.refuse = ({ path }) => {
      if (path !== SECRET || segmentIn(stored) !== undefined) return undefined;
      stored.put(SECRET, secretWith(OURS, NOW));
      return [409, 'AlreadyExists'];
    };
    await paths.ready;
    assert.deepEqual(paths.open(), [OURS]);
  });
  it('from before this process is replaced, over the version that was read, beside the certificates', async (t) => {
    const before = secretWith(OLD, NOW - AT_ONCE.overlap - 1);
    const { stored, paths } = await start(t, {
      [SECRET]: { ...before, data: { ...before.data, 'tls.key': 'a2V5' } } as Secret,
      [MUTATING]: byService(PODS, `/${OLD}${plainOf(PODS)}`),
    });
    const { resourceVersion } = stored.get(SECRET)?.metadata ?? {};
    await paths.ready;
    const [first] = stored.writes;
    assert.deepEqual([first?.method, first?.body.metadata.resourceVersion], ['PATCH', resourceVersion]);
    const { data = {} } = stored.get(SECRET) as unknown as Secret;
    assert.equal(data['tls.key'], 'a2V5');
    const segment = segmentIn(stored) ?? '';
    assert.notEqual(segment, OLD);
    await delivered(() => paths.open().length === 2);
    assert.deepEqual(new Set(paths.open()), new Set([OLD, segment]), 'API servers may still use the one before');
  });
  it('that a configuration had is let in a while longer, and then no more', async (t) => {
    const { stored, paths, patched } = await start(t, {
      [SECRET]: secretWith(OURS, NOW), [MUTATING]: byService(PODS, plainOf(PODS)),
    }, { ...AT_ONCE, renew: 1e12 });
    await paths.ready;
    await patched(MUTATING);
    assert.deepEqual(new Set(paths.open()), new Set([OURS, PLAIN]));
    for (let later = 2; paths.open().includes(PLAIN); later += 2) {
      t.mock.timers.setTime(NOW + later * AT_ONCE.overlap);
      stored.put(VALIDATING, byService(TARGETS, `/${OURS}${plainOf(TARGETS)}`));
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    }
    assert.deepEqual(paths.open(), [OURS]);
  });
  it('is let in from the last moment on at which a configuration had it, and not from the first', async (t) => {
    const third = 'c'.repeat(48);
    const { stored, paths } = await start(t, {
      [SECRET]: secretWith(OURS, NOW), [MUTATING]: byService(PODS, `/${OLD}${plainOf(PODS)}`),
    }, { ...AT_ONCE, spread: 1e12, renew: 1e12 });
    await paths.ready;
    t.mock.timers.setTime(NOW + 10 * AT_ONCE.overlap);
    stored.put(MUTATING, byService(PODS, `/${third}${plainOf(PODS)}`));
    await delivered(() => paths.open().includes(third));
    assert.deepEqual(new Set(paths.open()), new Set([OURS, OLD, third]));
  });
  it('is not written before other replicas can know it, and is let in meanwhile', async (t) => {
    const { stored, paths, patched } = await start(t, {
      [SECRET]: secretWith(OURS, NOW), [MUTATING]: byService(PODS, `/${OLD}${plainOf(PODS)}`),
      [VALIDATING]: byService(TARGETS),
    }, { ...AT_ONCE, spread: 60_000 });
    await paths.ready;
    assert.deepEqual(new Set(paths.open()), new Set([OURS, OLD]));
    await patched(VALIDATING);
    assert.deepEqual(stored.writes.map(({ path }) => path), [VALIDATING], 'which had none, and is looked at last');
  });
  it('is written again where somebody applies a configuration without it', async (t) => {
    const { stored, paths, patched } = await start(t, { [SECRET]: secretWith(OURS, NOW) });
    await paths.ready;
    stored.put(MUTATING, byService(PODS));
    await patched(MUTATING);
    stored.writes.length = 0;
    stored.put(MUTATING, byService(PODS, `/${OLD}${plainOf(PODS)}`));
    await patched(MUTATING);
    assert.equal(pathIn(stored, MUTATING), `/${OURS}${plainOf(PODS)}`);
  });
  it('of a URL with a path of somebody\'s own is left alone, and plain paths are let in', async (t) => {
    const theirs = withClient(PODS, { url: 'https://proxy.example/isthmus/pods' });
    const { stored, paths, patched } = await start(t, {
      [SECRET]: secretWith(OURS, NOW), [MUTATING]: theirs, [VALIDATING]: byService(TARGETS),
    });
    await paths.ready;
    assert.deepEqual(new Set(paths.open()), new Set([OURS, PLAIN]));
    await patched(VALIDATING);
    assert.deepEqual(stored.writes.map(({ path }) => path), [VALIDATING], 'which is looked at last');
  });
  it('is made again when somebody deletes the Secret, and the one before is let in while it is named', async (t) => {
    const { stored, paths, patched } =
      await start(t, { [SECRET]: secretWith(OURS, NOW), [MUTATING]: byService(PODS) });
    await paths.ready;
    await patched(MUTATING);
    stored.remove(SECRET);
    await stored.until((writes) => writes.some(({ path }) => path === SECRET));
    const segment = segmentIn(stored) ?? '';
    assert.notEqual(segment, OURS);
    await delivered(() => paths.open().includes(segment));
    assert.ok(paths.open().includes(OURS));
  });
  it('is nothing before anything is known, and whoever waits for it hears of the end', async (t) => {
    const { paths, end } = await start(t, {});
    assert.deepEqual(paths.open(), []);
    end();
    await assert.rejects(paths.ready);
  });
});
