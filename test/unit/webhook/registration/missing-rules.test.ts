// Pods are sent to the webhook only once the API server is known to reach it, where the installation left that to the
// webhook.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ELECTED_POD_RULES, REACHED_WEBHOOK } from '../../../../api/admission-rules.ts';
import type { EventRecord } from '../../../../model/proxy/event-record.ts';
import {
  packagedWebhookConfiguration, webhookConfiguration,
} from '../../../../manifests/objects/webhook-configuration.ts';
import {
  answerProbe, isProbeAnswered, probeEvent, webhooksWithoutRules, withRules,
} from '../../../../webhook/registration/missing-rules.ts';
import { startRulesController } from '../../../../webhook/registration/rules-controller.ts';
import { ScriptedApiServer, SILENT, type Exchange, status } from '../../../support/doubles/scripted-api-server.ts';

const PODS = 'pods.isthmus.multicluster.admiralty.io';
const NAMESPACES = 'namespaces.isthmus.multicluster.admiralty.io';
const packaged = packagedWebhookConfiguration({ installNamespace: 'ns' });
const question =
  probeEvent({ installNamespace: 'ns', instance: 'host', at: new Date('2026-01-01T00:00:00.123Z') });

describe('a webhook configuration of a package', () => {
  it('has no rules for pods, and is otherwise what isthmus install applies', () => {
    assert.deepEqual(webhooksWithoutRules(packaged), [PODS, NAMESPACES]);
    const { webhooks = [] } = packaged;
    assert.deepEqual(
      webhooks.slice(0, -1).map((webhook) => ({ rules: ELECTED_POD_RULES, ...webhook })),
      webhookConfiguration({ installNamespace: 'ns' }).webhooks,
    );
  });

  it('asks in the install namespace alone, about events that carry the question, and is never in the way', () => {
    const asks = packaged.webhooks?.at(-1) as unknown as Record<string, unknown>;
    assert.deepEqual([asks['name'], asks['failurePolicy'], asks['namespaceSelector'], asks['objectSelector']], [
      REACHED_WEBHOOK,
      'Ignore', { matchLabels: { 'kubernetes.io/metadata.name': 'ns' } }, { matchLabels: question.metadata.labels },
    ]);
  });

  it('lacks nothing once the rules are there, and what isthmus install applied lacks nothing at all', () => {
    const names = webhooksWithoutRules(packaged);
    assert.deepEqual(withRules(names), {
      metadata: { name: 'isthmus' }, webhooks: names.map((name) => ({ name, rules: ELECTED_POD_RULES })),
    });
    assert.deepEqual(webhooksWithoutRules(webhookConfiguration({ installNamespace: 'ns' })), []);
  });
});

describe('the question whether the API server reaches the webhook', () => {
  for (
    const [what, annotations] of [
      ['without annotations', undefined], ['with those of others', { 'example.com/a': 'b' }],
    ] as const
  ) {
    it(`is answered by a patch, ${what}`, () => {
      const asked = { ...question, metadata: { ...question.metadata, ...(annotations && { annotations }) } };
      const admission = answerProbe(asked);
      assert.equal(admission.kind, 'mutate');
      const [operation] = admission.kind === 'mutate' ? admission.patch : [];
      assert.deepEqual(
        operation,
        annotations === undefined
          ? { op: 'add', path: '/metadata/annotations', value: { 'isthmus.dev/answered': 'true' } }
          : { op: 'add', path: '/metadata/annotations/isthmus.dev~1answered', value: 'true' },
      );
    });
  }

  it('is open until the annotation comes back', () => {
    assert.equal(isProbeAnswered(question), false);
    assert.equal(isProbeAnswered({ metadata: { annotations: { 'isthmus.dev/answered': 'true' } } }), true);
  });
});

