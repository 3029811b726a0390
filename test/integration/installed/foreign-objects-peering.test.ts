// Peering, joining, installing and their ends change and delete nothing that somebody else has made, and a name that
// leads to nothing is an error: each command on real API servers, beside objects of a user that have the very names
// which the command would use.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { ADMIRALTY_API_VERSION, type ResourceType } from '../../../api/objects/group-version.ts';
import {
  CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, INGRESSES, NAMESPACES,
  ROLES, SECRETS, SERVICE_ACCOUNTS, TARGETS,
} from '../../../api/resource-types.ts';
import { objectName } from '../../../cli/clusters/apply-objects.ts';
import { installInto } from '../../../cli/install/install.ts';
import { inviteSource } from '../../../cli/join/invite.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { isthmus } from '../../support/processes/command-line.ts';
import {
  describeRefused, foreignWorld, INSTALL_NAMESPACE, quiet, secretOfUser, type RefusedCommand,
} from '../../support/worlds/foreign-world.ts';

const { signal } = quiet;
const world = foreignWorld();
const rules = { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] };
const peerWords = (...words: readonly string[]) =>
  ['peer', '--source-kubeconfig', world.files[0], '--target-kubeconfig', world.files[1], ...words];
const handMade = (name: string): [ResourceType, KubernetesObject] => [
  CLUSTER_TARGETS,
  {
    apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterTarget', metadata: { name },
    spec: { kubeconfigSecret: { name: `${name}-kubeconfig`, namespace: INSTALL_NAMESPACE } },
  } as KubernetesObject,
];
const invitation = async (targetName: string, namespace?: string) => (await inviteSource(
  world.target,
  {
    targetName, installNamespace: INSTALL_NAMESPACE, minutes: 15, needsApproval: false, tokenSeconds: 3_600, namespace,
  },
  signal,
)).token;

const ROWS: readonly RefusedCommand[] = [
  {
    sentence: 'unpeer of a Target that does not exist leaves a Secret that has the name of its kubeconfig',
    theirs: [secretOfUser('production', 'ours-kubeconfig')], words: () => world.inSource('unpeer', 'production/ours'),
    says: /There is no Target production\/ours here.*Targets here: kept, production\/kept\./,
  },
  {
    sentence:
      'unpeer of one that does not exist in the install namespace leaves the right of the components to read ' +
        'kubeconfigs',
    words: () => world.inSource('unpeer', `${INSTALL_NAMESPACE}/x`), says: /There is no Target isthmus-system\/x here/,
  },
  {
    sentence: 'unpeer of a Target of the install namespace leaves the Secret of the ClusterTarget of that name',
    words: () => world.inSource('unpeer', `${INSTALL_NAMESPACE}/kept`),
    says: /There is no Target isthmus-system\/kept here/,
  },
  {
    sentence: 'unpeer of a name that does not exist says so, also by force',
    words: () => world.inSource('unpeer', 'nope', '--force'), says: /There is no ClusterTarget nope here/,
  },
  {
    sentence: 'unpeer of a name that does not exist says so to an administrator of the target',
    words: () => world.inSource('unpeer', 'nope', '--target-kubeconfig', world.files[1]),
    says: /There is no ClusterTarget nope here/,
  },
  {
    sentence: 'unpeer leaves a ClusterTarget that was made by hand, with its Secret',
    theirs: [secretOfUser(INSTALL_NAMESPACE, 'by-hand-kubeconfig'), handMade('by-hand')],
    words: () => world.inSource('unpeer', 'by-hand', '--force'),
    says: /was not created by "isthmus peer".*isthmus drain by-hand/,
  },
  {
    sentence: 'peer does not write over a Secret that has the name of the kubeconfig',
    theirs: [secretOfUser(INSTALL_NAMESPACE, 'taken-kubeconfig')], words: () => peerWords('--name', 'taken'),
    says: /Isthmus did not create Secret isthmus-system\/taken-kubeconfig .*another --name/,
  },
  {
    sentence: 'peer does not write over a ClusterTarget that was made by hand', theirs: [handMade('taken')],
    words: () => peerWords('--name', 'taken'), says: /Isthmus did not create ClusterTarget taken /,
  },
  {
    sentence: 'peer of a namespace does not write over the Secret of a ClusterTarget of that name',
    words: () => peerWords('--name', 'kept', '--namespace', INSTALL_NAMESPACE),
    says: /Isthmus did not create .*Secret isthmus-system\/kept-kubeconfig/,
  },
  {
    sentence: 'peer does not write over a Role that has the name of the right to renew',
    theirs: [[ROLES, { metadata: { namespace: 'production', name: 'isthmus-renewal-taken-kubeconfig' }, ...rules }]],
    words: () => peerWords('--name', 'taken', '--namespace', 'production'),
    says: /Isthmus did not create Role production\/isthmus-renewal-taken-kubeconfig/,
  },
  {
    sentence: 'peer does not take over a ServiceAccount of the target',
    theirs: () => [
      [SERVICE_ACCOUNTS, { metadata: { namespace: INSTALL_NAMESPACE, name: world.named('taken') } }, 'target'],
    ],
    words: () => peerWords('--name', 'taken'),
    says: /ServiceAccount isthmus-system\/taken-\w{8} is there already and is not of this source/,
  },
  {
    sentence: 'peer in Pod mode does not write over a ClusterRole of the target',
    theirs: () => [
      [CLUSTER_ROLES, { metadata: { name: `isthmus-pod-mode-${world.named('taken')}` }, ...rules }, 'target'],
    ],
    words: () => peerWords('--name', 'taken', '--delegation', 'Pod'),
    says: /Isthmus did not create ClusterRole isthmus-pod-mode-taken/,
  },
  {
    sentence: 'join does not write over a Secret that has the name of the kubeconfig',
    theirs: [secretOfUser('production', 'taken-kubeconfig')],
    words: async () => world.inSource('join', await invitation('taken', 'production')),
    says: /Isthmus did not create Secret production\/taken-kubeconfig/,
  },
  {
    sentence: 'join does not use a Secret that has the name of the one in which it keeps its key',
    theirs: [secretOfUser(INSTALL_NAMESPACE, 'isthmus-joining-taken')],
    words: async () => world.inSource('join', await invitation('taken')),
    says: /Secret isthmus-system\/isthmus-joining-taken was not created by Isthmus/,
  },
  {
    sentence: 'install does not write over a ServiceAccount of another namespace',
    theirs: [[SERVICE_ACCOUNTS, { metadata: { namespace: 'production', name: 'isthmus-webhook' } }]],
    words: () => world.inSource('install', '--namespace', 'production'),
    says: /Isthmus did not create ServiceAccount production\/isthmus-webhook/,
  },
  {
    sentence: 'uninstall with a namespace that is not the install namespace does nothing',
    words: () => world.inSource('uninstall', '--purge', '--force', '--install-namespace', 'production'),
    says: /not installed in namespace production, but in isthmus-system/,
  },
];

