// `kubectl top` by metrics-server, as its manifests install it, in the source: it asks virtual nodes as it asks
// kubelets.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { environment } from '../../process/config.ts';
import type { ComponentProcess } from '../../sandbox/processes/component-process.ts';
import { ensureMetricsServer } from '../support/real-nodes/metrics-program.ts';
import { startMetricsServer } from '../support/real-nodes/metrics-server-process.ts';
import { servePodMetrics, type PodMetricsServer } from '../support/worlds/pod-metrics-server.ts';
import { until, type StreamsWorld } from '../support/worlds/streams-world.ts';

/** Long enough for the first two scrapes, in ms. */
const FIRST_FIGURES_MS = 120_000;

/** Declares the suite. */
export function describeKubectlTop(given: () => StreamsWorld): void {
  describe('kubectl top', { timeout: 600_000 }, () => {
    let streams: StreamsWorld;
    let scratch: string;
    let server: ComponentProcess | undefined;
    let target: PodMetricsServer | undefined;

    before(async () => {
      streams = given();
      const { world, web, home } = streams;
      scratch = await mkdtemp(join(tmpdir(), 'isthmus-top-'));
      const delegate =
        home.pods.objects.find(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === web.metadata.uid);
      const containers = [['main', '250m', '20Mi'], ['side', '50m', '4Mi']].map(
        ([name = '', cpu = '', memory = '']) => ({ name, usage: { cpu, memory } }),
      );
      target = await servePodMetrics(
        home.client, () => [{ metadata: delegate?.metadata ?? {}, timestamp: new Date().toISOString(), containers }],
        world.signal,
      );
      const { connection } =
        await openCluster({ kubeconfigPath: world.source.cluster.kubeconfigPath, userAgent: 'isthmus-test' });
      const program = await ensureMetricsServer(environment(), () => undefined, world.signal);
      server = await startMetricsServer(
        {
          program, cluster: world.source.cluster, client: world.source.client,
          certificateAuthority: connection.certificateAuthority ?? '', folder: scratch,
        },
        world.signal,
      );
    });
    after(async () => {
      await server?.stop();
      target?.close();
      await rm(scratch, { recursive: true, force: true });
    });

    it('pod shows what the target measures, of each container too', async () => {
      let pod = '';
      await until(
        'figures of the pod',
        async () => /web/.test((pod = await streams.kubectl('top', 'pod', '--no-headers').catch(() => ''))),
        FIRST_FIGURES_MS,
      );
      assert.match(pod, /^web\s+300m\s+24Mi\s*$/);
      assert.match(
        await streams.kubectl('top', 'pod', 'web', '--containers', '--no-headers'),
        /web\s+main\s+250m\s+20Mi\s+web\s+side\s+50m\s+4Mi/,
      );
    });

    it('node shows the sum of its pods', async () => {
      const name = streams.web.spec.nodeName ?? '';
      await until(
        'figures of the node',
        async () => /300m/.test(await streams.kubectl('top', 'node', name, '--no-headers').catch(() => '')),
        FIRST_FIGURES_MS,
      );
    });
  });
}