describe('the controller of rules', () => {
  const stored = { ...packaged, metadata: { name: 'isthmus', resourceVersion: '1', uid: 'u' } };

  async function withServer(
    act: (server: ScriptedApiServer, events: EventRecord[], missing: boolean[]) => Promise<void>,
  ): Promise<void> {
    const server = await ScriptedApiServer.start();
    const ended = new AbortController();
    const events: EventRecord[] = [];
    const missing: boolean[] = [];
    startRulesController(
      {
        client: server.client, installNamespace: 'ns', events: { record: (event) => void events.push(event) },
        logger: SILENT, askEveryMs: 1, onMissing: (areMissing) => void missing.push(areMissing),
      },
      ended.signal,
    );
    try {
      await act(server, events, missing);
    } finally {
      ended.abort();
      await server.stop();
    }
  }

  /** The next call that is no watch. */
  async function nextCall(server: ScriptedApiServer): Promise<Exchange> {
    const exchange = await server.next();
    if (exchange.query.get('watch') === null) return exchange;
    exchange.open();
    return nextCall(server);
  }

  it('asks by a dry run, again while it is not asked in return, and then applies the rules',
    () => withServer(async (server, _events, missing) => {
    await server.list('1', stored);
    const first = await nextCall(server);
    assert.deepEqual([first.method, first.path, first.query.get('dryRun')], [
      'POST', '/apis/events.k8s.io/v1/namespaces/ns/events', 'All',
    ]);
    first.answer(201, JSON.parse(first.body));
    const second = await nextCall(server);
    second.answer(201, { metadata: { annotations: { 'isthmus.dev/answered': 'true' } } });
    const record = await nextCall(server);
    assert.equal(record.path, '/api/v1/namespaces/ns/configmaps/isthmus-migration');
    record.answer(404, status(404, 'NotFound', 'none'));
    (await nextCall(server)).answer(200, { metadata: {}, items: [stored] });
    const applied = await nextCall(server);
    assert.deepEqual([applied.method, applied.path, applied.query.get('fieldManager')], [
      'PATCH', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/isthmus', 'isthmus-webhook-rules',
    ]);
    assert.deepEqual(
      (JSON.parse(applied.body) as { webhooks: unknown }).webhooks, withRules([PODS, NAMESPACES]).webhooks,
    );
    applied.answer(200, stored);
    assert.ok(
      missing.length >= 2 && missing.every((each) => each), 'and what it tells alerts is that they are missing',
    );
  }));

  const admiraltys = (clientConfig: object) => ({
    metadata: { name: 'admiralty' },
    webhooks: [{
      name: 'admiralty.multicluster.admiralty.io', clientConfig,
      namespaceSelector: { matchLabels: { 'multicluster-scheduler': 'enabled' } },
    }],
  });
  const waits: Record<string, { readonly record?: object; readonly others: readonly object[] }> = {
    'a migration was taken back':
      { record: { metadata: { name: 'isthmus-migration' }, data: { webhook: 'rolled back' } }, others: [] },
    "Admiralty's own webhook is asked":
      { others: [admiraltys({ service: { namespace: 'admiralty', name: 'admiralty', path: '/mutate--v1-pod' } })] },
  };
  for (const [what, { record, others }] of Object.entries(waits)) {
    it(`puts no rules there while ${what}, and looks again`, () => withServer(async (server) => {
      await server.list('1', stored);
      (await nextCall(server)).answer(201, { metadata: { annotations: { 'isthmus.dev/answered': 'true' } } });
      (await nextCall(server)).answer(record === undefined ? 404 : 200, record ?? status(404, 'NotFound', 'none'));
      if (record === undefined) (await nextCall(server)).answer(200, { metadata: {}, items: [stored, ...others] });
      const again = await nextCall(server);
      assert.deepEqual([again.method, again.query.get('dryRun')], ['POST', 'All']);
    }));
  }

  it('leaves a configuration alone that has its rules', () => withServer(async (server) => {
    await server.list('1', { ...webhookConfiguration({ installNamespace: 'ns' }), metadata: stored.metadata });
    const { query } = await server.next();
    assert.equal(query.get('watch'), 'true');
    assert.equal(server.requests, 2);
  }));

  it('tells users when it was not reached thirty times', () => withServer(async (server, events) => {
    await server.list('1', stored);
    for (let asked = 0; asked < 30; asked += 1) {
      assert.deepEqual(events, []);
      const exchange = await nextCall(server);
      exchange.answer(201, JSON.parse(exchange.body));
    }
    (await nextCall(server)).answer(201, question);
    assert.deepEqual(events.map(({ reason, type }) => [reason, type]), [['NotReached', 'Warning']]);
  }));
});
