// Tokens in files: what a kubeconfig in a Secret may make this process read, and send to another cluster.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { isBelow, readTokenFile } from '../../../../kubernetes/credentials/token-file.ts';
import { AppError } from '../../../../process/errors.ts';

const CANARY = 'canary-token';
const isUnavailable = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'CredentialsUnavailable' && !error.message.includes(CANARY);

describe('a token file', () => {
  let root: string;
  let allowed: string;
  const inFolder = (...names: readonly string[]): string => join(allowed, ...names);
  const read = (path: string, folders: readonly string[] = [allowed]) => readTokenFile({ path, folders });
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'isthmus-token-'));
    allowed = join(root, 'tokens');
    await mkdir(join(allowed, 'deep', 'er'), { recursive: true });
    await mkdir(join(root, 'tokens-of-others'));
    await writeFile(inFolder('deep', 'er', 'token'), ` ${CANARY}\n`);
    await writeFile(join(root, 'secret'), CANARY);
    await writeFile(join(root, 'tokens-of-others', 'token'), CANARY);
    await symlink(join(root, 'secret'), inFolder('link'));
    await symlink('deep/er/token', inFolder('inner'));
    await symlink('..', inFolder('up'));
    await symlink('loop', inFolder('loop'));
  });
  after(() => rm(root, { recursive: true, force: true }));

  it('below the folder is read, without the white space around it', async () =>
    assert.equal(await read(inFolder('deep', 'er', 'token')), CANARY));
  it('is read through a link that stays below the folder, as Kubernetes mounts Secrets', async () =>
    assert.equal(await read(inFolder('inner')), CANARY));
  it('is read below any of several folders', async () =>
    assert.equal(await read(inFolder('inner'), [join(root, 'tokens-of-others'), allowed]), CANARY));
  it('is read in its new version after it was replaced', async () => {
    await writeFile(inFolder('next'), 'other');
    await writeFile(inFolder('rotated'), CANARY);
    assert.equal(await read(inFolder('rotated')), CANARY);
    await rename(inFolder('next'), inFolder('rotated'));
    assert.equal(await read(inFolder('rotated')), 'other');
  });
  it('anywhere is read where no folder is named: the file is an administrator\'s own', async () =>
    assert.equal(await readTokenFile({ path: join(root, 'secret') }), CANARY));

  const refused: Readonly<Record<string, () => string>> = {
    'outside of the folder': () => join(root, 'secret'), 'that a link leads to': () => inFolder('link'),
    'behind a link to a folder': () => inFolder('up', 'secret'), 'by dots': () => `${allowed}/../secret`,
    'in a folder whose name begins alike': () => join(root, 'tokens-of-others', 'token'),
    'that is the folder itself': () => allowed, 'that does not exist': () => inFolder('missing'),
    'that links to itself': () => inFolder('loop'), 'that is a folder': () => inFolder('deep'),
    'of the system': () => '/etc/passwd', 'of the process': () => '/proc/self/environ',
  };
  for (const [what, path] of Object.entries(refused)) {
    it(`${what} gives nothing, and what it holds is not told`, async () => assert.rejects(read(path()), isUnavailable));
  }
  for (const [what, content] of [
    ['two lines', `a\nb`], ['a space', 'a b'], ['nothing', ''], ['white space', ' \n'], ['other letters', 'ä'],
      ['NUL', 'a\0b'],
    ['a header', 'a\r\nX: y'],
  ] as const) {
    it(`with ${what} holds no token: it could not stand in a header`, async () => {
      await writeFile(inFolder('odd'), content);
      await assert.rejects(read(inFolder('odd')), /it holds no token/);
    });
  }
  it('that is far too large is not read', async () => {
    await writeFile(inFolder('large'), 'x'.repeat((64 << 10) + 1));
    await assert.rejects(read(inFolder('large')), /it holds no token/);
    await writeFile(inFolder('large'), 'x'.repeat(64 << 10));
    assert.equal((await read(inFolder('large'))).length, 64 << 10);
  });
});

describe('a path', () => {
  const name = fc.constantFrom('a', 'b', '..', '.', '...', '..a');
  const way = fc.array(name, { maxLength: 5 });

  it('is below a folder exactly when it leads into it', () => {
    fc.assert(fc.property(way, (names) => {
      let depth = 0;
      const stack: string[] = [];
      for (const one of names) {
        if (one === '..' && stack.pop() === undefined) depth -= 1;
        if (one !== '..' && one !== '.') stack.push(one);
      }
      const path = `/top/folder/${names.join('/')}`;
      if (depth === 0) assert.equal(isBelow(path, '/top/folder'), stack.length > 0, path);
    }), { numRuns: 300 });
  });
  it('is not below one of a similar name, or below itself', () => {
    for (const path of ['/a/bc', '/a/b', '/a', '/', '/a/b/..', '/ab']) assert.equal(isBelow(path, '/a/b'), false, path);
    assert.equal(isBelow('/a/b/..c', '/a/b'), true);
  });
});
