import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  actionBody, actionKindOf, actionPath, readAction, TARGET_ACTIONS, type Action,
} from '../../../../dashboard/wire/actions.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

const text = fc.string({ minLength: 1, maxLength: 253, unit: codePoint });
const longText = fc.string({ minLength: 1, maxLength: 800, unit: codePoint });
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constantFrom(...TARGET_ACTIONS), target: text }),
  fc.record({ kind: fc.constant('move' as const), namespace: text, name: text, target: text }),
  fc.record(
    { kind: fc.constant('approve' as const), discovery: text, cluster: text, entry: longText, clusterId: text },
    { requiredKeys: ['kind', 'discovery', 'cluster', 'entry'] },
  ),
);

describe('actions', () => {
  it('arrive as they were sent', () => {
    fc.assert(fc.property(action, (sent) => {
      const kind = actionKindOf(actionPath(sent));
      assert.ok(kind !== undefined);
      assert.deepEqual({ ...readAction(kind, actionBody(sent)) }, { ...sent });
    }));
  });

  it('are nothing else, whatever is sent', () => {
    fc.assert(fc.property(fc.oneof(fc.json(), fc.string()), (body) => {
      const read = readAction('move', body);
      if (read !== undefined) assert.deepEqual(Object.keys(read), ['kind', 'namespace', 'name', 'target']);
    }));
    const whole = { namespace: 'shop', name: 'web', target: 'eu' };
    for (const change of [{ name: '' }, { name: 1 }, { name: 'x'.repeat(801) }, { more: 'x' }, { name: undefined }]) {
      assert.equal(readAction('move', JSON.stringify({ ...whole, ...change })), undefined, JSON.stringify(change));
    }
    const shown = { discovery: 'argo', cluster: 'eu', entry: 'Secret argocd/eu' };
    for (const change of [{ entry: undefined }, { clusterId: '' }, { clusterId: 1 }, { clusterID: 'x' }]) {
      assert.equal(readAction('approve', JSON.stringify({ ...shown, ...change })), undefined, JSON.stringify(change));
    }
    assert.equal(readAction('cordon', '{"__proto__":{"target":"eu"}}'), undefined);
  });

  for (const path of ['/api/actions/', '/api/actions/delete', '/api/actions/toString', '/api/action/cordon']) {
    it(`are not posted to ${path}`, () => assert.equal(actionKindOf(path), undefined));
  }
});
