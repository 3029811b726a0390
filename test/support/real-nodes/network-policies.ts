// Enforces NetworkPolicies on real nodes with kube-router, from the Go module `network-policy`, which serves tests
// alone. It needs `ipset`, which real nodes otherwise do without, and enforces policies of IPv4.
import { join } from 'node:path';
import { environment } from '../../../process/config.ts';
import { ensureGoProgram } from '../../../process/programs/go-program.ts';
import { forQuickBuilds } from '../../../sandbox/plan/binary-plan.ts';
import { serviceRange } from '../../../sandbox/plan/real-node-plan.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import { findProgram } from '../../../sandbox/real-nodes/machine-facts.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { firstProcess } from './first-process.ts';

const PACKAGE = 'github.com/cloudnativelabs/kube-router/v2/cmd/kube-router';

/** Why this machine enforces none; undefined where it does. */
export async function enforcementProblem(): Promise<string | undefined> {
  return await findProgram('ipset') === undefined
    ? 'ipset not found; on Debian: apt-get install --no-install-recommends ipset'
    : undefined;
}

function ensureKubeRouter(signal: AbortSignal): Promise<string> {
  const what = {
    module: 'sandbox/network-policy', name: 'kube-router', package: PACKAGE, what: 'kube-router for a test',
    takes: 'about three minutes', remedy: 'Only that test needs it.',
  } as const;
  return ensureGoProgram(what, forQuickBuilds(environment()), () => undefined, signal);
}

/** Enforces the policies of all clusters on all of their nodes; stop what it gives before the sandbox. */
export async function enforcePolicies(sandbox: Sandbox, signal: AbortSignal): Promise<readonly ComponentProcess[]> {
  const program = await ensureKubeRouter(signal);
  const started: ComponentProcess[] = [];
  for (const [index, { name: cluster, kubeconfigPath }] of sandbox.clusters.entries()) {
    for (const { plan } of sandbox.nodes.get(cluster) ?? []) {
      const init = await firstProcess(sandbox, cluster, `${plan.name}/init`);
      started.push(await startComponent({
        name: `${cluster}/${plan.name}/kube-router`,
        command: [
          'nsenter', '-t', String(init), '-m', '-n', '-p', '-u', '-i', '-C', '--', program, '--run-firewall=true',
          '--run-router=false', '--run-service-proxy=false', `--hostname-override=${plan.name}`,
          `--kubeconfig=${kubeconfigPath}`, `--service-cluster-ip-range=${serviceRange(index)}`, '--health-port=0',
        ],
        cwd: plan.directory,
        logPath: join(plan.directory, 'kube-router.log'),
      }));
    }
  }
  return started;
}
