// Benchmarks of memory run on the image's allocator, and say so where they cannot.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  allocatorWords, imageAllocator, preloadedBy, preloading,
} from '../../../benchmarks/simulation/image-allocator.ts';

describe('the allocator of the image', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'isthmus-libraries-'));
    await mkdir(join(folder, 'aarch64-linux-gnu'));
    await mkdir(join(folder, 'node_modules'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is preloaded where this machine has it', async () => {
    const { library } = await imageAllocator(folder);
    await writeFile(join(folder, 'aarch64-linux-gnu', library), '');
    const found = await imageAllocator(folder);
    assert.deepEqual(preloading(found), { LD_PRELOAD: library });
    assert.equal(allocatorWords(found), `on ${library} as in the image`);
  });

  it('is not preloaded elsewhere, and the title says that it was not', async () => {
    const { library } = await imageAllocator(folder);
    await writeFile(join(folder, 'node_modules', library), '');
    const missing = await imageAllocator(folder);
    assert.deepEqual(preloading(missing), {});
    assert.equal(allocatorWords(missing), `without the image's ${library}, which is not here`);
  });

  it('is the one of the Dockerfile', () => {
    assert.equal(preloadedBy('FROM a\nENV LD_PRELOAD=liba.so.1\nENV B=1\n'), 'liba.so.1');
    assert.throws(() => preloadedBy('FROM a\nENV B=1\n'), /preloads no allocator/);
  });
});
