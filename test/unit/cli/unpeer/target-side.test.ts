// The target's side by the identity of the source alone: what its Secret remembers of an earlier command.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Secret } from '../../../../api/objects/core.ts';
import { LEAVING_ANNOTATION } from '../../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, CONFIG_MAPS, NAMESPACES, SECRETS } from '../../../../api/resource-types.ts';
import { typeOf } from '../../../../cli/clusters/apply-objects.ts';
import { unpeerTarget } from '../../../../cli/unpeer/unpeer-target.ts';
import { sourceSideManifests } from '../../../../peering/access/target-access.ts';
import { AnsweringApiServer, type Answer } from '../../../support/doubles/answering-api-server.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';
import { virtualWaits } from '../../../support/doubles/virtual-waits.ts';

const DONE: Answer = [200, { metadata: {}, items: [] }];
const REFUSED: Answer = [401, status(401, 'Unauthorized', 'Unauthorized')];
const FORBIDDEN: Answer = [403, status(403, 'Forbidden', 'an admission policy of the target denies it')];
const SECRET = 'eu-kubeconfig';

/** A source that is peered with a target, which answers lists and deletions as the test says. */
async function world(t: TestContext) {
  const answers: { list: Answer; delete: Answer } = { list: DONE, delete: DONE };
  const server = await AnsweringApiServer.start((method) => (method === 'GET' ? answers.list : answers.delete));
  t.after(() => server.stop());
  const source = new MemoryCluster([NAMESPACES, { metadata: { name: 'kube-system', uid: '0123abcd-source' } }]);
  const peering = { name: 'eu', sourceId: '0123abcd-source', installNamespace: 'isthmus-system' };
  for (const object of sourceSideManifests(peering, server.kubeconfigText())) source.put(typeOf(object), object);
  virtualWaits(t);
  const told: string[] = [];
  const killed: Error[] = [];
  return {
    source, answers, told,
    /** The command is killed when it is about to do this. */
    killAt: (at: RegExp) => {
      source.before = ({ method, path }) => {
        if (at.test(`${method} ${path}`)) killed.push(new Error('killed'));
        return killed.at(-1);
      };
    },
    leave: (isForced = false) => {
      killed.length = 0;
      return unpeerTarget({
        client: source.client, target: { kind: 'ClusterTarget', name: 'eu' }, installNamespace: 'isthmus-system',
        isForced, evictUnmanaged: false,
      }, { tell: (line) => told.push(line), signal: new AbortController().signal });
    },
    secret: () => source.find(SECRETS, SECRET, 'isthmus-system') as unknown as Secret,
  };
}

describe('a target that the source leaves by its own identity', () => {
  it('is left by a second command although it knows the source no longer', async (t) => {
    const { source, answers, killAt, leave } = await world(t);
    killAt(/DELETE .*clustertargets/);
    await assert.rejects(leave(), /killed/);
    answers.list = answers.delete = REFUSED;
    source.before = () => undefined;
    await leave();
    assert.deepEqual([source.names(CLUSTER_TARGETS), source.names(SECRETS)], [[], []]);
  });

  it('is left by a second command although it forgets the source only while that runs', async (t) => {
    const { source, answers, killAt, leave } = await world(t);
    killAt(/DELETE .*clustertargets/);
    await assert.rejects(leave(), /killed/);
    answers.delete = FORBIDDEN;
    let lists = 0;
    Object.defineProperty(answers, 'list', { get: () => ((lists += 1) === 1 ? DONE : FORBIDDEN) });
    source.before = () => undefined;
    await leave();
    assert.deepEqual([source.names(CLUSTER_TARGETS), source.names(SECRETS)], [[], []]);
  });

  it('is not left while it denies the removal, however often that is tried', async (t) => {
    const { source, answers, leave } = await world(t);
    answers.delete = FORBIDDEN;
    for (const command of [1, 2, 3]) {
      const expected = { code: 'NotFound', message: /denies it.*--target-kubeconfig/ };
      await assert.rejects(leave(), expected, `command ${command}`);
    }
    assert.deepEqual(source.names(CLUSTER_TARGETS), ['eu']);
  });

  for (const [when, of] of Object.entries({ 'before its object went': 'clustertargets', after: 'secrets' })) {
    it(`stays written down where it refused, and leaving by force was interrupted ${when}`, async (t) => {
      const { source, answers, told, killAt, leave } = await world(t);
      answers.list = answers.delete = REFUSED;
      killAt(new RegExp(`DELETE .*${of}`));
      await assert.rejects(leave(true), /killed/);
      source.before = () => undefined;
      await leave(true);
      assert.deepEqual(source.names(CONFIG_MAPS), ['isthmus-system/isthmus-left-behind-eu']);
      assert.doesNotMatch(told.join('\n'), /nothing is left behind/);
    });
  }

  it('keeps a token that was renewed while its pods were drained', async (t) => {
    const { source, killAt, leave, secret } = await world(t);
    const renewed = Buffer.from('renewed').toString('base64');
    killAt(/DELETE .*clustertargets/);
    const { before } = source;
    source.before = (call) => {
      const after = { ...secret(), data: { config: renewed } };
      if (call.path.endsWith('/nodes/admiralty-eu')) source.put(SECRETS, after);
      return before(call);
    };
    await assert.rejects(leave(), /killed/);
    const { metadata, data } = secret();
    assert.deepEqual([metadata.annotations?.[LEAVING_ANNOTATION], data?.['config']], ['true', renewed]);
  });
});
