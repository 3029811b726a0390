import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ViewerActions } from '../../../../dashboard/observe/viewer-actions.ts';
import { ViewerRights, type Check } from '../../../../dashboard/observe/viewer-rights.ts';
import { ScriptedApiServer, status } from '../../../support/scripted-api-server.ts';

interface Asked {
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
}

describe('what a viewer may do', () => {
  let server: ScriptedApiServer;
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  after(() => server.stop());

  /** Rights whose reviews are the test's own. */
  class Rights extends ViewerRights {
    check: Check | undefined;
    doubts = 0;

    override onDoubt(check: Check) {
      this.check = check;
      return { doubt: () => void (this.doubts += 1), forget: () => (this.check = undefined) };
    }
  }

  /** Answers the four questions of a round. Returns them. */
  async function answer(isAllowed: (asked: Asked) => boolean | number): Promise<readonly string[]> {
    const questions: string[] = [];
    for (let answered = 0; answered < 4; answered += 1) {
      const review = await server.next();
      const { spec } = JSON.parse(review.body) as { readonly spec: { readonly resourceAttributes: Asked } };
      const { verb, resource, subresource } = spec.resourceAttributes;
      questions.push(`${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`);
      const allowed = isAllowed(spec.resourceAttributes);
      if (typeof allowed === 'number') review.answer(allowed, status(allowed, 'Refused', 'no'));
      else review.answer(201, { metadata: {}, status: { allowed } });
    }
    return questions.toSorted();
  }

  function looking() {
    const [rights, stopped] = [new Rights(server.client, 'shop'), new AbortController()];
    let told: () => void = () => undefined;
    const changes = { count: 0, next: () => new Promise<void>((resolve) => (told = resolve)) };
    const actions = new ViewerActions(rights, () => {
      changes.count += 1;
      told();
    });
    const running = actions.run(stopped.signal);
    return { rights, actions, changes, stop: async () => {
      stopped.abort();
      await running;
    } };
  }

  it('is nothing before the API server has answered, and then what it allows, each right asked for once', async () => {
    const { actions, changes, rights, stop } = looking();
    assert.deepEqual(actions.allowed, []);
    const changed = changes.next();
    assert.deepEqual(await answer(({ resource }) => resource === 'nodes'), [
      'create pods/eviction', 'get nodes', 'list pods', 'patch nodes',
    ]);
    await changed;
    assert.deepEqual([actions.allowed, rights.doubts], [['cordon', 'uncordon'], 0]);
    await stop();
    assert.equal(rights.check, undefined);
  });

  it('is asked again when rights may have changed, and told only when it is something else', async () => {
    const { actions, changes, rights, stop } = looking();
    const changed = changes.next();
    await answer(() => true);
    await changed;
    assert.deepEqual(actions.allowed, ['cordon', 'uncordon', 'drain']);
    const same = rights.check?.(true, AbortSignal.timeout(60_000));
    await answer(() => true);
    assert.equal(await same, true);
    assert.equal(changes.count, 1);
    const before = server.requests;
    assert.equal(await rights.check?.(false, AbortSignal.timeout(60_000)), true);
    assert.equal(server.requests, before, 'rules that are the same are not asked about');
    const less = rights.check?.(true, AbortSignal.timeout(60_000));
    await answer(({ verb }) => verb === 'list');
    assert.equal(await less, true);
    assert.deepEqual([actions.allowed, changes.count], [[], 2]);
    await stop();
  });

  it('is asked for in the next round where the API server did not answer', async () => {
    const { actions, rights, stop } = looking();
    await answer(() => 403);
    while (rights.doubts === 0) await new Promise(setImmediate);
    assert.deepEqual(actions.allowed, []);
    await stop();
  });
});
