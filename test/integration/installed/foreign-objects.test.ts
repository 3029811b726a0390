// No command changes or deletes what somebody else has made, and a name that leads to nothing is an error: each command
// of gateways, brokers, targets and namespaces on real API servers, beside objects of a user that have the very names
// which the command would use.
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { NODES, SERVICES } from '../../../api/resource-types.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';
import { createTokenKey, signBrokerToken } from '../../../process/crypto/signed-token.ts';
import {
  describeRefused, foreignWorld, secretOfUser, type RefusedCommand,
} from '../../support/worlds/foreign-world.ts';

const world = foreignWorld();
const brokerToken = async () => {
  const { keyPair } = await createAuthority('test', 1, new Date());
  return signBrokerToken(createTokenKey(), { brokerUrl: 'https://127.0.0.1:1', authority: keyPair.certificate }, {
    now: new Date(), seconds: 60,
  });
};
const ROWS: readonly RefusedCommand[] = [
  {
    sentence: 'gateway leave leaves a Secret of the name of a membership',
    theirs: [secretOfUser('production', 'isthmus-gateway')],
    words: () => world.inSource('gateway', 'leave', '--force', '--namespace', 'production'),
    says: /Secret production\/isthmus-gateway was not created by Isthmus/,
  },
  {
    sentence: 'gateway leave of a cluster that is no member says so', words: () => world.inSource('gateway', 'leave'),
    says: /not a member: there is no Secret/,
  },
  {
    sentence: 'gateway join does not write over it', theirs: [secretOfUser('production', 'isthmus-gateway')],
    words: async () =>
      world.inSource('gateway', 'join', await brokerToken(), '--cluster-id', 'c', '--namespace', 'production'),
    says: /Secret production\/isthmus-gateway was not created by Isthmus/,
  },
  {
    sentence: 'gateway rotate-key does not write into a Secret that holds no keys',
    theirs: [secretOfUser('production', 'isthmus-pod-plane')],
    words: () => world.inSource('gateway', 'rotate-key', '--namespace', 'production'),
    says: /There is no key in Secret/,
  },
  {
    sentence: 'broker deploy does not write over a Secret that is none of a broker',
    theirs: [secretOfUser('production', 'isthmus-broker')],
    words: () => world.inSource('broker', 'deploy', '--url', 'https://b.example', '--namespace', 'production'),
    says: /Secret production\/isthmus-broker is none of a broker/,
  },
  {
    sentence: 'broker deploy does not write over a Service',
    theirs: [[
      SERVICES,
      {
        metadata: { namespace: 'production', name: 'isthmus-broker' }, spec: { ports: [{ port: 80 }] },
      } as KubernetesObject,
    ]],
    words: () => world.inSource('broker', 'deploy', '--url', 'https://b.example', '--namespace', 'production'),
    says: /Isthmus did not create Service production\/isthmus-broker/,
  },
  {
    sentence: 'broker revoke of a cluster that does not exist says so',
    words: () => world.inSource('broker', 'revoke', 'nope', '--namespace', 'production'),
    says: /No cluster "nope" is known/,
  },
  {
    sentence: 'cordon leaves a node that has the name of a virtual node',
    theirs: [[NODES, { metadata: { name: 'admiralty-real' } }]], words: () => world.inSource('cordon', 'real'),
    says: /There is no ClusterTarget real here/,
  },
  {
    sentence: 'drain leaves a node that has the name of the virtual node of a target',
    theirs: [[NODES, { metadata: { name: 'admiralty-kept' } }]], words: () => world.inSource('drain', 'kept'),
    says: /Target kept has no virtual node admiralty-kept/,
  },
  ...(['cordon', 'uncordon', 'drain', 'failback'] as const).map(
    (command): RefusedCommand => ({
      sentence: `${command} of a target that does not exist says so`, words: () => world.inSource(command, 'nope'),
      says: /There is no ClusterTarget nope here.*Targets here: kept/,
    }),
  ),
  {
    sentence: 'adopt for a target that does not exist says so',
    words: () => world.inSource('adopt', 'nope', '--target-kubeconfig', world.files[1]),
    says: /There is no ClusterTarget nope here/,
  },
  {
    sentence: 'move of a pod that does not exist says so',
    words: () => world.inSource('move', 'pod/nope', '--to', 'kept'),
    says: /There is no pod default\/nope/,
  },
  {
    sentence: 'offload of a namespace that does not exist says so',
    words: () => world.inSource('offload', 'namespace', 'nope'), says: /no such namespace/,
  },
  {
    sentence: 'unoffload of a namespace that does not exist says so',
    words: () => world.inSource('unoffload', 'namespace', 'nope'), says: /no namespace nope/,
  },
  {
    sentence: 'unoffload of a namespace that is not offloaded says so',
    words: () => world.inSource('unoffload', 'namespace', 'production'),
    says: /Namespace production is not offloaded\. None is/,
  },
  {
    sentence: 'service unexport of what is not exported says so',
    words: () => world.inSource('service', 'unexport', 'nope'),
    says: /default\/nope is not exported/,
  },
  {
    sentence: 'approve of an invitation with which nobody waits says so',
    words: () => world.inSource('approve', 'nope'),
    says: /No cluster waits with invitation nope/,
  },
];


describeRefused('a command that meets what is not its own', world, ROWS);
