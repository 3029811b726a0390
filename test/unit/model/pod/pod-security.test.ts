// That each row of the standards is read as Kubernetes reads it is held against a real API server
// (test/integration/installed/source-confinement.test.ts).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { securityProblems } from '../../../../model/pod/pod-security.ts';
import { podsOfAllKinds } from '../../../support/objects/pods-of-all-kinds.ts';

const problems = (spec: unknown, level: 'baseline' | 'restricted' = 'baseline', annotations = {}) =>
  securityProblems({ annotations, spec }, level);

describe('a level of the Pod Security Standards', () => {
  const rows: readonly [string, unknown, RegExp][] = [
    ['a spec that is none', 'x', /spec is not an object/],
    ['containers that are no list', { containers: { a: {} } }, /containers is not a list/],
    ['volumes that are no list', { volumes: 'x' }, /volumes is not a list/],
    ['a flag that is no flag', { hostNetwork: 'yes' }, /hostNetwork is set/],
    [
      'an unmasked proc', { containers: [{ name: 'c', securityContext: { procMount: 'Unmasked' } }] },
      /procMount Unmasked/,
    ],
    ['a host process', { securityContext: { windowsOptions: { hostProcess: true } } }, /hostProcess/],
    [
      'an ephemeral container', { ephemeralContainers: [{ name: 'e', securityContext: { privileged: true } }] },
      /container e is privileged/,
    ],
    ['a port that is text', { containers: [{ name: 'c', ports: [{ hostPort: '80' }] }] }, /port 80 of the node/],
  ];
  for (const [what, spec, expected] of rows) {
    it(`rejects ${what} and says so`, () => assert.match(problems(spec).join(), expected));
  }

  it('rejects AppArmor turned off by the former annotation', () => {
    const at = (value: string) =>
      problems({ containers: [] }, 'baseline', { 'container.apparmor.security.beta.kubernetes.io/c': value });
    assert.deepEqual([at('runtime/default'), at('localhost/x'), at('')], [[], [], []]);
    assert.match(at('unconfined').join(), /AppArmor/);
  });

  it('that is stricter rejects what the other rejects; privileged rejects nothing', () => {
    for (const [what, pod] of podsOfAllKinds()) {
      const [restricted, baseline] = [securityProblems(pod, 'restricted'), securityProblems(pod, 'baseline')];
      assert.ok(baseline.every((problem) => restricted.includes(problem)), what);
      assert.deepEqual(securityProblems(pod, 'privileged'), []);
    }
  });

  it('asks Windows for nothing that an API server rejects there', () => {
    const spec = { os: { name: 'windows' }, securityContext: { runAsNonRoot: true }, containers: [{ name: 'c' }] };
    assert.deepEqual(problems(spec, 'restricted'), []);
    assert.match(problems({ ...spec, securityContext: {} }, 'restricted').join(), /does not set runAsNonRoot/);
    assert.match(problems({ ...spec, os: { name: 'linux' } }, 'restricted').join(), /does not drop ALL capabilities/);
  });

  it('has an answer for specs of any shape', () => {
    fc.assert(fc.property(
      fc.object({
        key: fc.constantFrom(
          'containers', 'volumes', 'securityContext', 'capabilities', 'add', 'name', 'ports', 'lifecycle',
        ),
      }),
      (spec) => Array.isArray(problems(spec, 'restricted')),
    ));
  });
});
