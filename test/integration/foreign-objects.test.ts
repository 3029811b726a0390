// No command changes or deletes what somebody else has made, and a name that leads to nothing is an error: each command
// on real API servers, beside objects of a user that have the very names which the command would use.
import assert from 'node:assert/strict';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { ADMIRALTY_API_VERSION, type ResourceType } from '../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS, NAMESPACES, NODES, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, SERVICES, SOURCES, TARGETS,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../api/resource-types.ts';
import { objectName } from '../../cli/clusters/apply-objects.ts';
import { installInto } from '../../cli/install/install.ts';
import { inviteSource } from '../../cli/join/invite.ts';
import { peerClusters } from '../../cli/join/peer-clusters.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openCluster, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { readClusterId } from '../../targets/target-session.ts';
import { createAuthority } from '../../process/crypto/certificate-authority.ts';
import { createTokenKey, signJoinToken } from '../../process/crypto/signed-token.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { isthmus } from '../support/command-line.ts';
import { startTestSandbox } from '../support/stopped-with-process.ts';

const installNamespace = 'isthmus-system';
const signal = AbortSignal.timeout(230_000);
const quiet = { tell: () => undefined, signal };

let sandbox: Sandbox;
let source: OpenCluster;
let target: OpenCluster;
let sourceId: string;
let files: readonly [source: string, target: string];

before(async () => {
  sandbox = await startTestSandbox(
    { dir: await mkdtemp(join(tmpdir(), 'isthmus-foreign-')), targets: 1, nodes: 0, gpus: 0, audit: false }, signal,
  );
  files = sandbox.clusters.map(({ kubeconfigPath }) => kubeconfigPath) as [string, string];
  [source, target] = (
    await Promise.all(files.map((kubeconfigPath) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })))
  ) as [OpenCluster, OpenCluster];
  for (const { client } of [source, target]) {
    await installInto(client, { installNamespace }, quiet);
    await client.create(NAMESPACES, { metadata: { name: 'production' } });
  }
  sourceId = await readClusterId(source.client, signal);
  await peer({ name: 'kept' });
  await peer({ name: 'kept', namespace: 'production' });
});

after(async () => {
  await Promise.all([source, target].map((cluster) => cluster?.client.transport.close()));
  await sandbox?.stop();
  if (sandbox !== undefined) await rmdir(sandbox.dir); // fails when the sandbox left something in it
});

const peer = (more: { readonly name: string; readonly namespace?: string }) => peerClusters(
  { installNamespace, source: { ...source, label: 'source' }, target: { ...target, label: 'target' }, ...more }, quiet,
);
const named = (prefix: string) => `${prefix}-${sourceId.slice(0, 8)}`;

interface Row {
  readonly sentence: string;
  /** What a user has: in the source unless it says otherwise. */
  readonly theirs?: readonly [ResourceType, KubernetesObject, 'target'?][]
    | (() => readonly [ResourceType, KubernetesObject, 'target'?][]);
  readonly words: () => readonly string[] | Promise<readonly string[]>;
  readonly says: RegExp;
}

const secret = (namespace: string, name: string): [ResourceType, KubernetesObject] =>
  [SECRETS, { metadata: { namespace, name }, data: { config: 'dGhlaXJz' } } as KubernetesObject];
const rules = { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] };
const inSource = (...words: readonly string[]) => [...words, '--kubeconfig', files[0]];
const peerWords = (...words: readonly string[]) =>
  ['peer', '--source-kubeconfig', files[0], '--target-kubeconfig', files[1], ...words];
const handMade = (name: string): [ResourceType, KubernetesObject] => [
  CLUSTER_TARGETS,
  {
    apiVersion: ADMIRALTY_API_VERSION, kind: 'ClusterTarget', metadata: { name },
    spec: { kubeconfigSecret: { name: `${name}-kubeconfig`, namespace: installNamespace } },
  } as KubernetesObject,
];
const joinToken = async () => {
  const { keyPair } = await createAuthority('test', 1, new Date());
  return signJoinToken(createTokenKey(), { brokerUrl: 'https://127.0.0.1:1', authority: keyPair.certificate }, {
    now: new Date(), seconds: 60,
  });
};
const invitation = async (targetName: string, namespace?: string) => (await inviteSource(
  target, { targetName, installNamespace, minutes: 15, needsApproval: false, tokenSeconds: 3_600, namespace }, signal,
)).token;

