import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PatchOperation } from '../../../../api/placement/delegate-override.ts';
import { PARENT_UID_LABEL } from '../../../../api/objects/keys.ts';
import { overriddenChaperon } from '../../../../scheduler/snapshot/delegate-overrides.ts';
import { toRequirements } from '../../../../scheduler/snapshot/target-capacity.ts';
import { aChaperon, frozen, labelled } from '../../../support/objects/builders.ts';
import { rulesOf } from '../../../support/objects/placement.ts';

const chaperon = frozen(aChaperon(labelled({ app: 'web' })));

function patched(...patch: readonly PatchOperation[]) {
  return overriddenChaperon(chaperon, rulesOf({ overrides: [{ targets: { matchLabels: { region: 'eu' } }, patch }] }), {
    labels: { region: 'eu' },
  });
}

function chaperonAfter(...patch: readonly PatchOperation[]) {
  const result = patched(...patch);
  assert.equal(result.kind, 'chaperon');
  return result.kind === 'chaperon' ? result.chaperon : chaperon;
}

describe('overriddenChaperon', () => {
  it('changes the spec in the targets that the policy names', () => {
    assert.equal(
      chaperonAfter({ op: 'replace', path: '/spec/containers/0/image', value: 'eu/app:1' }).spec.containers[0]?.image,
      'eu/app:1',
    );
  });

  it('leaves it alone elsewhere', () => {
    const rules = rulesOf({
      overrides: [{ targets: { matchLabels: { region: 'eu' } }, patch: [{ op: 'remove', path: '/spec/containers' }] }],
    });
    assert.deepEqual(overriddenChaperon(chaperon, rules, { labels: { region: 'us' } }), { kind: 'chaperon', chaperon });
    assert.deepEqual(
      overriddenChaperon(chaperon, rulesOf({}), { labels: { region: 'eu' } }), { kind: 'chaperon', chaperon },
    );
  });

  it('applies all overrides that name a target, in their order', () => {
    const rules = rulesOf({ overrides: [
      { targets: {}, patch: [{ op: 'add', path: '/spec/priorityClassName', value: 'low' }] },
      {
        targets: { matchLabels: { region: 'eu' } },
        patch: [{ op: 'replace', path: '/spec/priorityClassName', value: 'high' }],
      },
    ] });
    const result = overriddenChaperon(chaperon, rules, { labels: { region: 'eu' } });
    assert.equal(result.kind === 'chaperon' && result.chaperon.spec.priorityClassName, 'high');
  });

  it('adds labels and annotations', () => {
    const { metadata } = chaperonAfter({ op: 'add', path: '/metadata/labels/tier', value: 'burst' }, {
      op: 'add', path: '/metadata/annotations/note', value: 'x',
    });
    assert.equal(metadata.labels?.['tier'], 'burst');
    assert.equal(metadata.annotations?.['note'], 'x');
    assert.equal(metadata.labels?.['app'], 'web');
  });

  it('does not touch what says whose delegate it is', () => {
    const path = `/metadata/labels/${PARENT_UID_LABEL.replace('/', '~1')}`;
    for (
      const operation of [{ op: 'replace', path, value: 'other' }, { op: 'remove', path }, {
        op: 'add', path: '/metadata/labels/multicluster.admiralty.io~1forged', value: 'x',
      }] as const
    ) {
      const { labels } = chaperonAfter(operation).metadata;
      assert.deepEqual(labels, chaperon.metadata.labels);
    }
  });

  const failing: Record<string, PatchOperation> = {
    'a path that is not there': { op: 'replace', path: '/spec/containers/7/image', value: 'x' },
    'a test that does not hold': { op: 'test', path: '/spec/containers/0/name', value: 'other' },
    'a path into the prototype': { op: 'add', path: '/metadata/labels/__proto__/polluted', value: 'yes' },
  };
  for (const [sentence, operation] of Object.entries(failing)) {
    it(`does not apply with ${sentence}`, () => {
      const result = patched(operation);
      assert.match(
        result.kind === 'failed' ? result.message : '',
        /^the patch of ClusterPlacementPolicy cp does not apply to this pod: ./,
      );
      assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    });
  }
});

