// The sandbox's registry as containerd asks it.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeImage } from '../../../../sandbox/images/own-images.ts';
import { openRegistry, type Registry } from '../../../../sandbox/images/registry.ts';
import { answerRegistry } from '../../../../sandbox/images/registry-answers.ts';
import { digestOf } from '../../../../manifests/oci-layout.ts';

const manifest = {
  mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: `sha256:${'a'.repeat(64)}`, size: 2,
};
const images = [
  { reference: 'docker.io/library/busybox:1.36', manifest },
  { reference: 'private.example/team/app:v1', manifest, credentials: 'user:pass' },
];
const ask = (target: string, authorization?: string) => answerRegistry(images, { target, authorization });
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

describe('answerRegistry', () => {
  it('greets', () => assert.deepEqual(ask('/v2/?ns=docker.io'), { kind: 'empty' }));
  for (const name of ['1.36', manifest.digest]) {
    it(`gives a manifest by ${name}`, () => assert.deepEqual(
      ask(`/v2/library/busybox/manifests/${name}?ns=docker.io`),
      { kind: 'blob', digest: manifest.digest, mediaType: manifest.mediaType },
    ));
  }
  type Row = readonly [target: string, authorization: string | undefined, status: number, code: string];
  const rows: readonly Row[] = [
    ['/v2/library/busybox/manifests/2?ns=docker.io', undefined, 404, 'MANIFEST_UNKNOWN'],
    ['/v2/library/busybox/manifests/1.36?ns=quay.io', undefined, 404, 'NAME_UNKNOWN'],
    ['/v2/library/busybox/manifests/1.36', undefined, 404, 'NAME_UNKNOWN'],
    ['/v2/team/app/manifests/v1?ns=private.example', undefined, 401, 'UNAUTHORIZED'],
    ['/v2/team/app/manifests/v1?ns=private.example', basic('user:wrong'), 401, 'UNAUTHORIZED'],
    [`/v2/team/app/blobs/${manifest.digest}?ns=private.example`, undefined, 401, 'UNAUTHORIZED'],
    ['/metrics', undefined, 404, 'NAME_UNKNOWN'],
  ];
  for (const [target, authorization, status, code] of rows) {
    it(`refuses ${target} with ${authorization ?? 'nothing'} as ${code}`, () => {
      const answer = ask(target, authorization);
      assert.ok(answer.kind === 'refused');
      assert.deepEqual([answer.status, answer.code], [status, code]);
    });
  }
  it('gives a private image to whoever knows its password', () => {
    assert.equal(ask('/v2/team/app/manifests/v1?ns=private.example', basic('user:pass')).kind, 'blob');
  });
});

describe('a registry', () => {
  let folder = '';
  let registry: Registry;
  let url = '';
  const fill = (into: string): Promise<void> => writeFile(join(into, 'hello'), 'world');
  const recipe = { reference: 'docker.io/library/hello:1', config: { Cmd: ['/hello'] }, fill };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-'));
    registry = openRegistry(folder);
    registry.add(await makeImage(recipe, folder));
    url = await registry.listen('127.0.0.1');
  });
  after(async () => {
    await registry.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('gives out an image whose parts are those that their digests say', async () => {
    const answer = await fetch(`${url}/v2/library/hello/manifests/1?ns=docker.io`);
    const text = await answer.text();
    assert.equal(answer.headers.get('docker-content-digest'), digestOf(Buffer.from(text)));
    const { config, layers } = JSON.parse(text) as {
      readonly config: { readonly digest: string }; readonly layers: readonly { readonly digest: string }[];
    };
    for (const { digest } of [config, ...layers]) {
      const blob = await fetch(`${url}/v2/library/hello/blobs/${digest}?ns=docker.io`);
      assert.equal(digestOf(Buffer.from(await blob.arrayBuffer())), digest);
    }
  });
  it('makes the same image of the same files', async () => {
    const [one, two] = [await makeImage(recipe, folder), await makeImage(recipe, folder)];
    assert.equal(one.manifest.digest, two.manifest.digest);
  });
  it('answers HEAD without a body', async () => {
    const answer = await fetch(`${url}/v2/library/hello/manifests/1?ns=docker.io`, { method: 'HEAD' });
    assert.deepEqual([answer.status, await answer.text()], [200, '']);
  });
  it('knows no blob outside of its folder', async () => {
    for (const name of ['sha256:..', encodeURIComponent('../../etc/passwd'), `sha256:${'0'.repeat(64)}`]) {
      assert.equal((await fetch(`${url}/v2/library/hello/blobs/${name}?ns=docker.io`)).status, 404);
    }
  });
});
