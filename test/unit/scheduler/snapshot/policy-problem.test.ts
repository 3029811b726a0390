import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { policyProblem } from '../../../../scheduler/snapshot/policy-problem.ts';

const EU = { matchLabels: { region: 'eu' } };

describe('policyProblem', () => {
  const fine: Record<string, unknown> = {
    'an empty spec': {},
    'everything at once': {
      namespaceSelector: {}, podSelector: EU, require: EU, forbid: EU,
      tiers: [{ targets: EU, waitSeconds: 3 }],
      spread: [{ topologyKey: 'zone' }], weights: { cost: 2 }, failover: 'Never',
      overrides: [{
        targets: {},
        patch:
          [{ op: 'add', path: '/spec/priorityClassName', value: 'low' }, { op: 'remove', path: '/metadata/labels/a' }],
      }],
    },
    'shares': {
      replicas:
        { shares: [{ targets: EU, weight: 3 }, { targets: {}, weight: 5 }], whenUnsatisfiable: 'DoNotSchedule' },
    },
  };
  for (const [sentence, spec] of Object.entries(fine)) {
    it(`accepts ${sentence}`, () => assert.equal(policyProblem(spec, 'cluster'), undefined));
  }

  const rejected: Record<string, readonly [spec: unknown, problem: RegExp]> = {
    'what is not an object': [[], /has no spec/],
    'a field that there is not': [{ requires: EU }, /a field requires that this version does not know/],
    'a selector that is none':
      [{ forbid: { matchExpressions: [{ key: 'a', operator: 'In' }] } }, /forbid needs values for a In/],
    'tiers that are no list': [{ tiers: EU }, /tiers is not a list/],
    'a tier without targets': [{ tiers: [{}] }, /an entry of tiers has targets that cannot be used/],
    'a tier that is not an object': [{ tiers: ['eu'] }, /an entry of tiers is not an object/],
    'replicas without shares': [{ replicas: {} }, /replicas.shares is not a list/],
    'replicas that are no object': [{ replicas: 3 }, /replicas.shares is not a list/],
    'a share without weight': [{ replicas: { shares: [{ targets: EU }] } }, /needs a weight above 0/],
    'a share of weight 0': [{ replicas: { shares: [{ targets: EU, weight: 0 }] } }, /needs a weight above 0/],
    'a spread over nothing': [{ spread: [{}] }, /has no topologyKey/],
    'a weight of no score': [{ weights: { speed: 1 } }, /speed, which is not a score/],
    'a weight that is not a number': [{ weights: { cost: '1' } }, /gives cost a weight that is not a number/],
    'weights that are no map': [{ weights: [] }, /weights is not a map/],
    'an operation that there is not':
      [{ overrides: [{ targets: {}, patch: [{ op: 'move', path: '/spec/a' }] }] }, /has no operation "move"/],
    'a path to the name of the delegate': [
      { overrides: [{ targets: {}, patch: [{ op: 'replace', path: '/metadata/name', value: 'x' }] }] },
      /has a path outside/,
    ],
    'a patch that is not a list': [{ overrides: [{ targets: {}, patch: {} }] }, /patch is not a list/],
  };
  for (const [sentence, [spec, problem]] of Object.entries(rejected)) {
    it(`rejects ${sentence}`, () => assert.match(policyProblem(spec, 'cluster') ?? '', problem));
  }

  const paths: Record<string, boolean> = {
    '/spec/nodeSelector/disk': true, '/spec/nodeSelector': true,
    '/spec/tolerations/-': true, '/spec/affinity': true, '/spec/topologySpreadConstraints': true,
    '/spec/terminationGracePeriodSeconds': true,
    '/spec/hostPID': false, '/spec/hostNetwork': false, '/spec/volumes/-': false, '/spec/serviceAccountName': false,
    '/spec/containers/0/securityContext/privileged': false,
    '/spec/containers/0/image': false, '/spec/containers/0/resources': false, '/spec/priorityClassName': false,
    '/spec/schedulerName': false, '/spec/nodeSelectorX': false,
    '/spec/nodeName': false, '/metadata/annotations/k8s.v1.cni.cncf.io~1networks': false, '/metadata/labels/app': false,
  };
  for (const [path, isAllowed] of Object.entries(paths)) {
    it(`lets a policy of a namespace ${isAllowed ? '' : 'not '}change ${path}`, () => {
      const spec = { overrides: [{ targets: {}, patch: [{ op: 'add', path, value: 'x' }] }] };
      assert.equal(policyProblem(spec, 'cluster'), undefined);
      assert.equal(policyProblem(spec, 'namespace') === undefined, isAllowed);
    });
  }
});
