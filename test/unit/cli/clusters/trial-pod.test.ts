import assert from 'node:assert/strict';
import { it } from 'node:test';
import { trialPodSpec } from '../../../../cli/clusters/trial-pod.ts';
import { securityProblems } from '../../../../model/pod/pod-security.ts';

it('a trial pod is admitted where Pod Security is restricted and a quota asks for requests and limits', () => {
  const spec = trialPodSpec();
  assert.deepEqual(securityProblems({ annotations: {}, spec }, 'restricted'), []);
  for (const { resources } of spec.containers) {
    for (const list of [resources?.requests, resources?.limits]) assert.ok(list?.['cpu'] && list['memory']);
  }
});
