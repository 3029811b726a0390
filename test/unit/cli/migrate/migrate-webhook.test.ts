import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { BEFORE_MIGRATION_ANNOTATION, PROXY_SCHEDULER } from '../../../../api/objects/keys.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, type MutatingWebhookConfiguration,
} from '../../../../api/resource-types.ts';
import {
  disableAdmiraltyWebhook, restoreAdmiraltyConfiguration, restoreAdmiraltyWebhook, switchWebhook,
} from '../../../../cli/migrate/migrate-webhook.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { Call } from '../../../../kubernetes/http/transport.ts';
import { WEBHOOK_CONFIGURATION_NAME, WEBHOOK_NAME } from '../../../../manifests/objects/webhook-configuration.ts';
import { receivesPods, type AdmiraltyWebhook } from '../../../../model/naming/live-admiralty.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { memoryMigration } from '../../../support/doubles/memory-migration.ts';
import { virtualWaits } from '../../../support/doubles/virtual-waits.ts';

const INJECTED = 'cert-manager.io/inject-ca-from';
const service = (name: string) => ({ namespace: 'adm', name, path: '/mutate' });
const theirs: AdmiraltyWebhook = {
  name: 'mc.multicluster.admiralty.io', admissionReviewVersions: ['v1beta1'], failurePolicy: 'Fail',
  clientConfig: { service: service('mc'), caBundle: 'dGhlaXJz' }, namespaceSelector: { matchLabels: { a: 'b' } },
} as unknown as AdmiraltyWebhook;
const ours = (rules: readonly object[], caBundle?: string): AdmiraltyWebhook => ({
  name: WEBHOOK_NAME, failurePolicy: 'Fail', rules,
  clientConfig: { service: service('isthmus'), ...(caBundle !== undefined && { caBundle }) },
});
const RULES = [{ operations: ['CREATE'], resources: ['pods'] }];
const configuration = (
  name: string, webhooks: readonly AdmiraltyWebhook[], annotations: Readonly<Record<string, string>> = {},
): MutatingWebhookConfiguration => ({ metadata: { name, annotations }, webhooks });
const other =
  { name: 'sidecar.example.com', clientConfig: { service: service('sidecar') } } as unknown as AdmiraltyWebhook;

interface World {
  readonly isOptedIn?: boolean;
  readonly ownWebhook?: AdmiraltyWebhook;
  /** Name of the Service whose webhook makes proxy pods. */
  readonly answering?: string;
}

/** A source whose API server calls the webhook of Admiralty's configuration, wherever that points. */
function world(t: TestContext, given: World = {}) {
  const { isOptedIn = true, ownWebhook = ours(RULES, 'b3Vycw=='), answering = 'isthmus' } = given;
  const cluster = new MemoryCluster(
    [MUTATING_WEBHOOK_CONFIGURATIONS, configuration('mc', [other, theirs], { [INJECTED]: 'adm/mc-cert' })],
    [MUTATING_WEBHOOK_CONFIGURATIONS, configuration(WEBHOOK_CONFIGURATION_NAME, [ownWebhook])],
    ...(isOptedIn
      ? [[NAMESPACES, { metadata: { name: 'shop', labels: { 'multicluster-scheduler': 'enabled' } } }] as const] : []),
  );
  const state = { answering };
  cluster.before = ({ query, body }: Call) => {
    if (query?.['dryRun'] === undefined) return undefined;
    const called = webhookOf(cluster).clientConfig.service?.name;
    if (called !== state.answering) return new ApiError(500, 'InternalError', `failed calling ${called}`);
    Object.assign((body as { readonly spec: object }).spec, { schedulerName: PROXY_SCHEDULER });
    return undefined;
  };
  const migration = memoryMigration(cluster);
  const installation = { ...migration.installation, webhooks: [configuration('mc', [theirs])] };
  return { cluster, migration: { ...migration, installation }, time: virtualWaits(t), state };
}

const storedOf = (cluster: MemoryCluster, name: string) =>
  cluster.find(MUTATING_WEBHOOK_CONFIGURATIONS, name) as unknown as MutatingWebhookConfiguration;
const webhookOf = (cluster: MemoryCluster): AdmiraltyWebhook =>
  storedOf(cluster, 'mc').webhooks?.find(({ name }) => name === theirs.name) as AdmiraltyWebhook;
const annotationsOf = (cluster: MemoryCluster) => storedOf(cluster, 'mc').metadata.annotations ?? {};

