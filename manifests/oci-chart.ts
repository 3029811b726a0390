// The chart as an OCI artifact, as `helm push` makes it (HIP-0006): its Chart.yaml as JSON, and its archive.
import { parse } from 'yaml';
import { MEDIA_TYPES, type Descriptor, type OciLayoutWriter } from './oci-layout.ts';

const CHART_CONFIG = 'application/vnd.cncf.helm.config.v1+json';
const CHART_ARCHIVE = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';

/** Writes a chart into a layout, from its Chart.yaml and its gzipped tar archive. */
export async function writeChart(out: OciLayoutWriter, chartYaml: string, archive: Buffer): Promise<Descriptor> {
  const chart = parse(chartYaml) as {
    readonly name: string; readonly version: string; readonly description?: string
  };
  const annotations = {
    'org.opencontainers.image.title': chart.name, 'org.opencontainers.image.version': chart.version,
    ...(chart.description === undefined ? {} : { 'org.opencontainers.image.description': chart.description }),
  };
  return out.json(MEDIA_TYPES.manifest, {
    schemaVersion: 2, mediaType: MEDIA_TYPES.manifest, config: await out.json(CHART_CONFIG, chart),
    layers: [await out.blob(CHART_ARCHIVE, archive)], annotations,
  });
}
