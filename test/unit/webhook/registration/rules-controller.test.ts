// The rules for elected pods: when they are added, and what is said while they are missing.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { REACHED_ANNOTATION } from '../../../../api/objects/keys.ts';
import { startRulesController } from '../../../../webhook/registration/rules-controller.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import { StoredObjects } from '../../../support/doubles/stored-objects.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const configuration = (name: string, webhook: string): KubernetesObject => ({
  metadata: { name },
  webhooks: [{ name: webhook, clientConfig: { service: { namespace: name, name: 'webhook' } } }],
} as KubernetesObject);
const OURS = configuration('isthmus', 'pods.isthmus.multicluster.admiralty.io');
const ADMIRALTYS = configuration('admiralty', 'admiralty.multicluster.admiralty.io');

/** Starts it. `asked` resolves when the probe was sent so many times more; `missing` has what was said since. */
async function start(t: TestContext, isReached: boolean, ...others: readonly KubernetesObject[]) {
  const objects = [OURS, ...others].map((one) => [`${CONFIGURATIONS}/${one.metadata.name}`, one] as const);
  const stored = await StoredObjects.start(t, Object.fromEntries(objects));
  const ending = new AbortController();
  t.after(() => ending.abort());
  const missing: boolean[] = [];
  let heard: () => void = () => undefined;
  t.mock.method(stored.client, 'dryRunCreate', () => {
    heard();
    return Promise.resolve({ metadata: isReached ? { annotations: { [REACHED_ANNOTATION]: 'true' } } : {} });
  });
  startRulesController({
    client: stored.client, installNamespace: 'isthmus-system', events: { record: () => undefined }, logger: SILENT,
    onMissing: (areMissing) => missing.push(areMissing), askEveryMs: 1,
  }, ending.signal);
  const asked = async (times: number): Promise<void> => {
    for (let left = times; left > 0; left -= 1) await new Promise<void>((resolve) => (heard = resolve));
  };
  return { stored, missing, asked };
}

describe('the rules for elected pods', { timeout: 60_000 }, () => {
  it('are missing while the API server does not reach the webhook', async (t) => {
    const { stored, missing, asked } = await start(t, false);
    await asked(3);
    assert.deepEqual([missing.at(-1), stored.writes], [true, []]);
  });

  it('are not said to be missing while they wait for Admiralty, and are added once it is gone', async (t) => {
    const { stored, missing, asked } = await start(t, true, ADMIRALTYS);
    await asked(3);
    assert.deepEqual([missing.at(-1), stored.writes], [false, []]);
    stored.remove(`${CONFIGURATIONS}/admiralty`);
    await stored.until((writes) => writes.length > 0);
    assert.equal(stored.writes[0]?.manager, 'isthmus-webhook-rules');
  });
});
