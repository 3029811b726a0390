// Failover on real control planes: `npm run soak -- failover`. The lease of the source is short, so that nobody waits
// for minutes.
import { after, before } from 'node:test';
import { CLUSTER_TARGETS } from '../../../api/resource-types.ts';
import { startIsthmus } from '../../../sandbox/isthmus-in-sandbox.ts';
import { failoverContract } from '../../contract/failover.ts';
import { makeNamespace, startWorld, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';

const NAMESPACE = 'failover';
let world: IsthmusWorld;

before(async () => {
  const flags = ['--failover-lease-seconds', '8'];
  world = await startWorld({ audit: true }, (sandbox, signal) => startIsthmus(sandbox, signal, flags));
  await makeNamespace(world, NAMESPACE);
  for (const [name, site] of [['target-1', 'own'], ['target-2', 'cloud']] as const) {
    await world.source.client.patch(
      CLUSTER_TARGETS, { name }, { patchType: 'merge', patch: { metadata: { labels: { site } } } },
    );
  }
});
after(() => world?.stop());

failoverContract({ world: () => world, namespace: NAMESPACE });