describe('an override that makes something else of a delegate than a pod', () => {
  const misshapen: Record<string, readonly [operation: PatchOperation, problem: RegExp]> = {
    'has no containers': [{ op: 'remove', path: '/spec/containers' }, /spec\.containers is missing$/],
    'has a container that is nothing':
      [{ op: 'add', path: '/spec/containers/-', value: null }, /spec\.containers\[1\] is not an object$/],
    'has init containers by name':
      [{ op: 'add', path: '/spec/initContainers', value: {} }, /spec\.initContainers is not a list$/],
    'has a container with a text for resources': [
      { op: 'add', path: '/spec/containers/0/resources', value: 'large' },
      /spec\.containers\[0\]\.resources is not an object$/,
    ],
    'requests a text':
      [{ op: 'add', path: '/spec/resources', value: { requests: '1' } }, /spec\.resources\.requests is not an object$/],
    'has tolerations by key': [{ op: 'add', path: '/spec/tolerations', value: {} }, /must have a list in tolerations$/],
  };
  for (const [what, [operation, problem]] of Object.entries(misshapen)) {
    it(`does not apply where it ${what}`, () => {
      const result = patched(operation);
      assert.match(result.kind === 'failed' ? result.message : 'applied', problem);
    });
  }
  it('may unset with null what Kubernetes lets be unset', () => {
    const made = chaperonAfter({ op: 'add', path: '/spec/initContainers', value: null }, {
      op: 'add', path: '/spec/affinity', value: null,
    });
    assert.deepEqual([...toRequirements(made.spec).requests], [...toRequirements(chaperon.spec).requests]);
  });
});

describe('the patch of an override', () => {
  const value = { hard: ['ssd'] };
  const rows: Readonly<Record<string, readonly [patch: readonly PatchOperation[], at: string, value: unknown]>> = {
    'may hold a key with a slash and a tilde':
      [[{ op: 'add', path: '/metadata/labels/example.com~1a~0b', value: 'x' }], 'labels', { 'example.com/a~b': 'x' }],
    'may be guarded by a test that holds': [[
      { op: 'test', path: '/metadata/labels/app', value: 'web' },
      { op: 'replace', path: '/metadata/labels/app', value: 'eu' },
    ], 'labels', { app: 'eu' }],
    'may take a label away that a user set':
      [[{ op: 'remove', path: '/metadata/labels/app' }], 'labels', { app: undefined }],
    'may add an empty key': [[{ op: 'add', path: '/metadata/annotations/', value: 'x' }], 'annotations', { '': 'x' }],
  };
  for (const [what, [patch, at, expected]] of Object.entries(rows)) {
    it(what, () => {
      const found = chaperonAfter(...patch).metadata[at as 'labels' | 'annotations'] ?? {};
      for (const [key, wanted] of Object.entries(expected as object)) assert.equal(found[key], wanted);
    });
  }

  it('is not changed by being applied, and gives the same the second time', () => {
    const patch: readonly PatchOperation[] = frozen([
      { op: 'add', path: '/spec/dnsConfig', value }, { op: 'add', path: '/spec/dnsConfig/hard/-', value: 'nvme' },
    ] as unknown as PatchOperation[]);
    const made = [chaperonAfter(...patch), chaperonAfter(...patch)].map(({ spec }) => Object.entries(spec));
    const wanted = ['dnsConfig', { hard: ['ssd', 'nvme'] }];
    assert.deepEqual(made.map((fields) => fields.find(([name]) => name === 'dnsConfig')), [wanted, wanted]);
    assert.deepEqual(value, { hard: ['ssd'] });
  });
  it('applies as a whole or not at all', () => {
    const result = patched(
      { op: 'add', path: '/spec/priorityClassName', value: 'high' }, { op: 'remove', path: '/spec/nothing' },
    );
    assert.equal(result.kind, 'failed');
  });
  it('leaves everything alone that is neither spec, labels nor annotations', () => {
    const { metadata: { labels: _labels, annotations: _annotations, ...metadata }, ...rest } =
      chaperonAfter({ op: 'add', path: '/spec/priorityClassName', value: 'high' });
    const { metadata: { labels: _own, annotations: _theirs, ...before }, ...others } = chaperon;
    assert.deepEqual([metadata, { ...rest, spec: {} }], [before, { ...others, spec: {} }]);
  });
  it('is told in one line where it does not apply: it becomes the message of a condition', () => {
    const result = patched({ op: 'replace', path: '/spec/a/b', value: 'x' });
    assert.ok(result.kind === 'failed' && !result.message.includes('\n'), JSON.stringify(result));
  });
});

describe('an override of the cluster', () => {
  const patch: readonly PatchOperation[] = [{ op: 'add', path: '/spec/priorityClassName', value: 'high' }];
  const rules = rulesOf({ overrides: [{ targets: { matchLabels: { region: 'eu' } }, patch }] });

  it('is not made to apply by a label that a tenant gave to a Target', () => {
    const tenants = { labels: { region: 'eu' }, clusterLabels: {} };
    assert.deepEqual(overriddenChaperon(chaperon, rules, tenants), { kind: 'chaperon', chaperon });
  });
  it('is not avoided by one either', () => {
    const tenants = { labels: { region: 'us' }, clusterLabels: { region: 'eu' } };
    const result = overriddenChaperon(chaperon, rules, tenants);
    assert.equal(result.kind === 'chaperon' && result.chaperon.spec.priorityClassName, 'high');
  });
  it('does not apply to a target of which nothing is known', () =>
    assert.deepEqual(overriddenChaperon(chaperon, rules, undefined), { kind: 'chaperon', chaperon }));
});
