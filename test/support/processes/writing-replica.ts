// A process of the leader election tests: campaigns for a lease and, while it leads, writes as often as it can.
// Arguments: kubeconfig, name of the lease, own name. The message `block` makes it do nothing at all for a while.
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { LEASES } from '../../../api/resource-types.ts';
import { NotLeaderError } from '../../../kubernetes/flow/fence.ts';
import { LeaderElection } from '../../../kubernetes/lease/leader-election.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { untilStopped } from '../../../process/lifecycle.ts';
import { SILENT } from '../doubles/scripted-api-server.ts';

const [kubeconfigPath = '', lease = '', identity = ''] = process.argv.slice(2);
const CONFIG_MAPS: ResourceType = { ...LEASES, group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' };
const TIMINGS = { leaseMs: 3_000, renewWithinMs: 2_000, renewEveryMs: 500, retryMs: 200, callMs: 1_500 };
const BLOCK_MS = 6_000;

const signal = untilStopped();
const { client } = await openCluster({ kubeconfigPath, userAgent: `isthmus-writer-${lease}-${identity}` });
const election = new LeaderElection(
  { client, namespace: 'default', name: lease, identity, logger: SILENT, timings: TIMINGS, isHolderGone: () => false },
);
const campaign = election.run(signal);
const writer = client.fencedBy(election);

process.on('message', () => {
  const until = Date.now() + BLOCK_MS;
  while (Date.now() < until); // the event loop stands still
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.send?.('ready');

async function writeForEver(worker: number): Promise<void> {
  const at = { namespace: 'default', name: `${lease}-${worker}` };
  while (!signal.aborted) {
    const object = { metadata: { ...at, annotations: { by: identity, at: new Date().toISOString() } } };
    await writer.apply(CONFIG_MAPS, object, 'writer', signal)
      .catch((error: unknown) => (error instanceof NotLeaderError ? undefined : error));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
await Promise.all([campaign, ...Array.from({ length: 4 }, (_, worker) => writeForEver(worker))]);
await client.transport.close();
process.disconnect?.();
