// The command: what goes to standard output, what to standard error, and how it ends.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';

const OFFLOADING = `apiVersion: offloading.liqo.io/v1beta1
kind: NamespaceOffloading
metadata: {name: offloading, namespace: shop}
spec: {podOffloadingStrategy: Remote, namespaceMappingStrategy: EnforceSameName}
`;
const LOST = 'apiVersion: core.liqo.io/v1beta1\nkind: ForeignCluster\nmetadata: {name: a}\n';
let dir: string;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'isthmus-convert-'));
  await writeFile(join(dir, 'a.yaml'), OFFLOADING);
  await writeFile(join(dir, 'lost'), `${OFFLOADING}---\n${LOST}`);
});
after(() => rm(dir, { recursive: true, force: true }));

const convert = (...words: readonly string[]) => isthmusHere('convert', ...words);

describe('isthmus convert', () => {
  it('prints manifests, and notes on standard error', async () => {
    const { stdout, stderr, code } = await convert('-f', join(dir, 'a.yaml'));
    assert.equal(code, 0);
    const kinds = parseAllDocuments(stdout).map((document) => (document.toJS() as { readonly kind: string }).kind);
    assert.deepEqual(kinds, ['Namespace', 'NamespaceElection']);
    assert.match(stderr, /^note: NamespaceOffloading\/shop\/offloading: spec\.namespaceMappingStrategy: /);
  });
  it('reads a folder', async () => {
    const [file, folder] = [await convert('-f', join(dir, 'a.yaml')), await convert('-f', dir)];
    assert.deepEqual(folder, file);
  });
  it('prints nothing that could be applied where something is lost', async () => {
    const { stdout, stderr, code } = await convert('-f', join(dir, 'lost'));
    assert.deepEqual([stdout, code], ['', 1]);
    assert.match(stderr, /^lost: ForeignCluster\/a: [^]*\n1 lost: no manifests are printed\. --keep-going prints/);
  });
  it('prints the rest where it is asked to', async () => {
    const { stdout, stderr, code } = await convert('-f', join(dir, 'lost'), '--keep-going');
    assert.equal(code, 0);
    assert.match(stdout, /kind: NamespaceElection/);
    assert.match(stderr, /^lost: ForeignCluster\/a: /);
  });
  it('prints a List as JSON', async () => {
    const { stdout } = await convert('-f', join(dir, 'a.yaml'), '-o', 'json');
    const list = JSON.parse(stdout) as { readonly kind: string; readonly items: readonly unknown[] };
    assert.deepEqual([list.kind, list.items.length], ['List', 2]);
  });
  it('keeps what kubectl reads as octal, as true and as a text', async () => {
    const volumes = 'volumes: [{name: keys, secret: {secretName: keys, defaultMode: 0400}}]';
    const container = '{name: a, image: b, tty: yes, env: [{name: DEBUG, value: "yes"}, {name: SIZE, value: "1_000"}]}';
    const pod = `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {${volumes}, containers: [${container}]}\n`;
    await writeFile(join(dir, 'scalars'), pod);
    const { stdout } = await convert('-f', join(dir, 'scalars'));
    assert.match(stdout, /defaultMode: 256\n[^]*tty: true\n[^]*value: "yes"\n[^]*value: "1_000"\n/);
  });
  it('stops reading a device that has no end', async () => {
    const { stderr, code } = await convert('-f', '/dev/zero');
    assert.equal(code, 1);
    assert.match(stderr, /\/dev\/zero has more than 64 MiB/);
  });
});
