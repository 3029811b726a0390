// Clusters that cost little, for registries with many of them: each is a light API server with the components of a
// target behind it, and a namespace kube-system of its own.
import { TargetsProcess } from '../../../benchmarks/simulation/running-targets.ts';
import { tokenKubeconfig } from '../../../peering/access/target-access.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';

const MOST_PER_PROCESS = 250;
/** So long takes each step of a target's components, in ms. */
const STEP_MS = 5;

/** Running clusters. */
export interface SimulatedClusters {
  /** The kubeconfig of each. */
  readonly kubeconfigs: readonly string[];
  /** These clusters, by their index, accept connections and answer nothing any more. At most the first 250. */
  silence(clusters: readonly number[]): void;
  /** Requests or connections to all since the start. */
  counts(what: 'requests' | 'connections'): Promise<number>;
  stop(): void;
}

/** Starts so many, with so many nodes each. */
export async function startSimulatedClusters(count: number, nodes: number): Promise<SimulatedClusters> {
  const authority = await createAuthority('simulation', 1, new Date());
  const issued = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
  const processes: TargetsProcess[] = [];
  for (let from = 0; from < count; from += MOST_PER_PROCESS) {
    const shape = { nodes, stepMs: STEP_MS, seed: from };
    processes.push(await TargetsProcess.start(
      { count: Math.min(MOST_PER_PROCESS, count - from), shape, certificate: issued },
    ));
  }
  const certificateAuthority = authority.keyPair.certificate;
  return {
    kubeconfigs: processes.flatMap(({ urls }) => urls).map((server) =>
      tokenKubeconfig({ server, certificateAuthority, token: 'simulated', cluster: 'simulated', user: 'source' })),
    silence: (clusters) => processes[0]?.silence(clusters),
    counts: async (what) => {
      const counts = await Promise.all(processes.map((one) => one.counts(what)));
      return counts.reduce((sum, one) => sum + one, 0);
    },
    stop: () => processes.forEach((one) => one.stop()),
  };
}
