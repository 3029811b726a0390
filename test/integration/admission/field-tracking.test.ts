// What a real API server makes of proxy pods without managedFields, for whoever applies one, and for all others.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { isElected } from '../../../model/pod/pod.ts';
import { hasAdmissionRecord } from '../../../model/proxy/admission-record.ts';
import {
  ELECTED_NAMESPACE, PLAIN_NAMESPACE, shareAdmittingWorld, type WebhookWorld,
} from '../../support/worlds/webhook-world.ts';

let world: WebhookWorld;
const enter = shareAdmittingWorld((shared) => void (world = shared));

const pod = (name: string, namespace = ELECTED_NAMESPACE): Pod => ({
  metadata: { namespace, name, annotations: { [ELECT_ANNOTATION]: '' }, labels: { app: 'web', tier: 'front' } },
  spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
});

const stored = (name: string): Promise<Pod> => world.client.get(PODS, { namespace: ELECTED_NAMESPACE, name });

/** Who is noted to have written fields, and how. */
function writers({ metadata: { managedFields = [] } }: Pod): readonly string[] {
  return managedFields.map(({ manager, operation }) => `${operation} ${manager}`).toSorted();
}

describe('an elected pod', { timeout: 120_000 }, () => {
  before(enter, { timeout: 600_000 });

  it('that was created has no managedFields, and gets none by later writes', async () => {
    const created = await world.client.create<Pod>(PODS, pod('created'));
    assert.ok(hasAdmissionRecord(created.metadata));
    assert.deepEqual(writers(created), []);
    const at = { namespace: ELECTED_NAMESPACE, name: 'created' };
    await world.client.patch(PODS, at, { patchType: 'merge', patch: { metadata: { labels: { tier: 'back' } } } });
    const status = { patchType: 'merge', patch: { status: { phase: 'Running' } } } as const;
    await world.client.patch(PODS, { ...at, subresource: 'status' }, status);
    const last = await stored('created');
    assert.deepEqual([last.status?.phase, last.metadata.labels?.['tier']], ['Running', 'back']);
    assert.deepEqual(writers(last), []);
  });

  it('that was applied keeps them, so that what is applied no more is removed', async () => {
    const whole = pod('applied');
    const first = await world.client.apply<Pod>(PODS, whole, 'gitops');
    assert.ok(hasAdmissionRecord(first.metadata));
    assert.deepEqual(writers(first).filter((writer) => writer.startsWith('Apply')), ['Apply gitops']);
    const less = { ...whole, metadata: { ...whole.metadata, labels: { app: 'web' } } };
    const { metadata } = await world.client.apply<Pod>(PODS, less, 'gitops');
    assert.deepEqual([metadata.labels?.['app'], metadata.labels?.['tier']], ['web', undefined]);
    assert.ok(hasAdmissionRecord(metadata), 'what admission has written stays');
  });

  it('that was created can be applied later: the rest of it stays', async () => {
    await world.client.create(PODS, pod('later'));
    const change = { metadata: { namespace: ELECTED_NAMESPACE, name: 'later', labels: { tier: 'back' } } };
    const applied = await world.client.apply<Pod>(PODS, change, 'gitops');
    assert.deepEqual(writers(applied), ['Apply gitops', 'Update before-first-apply']);
    assert.deepEqual([applied.metadata.labels?.['app'], applied.metadata.labels?.['tier']], ['web', 'back']);
    assert.ok(isElected(applied) && hasAdmissionRecord(applied.metadata));
  });
});

describe('a pod that is not elected', { timeout: 120_000 }, () => {
  before(enter, { timeout: 600_000 });

  it('has the managedFields of any other', async () => {
    const created = await world.client.create<Pod>(PODS, pod('plain', PLAIN_NAMESPACE));
    assert.equal(writers(created).length, 1);
  });
});
