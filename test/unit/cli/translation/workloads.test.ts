// Kinds that make pods: where their pods are described, whom a selector selects, and what an election changes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ELECT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { Fields, Manifest } from '../../../../cli/translation/manifest.ts';
import {
  elected, mapAt, podSelectorOf, replicasOf, templateOf, withTemplate, workloadKind, workloadVersion,
} from '../../../../cli/translation/workloads.ts';
import { shapeErrors } from '../../../../model/pod/constraint-shapes.ts';

/** Where each kind has the metadata of its pods (Kubernetes API reference). */
const PATHS: Readonly<Record<string, readonly [group: string, path: readonly string[]]>> = {
  Deployment: ['apps', ['spec', 'template']], ReplicaSet: ['apps', ['spec', 'template']],
  StatefulSet: ['apps', ['spec', 'template']], DaemonSet: ['apps', ['spec', 'template']],
  ReplicationController: ['', ['spec', 'template']], Job: ['batch', ['spec', 'template']],
  CronJob: ['batch', ['spec', 'jobTemplate', 'spec', 'template']], Pod: ['', []],
};

const TEMPLATE = { metadata: { labels: { app: 'web' }, annotations: { own: 'x' } }, spec: { containers: [] } };
const at = (path: readonly string[], value: Fields): Fields =>
  path.reduceRight<Fields>((inner, name) => ({ [name]: inner, other: name }), value);
const manifestOf = (kind: string, template: Fields = TEMPLATE, more: Fields = {}): Manifest => {
  const [group = '', path = []] = PATHS[kind] ?? [];
  return { group, version: 'v1', kind, name: 'web', fields: { kind, ...at(path, template), ...more } };
};
const kinds = fc.constantFrom(...Object.keys(PATHS));

describe('a kind that makes pods', () => {
  it('has them where Kubernetes has them', () => {
    for (const kind of Object.keys(PATHS)) {
      const { metadata, spec } = templateOf(manifestOf(kind));
      assert.deepEqual({ metadata, spec }, TEMPLATE, kind);
    }
  });
  it('is known by its group, an old one of Deployments included, and by no other kind of the name', () => {
    assert.notEqual(workloadKind({ group: 'extensions', kind: 'Deployment' }), undefined);
    for (const [group, kind] of [['', 'Deployment'], ['example.com', 'Pod'], ['apps', 'Job'], ['apps', 'constructor'],
      ['extensions', 'Job'], ['batch', 'Service']] as const) assert.equal(workloadKind({ group, kind }), undefined,
        kind);
    assert.deepEqual(['CronJob', 'Pod', 'Service', 'toString'].map(workloadVersion),
      ['batch/v1', 'v1', undefined, undefined]);
  });
  it('that is not one has no pods', () =>
    assert.deepEqual(mapAt(templateOf({ ...manifestOf('Pod'), kind: 'Service', fields: {} }), 'spec'), {}));
});

describe('replicas', () => {
  const rows: readonly (readonly [given: unknown, replicas: number])[] = [
    [3, 3], [0, 0], [undefined, 1], [null, 1], ['3', 1], [1.5, 1], [-1, 1],
  ];
  for (const [given, replicas] of rows) {
    it(`of ${JSON.stringify(given)} are ${replicas}`, () =>
      assert.equal(replicasOf(manifestOf('Deployment', TEMPLATE, { spec: { replicas: given } })), replicas));
  }
});

describe('an elected workload', () => {
  it('has the annotation on its pods and nowhere else, and is otherwise as it was', () => {
    fc.assert(fc.property(kinds, (kind) => {
      const before = manifestOf(kind);
      const after = { ...before, fields: elected(before, {}) };
      assert.equal(mapAt(mapAt(templateOf(after), 'metadata'), 'annotations')[ELECT_ANNOTATION], '');
      assert.equal(JSON.stringify(after.fields).split(ELECT_ANNOTATION).length, 2, 'once');
      const undone = withTemplate(after, (template) => ({ ...template, metadata: TEMPLATE.metadata }));
      assert.deepEqual(undone, before.fields);
    }));
  });
  it('is elected once, however often', () => {
    fc.assert(fc.property(kinds, (kind) => {
      const once = elected(manifestOf(kind), {});
      assert.deepEqual(elected({ ...manifestOf(kind), fields: once }, {}), once);
    }));
  });
  it('is elected without any metadata of its pods', () => {
    const after = elected(manifestOf('Job', { spec: {} }), {});
    assert.deepEqual(mapAt(mapAt(templateOf({ ...manifestOf('Job'), fields: after }), 'metadata'), 'annotations'), {
      [ELECT_ANNOTATION]: '',
    });
  });
  it('has tolerations as constraints that admission reads', () => {
    const after = { ...manifestOf('Deployment'), fields: elected(manifestOf('Deployment'),
      { tolerations: [{ key: 'gpu' }] }) };
    const text = String(mapAt(mapAt(templateOf(after), 'metadata'), 'annotations')[PROXY_CONSTRAINTS_ANNOTATION]);
    assert.deepEqual(shapeErrors(JSON.parse(text), () => false), []);
    const none = elected(manifestOf('Deployment'), { tolerations: [] });
    assert.equal(JSON.stringify(none).includes(PROXY_CONSTRAINTS_ANNOTATION), false);
  });
  it('has the replicas that it is given, 0 included, and keeps the rest of its spec', () => {
    const spec = mapAt(elected(manifestOf('Deployment'), { replicas: 0 }), 'spec');
    assert.deepEqual([spec['replicas'], spec['other']], [0, 'template']);
  });
});

describe('the labels of the pods of a workload', () => {
  const selector = (kind: string, more: Fields = {}, template: Fields = TEMPLATE) =>
    podSelectorOf(manifestOf(kind, template, more));
  it('are its selector', () => assert.deepEqual(
    selector('Deployment', { spec: { selector: { matchLabels: { a: 'b' } }, template: TEMPLATE } }),
      { matchLabels: { a: 'b' } },
  ));
  it('of a ReplicationController are a map', () => assert.deepEqual(
    selector('ReplicationController', { spec: { selector: { a: 'b' }, template: TEMPLATE } }),
      { matchLabels: { a: 'b' } },
  ));
  it('of a Job are the name that its controller sets: its selector is generated', () => assert.deepEqual(
    selector('Job'), { matchLabels: { 'batch.kubernetes.io/job-name': 'web' } },
  ));
  it('are those of its pods without a selector', () => {
    for (const kind of ['CronJob', 'Pod', 'StatefulSet']) assert.deepEqual(selector(kind),
      { matchLabels: { app: 'web' } }, kind);
  });
  it('are not known without any: a selector of nothing would select every pod of the namespace', () => {
    for (const labels of [undefined, {}, 'x', { a: 1 }]) {
      assert.equal(selector('Pod', {}, { metadata: { ...(labels !== undefined && { labels }) }, spec: {} }), undefined);
    }
    assert.equal(selector('Deployment', { spec: { selector: {}, template: TEMPLATE } }), undefined);
  });
});
