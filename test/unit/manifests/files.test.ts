import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { manifestFiles, toYaml } from '../../../manifests/files.ts';
import { installManifests } from '../../../manifests/install.ts';

/** The checkout's own folder, seen from the compiled test. */
const folder = new URL('../../../../manifests/', import.meta.url);

const sorted = (objects: readonly unknown[]): string[] => objects.map((object) => JSON.stringify(object)).toSorted();

describe('the generated manifests', () => {
  for (const { path, text } of manifestFiles()) {
    it(`${path} is current; \`npm run manifests\` makes it so`, async () => {
      assert.equal(await readFile(new URL(path, folder), 'utf8'), text);
    });
  }

  it('are all the YAML files there are', async () => {
    const there = (await readdir(folder, { recursive: true })).filter((path) => path.startsWith('crds/') && path.endsWith('.yaml'));
    const generated = manifestFiles().map(({ path }) => path).filter((path) => path.startsWith('crds/'));
    assert.deepEqual(there.toSorted(), generated.toSorted());
  });

  it('hold together every object of a default installation once; gateway and broker are apart', () => {
    const generated = manifestFiles().filter(({ path }) => path !== 'gateway.yaml' && path !== 'broker.yaml').flatMap(({ text }) => parseAllDocuments(text).map((document) => document.toJS() as unknown));
    const installed = installManifests({ installNamespace: 'isthmus-system' });
    assert.deepEqual(sorted(generated), sorted(installed));
  });
});

describe('toYaml', () => {
  it('gives back what went in, one document for each object, without anchors', () => {
    const shared = { app: 'x' };
    const objects = [{ kind: 'A', metadata: { name: 'a', labels: shared } }, { kind: 'B', metadata: { name: 'b: "*"', labels: shared } }];
    const text = toYaml(objects);
    assert.doesNotMatch(text, /&a\d/);
    assert.deepEqual(parseAllDocuments(text).map((document) => document.toJS() as unknown), objects);
  });
});
