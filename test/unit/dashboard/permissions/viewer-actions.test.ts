import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ViewerActions, type Offered } from '../../../../dashboard/permissions/viewer-actions.ts';
import { ViewerPermissions, type Check } from '../../../../dashboard/permissions/viewer-permissions.ts';
import { TARGET_ACTIONS } from '../../../../dashboard/wire/actions.ts';
import { ScriptedApiServer, status } from '../../../support/doubles/scripted-api-server.ts';

interface Asked {
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

describe('what a viewer may do', () => {
  let server: ScriptedApiServer;
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  after(() => server.stop());

  /** Permissions whose reviews are the test's own. */
  class Permissions extends ViewerPermissions {
    check: Check | undefined;
    rechecks = 0;

    override onReview(check: Check) {
      this.check = check;
      return { recheck: () => void (this.rechecks += 1), forget: () => (this.check = undefined) };
    }
  }

  /** Answers the questions of a round. Returns them. */
  async function answer(
    isAllowed: (asked: Asked) => boolean | number, count = 4,
  ): Promise<readonly string[]> {
    const questions: string[] = [];
    for (let answered = 0; answered < count; answered += 1) {
      const review = await server.next();
      const { spec } = JSON.parse(review.body) as { readonly spec: { readonly resourceAttributes: Asked } };
      const { verb, resource, subresource, namespace } = spec.resourceAttributes;
      const where = namespace === undefined ? '' : ` in ${namespace}`;
      questions.push(`${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${where}`);
      const allowed = isAllowed(spec.resourceAttributes);
      if (typeof allowed === 'number') review.answer(allowed, status(allowed, 'Refused', 'no'));
      else review.answer(201, { metadata: {}, status: { allowed } });
    }
    return questions.toSorted();
  }

  function looking(offered: Offered = { kinds: TARGET_ACTIONS }) {
    const [permissions, stopped] = [new Permissions(server.client, 'shop'), new AbortController()];
    let told: () => void = () => undefined;
    const changes = { count: 0, next: () => new Promise<void>((resolve) => (told = resolve)) };
    const actions = new ViewerActions(permissions, offered, () => {
      changes.count += 1;
      told();
    });
    const running = actions.run(stopped.signal);
    return { permissions, actions, changes, stop: async () => {
      stopped.abort();
      await running;
    } };
  }

  it('is nothing before the API server has answered, and then what it allows, each right asked for once', async () => {
    const { actions, changes, permissions, stop } = looking();
    assert.deepEqual(actions.allowed, []);
    const changed = changes.next();
    assert.deepEqual(await answer(({ resource }) => resource === 'nodes'), [
      'create pods/eviction', 'get nodes', 'list pods', 'patch nodes',
    ]);
    await changed;
    assert.deepEqual([actions.allowed, permissions.rechecks], [['cordon', 'uncordon'], 0]);
    await stop();
    assert.equal(permissions.check, undefined);
  });

  it('is asked again when permissions may have changed, and told only when it is something else', async () => {
    const { actions, changes, permissions, stop } = looking();
    const changed = changes.next();
    await answer(() => true);
    await changed;
    assert.deepEqual(actions.allowed, ['cordon', 'uncordon', 'drain']);
    const same = permissions.check?.('changed', AbortSignal.timeout(60_000));
    await answer(() => true);
    assert.equal(await same, true);
    assert.equal(changes.count, 1);
    const before = server.requests;
    assert.equal(await permissions.check?.('unchanged', AbortSignal.timeout(60_000)), true);
    assert.equal(server.requests, before, 'rules that are the same are not asked about');
    const less = permissions.check?.('changed', AbortSignal.timeout(60_000));
    await answer(({ verb }) => verb === 'list');
    assert.equal(await less, true);
    assert.deepEqual([actions.allowed, changes.count], [[], 2]);
    await stop();
  });

  it('is asked again in every fourth round where rules cannot be listed: it may be more by then', async () => {
    const { permissions, actions, changes, stop } = looking();
    const first = changes.next();
    await answer(({ verb }) => verb !== 'create');
    await first;
    const asked = server.requests;
    for (let round = 0; round < 3; round += 1) {
      assert.equal(await permissions.check?.('unlisted', AbortSignal.timeout(60_000)), true);
    }
    assert.equal(server.requests, asked);
    const fourth = permissions.check?.('unlisted', AbortSignal.timeout(60_000));
    await answer(() => true);
    assert.equal(await fourth, true);
    assert.deepEqual(actions.allowed, ['cordon', 'uncordon', 'drain']);
    await stop();
  });

  it('is asked for moves in the namespace of the pod, and all that a move does', async () => {
    const { actions, changes, stop } = looking({ kinds: ['move'], namespace: 'shop' });
    const changed = changes.next();
    assert.deepEqual(await answer(() => true, 7), [
      'create placementpolicies in shop', 'create pods/eviction in shop', 'delete placementpolicies in shop',
      'get nodes', 'get placementpolicies in shop', 'get pods in shop', 'list pods in shop',
    ]);
    await changed;
    assert.deepEqual(actions.allowed, ['move']);
    await stop();
  });

  it('is asked for approvals: both to read and to change a TargetDiscovery', async () => {
    const { actions, stop } = looking({ kinds: ['approve'] });
    const asked = await answer(({ verb }) => verb === 'get', 2);
    assert.deepEqual(asked, ['get targetdiscoveries', 'patch targetdiscoveries']);
    await stop();
    assert.deepEqual(actions.allowed, []);
  });

  it('is asked for in the next round where the API server did not answer', async () => {
    const { actions, permissions, stop } = looking();
    await answer(() => 403);
    while (permissions.rechecks === 0) await new Promise(setImmediate);
    assert.deepEqual(actions.allowed, []);
    await stop();
  });
});
