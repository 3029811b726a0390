// The image as its file describes it; its file set is tested with the chart.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { readImage, type ImageDescription } from '../../support/image-files.ts';

describe('the Dockerfile', () => {
  let image: ImageDescription;
  before(async () => { image = await readImage(); });
  const last = (): readonly string[] => image.stages.at(-1)?.instructions ?? [];

  it('has a stage that builds and one that runs, both of Node.js 24', () => {
    assert.equal(image.stages.length, 2);
    for (const { base } of image.stages) assert.match(base, /^node:24-[a-z]+-slim$/);
  });

  it('runs nothing as root, and no shell', () => {
    assert.equal(last().findLast((line) => line.startsWith('USER ')), 'USER 65532:65532');
    assert.ok(!last().some((line) => /^(RUN|ADD|VOLUME|HEALTHCHECK) /.test(line)));
    assert.deepEqual(image.entrypoint, ['node', 'build/cli/main.js']);
  });

  it('C2-44: installs what the lock file names, without scripts, and tells what it is made of', () => {
    const built = image.stages[0]?.instructions.join('\n') ?? '';
    for (const install of built.match(/npm ci[^&]*/g) ?? []) assert.match(install, /--ignore-scripts/);
    assert.match(built, /npm ci --omit=dev --ignore-scripts/);
    assert.match(built, /npm sbom --omit=dev --sbom-format=cyclonedx/);
    assert.ok(image.copied.includes('sbom.cdx.json') && image.copied.includes('LICENSE'));
  });
});