const ROWS: readonly Row[] = [
  {
    sentence: 'unpeer of a Target that does not exist leaves a Secret that has the name of its kubeconfig',
    theirs: [secret('production', 'ours-kubeconfig')], words: () => inSource('unpeer', 'production/ours'),
    says: /There is no Target production\/ours here.*Targets here: kept, production\/kept\./,
  },
  {
    sentence:
      'unpeer of one that does not exist in the install namespace leaves the right of the components to read ' +
        'kubeconfigs',
    words: () => inSource('unpeer', `${installNamespace}/x`), says: /There is no Target isthmus-system\/x here/,
  },
  {
    sentence: 'unpeer of a Target of the install namespace leaves the Secret of the ClusterTarget of that name',
    words: () => inSource('unpeer', `${installNamespace}/kept`), says: /There is no Target isthmus-system\/kept here/,
  },
  {
    sentence: 'unpeer of a name that does not exist says so, also by force',
    words: () => inSource('unpeer', 'nope', '--force'), says: /There is no ClusterTarget nope here/,
  },
  {
    sentence: 'unpeer of a name that does not exist says so to an administrator of the target',
    words: () => inSource('unpeer', 'nope', '--target-kubeconfig', files[1]),
    says: /There is no ClusterTarget nope here/,
  },
  {
    sentence: 'unpeer leaves a ClusterTarget that was made by hand, with its Secret',
    theirs: [secret(installNamespace, 'by-hand-kubeconfig'), handMade('by-hand')],
    words: () => inSource('unpeer', 'by-hand', '--force'),
    says: /was not made by "isthmus peer".*isthmus drain by-hand/,
  },
  {
    sentence: 'peer does not write over a Secret that has the name of the kubeconfig',
    theirs: [secret(installNamespace, 'taken-kubeconfig')], words: () => peerWords('--name', 'taken'),
    says: /Isthmus has not made Secret isthmus-system\/taken-kubeconfig .*another --name/,
  },
  {
    sentence: 'peer does not write over a ClusterTarget that was made by hand', theirs: [handMade('taken')],
    words: () => peerWords('--name', 'taken'), says: /Isthmus has not made ClusterTarget taken /,
  },
  {
    sentence: 'peer of a namespace does not write over the Secret of a ClusterTarget of that name',
    words: () => peerWords('--name', 'kept', '--namespace', installNamespace),
    says: /Isthmus has not made .*Secret isthmus-system\/kept-kubeconfig/,
  },
  {
    sentence: 'peer does not write over a Role that has the name of the right to renew',
    theirs: [[ROLES, { metadata: { namespace: 'production', name: 'isthmus-renewal-taken-kubeconfig' }, ...rules }]],
    words: () => peerWords('--name', 'taken', '--namespace', 'production'),
    says: /Isthmus has not made Role production\/isthmus-renewal-taken-kubeconfig/,
  },
  {
    sentence: 'peer does not take over a ServiceAccount of the target',
    theirs: () => [[SERVICE_ACCOUNTS, { metadata: { namespace: installNamespace, name: named('taken') } }, 'target']],
    words: () => peerWords('--name', 'taken'),
    says: /ServiceAccount isthmus-system\/taken-\w{8} is there already and is not of this source/,
  },
  {
    sentence: 'peer in Pod mode does not write over a ClusterRole of the target',
    theirs: () => [[CLUSTER_ROLES, { metadata: { name: `isthmus-pod-mode-${named('taken')}` }, ...rules }, 'target']],
    words: () => peerWords('--name', 'taken', '--delegation', 'Pod'),
    says: /Isthmus has not made ClusterRole isthmus-pod-mode-taken/,
  },
  {
    sentence: 'join does not write over a Secret that has the name of the kubeconfig',
    theirs: [secret('production', 'taken-kubeconfig')],
    words: async () => inSource('join', await invitation('taken', 'production')),
    says: /Isthmus has not made Secret production\/taken-kubeconfig/,
  },
  {
    sentence: 'join does not use a Secret that has the name of the one in which it keeps its key',
    theirs: [secret(installNamespace, 'isthmus-joining-taken')],
    words: async () => inSource('join', await invitation('taken')),
    says: /Secret isthmus-system\/isthmus-joining-taken was not created by Isthmus/,
  },
  {
    sentence: 'install does not write over a ServiceAccount of another namespace',
    theirs: [[SERVICE_ACCOUNTS, { metadata: { namespace: 'production', name: 'isthmus-webhook' } }]],
    words: () => inSource('install', '--namespace', 'production'),
    says: /Isthmus has not made ServiceAccount production\/isthmus-webhook/,
  },
  {
    sentence: 'uninstall with a namespace that is not the install namespace does nothing',
    words: () => inSource('uninstall', '--purge', '--force', '--install-namespace', 'production'),
    says: /not installed in namespace production, but in isthmus-system/,
  },
  {
    sentence: 'gateway leave leaves a Secret of the name of a membership',
    theirs: [secret('production', 'isthmus-gateway')],
    words: () => inSource('gateway', 'leave', '--force', '--namespace', 'production'),
    says: /Secret production\/isthmus-gateway was not created by Isthmus/,
  },
  {
    sentence: 'gateway leave of a cluster that is no member says so', words: () => inSource('gateway', 'leave'),
    says: /not a member: there is no Secret/,
  },
  {
    sentence: 'gateway join does not write over it', theirs: [secret('production', 'isthmus-gateway')],
    words: async () => inSource('gateway', 'join', await joinToken(), '--cluster-id', 'c', '--namespace', 'production'),
    says: /Secret production\/isthmus-gateway was not created by Isthmus/,
  },
  {
    sentence: 'gateway rotate-key does not write into a Secret that holds no keys',
    theirs: [secret('production', 'isthmus-pod-plane')],
    words: () => inSource('gateway', 'rotate-key', '--namespace', 'production'), says: /There is no key in Secret/,
  },
  {
    sentence: 'broker deploy does not write over a Secret that is none of a broker',
    theirs: [secret('production', 'isthmus-broker')],
    words: () => inSource('broker', 'deploy', '--url', 'https://b.example', '--namespace', 'production'),
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
    words: () => inSource('broker', 'deploy', '--url', 'https://b.example', '--namespace', 'production'),
    says: /Isthmus has not made Service production\/isthmus-broker/,
  },
  {
    sentence: 'broker revoke of a cluster that does not exist says so',
    words: () => inSource('broker', 'revoke', 'nope', '--namespace', 'production'), says: /No cluster "nope" is known/,
  },
  {
    sentence: 'cordon leaves a node that has the name of a virtual node',
    theirs: [[NODES, { metadata: { name: 'admiralty-real' } }]], words: () => inSource('cordon', 'real'),
    says: /There is no ClusterTarget real here/,
  },
  {
    sentence: 'drain leaves a node that has the name of the virtual node of a target',
    theirs: [[NODES, { metadata: { name: 'admiralty-kept' } }]], words: () => inSource('drain', 'kept'),
    says: /Target kept has no virtual node admiralty-kept/,
  },
  ...(['cordon', 'uncordon', 'drain', 'failback'] as const).map(
    (command): Row => ({
      sentence: `${command} of a target that does not exist says so`, words: () => inSource(command, 'nope'),
      says: /There is no ClusterTarget nope here.*Targets here: kept/,
    }),
  ),
  {
    sentence: 'adopt for a target that does not exist says so',
    words: () => inSource('adopt', 'nope', '--target-kubeconfig', files[1]),
    says: /There is no ClusterTarget nope here/,
  },
  {
    sentence: 'move of a pod that does not exist says so', words: () => inSource('move', 'pod/nope', '--to', 'kept'),
    says: /There is no pod default\/nope/,
  },
  {
    sentence: 'offload of a namespace that does not exist says so',
    words: () => inSource('offload', 'namespace', 'nope'), says: /no such namespace/,
  },
  {
    sentence: 'unoffload of a namespace that does not exist says so',
    words: () => inSource('unoffload', 'namespace', 'nope'), says: /no namespace nope/,
  },
  {
    sentence: 'unoffload of a namespace that is not offloaded says so',
    words: () => inSource('unoffload', 'namespace', 'production'),
    says: /Namespace production is not offloaded\. None is/,
  },
  {
    sentence: 'service unexport of what is not exported says so', words: () => inSource('service', 'unexport', 'nope'),
    says: /default\/nope is not exported/,
  },
  {
    sentence: 'approve of an invitation with which nobody waits says so', words: () => inSource('approve', 'nope'),
    says: /No cluster waits with invitation nope/,
  },
];

