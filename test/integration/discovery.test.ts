// Clusters that registries of other tools list become targets, on real API servers, with objects as the tools' own
// documentation shows them: from registration to the first elected pod, and what is refused on the way. Then the way
// back: what these tools are told of the targets.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { ClusterPlacementPolicy, PlacementPolicy, PlacementPolicySpec } from '../../api/kinds/placement-policy.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, DECISIONS_LABEL, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
  USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../api/objects/keys.ts';
import { DECISIONS_VALUE, type ClusterDecision } from '../../api/placement/cluster-decision.ts';
import {
  CLUSTER_DECISIONS, CLUSTER_PLACEMENT_POLICIES, CLUSTER_ROLES, NAMESPACES, NODES, PLACEMENT_POLICIES, PODS, SECRETS,
} from '../../api/resource-types.ts';
import { REGISTRY_READ } from '../../api/registry/target-discovery.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { actionBody, actionPath, type ApproveAction } from '../../dashboard/wire/actions.ts';
import type { TargetsScreen } from '../../dashboard/wire/screens.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { isNotFound } from '../../kubernetes/flow/api-error.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { environment } from '../../process/config.ts';
import { isthmusHere } from '../support/processes/command-in-process.ts';
import {
  addToArgo, discover, makeRegistryNamespace, startDiscoveryWorld, untilEntry, untilReady, writeSecret,
  type DiscoveryWorld,
} from '../support/worlds/discovery-world.ts';
import { ensureRegistryDefinitions } from '../support/peers/foreign-definitions.ts';
import { bindRole, makeUser, servePageFor, shownTo, type Viewer } from '../support/page/page-viewers.ts';
import {
  CLUSTER_API_CLUSTERS, installDefinition, installDefinitionFile, KUSTOMIZATIONS,
} from '../support/peers/registry-crds.ts';
import {
  APPLICATION_SETS, installToolDefinitions, MULTI_KUEUE_CLUSTERS, MULTI_KUEUE_CONFIGS,
} from '../support/peers/tool-crds.ts';
import { WatchedCollection } from '../support/history/watched-collection.ts';

let world: DiscoveryWorld;
before(async () => {
  world = await startDiscoveryWorld(2);
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await world.source.create(NAMESPACES, { metadata: { name: 'shop', labels } });
  await Promise.all(world.targets.map(({ client }) => client.create(NAMESPACES, { metadata: { name: 'shop' } })));
});
after(() => world?.stop());

async function runOn(target: string, name: string): Promise<void> {
  const pod: Pod = {
    metadata: {
      namespace: 'shop', name, annotations: { [ELECT_ANNOTATION]: '', [USE_SPEC_CONSTRAINTS_ANNOTATION]: '' },
    },
    spec: {
      containers: [{ name: 'main', image: 'example/main:1' }], nodeSelector: { [CLUSTER_TARGET_NAME_LABEL]: target },
    },
  };
  await world.source.create(PODS, pod);
  await world.pods.until(
    `${name} runs`,
    (pods) => pods.some(({ metadata, status }) => metadata.name === name && status?.phase === 'Running'), 60_000,
  );
}

/** A page for somebody with these permissions to TargetDiscoveries. */
async function viewerWith(dir: string, name: string, verbs: readonly string[]): Promise<Viewer> {
  const user = { namespace: 'shop', name };
  const admin = world.sandbox.clusters[0]?.kubeconfigPath ?? '';
  const kubeconfig = await makeUser(world.source, user, { admin, dir }, world.signal);
  await world.source.create(CLUSTER_ROLES, { metadata: { name }, rules: [
    { apiGroups: ['isthmus.dev'], resources: ['targetdiscoveries'], verbs },
  ] } as never);
  await bindRole(world.source, user, name, true);
  return servePageFor(kubeconfig, world);
}

async function approve({ origin, token }: Viewer, shown: Omit<ApproveAction, 'kind'>): Promise<string> {
  const action = { kind: 'approve', ...shown } as const;
  const headers = { authorization: `Bearer ${token}`, origin };
  const answer = await fetch(origin + actionPath(action), { method: 'POST', body: actionBody(action), headers });
  return `${answer.status} ${await answer.text()}`;
}