describe('a webhook that is switched to Isthmus', () => {
  it('matches nothing at the end, is kept as it was, and is not restored by cert-manager', async (t) => {
    const { cluster, migration } = world(t);
    await switchWebhook(migration);
    assert.equal(receivesPods(webhookOf(cluster)), false);
    assert.deepEqual(webhookOf(cluster).namespaceSelector?.matchLabels, { a: 'b' });
    assert.deepEqual(JSON.parse(annotationsOf(cluster)[BEFORE_MIGRATION_ANNOTATION] ?? ''), {
      webhook: theirs, injected: 'adm/mc-cert',
    });
    assert.equal(annotationsOf(cluster)[INJECTED], undefined);
    assert.deepEqual(storedOf(cluster, 'mc').webhooks?.[0], other);
  });

  it('points to ours while it is tried, with versions that ours answers', async (t) => {
    const { cluster, migration } = world(t);
    const seen: AdmiraltyWebhook[] = [];
    const { before } = cluster;
    cluster.before = (call) => {
      if (call.query?.['dryRun'] !== undefined) seen.push(webhookOf(cluster));
      return before(call);
    };
    await switchWebhook(migration);
    assert.deepEqual(seen, [{
      ...theirs, clientConfig: { service: service('isthmus'), caBundle: 'b3Vycw==' },
      admissionReviewVersions: ['v1', 'v1beta1'],
    }]);
  });

  it('goes back to Admiralty each time ours does not answer, and is tried again', async (t) => {
    const { cluster, migration, time, state } = world(t, { answering: 'nobody' });
    const between: unknown[] = [];
    time.during = (count) => {
      between.push(webhookOf(cluster).clientConfig.service?.name);
      if (count === 2) state.answering = 'isthmus';
    };
    await switchWebhook(migration);
    assert.deepEqual(between, ['mc', 'mc']);
    assert.match(migration.told.join('\n'), /does not answer yet: failed calling isthmus/);
    assert.equal(receivesPods(webhookOf(cluster)), false);
  });

  it('that never answers leaves Admiralty at work, with its annotation for cert-manager', async (t) => {
    const { cluster, migration } = world(t, { answering: 'nobody' });
    await assert.rejects(switchWebhook(migration), { code: 'Timeout', message: /our webhook answers/ });
    assert.deepEqual(webhookOf(cluster), theirs);
    assert.equal(annotationsOf(cluster)[INJECTED], 'adm/mc-cert');
  });

  it('is not switched before ours has a CA bundle, which shows that it serves', async (t) => {
    const { cluster, migration } = world(t, { ownWebhook: ours(RULES) });
    await assert.rejects(switchWebhook(migration), { code: 'Timeout', message: /our webhook serves/ });
    assert.deepEqual(cluster.writes, []);
  });

  it('keeps pointing to ours until ours has its own rules', async (t) => {
    const { cluster, migration } = world(t, { ownWebhook: ours([], 'b3Vycw==') });
    await assert.rejects(switchWebhook(migration), { code: 'Timeout', message: /admits elected pods/ });
    const webhook = webhookOf(cluster);
    assert.deepEqual([receivesPods(webhook), webhook.clientConfig.service?.name], [true, 'isthmus']);
  });

  it('is believed where no namespace has opted in, so that nothing could be tried', async (t) => {
    const { cluster, migration } = world(t, { isOptedIn: false, answering: 'nobody' });
    await switchWebhook(migration);
    assert.equal(receivesPods(webhookOf(cluster)), false);
  });

  it('is tried in the next namespace where the first admits no pod, as by its quota', async (t) => {
    const { cluster, migration } = world(t);
    cluster.put(NAMESPACES, { metadata: { name: 'another', labels: { 'multicluster-scheduler': 'enabled' } } });
    const { before } = cluster;
    const tried: string[] = [];
    cluster.before = (call) => {
      if (call.query?.['dryRun'] !== undefined) tried.push(call.path);
      return call.path.includes('/shop/')
        ? new ApiError(403, 'Forbidden', 'pods "isthmus-migrate-" is forbidden: failed quota: q') : before(call);
    };
    await switchWebhook(migration);
    assert.deepEqual(tried, ['shop', 'another'].map((name) => `/api/v1/namespaces/${name}/pods`));
    assert.equal(receivesPods(webhookOf(cluster)), false);
  });

  for (const denial of [
    new ApiError(403, 'Forbidden', 'admission webhook "validation.gatekeeper.sh" denied the request: no owner'),
    new ApiError(422, 'Invalid', "ValidatingAdmissionPolicy 'owner' with binding 'owner' denied request: no owner"),
  ]) {
    it(`is switched where others deny what is tried, after it was asked: ${denial.message}`, async (t) => {
      const { cluster, migration } = world(t);
      cluster.before = ({ query }) => (query?.['dryRun'] === undefined ? undefined : denial);
      await switchWebhook(migration);
      assert.equal(receivesPods(webhookOf(cluster)), false);
    });
  }

  it('is not tried by somebody who may not create pods: nothing says that it answers', async (t) => {
    const { cluster, migration } = world(t);
    cluster.before = ({ query }) => (query?.['dryRun'] === undefined ? undefined : new ApiError(
      403, 'Forbidden', 'pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace',
    ));
    await assert.rejects(switchWebhook(migration), { code: 'Timeout', message: /our webhook answers/ });
    assert.equal(receivesPods(webhookOf(cluster)), true);
  });

  it('that denies what is tried is not switched to', async (t) => {
    const { cluster, migration } = world(t);
    cluster.before = ({ query }) => (query?.['dryRun'] === undefined
      ? undefined : new ApiError(403, 'Forbidden', `admission webhook "${WEBHOOK_NAME}" denied the request: no`));
    await assert.rejects(switchWebhook(migration), { code: 'Timeout', message: /our webhook answers/ });
  });

  it('is not switched twice', async (t) => {
    const { cluster, migration, state } = world(t);
    await switchWebhook(migration);
    const { length } = cluster.writes;
    state.answering = 'isthmus';
    cluster.before = () => undefined;
    cluster.drop(NAMESPACES, { name: 'shop' });
    await switchWebhook(migration);
    assert.equal(cluster.writes.length, length);
  });

  it('needs our configuration: a cluster without one is told how to get it', async (t) => {
    const { cluster, migration } = world(t);
    cluster.drop(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME });
    await assert.rejects(switchWebhook(migration), { code: 'NotFound', message: /isthmus migrate admiralty/ });
  });

  it('may have been uninstalled meanwhile', async (t) => {
    const { cluster, migration } = world(t, { isOptedIn: false });
    cluster.drop(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'mc' });
    await disableAdmiraltyWebhook(migration);
    assert.deepEqual(cluster.writes, []);
  });

  it('that was changed between read and write is not overwritten', async (t) => {
    const { cluster, migration } = world(t);
    cluster.before = ({ method }) => void (method === 'PATCH' && cluster.put(
      MUTATING_WEBHOOK_CONFIGURATIONS, configuration('mc', [{ ...theirs, failurePolicy: 'Ignore' }]),
    ));
    await assert.rejects(disableAdmiraltyWebhook(migration), { status: 409 });
    assert.equal(webhookOf(cluster).failurePolicy, 'Ignore');
  });
});