const TYPES: readonly ResourceType[] = [
  SECRETS, CONFIG_MAPS, SERVICES, SERVICE_ACCOUNTS, NAMESPACES, NODES, DEPLOYMENTS,
  ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, CLUSTER_TARGETS, TARGETS, CLUSTER_SOURCES, SOURCES,
  CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
];

/**
 * All that is stored in both clusters, with its content. An invitation is made by the test itself, and what the control
 * plane makes or writes by itself comes at any time: it is left out.
 */
async function stored(): Promise<readonly string[]> {
  const lists = await Promise.all([source, target].flatMap(
    ({ client }, side) =>
      TYPES.map(async (type) => (await client.list(type)).map((object) => `${side} ${contentOf(type, object)}`)),
  ));
  return lists.flat().filter(
    (line) => !/^. \S+ \S*(kube-|system:|isthmus-invitation|extension-|\/default )/.test(line) &&
      !/^. (Node \S*kept|ClusterRole \/(admin|edit|view) )/.test(line),
  ).toSorted();
}

/** An object without its status and without what controllers of Kubernetes write beside it: notes, taints of nodes. */
function contentOf({ kind }: ResourceType, object: KubernetesObject): string {
  const { metadata, status: _, spec, ...content } = object as KubernetesObject & Record<'status' | 'spec', object>;
  const { namespace = '', name = '', resourceVersion: _version, annotations = {}, ...more } = metadata;
  const kept = Object.entries(annotations).filter(([key]) => !/^[^/]*\bkubernetes\.io\//.test(key));
  const asked = kind === 'Node' ? { ...spec, taints: [] } : spec;
  return `${kind} ${namespace}/${name} ${
    JSON.stringify({ ...more, managedFields: [], annotations: kept, spec: asked, ...content })}`;
}

const clientFor = (where?: 'target'): ClusterClient => (where === 'target' ? target : source).client;

describe('a command that meets what is not its own', () => {
  for (const { sentence, theirs = [], words, says } of ROWS) {
    it(sentence, async () => {
      const objects = typeof theirs === 'function' ? theirs() : theirs;
      for (const [type, object, where] of objects) await clientFor(where).create(type, object, signal);
      try {
        const args = await words();
        const before = await stored();
        const { code, stdout, stderr } = await isthmus(...args);
        assert.notEqual(code, 0, stdout);
        assert.match(stderr.replaceAll('\n', ' '), says);
        const now = await stored();
        assert.deepEqual(now.filter((line) => !before.includes(line)), []);
        assert.deepEqual(before.filter((line) => !now.includes(line)), []);
      } finally {
        for (const [type, { metadata: { namespace, name = '' } }, where] of objects) {
          await clientFor(where).delete(type, { namespace, name }, {}, signal);
        }
      }
    });
  }
});

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
    await peer({ name: 'left', namespace: 'production' });
    const at = { namespace: 'production', name: 'isthmus-renewal-left-kubeconfig' };
    const role = await replaced(source.client, ROLES, { metadata: at, ...rules });
    const secretOfUser = await source.client.create(
      SECRETS, { metadata: { namespace: 'production', name: 'isthmus-joining-left' }, data: {} } as KubernetesObject,
      signal,
    );
    const { code, stdout, stderr } = await isthmus(...inSource('unpeer', 'production/left'));
    assert.equal(code, 0, stderr);
    assert.match(stdout, /kept Role production\/isthmus-renewal-left-kubeconfig/);
    assert.match(stdout, /left target production\/left/);
    await isUntouched(source.client, ROLES, role);
    await isUntouched(source.client, SECRETS, secretOfUser);
    await assert.rejects(source.client.get(TARGETS, { namespace: 'production', name: 'left' }), /not found/);
    await assert.rejects(source.client.get(SECRETS, { namespace: 'production', name: 'left-kubeconfig' }), /not found/);
  });

  it('unpeer does not use a kubeconfig that a user has put in place of its own, nor delete it', async () => {
    await peer({ name: 'swapped' });
    const theirs = await replaced(
      source.client, SECRETS,
      secret(
        (await source.client.get(CLUSTER_TARGETS, { name: 'swapped' })).spec.kubeconfigSecret?.namespace ?? '',
        'swapped-kubeconfig',
      )[1],
    );
    const refused = await isthmus(...inSource('unpeer', 'swapped'));
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /Give --target-kubeconfig of an administrator/);
    const { code, stderr } = await isthmus(...inSource('unpeer', 'swapped', '--target-kubeconfig', files[1]));
    assert.equal(code, 0, stderr);
    await isUntouched(source.client, SECRETS, theirs);
    await assert.rejects(target.client.get(CLUSTER_SOURCES, { name: named('swapped') }), /not found/);
  });

  it('unpeer by an administrator of the target keeps a ClusterSource that is another cluster\'s', async () => {
    await peer({ name: 'another' });
    await target.client.patch(
      CLUSTER_SOURCES, { name: named('another') },
      { patchType: 'merge', patch: { spec: { clusterID: 'another-cluster' } } }, signal,
    );
    const theirs = await target.client.get(CLUSTER_SOURCES, { name: named('another') }, signal);
    const { code, stderr } = await isthmus(...inSource('unpeer', 'another', '--target-kubeconfig', files[1]));
    assert.notEqual(code, 0);
    assert.match(stderr, /is not this source's: its clusterID is another/);
    await isUntouched(target.client, CLUSTER_SOURCES, theirs);
  });

  it('unpeer by force does not write what remains over a ConfigMap of a user', async () => {
    await peer({ name: 'forced' });
    const theirs = await source.client.create(
      CONFIG_MAPS, { metadata: { namespace: installNamespace, name: 'isthmus-left-behind-forced' } }, signal,
    );
    await replaced(
      source.client, SECRETS,
      secret(
        (await source.client.get(CLUSTER_TARGETS, { name: 'forced' })).spec.kubeconfigSecret?.namespace ?? '',
        'forced-kubeconfig',
      )[1],
    );
    const { code, stdout, stderr } = await isthmus(...inSource('unpeer', 'forced', '--force'));
    assert.equal(code, 0, stderr);
    assert.match(
      stdout, /not written down, for ConfigMap isthmus-system\/isthmus-left-behind-forced was not created by Isthmus/,
    );
    await isUntouched(source.client, CONFIG_MAPS, theirs);
  });

  it('install leaves a namespace that was there as it is, and uninstall --purge then leaves it with what is in it',
    async () => {
    await target.client.create(NAMESPACES, { metadata: { name: 'theirs' } });
    await target.client.create(...secret('theirs', 'precious'));
    await installInto(target.client, { installNamespace: 'theirs' }, quiet);
    assert.equal(
      (await target.client.get(NAMESPACES, { name: 'theirs' })).metadata.labels?.['app.kubernetes.io/part-of'],
      undefined,
    );
    const definition = { name: 'sources.multicluster.admiralty.io' };
    await target.client.patch(
      CUSTOM_RESOURCE_DEFINITIONS, definition,
      { patchType: 'merge', patch: { metadata: { labels: { 'app.kubernetes.io/part-of': 'admiralty' } } } }, signal,
    );
    const { code, stdout, stderr } =
      await isthmus('uninstall', '--purge', '--force', '--install-namespace', 'theirs', '--kubeconfig', files[1]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /kept Namespace theirs: Isthmus has not made Secret precious/);
    assert.match(stdout, /kept CustomResourceDefinition sources\.multicluster\.admiralty\.io/);
    assert.equal((await target.client.get(NAMESPACES, { name: 'theirs' })).metadata.deletionTimestamp, undefined);
    assert.ok((await target.client.get(SECRETS, { namespace: 'theirs', name: 'precious' })).metadata.uid);
    assert.equal(
      (await target.client.get(CUSTOM_RESOURCE_DEFINITIONS, definition)).metadata.deletionTimestamp, undefined,
    );
  });
});
