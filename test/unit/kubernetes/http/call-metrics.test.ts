import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kindOfCall, measured } from '../../../../kubernetes/http/call-metrics.ts';
import { METRICS } from '../../../../process/metrics.ts';

describe('kindOfCall', () => {
  const rows: readonly [string, string, string][] = [
    ['GET', '/api/v1/pods', 'list pods'],
    ['GET', '/api/v1/namespaces/a/pods', 'list pods'],
    ['GET', '/api/v1/namespaces/a/pods/x', 'get pods'],
    ['GET', '/api/v1/namespaces', 'list namespaces'],
    ['GET', '/api/v1/namespaces/kube-system', 'get namespaces'],
    ['POST', '/api/v1/namespaces/a/pods/x/binding', 'create pods/binding'],
    [
      'PATCH', '/apis/multicluster.admiralty.io/v1alpha1/namespaces/a/podchaperons/x/status',
      'patch podchaperons/status',
    ],
    ['PUT', '/apis/coordination.k8s.io/v1/namespaces/a/leases/x', 'update leases'],
    ['DELETE', '/api/v1/nodes/x', 'delete nodes'],
    ['DELETE', '/api/v1/namespaces/a/configmaps', 'deletecollection configmaps'],
    ['GET', '/version', 'list none'],
  ];
  for (const [method, path, expected] of rows) {
    it(`of ${method} ${path} is ${expected}`, () => {
      const { verb, resource } = kindOfCall(method, path);
      assert.equal(`${verb} ${resource}`, expected);
    });
  }
});

describe('measured', () => {
  const count = async (labels: string) => new RegExp(
    `_count{${labels}} (\\d+)`,
  ).exec(await METRICS.getSingleMetricAsString('isthmus_api_request_duration_seconds'))?.[1];

  it('hands the answer on and counts it by its code', async () => {
    const answer = { status: 409, retryAfter: undefined, body: Buffer.alloc(0) };
    assert.equal(
      await measured({ method: 'PATCH', path: '/api/v1/namespaces/a/measured/x' }, () => Promise.resolve(answer)),
      answer,
    );
    assert.equal(await count('verb="patch",resource="measured",code="409"'), '1');
  });

  it('counts what had no answer, and throws what it threw', async () => {
    await assert.rejects(
      measured({ method: 'GET', path: '/api/v1/measured' }, () => Promise.reject(new Error('reset'))), /reset/,
    );
    assert.equal(await count('verb="list",resource="measured",code="none"'), '1');
  });
});