describe('a cluster that Argo CD knows', () => {
  before(async () => {
    await makeRegistryNamespace(world, 'argocd');
    await discover(world, 'argo', {
      from: { argoCD: {} }, namespaces: ['argocd'], policy: 'Propose',
      target: { copyLabels: ['environment'], delegation: 'Pod' },
    });
  });

  it('becomes a target that runs elected pods, once somebody who may approves it on the page', async () => {
    await addToArgo(world, 0, { name: 'eu-west', labels: { environment: 'production' } });
    await untilEntry(world, 'argo', 'eu-west is proposed', ({ state }) => state === 'Proposed');
    const dir = await mkdtemp(join(tmpdir(), 'isthmus-approval-'));
    const verbs = ['get', 'list', 'watch'];
    const reader = await viewerWith(dir, 'reader', verbs);
    const approver = await viewerWith(dir, 'approver', [...verbs, 'patch']);
    const seen = async (viewer: Viewer, actions: string) => {
      const isWanted = (screen: TargetsScreen) => screen.proposedTotal === 1 && screen.actions.join() === actions;
      const { screen } = await shownTo<TargetsScreen>(viewer, '/targets', isWanted);
      const [{ discovery, cluster, entry, clusterId } = assert.fail('no cluster is proposed')] = screen.proposed;
      assert.deepEqual([discovery, cluster], ['argo', 'eu-west']);
      return { discovery, cluster, entry, clusterId };
    };
    assert.match(await approve(reader, await seen(reader, '')), /^403 .*reader\\" cannot patch/);
    const shown = await seen(approver, 'approve');
    assert.match(await approve(approver, { ...shown, clusterId: 'another' }), /^400 .*not what you were shown/);
    assert.match(await approve(approver, shown), /^200 .*eu-west is approved\. It becomes a target once its/);
    await Promise.all([reader, approver].map((viewer) => viewer.stop()));
    await rm(dir, { recursive: true });
    const { target } = await untilEntry(world, 'argo', 'eu-west is a target', ({ state }) => state === 'Target');
    assert.equal(target, 'eu-west');
    await untilReady(world, 'eu-west');
    assert.equal(world.clusterTargets.get('eu-west')?.metadata.labels?.['environment'], 'production');
    await runOn('eu-west', 'from-argo');
  });
});

describe('a cluster of Cluster API', () => {
  it('becomes a target when its CRD is installed later, without a restart', async () => {
    await makeRegistryNamespace(world, 'fleet-eu');
    const from = { clusterAPI: {} };
    await discover(world, 'capi', { from, namespaces: ['fleet-eu'], target: { delegation: 'Pod' } });
    await world.discoveries.until('it says what is missing', (all) => all.some(({ metadata, status }) =>
      metadata.name === 'capi' && findCondition(status?.conditions, REGISTRY_READ)?.reason === 'NotServed'));
    await installDefinition(world.source, CLUSTER_API_CLUSTERS);
    const cluster = {
      metadata: { namespace: 'fleet-eu', name: 'prod' }, status: { initialization: { controlPlaneInitialized: false } },
    } as KubernetesObject;
    const { kubeconfig } = world.sandbox.clusters[2]!;
    await writeSecret(
      world, { namespace: 'fleet-eu', name: 'prod-kubeconfig', labels: { 'cluster.x-k8s.io/cluster-name': 'prod' } },
      { value: kubeconfig },
    );
    const served = world.source;
    await assert.doesNotReject(async () => {
      for (let tries = 0; ; tries += 1) {
        try {
          return await served.create(CLUSTER_API_CLUSTERS, cluster);
        } catch (error) {
          if (tries > 200) throw error;
        }
      }
    });
    await untilEntry(world, 'capi', 'prod waits', ({ name, state }) => name === 'prod' && state === 'Waiting');
    await served.patch(CLUSTER_API_CLUSTERS, { namespace: 'fleet-eu', name: 'prod' }, {
      patchType: 'merge', patch: { status: { initialization: { controlPlaneInitialized: true } } },
    });
    await untilEntry(world, 'capi', 'prod is a target', ({ state }) => state === 'Target');
    await untilReady(world, 'prod');
    await runOn('prod', 'from-capi');
  });
});

describe('isthmus export', () => {
  const KINDS: Readonly<Record<string, ResourceType>> = {
    ApplicationSet: APPLICATION_SETS, Kustomization: KUSTOMIZATIONS, MultiKueueCluster: MULTI_KUEUE_CLUSTERS,
    MultiKueueConfig: MULTI_KUEUE_CONFIGS,
  };
  type Stored = KubernetesObject & { readonly spec: object };
  before(async () => {
    await installToolDefinitions(world.source);
    for (const file of await ensureRegistryDefinitions(environment(), world.signal)) {
      if (file.includes('kustomizations')) await installDefinitionFile(world.source, file);
    }
  });

  /** Stores what a command prints, and returns what was stored: fields that the kind does not have are gone. */
  async function stored(...words: readonly string[]): Promise<readonly Stored[]> {
    const { kubeconfigPath } = world.sandbox.clusters[0]!;
    const { stdout, stderr } = await isthmusHere('export', ...words, '--kubeconfig', kubeconfigPath);
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as Stored);
    assert.ok(objects.length > 0, stderr);
    const found: Stored[] = [];
    for (const object of objects) {
      const type = KINDS[object.kind ?? '']!;
      const create = () => world.source.create(type, object).catch((error: unknown) => {
        if (isNotFound(error)) return undefined; // not served yet
        throw error;
      });
      const one = await pollUntil(create, { forMs: 60_000, everyMs: 100 }, world.signal);
      const { spec } = one as Stored;
      assert.deepEqual({ ...spec, ...object.spec }, spec, `${object.kind} has other fields`);
      found.push(one as Stored);
    }
    return found;
  }

  it('names the cluster as Argo CD does, and leaves out one that Argo CD does not have', async () => {
    const [set] = await stored('argocd', '--repo', 'https://git.example/apps', '--to-namespace', 'shop');
    assert.match(JSON.stringify(set?.spec), /"elements":\[\{"cluster":"eu-west","target":"eu-west"\}\]/);
  });

  it('leads Flux to the Secret of each target, which it can use', async () => {
    const all = await stored('flux', '--source', 'GitRepository/apps', '--to-namespace', 'shop');
    assert.deepEqual(all.map(({ metadata }) => metadata.name), ['isthmus-eu-west', 'isthmus-prod']);
    for (const { metadata: { namespace = '' }, spec } of all) {
      const { kubeConfig: { secretRef: { name, key } } } =
        spec as { readonly kubeConfig: { readonly secretRef: { readonly name: string; readonly key: string } } };
      const secret = await world.source.get(SECRETS, { namespace, name });
      const kubeconfigPath = join(world.sandbox.clusters[0]!.directory, `${name}.exported`);
      await writeFile(kubeconfigPath, Buffer.from(secret.data?.[key] ?? '', 'base64'), { mode: 0o600 });
      const { client } = await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' });
      assert.ok(await client.get(NAMESPACES, { name: 'shop' }));
      await client.transport.close();
    }
  });

  it('makes workers of MultiKueue', async () => {
    const all = await stored('kueue', 'prod', 'eu-west');
    assert.deepEqual(all.map(({ kind, metadata }) => `${kind} ${metadata.name}`), [
      'MultiKueueCluster prod', 'MultiKueueCluster eu-west', 'MultiKueueConfig isthmus',
    ]);
  });
});