describe('a webhook that is given back', () => {
  const switched = async (t: TestContext) => {
    const made = world(t);
    await switchWebhook(made.migration);
    return made;
  };

  it('first receives elected pods again at ours, and then ours has no rules any more', async (t) => {
    const { cluster, migration } = await switched(t);
    await restoreAdmiraltyConfiguration(migration);
    const { clientConfig } = webhookOf(cluster);
    assert.deepEqual([receivesPods(webhookOf(cluster)), clientConfig.service?.name], [true, 'isthmus']);
    assert.deepEqual(storedOf(cluster, WEBHOOK_CONFIGURATION_NAME).webhooks?.map(({ rules }) => rules), [[]]);
  });

  it('then is what it was before, and nothing tells of the migration', async (t) => {
    const { cluster, migration, state } = await switched(t);
    await restoreAdmiraltyConfiguration(migration);
    state.answering = 'mc';
    await restoreAdmiraltyWebhook(migration);
    assert.deepEqual(webhookOf(cluster), theirs);
    assert.deepEqual(annotationsOf(cluster), { [INJECTED]: 'adm/mc-cert' });
  });

  it('stays at ours in between while that of Admiralty does not answer', async (t) => {
    const { cluster, migration, state, time } = await switched(t);
    await restoreAdmiraltyConfiguration(migration);
    const between: unknown[] = [];
    time.during = () => {
      between.push(webhookOf(cluster).clientConfig.service?.name);
      state.answering = 'mc';
    };
    await restoreAdmiraltyWebhook(migration);
    assert.deepEqual([between, webhookOf(cluster).clientConfig.service?.name], [['isthmus'], 'mc']);
    assert.match(migration.told.join('\n'), /Admiralty's webhook does not answer yet/);
  });

  it('keeps webhooks of ours that other pods pass, which ignore failures', async (t) => {
    const { cluster, migration } = await switched(t);
    const name = 'notices.isthmus.multicluster.admiralty.io';
    const notices = { ...ours(RULES), name, failurePolicy: 'Ignore' } as const;
    cluster.put(MUTATING_WEBHOOK_CONFIGURATIONS, configuration(
      WEBHOOK_CONFIGURATION_NAME, [ours(RULES, 'b3Vycw=='), notices],
    ));
    await restoreAdmiraltyConfiguration(migration);
    assert.deepEqual(
      storedOf(cluster, WEBHOOK_CONFIGURATION_NAME).webhooks?.map(({ rules }) => rules?.length), [0, 1],
    );
  });
});
