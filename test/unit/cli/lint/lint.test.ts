// The command, and that it says what is decided elsewhere: by admission, for every golden pod; and that no manifest,
// whatever its shape, stops it.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { ELECT_ANNOTATION } from '../../../../api/objects/keys.ts';
import { lintObjects, type LintFinding } from '../../../../cli/lint/lint-objects.ts';
import { readObjects } from '../../../../cli/plan/read-objects.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';

const PODS = join(import.meta.dirname, '..', '..', '..', '..', '..', 'test', 'golden', 'webhook');

function findingsIn(text: string): readonly LintFinding[] {
  const read = readObjects(text);
  assert.ok(read.kind === 'objects', read.kind === 'invalid' ? read.problem : '');
  return lintObjects(read.objects.map((object) => ({ path: 'a.yaml', object })), 'shop');
}

const containers = [{ name: 'main', image: 'main' }];
const pod = (annotations: object, spec: object = { containers }, more: object = {}) =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', annotations, ...more }, spec });
const elects = { [ELECT_ANNOTATION]: '' };

describe('isthmus lint', () => {
  let dir: string;
  let bad: string;
  let good: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'isthmus-lint-'));
    [bad, good] = [join(dir, 'bad.yaml'), join(dir, 'good')];
    await writeFile(bad, `# a comment\n\n${JSON.stringify(pod(elects, { nodeName: 'node-1', containers: [] }))}\n`);
    await writeFile(good, JSON.stringify(pod(elects)));
  });
  after(() => rm(dir, { recursive: true, force: true }));

  it('says nothing of a pod that can run anywhere', async () => {
    assert.deepEqual(await isthmusHere('lint', '-f', good), { stdout: '', stderr: '', code: 0 });
  });
  it('names the file, the line and the object, and exits with 1', async () => {
    const { stdout, code } = await isthmusHere('lint', '-f', bad);
    assert.ok(stdout.startsWith(`${bad}:3: error: Pod/web: admission would deny its pods: NodeNameSet: `), stdout);
    assert.equal(code, 1);
  });
  it('reads a folder, and prints JSON', async () => {
    const { stdout, code } = await isthmusHere('lint', '-f', dir, '-o', 'json');
    const found = JSON.parse(stdout) as readonly LintFinding[];
    assert.deepEqual(found.map(({ path, line, level, object }) => ({ path, line, level, object })), [
      { path: bad, line: 3, level: 'error', object: 'Pod/web' },
    ]);
    assert.equal(code, 1);
  });
  it('prints an empty list for a program when there is nothing to say', async () => {
    assert.equal((await isthmusHere('lint', '-f', good, '-o', 'json')).stdout, '[]\n');
  });
  it('wants a file, with objects in it, that can be read', async () => {
    await writeFile(join(dir, 'empty'), '# nothing\n');
    await writeFile(join(dir, 'broken'), 'kind: [\n');
    const rows = [
      [[], /lint needs -f FILE/], [['-f', join(dir, 'none')], /none cannot be read/],
      [['-f', join(dir, 'empty')], /There is no object in .*empty/],
      [['-f', join(dir, 'broken')], /broken is not valid YAML/],
    ] as const;
    for (const [words, problem] of rows) {
      const { stderr, code } = await isthmusHere('lint', ...words);
      assert.match(stderr, problem);
      assert.equal(code, 1);
    }
  });
  it('prints no control characters of a manifest', async () => {
    const hostile = join(dir, 'hostile');
    await writeFile(hostile, JSON.stringify(pod(elects, { nodeName: 'x' }, { name: 'a\u001b]0;b\u0007' })));
    const { stdout } = await isthmusHere('lint', '-f', hostile);
    assert.match(stdout, /Pod\/a\?\]0;b\?: /);
  });
});

describe('findings', () => {
  it('are an error of a pod exactly where admission refuses it', async () => {
    const names = (await readdir(PODS)).filter((name) => name.endsWith('.input.yaml'));
    const seen = new Set<string>();
    for (const name of names) {
      const text = await readFile(join(PODS, name), 'utf8');
      const expected = parse(await readFile(join(PODS, name.replace('.input.', '.output.')), 'utf8')) as
        { readonly outcome: string; readonly reason?: string };
      const refusals = findingsIn(text).filter(({ message }) => message.startsWith('admission would deny'));
      assert.equal(refusals.length > 0, expected.outcome === 'denied', `${name}: ${refusals[0]?.message}`);
      seen.add(expected.outcome);
    }
    assert.deepEqual(seen, new Set(['denied', 'patched', 'unchanged']));
  });

  it('are of elected pods alone', () => {
    assert.deepEqual(findingsIn(JSON.stringify(pod({}, { hostNetwork: true, nodeName: 'node-1' }))), []);
  });

  it('are of the pods of a namespace that elects all, where its Namespace is given too', () => {
    const metadata = { name: 'shop', labels: { 'isthmus.dev/elect': 'all' } };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata };
    const text = `${JSON.stringify(namespace)}\n---\n${JSON.stringify(pod({}, { hostNetwork: true, containers: [] }))}`;
    assert.deepEqual(findingsIn(text).map(({ level, field }) => [level, field]), [['warning', 'spec']]);
  });

  it('are found whatever the shape of a manifest', () => {
    const keys = fc.constantFrom(
      'spec', 'template', 'metadata', 'labels', 'annotations', 'affinity', 'podAffinity', 'volumes', 'containers',
      'topologySpreadConstraints', 'labelSelector', 'matchLabels', 'selector', 'podSelector', 'name', 'nodeSelector',
      'persistentVolumeClaim', 'resourceClaims', 'requiredDuringSchedulingIgnoredDuringExecution', ELECT_ANNOTATION,
    );
    const { tree: shape } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, fc.constantFrom('', 'x', null, 0, true), tie('list'), tie('map')),
      list: fc.array(tie('tree'), { maxLength: 3 }), map: fc.dictionary(keys, tie('tree'), { maxKeys: 4 }),
    }));
    const kinds = fc.constantFrom(
      ['apps/v1', 'Deployment'], ['v1', 'Pod'], ['batch/v1', 'CronJob'], ['apps/v1', 'StatefulSet'], ['v1', 'Service'],
      ['networking.k8s.io/v1', 'NetworkPolicy'], ['v1', 'Namespace'], ['isthmus.dev/v1alpha1', 'PlacementPolicy'],
    );
    const manifest = fc.tuple(kinds, shape).map(([[apiVersion, kind], spec]) => ({
      apiVersion, kind, metadata: { name: 'x', annotations: elects },
      spec: kind === 'Deployment' ? { template: { metadata: { annotations: elects }, spec } } : spec,
    }));
    fc.assert(fc.property(fc.array(manifest, { maxLength: 4 }), (all) => {
      for (const { message } of findingsIn(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: all }))) {
        assert.ok(!/undefined|\[object/.test(message), message);
      }
    }));
  });
});
