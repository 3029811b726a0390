// The life of delegates on real control planes: one contract for both modes of delegation. target-1 has Isthmus in it,
// target-2 has nothing of ours.
import { before, describe } from 'node:test';
import { delegationContract } from '../../contract/delegation.ts';
import { makeBare } from '../../support/worlds/bare-target.ts';
import { makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { shareWorld } from '../../support/worlds/shared-world.ts';

const shared = shareWorld({ nodes: 1 });
let world: IsthmusWorld;

describe('the life of delegates', () => {
  before(async () => {
    ({ world } = shared());
    await makeNamespace(world, 'life-of-chaperons');
    await makeNamespace(world, 'life-of-pods');
    await makeBare(world, world.targets[1]);
  });

  delegationContract(
    { mode: 'PodChaperon', world: () => world, home: () => world.targets[0], namespace: 'life-of-chaperons' },
  );
  delegationContract({ mode: 'Pod', world: () => world, home: () => world.targets[1], namespace: 'life-of-pods' });
});
