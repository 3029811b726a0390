// The image as its file describes it; its file set is tested with the chart.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { readImage, type ImageDescription } from '../../support/real-nodes/image-files.ts';

describe('the Dockerfile', () => {
  let image: ImageDescription;
  before(async () => { image = await readImage(); });
  const last = (): readonly string[] => image.stages.at(-1)?.instructions ?? [];

  it('builds and runs on Node.js 24', () => {
    const [runtime, build, last] = image.stages;
    for (const stage of [runtime, build]) assert.match(stage?.base ?? '', /^node:24-[a-z]+-slim$/);
    assert.deepEqual([last?.base, image.stages.length], ['runtime', 3]);
  });

  it('runs on the allocator that it installs, and leaves no package lists behind', () => {
    const [, line = ''] = /^RUN (.*)$/.exec(image.stages[0]?.instructions[0] ?? '') ?? [];
    assert.match(line, /--no-install-recommends libmimalloc2\.0 && rm -rf \/var\/lib\/apt\/lists\/\*$/);
    assert.equal(image.stages[0]?.instructions[1], 'ENV LD_PRELOAD=libmimalloc.so.2');
  });


  it('runs nothing as root, and no shell', () => {
    assert.equal(last().findLast((line) => line.startsWith('USER ')), 'USER 65532:65532');
    assert.ok(!last().some((line) => /^(RUN|ADD|VOLUME|HEALTHCHECK) /.test(line)));
    assert.deepEqual(image.entrypoint, ['node', 'build/cli/main.js']);
  });

  it('C2-44: installs what the lock file names, without scripts, and tells what it is made of', () => {
    const built = image.stages[1]?.instructions.join('\n') ?? '';
    for (const install of built.match(/npm ci[^&]*/g) ?? []) assert.match(install, /--ignore-scripts/);
    assert.match(built, /npm ci --omit=dev --ignore-scripts/);
    assert.match(built, /npm sbom --omit=dev --sbom-format=cyclonedx/);
    assert.ok(image.copied.includes('sbom.cdx.json') && image.copied.includes('LICENSE'));
  });
});
