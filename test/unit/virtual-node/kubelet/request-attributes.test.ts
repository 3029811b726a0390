import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callerOf, requiredAccess, toAccessReview } from '../../../../virtual-node/kubelet/request-attributes.ts';
import {
  parseKubeletRequest, type NodeRequest, type PodRequest,
} from '../../../../virtual-node/kubelet/kubelet-request.ts';

const asked = (target: string) => parseKubeletRequest('GET', target) as PodRequest | NodeRequest;

describe('callerOf', () => {
  it('is the common name with the organizations as groups', () => {
    assert.deepEqual(
      callerOf({ CN: 'alice', O: ['dev', 'ops'] }), { user: 'alice', groups: ['dev', 'ops', 'system:authenticated'] },
    );
    assert.deepEqual(callerOf({ CN: 'alice', O: 'dev' }), { user: 'alice', groups: ['dev', 'system:authenticated'] });
    assert.deepEqual(callerOf({ CN: 'alice' }), { user: 'alice', groups: ['system:authenticated'] });
  });

  for (const [what, subject] of Object.entries(
    { 'no name': {}, 'an empty one': { CN: '' }, 'two names': { CN: ['alice', 'kubernetes-admin'] } },
  )) {
    it(`is nobody where a certificate has ${what}`, () => assert.equal(callerOf(subject), undefined));
  }
});

describe('requiredAccess', () => {
  const on = (verb: 'get' | 'create') => ({ verb, resource: 'nodes', subresource: 'proxy', name: 'n' });
  const rows: Record<string, readonly [target: string, first: object, second: object | undefined]> = {
    log: ['/containerLogs/a/b/c', { verb: 'get', resource: 'pods', subresource: 'log', namespace: 'a', name: 'b' }, on(
      'get',
    )],
    exec: [
      '/exec/a/b/c?command=x', { verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'a', name: 'b' },
      on('create'),
    ],
    attach: [
      '/attach/a/b/c', { verb: 'create', resource: 'pods', subresource: 'attach', namespace: 'a', name: 'b' },
      on('create'),
    ],
    portforward: [
      '/portForward/a/b', { verb: 'create', resource: 'pods', subresource: 'portforward', namespace: 'a', name: 'b' },
      on('create'),
    ],
    stats: ['/stats/summary', { verb: 'get', resource: 'nodes', subresource: 'stats', name: 'n' }, undefined],
    metrics: ['/metrics/resource', { verb: 'get', resource: 'nodes', subresource: 'metrics', name: 'n' }, undefined],
    pods: ['/pods', { verb: 'get', resource: 'nodes', subresource: 'pods', name: 'n' }, on('get')],
  };
  for (const [what, [target, ...wanted]] of Object.entries(rows)) {
    it(`for ${what} is the same with that very pod, or its node`, () => assert.deepEqual(
      requiredAccess(asked(target), 'n'), wanted.filter((one) => one !== undefined),
    ));
  }

  it('for a pod that is on no virtual node is never had by way of all nodes', () => {
    assert.deepEqual(
      requiredAccess(asked('/exec/a/b/c?command=x'), undefined).map(({ resource }) => resource), ['pods'],
    );
  });
});

it('an access review says who and what, and no more', () => {
  const [wanted] = requiredAccess(asked('/containerLogs/a/b/c'), undefined);
  assert.deepEqual(toAccessReview({ user: 'u', groups: ['g'], uid: '1', extra: { scope: ['x'] } }, wanted!).spec, {
    user: 'u', groups: ['g'], uid: '1', extra: { scope: ['x'] },
    resourceAttributes: { verb: 'get', resource: 'pods', subresource: 'log', namespace: 'a', name: 'b' },
  });
});
