import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { writeChart } from '../../../manifests/oci-chart.ts';
import { OciLayoutWriter, readBlob, type Descriptor } from '../../../manifests/oci-layout.ts';

it('a chart is an artifact of the types that Helm reads: Chart.yaml as JSON, and the archive', async (t) => {
  const layout = await mkdtemp(join(tmpdir(), 'isthmus-oci-chart-'));
  t.after(() => rm(layout, { recursive: true, force: true }));
  const archive = Buffer.from('an archive');
  const written = await writeChart(
    new OciLayoutWriter(layout), 'name: isthmus\nversion: 1.2.3\ndescription: pods elsewhere\n', archive,
  );
  const manifest = JSON.parse((await readBlob(layout, written)).toString()) as {
    readonly config: Descriptor; readonly layers: readonly Descriptor[]; readonly annotations: object
  };
  assert.equal(manifest.config.mediaType, 'application/vnd.cncf.helm.config.v1+json');
  assert.deepEqual(
    JSON.parse((await readBlob(layout, manifest.config)).toString()),
    { name: 'isthmus', version: '1.2.3', description: 'pods elsewhere' },
  );
  assert.deepEqual(
    manifest.layers.map(({ mediaType }) => mediaType), ['application/vnd.cncf.helm.chart.content.v1.tar+gzip'],
  );
  assert.deepEqual(await readBlob(layout, manifest.layers[0]!), archive);
  assert.deepEqual(manifest.annotations, {
    'org.opencontainers.image.title': 'isthmus', 'org.opencontainers.image.version': '1.2.3',
    'org.opencontainers.image.description': 'pods elsewhere',
  });
});
