import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { REACHED_WEBHOOK } from '../../../../api/admission-rules.ts';
import type { Pod } from '../../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PROXY_SCHEDULER } from '../../../../api/objects/keys.ts';
import type { EventRecord } from '../../../../model/proxy/event-record.ts';
import { mayMissPods, missedPodEvent, namespaceCause } from '../../../../webhook/registration/missed-pods.ts';
import {
  lookForMissedPods, NOTHING_MISSED, type MissedPods,
} from '../../../../webhook/registration/missed-pods-controller.ts';
import { ScriptedApiServer, SILENT } from '../../../support/doubles/scripted-api-server.ts';

const POD: Pod = {
  metadata: { namespace: 'team', name: 'web', uid: 'u1', annotations: { [ELECT_ANNOTATION]: '' } },
  spec: { containers: [] },
};

describe('a pod that was admitted without the webhook', () => {
  it('fault 31: is told of under its own name, with what to do', () => {
    const event = missedPodEvent(POD);
    assert.deepEqual(
      [event?.reason, event?.type, event?.regarding.name, event?.regarding.uid], ['NotElected', 'Warning', 'web', 'u1'],
    );
    assert.match(event?.note ?? '', /Delete it so that its controller recreates it/);
    assert.ok((event?.note.length ?? 0) <= 1_024);
  });

  const others: Readonly<Record<string, Pod>> = {
    'one that does not ask to be elected': { ...POD, metadata: { name: 'web' } },
    'a proxy pod': { ...POD, spec: { containers: [], schedulerName: PROXY_SCHEDULER } },
    'one that is being deleted': { ...POD, metadata: { ...POD.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    'one that has ended': { ...POD, status: { phase: 'Succeeded' } },
  };
  for (const [what, pod] of Object.entries(others)) {
    it(`fault 31: ${what} is none`, () => assert.equal(missedPodEvent(pod), undefined));
  }

  it('fault 31: cannot be where elected pods are refused while the webhook is away', () => {
    const clientConfig = {};
    assert.equal(
      mayMissPods({ metadata: {}, webhooks: [{ name: 'w', rules: [{}], clientConfig, failurePolicy: 'Fail' }] }), false,
    );
    assert.equal(
      mayMissPods({ metadata: {}, webhooks: [{ name: 'w', rules: [{}], clientConfig, failurePolicy: 'Ignore' }] }),
      true,
    );
    assert.equal(
      mayMissPods({ metadata: {}, webhooks: [{ name: 'w', clientConfig, failurePolicy: 'Fail' }] }), true,
      'no pods are sent yet',
    );
    assert.equal(
      mayMissPods({
        metadata: {},
        webhooks: [{ name: 'w', rules: [{}], clientConfig, failurePolicy: 'Fail' }, {
          name: REACHED_WEBHOOK, clientConfig, failurePolicy: 'Ignore',
        }],
      }),
      false, 'the one that only asks is none of pods',
    );
    assert.equal(mayMissPods({ metadata: {} }), false);
  });
});

describe('looking for such pods', () => {
  const signal = new AbortController().signal;
  const configuration = (failurePolicy: string) =>
    ({ metadata: { name: 'isthmus' }, webhooks: [{ name: 'w', rules: [{}], clientConfig: {}, failurePolicy }] });

  it('fault 31: asks in opted-in namespaces alone, page by page, and tells of each pod once', async () => {
    const server = await ScriptedApiServer.start();
    try {
      const recorded: EventRecord[] = [];
      const options = {
        client: server.client, events: { record: (event: EventRecord) => void recorded.push(event) }, logger: SILENT,
      };
      const round = async (before: MissedPods, failurePolicy: string): Promise<MissedPods> => {
        const looking = lookForMissedPods(options, before, signal);
        (await server.next()).answer(200, configuration(failurePolicy));
        const namespaces = await server.list('1', { metadata: { name: 'team' } });
        assert.equal(namespaces.query.get('labelSelector'), 'multicluster-scheduler=enabled');
        const first = await server.next();
        assert.equal(first.path, '/api/v1/namespaces/team/pods');
        assert.equal(first.query.get('fieldSelector'), 'spec.schedulerName!=admiralty-proxy');
        first.answerPage('1', 'more', POD);
        await server.list('1', { ...POD, metadata: { ...POD.metadata, uid: 'u2', name: 'web-2' } });
        for (let nothing = 0; nothing < 3; nothing += 1) await server.list('1');
        return looking;
      };
      const first = await round(NOTHING_MISSED, 'Ignore');
      assert.deepEqual([[...first.reported], first.mayMiss], [['u1', 'u2'], true]);
      const last = await round(first, 'Fail'); // some may have been made just before
      assert.equal(last.mayMiss, false);
      assert.deepEqual(recorded.map(({ regarding }) => regarding.name), ['web', 'web-2']);
    } finally {
      await server.stop();
    }
  });

  it('fault 31: reads no pods where none can be missed', async () => {
    const server = await ScriptedApiServer.start();
    try {
      const before = { reported: new Set(['u1']), mayMiss: false };
      const looking = lookForMissedPods(
        { client: server.client, events: { record: () => assert.fail('nothing to tell') }, logger: SILENT }, before,
        signal,
      );
      (await server.next()).answer(200, configuration('Fail'));
      const asked = [await server.list('1'), await server.list('1'), await server.list('1')];
      assert.deepEqual(asked.map(({ path, query }) => `${path} ${query.get('labelSelector')}`), [
        '/api/v1/namespaces multicluster-scheduler,multicluster-scheduler!=enabled',
        '/api/v1/namespaces isthmus.dev/elect,isthmus.dev/elect!=all',
        `/api/v1/pods ${ELECT_ANNOTATION}`,
      ]);
      assert.deepEqual(await looking, { reported: new Set(), mayMiss: false });
      assert.equal(server.requests, 4);
    } finally {
      await server.stop();
    }
  });

  it('tells of pods whose namespace, or which themselves, have a label that elects nothing', async () => {
    const server = await ScriptedApiServer.start();
    try {
      const recorded: EventRecord[] = [];
      const options = {
        client: server.client, events: { record: (event: EventRecord) => void recorded.push(event) }, logger: SILENT,
      };
      const looking = lookForMissedPods(options, NOTHING_MISSED, signal);
      (await server.next()).answer(200, configuration('Fail'));
      await server.list('1', { metadata: { name: 'team', labels: { 'multicluster-scheduler': 'true' } } });
      const pods = await server.list(
        '1', POD, { ...POD, metadata: { ...POD.metadata, uid: 'u2', annotations: { [ELECT_ANNOTATION]: 'false' } } },
      );
      assert.equal(pods.path, '/api/v1/namespaces/team/pods');
      await server.list('1');
      await server.list(
        '1', { ...POD, metadata: { namespace: 'x', name: 'labelled', uid: 'u3', labels: { [ELECT_ANNOTATION]: '' } } },
      );
      assert.deepEqual([...(await looking).reported], ['u1', 'u3']);
      assert.deepEqual(recorded.map(({ regarding, reason }) => `${reason} ${regarding.name}`), [
        'NotElected web', 'NotElected labelled',
      ]);
      assert.match(
        recorded[0]?.note ?? '', /label multicluster-scheduler of its namespace is "true" and has to be "enabled"/,
      );
      assert.match(recorded[1]?.note ?? '', /Make it an annotation/);
    } finally {
      await server.stop();
    }
  });

  it('leaves pods alone whose namespace opts in by one label, whatever the other says', () => {
    const labels = { 'multicluster-scheduler': 'true', 'isthmus.dev/elect': 'all' };
    assert.equal(namespaceCause({ metadata: { labels } }), undefined);
    assert.equal(namespaceCause({ metadata: {} }), undefined);
    assert.equal(namespaceCause({ metadata: { labels: { 'isthmus.dev/elect': 'true' } } })?.kind, 'namespace-label');
  });
});