describe('a ClusterDecision', () => {
  const ARGO = 'argocd';
  const NAMESPACE = 'shop';
  const PRODUCTION = { matchLabels: { environment: 'production' } };
  let decisions: WatchedCollection<ClusterDecision>;
  before(async () => {
    await addToArgo(world, 1, { name: 'us-east', labels: { environment: 'production' } });
    await untilEntry(
      world, 'argo', 'us-east is prod', ({ name, state }) => name === 'us-east' && state === 'Duplicate',
    );
    const labels = { [DECISIONS_LABEL]: DECISIONS_VALUE };
    await world.source.patch(NAMESPACES, { name: ARGO }, { patchType: 'merge', patch: { metadata: { labels } } });
    decisions = await new WatchedCollection(world.source, CLUSTER_DECISIONS).start(world.signal);
  });
  afterEach(async () => {
    for (const { metadata: { name = '' } } of await world.source.list(PLACEMENT_POLICIES, { namespace: NAMESPACE })) {
      await world.source.delete(PLACEMENT_POLICIES, { namespace: NAMESPACE, name });
    }
  });

  const applyPolicy = (spec: PlacementPolicySpec) => world.source.create(
    PLACEMENT_POLICIES, { metadata: { namespace: NAMESPACE, name: 'policy' }, spec } as PlacementPolicy,
  );
  const decide = (namespace: string, name: string, more: object) => world.source.create(
    CLUSTER_DECISIONS, { metadata: { namespace, name }, ...more },
  );
  const decisionIn = (all: readonly ClusterDecision[], name: string) =>
    all.find(({ metadata }) => metadata.name === name);
  const clustersOf = (decision: ClusterDecision | undefined) =>
    decision?.status?.decisions?.map(({ clusterName }) => clusterName).join();

  /** Waits until it names these clusters, and nothing else. */
  async function names(name: string, clusters: string): Promise<void> {
    await decisions.until(
      `${name} names ${clusters}`, (all) => clustersOf(decisionIn(all, name)) === clusters, 60_000,
    );
  }

  async function refused(name: string, reason: string): Promise<void> {
    const all = await decisions.until(`${name} is refused: ${reason}`, (found) =>
      findCondition(decisionIn(found, name)?.status?.conditions, 'Ready')?.reason === reason, 60_000);
    assert.deepEqual(decisionIn(all, name)?.status?.decisions, []);
  }

  it('names clusters as Argo CD does, and follows policies', async () => {
    await decide(ARGO, 'web', { spec: { namespace: NAMESPACE, podLabels: { app: 'web' } } });
    await names('web', 'eu-west,us-east');
    await applyPolicy({ podSelector: { matchLabels: { app: 'web' } }, forbid: PRODUCTION });
    await names('web', 'us-east');
    const metadata = { name: 'policy' };
    await world.source.create(
      CLUSTER_PLACEMENT_POLICIES, { metadata, spec: { require: PRODUCTION } } as ClusterPlacementPolicy,
    );
    await names('web', '');
    await world.source.delete(CLUSTER_PLACEMENT_POLICIES, metadata);
    await names('web', 'us-east');
  });

  it('keeps a cluster that is cordoned, and does not take one that is', async () => {
    const nodeName = virtualNodeName({ kind: 'ClusterTarget', name: 'prod' });
    const cordon = (unschedulable: boolean) => world.source.patch(
      NODES, { name: nodeName }, { patchType: 'merge', patch: { spec: { unschedulable } } },
    );
    await decide(ARGO, 'before', { spec: { namespace: NAMESPACE } });
    await names('before', 'eu-west,us-east');
    await cordon(true);
    try {
      await decide(ARGO, 'after', { spec: { namespace: NAMESPACE } });
      await names('after', 'eu-west');
      assert.equal(clustersOf(decisionIn(decisions.objects, 'before')), 'eu-west,us-east');
    } finally {
      await cordon(false);
    }
    await names('after', 'eu-west,us-east');
  });

  it('can be read as an ApplicationSet does: by name, with texts alone', async () => {
    const found = await world.source.list(
      CLUSTER_DECISIONS, { namespace: ARGO, fieldSelector: 'metadata.name=before' },
    );
    const texts = found.flatMap(({ status }) => status?.decisions ?? []).flatMap((one) => Object.values(one));
    assert.deepEqual(new Set(texts.map((value) => typeof value)), new Set(['string']));
  });

  it('cannot be forged by whoever may write it, who learns nothing of other namespaces', async () => {
    const forged = { decisions: [{ clusterName: 'prod', target: 'eu-west' }] };
    await applyPolicy({ forbid: PRODUCTION });
    await decide(NAMESPACE, 'forged', { spec: {}, status: forged });
    await names('forged', 'us-east');
    await world.source.patch(
      CLUSTER_DECISIONS, { namespace: NAMESPACE, name: 'forged' }, { patchType: 'merge', patch: { status: forged } },
    );
    await decide(NAMESPACE, 'curious', { spec: { namespace: ARGO }, status: forged });
    await refused('curious', 'NamespaceNotAllowed');
    await decide(ARGO, 'uninvited', { status: forged });
    await refused('uninvited', 'NamespaceNotOptedIn');
    assert.equal(clustersOf(decisionIn(decisions.objects, 'forged')), 'us-east');
  });

  it('is put right where its status was written, as far as policies do not allow it', async () => {
    await applyPolicy({ forbid: PRODUCTION });
    const written = { decisions: [
      { clusterName: 'prod', target: 'eu-west' }, { clusterName: 'prod', target: 'prod' },
      { clusterName: 'prod', target: 'none' },
    ] };
    await decide(NAMESPACE, 'written', {});
    await names('written', 'us-east');
    await world.source.patch(
      CLUSTER_DECISIONS, { namespace: NAMESPACE, name: 'written', subresource: 'status' },
      { patchType: 'merge', patch: { status: written } },
    );
    await decisions.until('it was written', (all) => clustersOf(decisionIn(all, 'written')) !== 'us-east');
    await names('written', 'us-east');
  });
});
