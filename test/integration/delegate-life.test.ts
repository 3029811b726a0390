// The life of delegates on real control planes: one contract for both modes of delegation. target-1 has Isthmus in it,
// target-2 has nothing of ours.
import { after, before } from 'node:test';
import { delegationContract } from '../contract/delegation.ts';
import { makeBare } from '../support/bare-target.ts';
import { makeNamespace, startWorld, type IsthmusWorld } from '../support/isthmus-world.ts';
import { endWorld } from '../support/world-invariants.ts';

let world: IsthmusWorld;

before(async () => {
  world = await startWorld({ nodes: 1 });
  await makeNamespace(world, 'life-of-chaperons');
  await makeNamespace(world, 'life-of-pods');
  await makeBare(world, world.targets[1]);
});
after(() => endWorld(world, { endsDelegates: true }));

delegationContract(
  { mode: 'PodChaperon', world: () => world, home: () => world.targets[0], namespace: 'life-of-chaperons' },
);
delegationContract({ mode: 'Pod', world: () => world, home: () => world.targets[1], namespace: 'life-of-pods' });