describeRefused('peering that meets what is not its own', world, ROWS);

describe('a command that finds its own beside what is not', () => {
  const replaced = async (client: ClusterClient, type: ResourceType, object: KubernetesObject) => {
    const { namespace, name = '' } = object.metadata;
    await client.delete(type, { namespace, name }, {}, signal).catch(() => undefined);
    return client.create(type, object, signal);
  };
  const isUntouched = async (
    client: ClusterClient, type: ResourceType,
    { metadata: { namespace, name = '', uid, resourceVersion } }: KubernetesObject,
  ) => {
    const { metadata } = await client.get(type, { namespace, name }, signal);
    assert.deepEqual([metadata.uid, metadata.resourceVersion], [uid, resourceVersion], objectName(
      { kind: type.kind, metadata: { name } },
    ));
  };

  it('unpeer removes the target and what peering made, and keeps what a user has put in its place', async () => {
    await world.peer({ name: 'left', namespace: 'production' });
    const at = { namespace: 'production', name: 'isthmus-renewal-left-kubeconfig' };
    const role = await replaced(world.source.client, ROLES, { metadata: at, ...rules });
    const secretOfUser = await world.source.client.create(
      SECRETS, { metadata: { namespace: 'production', name: 'isthmus-joining-left' }, data: {} } as KubernetesObject,
      signal,
    );
    const { code, stdout, stderr } = await isthmus(...world.inSource('unpeer', 'production/left'));
    assert.equal(code, 0, stderr);
    assert.match(stdout, /kept Role production\/isthmus-renewal-left-kubeconfig/);
    assert.match(stdout, /left target production\/left/);
    await isUntouched(world.source.client, ROLES, role);
    await isUntouched(world.source.client, SECRETS, secretOfUser);
    await assert.rejects(world.source.client.get(TARGETS, { namespace: 'production', name: 'left' }), /not found/);
    await assert.rejects(
      world.source.client.get(SECRETS, { namespace: 'production', name: 'left-kubeconfig' }), /not found/,
    );
  });

  it('unpeer does not use a kubeconfig that a user has put in place of its own, nor delete it', async () => {
    await world.peer({ name: 'swapped' });
    const theirs = await replaced(
      world.source.client, SECRETS,
      secretOfUser(
        (await world.source.client.get(CLUSTER_TARGETS, { name: 'swapped' })).spec.kubeconfigSecret?.namespace ?? '',
        'swapped-kubeconfig',
      )[1],
    );
    const refused = await isthmus(...world.inSource('unpeer', 'swapped'));
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /Give --target-kubeconfig of an administrator/);
    const { code, stderr } =
      await isthmus(...world.inSource('unpeer', 'swapped', '--target-kubeconfig', world.files[1]));
    assert.equal(code, 0, stderr);
    await isUntouched(world.source.client, SECRETS, theirs);
    await assert.rejects(world.target.client.get(CLUSTER_SOURCES, { name: world.named('swapped') }), /not found/);
  });

  it('unpeer by an administrator of the target keeps a ClusterSource that is another cluster\'s', async () => {
    await world.peer({ name: 'another' });
    await world.target.client.patch(
      CLUSTER_SOURCES, { name: world.named('another') },
      { patchType: 'merge', patch: { spec: { clusterID: 'another-cluster' } } }, signal,
    );
    const theirs = await world.target.client.get(CLUSTER_SOURCES, { name: world.named('another') }, signal);
    const { code, stderr } =
      await isthmus(...world.inSource('unpeer', 'another', '--target-kubeconfig', world.files[1]));
    assert.notEqual(code, 0);
    assert.match(stderr, /is not this source's: it has a different clusterID/);
    await isUntouched(world.target.client, CLUSTER_SOURCES, theirs);
  });

  it('unpeer by force does not write what remains over a ConfigMap of a user', async () => {
    await world.peer({ name: 'forced' });
    const theirs = await world.source.client.create(
      CONFIG_MAPS, { metadata: { namespace: INSTALL_NAMESPACE, name: 'isthmus-left-behind-forced' } }, signal,
    );
    await replaced(
      world.source.client, SECRETS,
      secretOfUser(
        (await world.source.client.get(CLUSTER_TARGETS, { name: 'forced' })).spec.kubeconfigSecret?.namespace ?? '',
        'forced-kubeconfig',
      )[1],
    );
    const { code, stdout, stderr } = await isthmus(...world.inSource('unpeer', 'forced', '--force'));
    assert.equal(code, 0, stderr);
    assert.match(
      stdout, /not recorded, because ConfigMap isthmus-system\/isthmus-left-behind-forced was not created by Isthmus/,
    );
    await isUntouched(world.source.client, CONFIG_MAPS, theirs);
  });

  it('install leaves a namespace that was there as it is, and uninstall --purge then leaves it with what is in it',
    async () => {
    await world.target.client.create(NAMESPACES, { metadata: { name: 'theirs' } });
    await world.target.client.create(...secretOfUser('theirs', 'precious'));
    const spec = { defaultBackend: { service: { name: 'front', port: { number: 80 } } } };
    const front = { metadata: { namespace: 'theirs', name: 'front' }, spec };
    await world.target.client.create(INGRESSES, front);
    await installInto(world.target.client, { installNamespace: 'theirs' }, quiet);
    assert.equal(
      (await world.target.client.get(NAMESPACES, { name: 'theirs' })).metadata.labels?.['app.kubernetes.io/part-of'],
      undefined,
    );
    const definition = { name: 'sources.multicluster.admiralty.io' };
    await world.target.client.patch(
      CUSTOM_RESOURCE_DEFINITIONS, definition,
      { patchType: 'merge', patch: { metadata: { labels: { 'app.kubernetes.io/part-of': 'admiralty' } } } }, signal,
    );
    const { code, stdout, stderr } =
      await isthmus('uninstall', '--purge', '--force', '--install-namespace', 'theirs', '--kubeconfig', world.files[1]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /kept Namespace theirs: Isthmus did not create Secret precious, Ingress front in it/);
    assert.match(stdout, /kept CustomResourceDefinition sources\.multicluster\.admiralty\.io/);
    assert.equal((await world.target.client.get(NAMESPACES, { name: 'theirs' })).metadata.deletionTimestamp, undefined);
    assert.ok((await world.target.client.get(SECRETS, { namespace: 'theirs', name: 'precious' })).metadata.uid);
    assert.equal(
      (await world.target.client.get(CUSTOM_RESOURCE_DEFINITIONS, definition)).metadata.deletionTimestamp, undefined,
    );
  });
});
