// The annotations of followed objects, against a server of the test's own.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../../../../api/objects/core.ts';
import { toSourceObject, type FollowMarking } from '../../../../delegate-controller/copies/follow-plan.ts';
import { FOLLOWED_KINDS } from '../../../../delegate-controller/copies/followed-kinds.ts';
import { FollowAnnotations } from '../../../../delegate-controller/follow/follow-annotations-controller.ts';
import type { EventRecord } from '../../../../model/proxy/event-record.ts';
import { ScriptedApiServer, SILENT } from '../../../support/doubles/scripted-api-server.ts';

const SERVICES = FOLLOWED_KINDS.find(({ need }) => need.kind === 'selects')!;
const service: Service = {
  metadata: { namespace: 'team-a', name: 'web', uid: 'u', resourceVersion: '1' }, spec: { selector: { app: 'web' } },
};

/** Events after the Service was given this mode. */
async function eventsFor(mode: FollowMarking): Promise<readonly EventRecord[]> {
  const server = await ScriptedApiServer.start();
  const stopped = new AbortController();
  const recorded: EventRecord[] = [];
  try {
    const annotations = new FollowAnnotations(
      {
        source: server.client, logger: SILENT, ready: Promise.resolve(),
        events: { record: (event) => void recorded.push(event) },
        sourceObject: () => toSourceObject(SERVICES, service, 'cluster'), markingOf: () => mode,
      },
      stopped.signal,
    );
    annotations.enqueue(SERVICES, 'team-a/web');
    (await server.next()).answer(200, service);
    const patch = await server.next();
    assert.equal(patch.method, 'PATCH');
    patch.answer(200, service);
    await annotations.idle();
  } finally {
    stopped.abort();
    await server.stop();
  }
  return recorded;
}

describe('a Service of elected pods', () => {
  it('says that it has no endpoints here, where there is no pod plane', async () => {
    const [event, ...more] = await eventsFor('rewritten');
    assert.deepEqual([event?.reason, event?.regarding.kind, event?.regarding.name, more], [
      'NoEndpointsHere', 'Service', 'web', [],
    ]);
    assert.match(event?.note ?? '', /isthmus service export web -n team-a/);
    assert.ok((event?.note.length ?? 0) < 1_024);
  });

  it('says nothing where the pod plane leads to its pods', async () => assert.deepEqual(await eventsFor('kept'), []));
});
