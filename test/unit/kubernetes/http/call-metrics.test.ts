import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kindOfCall, observeCall } from '../../../../kubernetes/http/call-metrics.ts';
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

describe('observeCall', () => {
  const rows: readonly [string, string, number | undefined, string][] = [
    ['PATCH', '/api/v1/namespaces/a/measured/x', 409, 'verb="patch",resource="measured",code="409"'],
    ['GET', '/api/v1/measured', undefined, 'verb="list",resource="measured",code="none"'],
  ];
  for (const [method, path, status, labels] of rows) {
    it(`counts ${method} with ${status ?? 'no answer'} by its code`, async () => {
      observeCall({ method, path }, status, 12);
      const printed = await METRICS.getSingleMetricAsString('isthmus_api_request_duration_seconds');
      assert.match(printed, new RegExp(`_count{${labels}} 1\\b`));
      assert.match(printed, new RegExp(`_sum{${labels}} 0\\.012\\b`));
    });
  }
});
