// The CA bundle in the webhook configurations: written where it is missing, never over what cert-manager writes.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { startCaBundleController, type Trust } from '../../../../webhook/registration/ca-bundle-controller.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import { StoredObjects } from '../../../support/doubles/stored-objects.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const MUTATING = `${GROUP}/mutatingwebhookconfigurations/isthmus`;
const VALIDATING = `${GROUP}/validatingwebhookconfigurations/isthmus`;
const [OLD, NEW] = ['-----BEGIN CERTIFICATE-----\nOLD\n', '-----BEGIN CERTIFICATE-----\nNEW\n'];
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function configuration(names: readonly string[], bundle?: string, annotations = {}): KubernetesObject {
  const caBundle = bundle === undefined ? {} : { caBundle: base64(bundle) };
  const service = { namespace: 'isthmus-system', name: 'isthmus-webhook', path: '/secret' };
  const webhooks = names.map((name) => ({ name, clientConfig: { service, ...caBundle }, failurePolicy: 'Fail' }));
  return { metadata: { name: 'isthmus', annotations }, webhooks } as KubernetesObject;
}

const bundlesIn = (stored: StoredObjects, path: string): readonly string[] => {
  const { webhooks } = stored.get(path) as unknown as {
    readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[]
  };
  return webhooks.map(({ clientConfig: { caBundle = '' } }) => Buffer.from(caBundle, 'base64').toString());
};

async function start(t: TestContext, objects: Readonly<Record<string, KubernetesObject>>) {
  const stored = await StoredObjects.start(t, objects);
  const ending = new AbortController();
  t.after(() => ending.abort());
  let changes = 0;
  let changed: () => void = () => undefined;
  const options = { client: stored.client, logger: SILENT, onChange: () => { changes += 1; changed(); } };
  const trust: Trust = startCaBundleController(options, ending.signal);
  await trust.synced;
  /** Resolves when the watch has delivered what the condition asks for. */
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise<void>((resolve) => { changed = resolve; });
  };
  return { stored, trust, until, changes: () => changes };
}

describe('the CA bundle', { timeout: 60_000 }, () => {
  it('is written into each webhook of both configurations, and nothing else is', async (t) => {
    const { stored, trust } = await start(t, {
      [MUTATING]: configuration(['pods', 'daemonsets'], OLD), [VALIDATING]: configuration(['targets']),
    });
    assert.equal(trust.isTrusted(NEW), false);
    trust.setBundle(NEW);
    await stored.until((writes) => writes.length === 2);
    assert.deepEqual(new Set(stored.writes.map(({ method, path, manager }) => `${method} ${path} ${manager}`)),
      new Set([MUTATING, VALIDATING].map((path) => `PATCH ${path} isthmus-webhook`)));
    const [{ body } = { body: {} }] = stored.writes.filter(({ path }) => path === MUTATING);
    assert.deepEqual(body, {
      apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'isthmus' },
      webhooks: ['pods', 'daemonsets'].map((name) => ({ name, clientConfig: { caBundle: base64(NEW) } })),
    });
    assert.deepEqual([...bundlesIn(stored, MUTATING), ...bundlesIn(stored, VALIDATING)], [NEW, NEW, NEW]);
  });
  it('is trusted once both configurations have it, as the watch shows, and with it one of several CAs', async (t) => {
    const { stored, trust, until } = await start(t, {
      [MUTATING]: configuration(['pods'], OLD + NEW), [VALIDATING]: configuration(['targets'], OLD),
    });
    assert.deepEqual([trust.isTrusted(OLD), trust.isTrusted(NEW)], [true, false]);
    stored.put(VALIDATING, configuration(['targets'], NEW));
    await until(() => trust.isTrusted(NEW));
    assert.equal(trust.isTrusted(OLD), false);
  });
  it('is not written where it is already, and again where somebody applies the manifest anew', async (t) => {
    const { stored, trust, changes } = await start(t, {
      [MUTATING]: configuration(['pods'], NEW), [VALIDATING]: configuration(['targets'], NEW),
    });
    trust.setBundle(NEW);
    stored.put(VALIDATING, configuration(['targets', 'resourceshares'], OLD));
    await stored.until((writes) => writes.length === 1);
    assert.deepEqual(stored.writes.map(({ path }) => path), [VALIDATING], 'the other one was never written');
    assert.deepEqual(bundlesIn(stored, VALIDATING), [NEW, NEW]);
    assert.ok(changes() >= 3, 'and whoever issues certificates is told of each change');
  });
  it('is left to cert-manager where an annotation says so, and written beside it where none does', async (t) => {
    const { stored, trust } = await start(t, {
      [MUTATING]: configuration(['pods'], OLD, { 'cert-manager.io/inject-ca-from-secret': 'a/b' }),
      [VALIDATING]: configuration(['targets']),
    });
    trust.setBundle(NEW);
    await stored.until((writes) => writes.length === 1);
    assert.deepEqual([bundlesIn(stored, MUTATING), bundlesIn(stored, VALIDATING)], [[OLD], [NEW]]);
  });
  it('waits for configurations that are installed later', async (t) => {
    const { stored, trust } = await start(t, {});
    assert.equal(trust.isTrusted(NEW), true, 'where there is none nobody needs to trust');
    trust.setBundle(NEW);
    stored.put(MUTATING, configuration(['pods']));
    await stored.until((writes) => writes.length === 1);
    assert.deepEqual(bundlesIn(stored, MUTATING), [NEW]);
  });
  it('is written again after an error: API servers must not be left without it', async (t) => {
    const { stored, trust } = await start(t, { [MUTATING]: configuration(['pods']) });
    let refusals = 0;
    stored.refuse = () => ((refusals += 1) === 1 ? [500, 'InternalError'] : undefined);
    trust.setBundle(NEW);
    await stored.until((writes) => writes.length === 2);
    assert.deepEqual(bundlesIn(stored, MUTATING), [NEW]);
  });
});
