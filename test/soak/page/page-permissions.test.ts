// Whoever looks at the page sees what kubectl shows with the same token: each screen is compared with what the pure
// functions make of kubectl's own answers, and what happens elsewhere changes not a byte of what they are sent.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type {
  ClusterPlacementPolicy, PlacementPolicy, PlacementPolicySpec,
} from '../../../api/kinds/placement-policy.ts';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  ELECT_ANNOTATION, MOVE_LABEL, PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER, TRUE,
} from '../../../api/objects/keys.ts';
import {
  CLUSTER_PLACEMENT_POLICIES, CLUSTER_ROLES, CLUSTER_TARGETS, DEPLOYMENTS, NAMESPACES, NODES, PLACEMENT_POLICIES, PODS,
  SERVICE_ACCOUNTS, TARGET_DISCOVERIES, TARGETS,
} from '../../../api/resource-types.ts';
import { failureText } from '../../../cli/output/error-text.ts';
import { decisionsScreen } from '../../../dashboard/views/decisions-view.ts';
import { movesScreen } from '../../../dashboard/views/moves-view.ts';
import { policiesScreen, type SeenPolicies } from '../../../dashboard/views/policies-view.ts';
import { podsScreen, workloadsScreen } from '../../../dashboard/views/pod-lists.ts';
import type { Reading } from '../../../dashboard/views/reading.ts';
import { toSeenPod } from '../../../dashboard/views/seen-pod.ts';
import {
  proposalsOf, targetsScreen, type SeenDiscoveries, type SeenSource,
} from '../../../dashboard/views/targets-view.ts';
import { actionBody, actionPath, type Action, type TargetAction } from '../../../dashboard/wire/actions.ts';
import type {
  AnyScreen, PendingScreen, PodScreen, PoliciesScreen, TargetsScreen,
} from '../../../dashboard/wire/screens.ts';
import type { ClusterClient, Selection } from '../../../kubernetes/client/cluster-client.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { eventually } from '../../support/history/eventually.ts';
import { isRunning, makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';
import { CORE_EVENTS } from '../../support/objects/resource-types.ts';
import {
  bindRole, makeUser, servePageFor, serveSharedPage, shownTo, tokenIn, unbindRole, type SharedPage,
  type Viewer,
} from '../../support/page/page-viewers.ts';
import { openScreen, type FollowedScreen } from '../../support/page/scripted-screens.ts';

const [OURS, OTHERS] = ['permissions-ours', 'permissions-others'];
/** In every name, label, message and reason of {@link OTHERS}. */
const CANARY = 'canary-51be';
const TIMES = { gather: 20, heartbeat: 50, stuck: 30_000 };
const ROLES = ['nobody', 'member', 'operator'] as const;
const LISTS = ['/targets', '/workloads', '/pods', '/pending', '/policies', '/decisions', '/moves'];
/** What a viewer may suppose of a pod: with the others as many screens as one may have open. */
const SUPPOSED = [
  `/pods/${OURS}/web?without=target-1&replicas=3`, `/pods/${OURS}/web?policy=PlacementPolicy/ours`,
  `/pods/${OURS}/web?policy=PlacementPolicy/${CANARY}-move`,
  `/pods/${OURS}/web?policy=ClusterPlacementPolicy/all&spec=require:+%7B%7D`,
  `/pods/${OTHERS}/${CANARY}-web?replicas=3`, `/pods/${OTHERS}/${CANARY}-web?policy=ClusterPlacementPolicy/all`,
];

const shared = shareWorld({ nodes: 2, audit: true });
let world: IsthmusWorld;
let dir: string;
const kubeconfigs = new Map<string, string>();
const viewers = new Map<string, Viewer>();

describe('the permissions of viewers', () => {
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'isthmus-permissions-'));
    ({ world } = shared());
    await Promise.all([OURS, OTHERS].map((namespace) => makeNamespace(world, namespace)));
    const { client } = world.source;
    await client.create(CLUSTER_ROLES, { metadata: { name: 'read-targets' }, rules: [
      { apiGroups: ['multicluster.admiralty.io'], resources: ['clustertargets'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['isthmus.dev'], resources: ['clusterplacementpolicies'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
    ] } as never);
    await client.create(CLUSTER_ROLES, { metadata: { name: 'read-policies' }, rules: [
      { apiGroups: ['isthmus.dev'], resources: ['placementpolicies'], verbs: ['get', 'list', 'watch'] },
    ] } as never);
    const all: ClusterPlacementPolicy = { metadata: { name: 'all' }, spec: { weights: { rtt: 1 } } };
    await client.create(CLUSTER_PLACEMENT_POLICIES, all);
    await client.create(PLACEMENT_POLICIES, policyOf(OURS, 'ours', { forbid: { matchLabels: { region: 'moon' } } }));
    await Promise.all([make(OURS, 'web', '100m'), make(OURS, 'too-large', '500')]);
    for (const name of [...ROLES, 'auditor', 'leaver']) await addViewer(name);
    await Promise.all(['member', 'operator', 'auditor', 'leaver'].map((name) => (
      bindRole(client, { namespace: OURS, name }, 'view')
    )));
    await Promise.all(['member', 'operator'].map((name) => (
      bindRole(client, { namespace: OURS, name }, 'read-policies')
    )));
    await bindRole(client, { namespace: OURS, name: 'operator' }, 'read-targets', true);
    await world.source.pods.until('both are decided', (pods) => (
      pods.filter(isRunning).length === 1 && pods.filter(isRefused).length === 1
    ), 90_000);
  }, { timeout: 300_000 });
  after(async () => {
    await Promise.all([...viewers.values()].map((viewer) => viewer.stop()));
    await leaveWorld(world);
    await rm(dir, { recursive: true, force: true });
  });

  const isRefused = ({ status }: Pod): boolean => findCondition(status?.conditions, 'PodScheduled')?.status === 'False';

  async function addViewer(name: string): Promise<void> {
    const { client, cluster: { kubeconfigPath: admin } } = world.source;
    const kubeconfig = await makeUser(client, { namespace: OURS, name }, { admin, dir }, world.signal);
    kubeconfigs.set(name, kubeconfig);
    viewers.set(name, await servePageFor(kubeconfig, { signal: world.signal, times: TIMES }));
  }

  function viewerCalled(name: string): Viewer {
    const viewer = viewers.get(name);
    assert.ok(viewer !== undefined);
    return viewer;
  }

  async function make(namespace: string, name: string, cpu: string): Promise<void> {
    await world.source.client.create<Pod>(PODS, {
      metadata: { namespace, name, annotations: { [ELECT_ANNOTATION]: '' } },
      spec: { containers: [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu } } }] },
    } as Pod);
  }

  const policyOf = (namespace: string, name: string, spec: PlacementPolicySpec, labels = {}): PlacementPolicy =>
    ({ metadata: { namespace, name, labels }, spec: { podSelector: {}, ...spec } });

  const whole = <T>(object: T): T => object;

  /** What `kubectl get` shows with the same token, as the page's own functions take it. */
  async function kubectlSees(
    client: ClusterClient, namespace: string | undefined,
  ): Promise<SeenSource & { readonly policies: SeenPolicies; readonly discovered: SeenDiscoveries }> {
    const read = async <T extends KubernetesObject, R>(
      type: ResourceType<T>, selection: Selection, project: (object: T) => R,
    ): Promise<Reading<R>> => client.list(type, selection).then(
      (objects) => ({ kind: 'read', records: objects.map(project) }),
      (error: unknown) => ({ kind: 'forbidden', message: failureText(error) }),
    );
    const policies = {
      policies: await read(PLACEMENT_POLICIES, { namespace }, whole),
      clusterPolicies: await read(CLUSTER_PLACEMENT_POLICIES, {}, whole), namespaces: await read(NAMESPACES, {}, whole),
    };
    const discovered = { discoveries: await read(TARGET_DISCOVERIES, {}, proposalsOf), actions: [] };
    return {
      policies, discovered, namespace, clusterTargets: await read(CLUSTER_TARGETS, {}, whole),
      targets: await read(TARGETS, { namespace }, whole),
      nodes: await read(NODES, { labelSelector: `${PROVIDER_KEY}=${PROVIDER_VALUE}` }, whole),
      pods: await read(PODS, { namespace, fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` }, toSeenPod),
    };
  }

  type Seen = Awaited<ReturnType<typeof kubectlSees>>;

  const bytesOf = (screen: AnyScreen | undefined): string => JSON.stringify(screen);

  describe('each screen of each role', () => {
    for (const role of ROLES) for (const namespace of [undefined, OURS, OTHERS]) {
      it(`is byte by byte what kubectl shows ${role} of ${namespace ?? 'all namespaces'}`, async () => {
        const viewer = viewerCalled(role);
        const query = namespace === undefined ? '' : `?namespace=${namespace}`;
        for (const [address, make] of [
          ['/targets', ({ discovered, ...source }: Seen) => targetsScreen(source, discovered)],
          ['/workloads', (source: SeenSource) => workloadsScreen(source, {})],
          ['/pods', (source: SeenSource) => podsScreen(source, {})],
          ['/decisions', (source: SeenSource) => decisionsScreen(source, {})],
          ['/policies', ({ policies, ...source }: Seen) => policiesScreen(source, policies, { namespace })],
          ['/moves', ({ policies, ...source }: Seen) => movesScreen(source, policies)],
        ] as const) {
          const expected = bytesOf(make(await kubectlSees(viewer.client, namespace)));
          const { screen } = await shownTo(viewer, address + query, (each) => bytesOf(each) === expected);
          assert.equal(bytesOf(screen), expected);
        }
        const seen = await kubectlSees(viewer.client, namespace);
        const waiting = seen.pods.kind === 'read' ? seen.pods.records.filter(({ waits }) => waits !== undefined) : [];
        const { screen } =
          await shownTo<PendingScreen>(viewer, `/pending${query}`, ({ total }) => total === waiting.length);
        assert.deepEqual(
          screen.groups.flatMap(({ examples }) => examples.map(({ name }) => name)), waiting.map(({ name }) => name),
        );
      });
    }
  });

  describe('a member of a namespace', () => {
    it('sees its policies with its pods, and what they cannot know as unknown', async () => {
      const [viewer, address] = [viewerCalled('member'), `/policies?namespace=${OURS}`];
      const { screen } = await shownTo<PoliciesScreen>(viewer, address, ({ rows }) => rows.length > 0);
      assert.deepEqual(screen.rows.map(({ name, pods, isReady }) => [name, pods, isReady]), [['ours', 2, true]]);
      assert.deepEqual([screen.rows[0]?.excluded, screen.total], [undefined, 1]);
      assert.ok(screen.unreadable.some(({ what }) => what === 'clusterplacementpolicies'));
    });
  });

  describe('what happens in another namespace', () => {
    /** Everything that a neighbour can do: pods that run, wait, fail and go, Events, a Target, and much of each. */
    async function neighbourActs(): Promise<void> {
      const { client } = world.source;
      await Promise.all([
        make(OTHERS, `${CANARY}-web`, '100m'), make(OTHERS, `${CANARY}-large`, '501'),
        make(OTHERS, `${CANARY}-gone`, '100m'),
        client.create(TARGETS, {
          metadata: { namespace: OTHERS, name: `${CANARY}-target` }, spec: { kubeconfigSecret: { name: CANARY } },
        } as never),
        client.create(TARGET_DISCOVERIES, {
          metadata: { name: `${CANARY}-registry` }, spec: { from: { clusterAPI: {} }, namespaces: [OTHERS] },
        } as never),
        client.create(PLACEMENT_POLICIES, policyOf(
          OTHERS, `${CANARY}-move`, { podSelector: { matchLabels: { app: CANARY } } }, { [MOVE_LABEL]: TRUE },
        )),
        client.create(CORE_EVENTS, {
          metadata: { namespace: OTHERS, name: `${CANARY}-event` }, reason: 'Canary', message: CANARY, type: 'Warning',
          involvedObject: { kind: 'Pod', namespace: OTHERS, name: `${CANARY}-web` },
        } as never),
      ]);
      const others = (pods: readonly Pod[]) => pods.filter(({ metadata }) => metadata.namespace === OTHERS);
      await world.source.pods.until('the neighbour is served', (pods) => (
        others(pods).filter(isRunning).length === 2 && others(pods).filter(isRefused).length === 1
      ), 90_000);
      await client.delete(PODS, { namespace: OTHERS, name: `${CANARY}-gone` });
      await world.source.pods.until('one is gone', (pods) => others(pods).length === 2, 90_000);
    }

    it('changes no byte of any stream of those who may not see it', async () => {
      const opened: { readonly what: string; readonly stream: FollowedScreen }[] = [];
      for (const role of ROLES) {
        const addresses = [
          ...LISTS, ...[OURS, OTHERS].flatMap((namespace) => LISTS.map((list) => `${list}?namespace=${namespace}`)),
          `/pods/${OURS}/web`, `/pods/${OURS}/too-large`, `/pods/${OTHERS}/${CANARY}-web`, `/decisions/${OURS}/web`,
          `/decisions/${OTHERS}/${CANARY}-web`,
          ...SUPPOSED,
        ];
        for (const address of addresses) {
          const { origin, token } = viewerCalled(role);
          opened.push({ what: `${role} ${address}`, stream: await openScreen({ origin }, token, address) });
        }
      }
      await Promise.all(opened.map(({ stream }) => (
        stream.until(({ unreadable }) => !unreadable.some(({ why }) => why.startsWith('Connecting')))
      )));
      await Promise.all(opened.map(({ stream }) => stream.heartbeats(20)));
      const before = new Map(opened.map(({ what, stream }) => [what, stream.text.replaceAll(':\n\n', '')]));
      await neighbourActs();
      await make(OURS, 'marker', '100m');
      const marked = opened.find(({ what }) => what === `member /pods?namespace=${OURS}`);
      await marked?.stream.until((screen) => screen.screen === 'pods' && screen.rows.some(
        ({ name, status }) => name === 'marker' && status === 'Running',
      ));
      await Promise.all(opened.map(({ stream }) => stream.heartbeats(2)));
      for (const { what, stream } of opened) {
        const text = stream.text.replaceAll(':\n\n', '');
        const untyped = text.replaceAll(`\\"${CANARY}-web\\" is forbidden`, ''); // the address that was asked for
        assert.ok(!untyped.includes(CANARY), `${what} was sent ${text}`);
        const seesTargets = what.startsWith('operator /targets'); // their free room is shown by kubectl, too
        const seesMarker = !what.startsWith('nobody') && what.endsWith(`?namespace=${OURS}`);
        if (!seesTargets && !seesMarker) assert.equal(text, before.get(what), what);
        stream.end();
      }
      await Promise.all([
        world.source.client.delete(PODS, { namespace: OURS, name: 'marker' }),
        world.source.client.delete(TARGET_DISCOVERIES, { name: `${CANARY}-registry` }),
      ]);
    });

    it('is not counted on the map of those who see the targets', async () => {
      const { screen } =
        await shownTo<AnyScreen & { readonly screen: 'targets' }>(viewerCalled('operator'), '/targets');
      assert.equal(screen.targets.length, 2);
      assert.deepEqual([screen.waiting, ...screen.targets.map(({ pods, running }) => pods ?? running)], [
        undefined, undefined, undefined,
      ]);
    });

    it('cannot be guessed from errors: what is there answers as what is not', async () => {
      for (const role of ROLES) {
        const { origin, token } = viewerCalled(role);
        const asked = async (name: string): Promise<string> => {
          const headers = { authorization: `Bearer ${token}` };
          const logs = await fetch(`${origin}/api/logs/${OTHERS}/${name}/main`, { headers });
          const { screen } = await shownTo(viewerCalled(role), `/pods/${OTHERS}/${name}`, ({ unreadable }) => (
            unreadable.length > 1 && !unreadable.some(({ why }) => why.startsWith('Connecting'))
          ));
          return `${logs.status} ${await logs.text()} ${bytesOf(screen)}`.replaceAll(name, 'NAME');
        };
        assert.equal(await asked(`${CANARY}-web`), await asked('missing'), role);
      }
    });
  });

  describe('one page of the cluster for all of them', () => {
    let page: SharedPage;
    const tokens = new Map<string, string>();
    before(async () => {
      page = await serveSharedPage(world.source.cluster.kubeconfigPath, { signal: world.signal, times: TIMES });
      for (const [name, kubeconfig] of kubeconfigs) tokens.set(name, await tokenIn(kubeconfig));
    });
    after(() => page.stop());

    const asViewer = (name: string): Viewer => ({ ...viewerCalled(name), origin: page.origin, token: tokenOf(name) });
    const tokenOf = (name: string): string => tokens.get(name) ?? '';
    const CLAIMS = {
      'impersonate-user': 'system:admin', 'impersonate-group': 'system:masters', 'x-remote-user': 'system:admin',
      'x-remote-group': 'system:masters', 'x-forwarded-user': 'system:admin', 'x-forwarded-for': '127.0.0.1',
      'x-forwarded-access-token': 'x', 'x-forwarded-host': 'evil.example', forwarded: 'for=127.0.0.1;host=evil.example',
    };

    it('shows each what kubectl shows them, side by side, whatever else a request claims', async () => {
      const addresses = [undefined, OURS, OTHERS].map((namespace) => (
        [namespace, namespace === undefined ? '/pods' : `/pods?namespace=${namespace}`] as const
      ));
      await Promise.all(ROLES.flatMap((role) => addresses.map(async ([namespace, address]) => {
        const expected = bytesOf(podsScreen(await kubectlSees(viewerCalled(role).client, namespace), {}));
        const stream = await openScreen(page, tokenOf(role), address, CLAIMS);
        await stream.until((screen) => bytesOf(screen) === expected);
        stream.end();
      })));
    });

    it('connects to no target, and says so', async () => {
      const { screen } = await shownTo<PodScreen>(asViewer('member'), `/pods/${OURS}/web`, ({ pod, unreadable }) => (
        pod !== undefined && unreadable.some(({ what }) => what === 'the evaluation of targets')
      ));
      assert.equal(screen.evaluation, undefined);
      assert.ok(screen.unreadable.some(({ why }) => why.includes('does not connect to targets')));
      assert.ok(screen.stages.some(({ state }) => state === 'done'), 'the stages in the source are shown');
    });

    it('lets nobody in whom the API server does not know', async () => {
      const wrong = ['', 'nonsense', `${tokenOf('member')}x`, tokenOf('member').split('.').slice(0, 2).join('.')];
      for (const token of wrong) {
        const { origin } = page;
        const headers = { authorization: `Bearer ${token}`, ...CLAIMS };
        assert.equal((await fetch(`${origin}/api/screens/pods`, { headers })).status, 401, token);
        assert.equal((await fetch(`${origin}/api/logs/${OURS}/web/main`, { headers })).status, 401, token);
        const signedIn = await fetch(`${origin}/session`, { method: 'POST', body: token, headers: { origin } });
        assert.equal(signedIn.status, 401, token);
      }
    });

    it('reads logs with the permissions of whoever asks', async () => {
      for (const [role, namespace] of [['nobody', OURS], ['member', OTHERS]] as const) {
        const answer = await fetch(`${page.origin}/api/logs/${namespace}/web/main`, {
          headers: { authorization: `Bearer ${tokenOf(role)}`, ...CLAIMS },
        });
        assert.ok(!answer.ok);
        assert.match(await answer.text(), new RegExp(`system:serviceaccount:${OURS}:${role}\\\\" cannot get`));
      }
    });

    it('signs out whoever the API server does not know any more, and no one else', async () => {
      const { client, cluster: { kubeconfigPath: admin } } = world.source;
      const user = { namespace: OURS, name: 'short-lived' };
      const token = await tokenIn(await makeUser(client, user, { admin, dir }, world.signal));
      await bindRole(client, user, 'view');
      const address = `/pods?namespace=${OURS}`;
      const theirs = await openScreen(page, token, address);
      const other = await openScreen(page, tokenOf('member'), address);
      await Promise.all([theirs, other].map((stream) => (
        stream.until((screen) => screen.screen === 'pods' && screen.total > 0)
      )));
      await client.delete(SERVICE_ACCOUNTS, user);
      await theirs.ended;
      await assert.rejects(openScreen(page, token, address), /refused: 401/);
      await other.heartbeats(2);
      other.end();
    });
  });

  describe('actions', () => {
    const NODE = virtualNodeName({ kind: 'ClusterTarget', name: 'target-2' });

    const act = (name: string, kind: TargetAction['kind'], target: string) => perform(name, { kind, target });
    async function perform(name: string, action: Action): Promise<string> {
      const { origin, token } = viewerCalled(name);
      const headers = { authorization: `Bearer ${token}`, origin };
      const answer = await fetch(
        origin + actionPath(action), { method: 'POST', body: actionBody(action), headers },
      );
      return `${answer.status} ${((await answer.json()) as { readonly message: string }).message}`;
    }
    /** Resolves once the API server has logged so many calls of a user to a path. */
    async function untilAudited(path: string, verb: string, user: string, calls: number): Promise<void> {
      const { auditLog = '' } = world.source.cluster;
      const whoCalled = async () => (await readFile(auditLog, 'utf8')).split('\n')
        .filter((line) => line.includes(path) && line.includes(`"verb":"${verb}"`) && line.includes('ResponseComplete'))
        .map((line) => (JSON.parse(line) as { readonly user: { readonly username: string } }).user.username);
      const name = `system:serviceaccount:${OURS}:${user}`;
      await eventually(`the audit log has ${verb} ${path}`, async () => (
        (await whoCalled()).filter((each) => each === name).length === calls ? true : undefined
      ));
    }
    const node = () => world.source.client.get(NODES, { name: NODE });
    const offeredTo = async (name: string, isWanted: (actions: readonly string[]) => boolean) => (
      (await shownTo<TargetsScreen>(viewerCalled(name), '/targets', ({ actions }) => isWanted(actions))).screen.actions
    );

    it('are offered to those whose permissions allow them, from the time that they do', async () => {
      const user = { namespace: OURS, name: 'keeper' };
      await addViewer('keeper');
      await bindRole(world.source.client, user, 'read-targets', true);
      const stream = await openScreen(viewerCalled('keeper'), viewerCalled('keeper').token, '/targets');
      await stream.until((screen) => screen.screen === 'targets' && screen.targets.length === 2);
      await stream.heartbeats(20);
      assert.ok(stream.last?.screen === 'targets' && stream.last.actions.length === 0);
      await world.source.client.create(CLUSTER_ROLES, { metadata: { name: 'patch-nodes' }, rules: [
        { apiGroups: [''], resources: ['nodes'], verbs: ['patch'] },
      ] } as never);
      await bindRole(world.source.client, user, 'patch-nodes', true);
      await stream.until((screen) => screen.screen === 'targets' && screen.actions.join() === 'cordon,uncordon');
      stream.end();
      assert.deepEqual(await offeredTo('operator', () => true), []);
    });

    it('are done with the token of whoever asks: the API server knows their name', async () => {
      assert.equal(await act('keeper', 'cordon', 'target-2'), '200 Target target-2 is cordoned.');
      assert.equal((await node()).spec?.unschedulable, true);
      assert.equal(await act('keeper', 'uncordon', 'target-2'), '200 Target target-2 is uncordoned.');
      assert.equal((await node()).spec?.unschedulable, undefined);
      await untilAudited(`/nodes/${NODE}`, 'patch', 'keeper', 2);
    });

    it('are refused by the API server where permissions are missing, whatever the page offers', async () => {
      for (const name of ['nobody', 'member', 'operator']) {
        assert.match(await act(name, 'cordon', 'target-2'), new RegExp(`^403 .*${OURS}:${name}" cannot`), name);
      }
      assert.match(await act('keeper', 'drain', 'target-2'), /^403 .*keeper" cannot list resource "pods"/);
      const { spec } = await node();
      assert.equal(spec?.unschedulable, true, 'a drain cordons first, as the command does');
      await act('keeper', 'uncordon', 'target-2');
    });

    describe('to move pods', () => {
      const deployment = { namespace: OURS, name: 'moved' };
      before(async () => {
        const { client } = world.source;
        await client.create(CLUSTER_ROLES, { metadata: { name: 'move-pods' }, rules: [
          { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
          { apiGroups: ['isthmus.dev'], resources: ['placementpolicies'], verbs: ['create', 'get', 'delete'] },
        ] } as never);
        await addViewer('mover');
        const user = { namespace: OURS, name: 'mover' };
        for (const role of ['view', 'move-pods']) await bindRole(client, user, role);
        await bindRole(client, user, 'read-targets', true);
        const template = {
          metadata: { labels: { app: 'moved' }, annotations: { [ELECT_ANNOTATION]: '' } },
          spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
        };
        const spec = { replicas: 1, selector: { matchLabels: { app: 'moved' } }, template };
        await client.create(DEPLOYMENTS, { metadata: deployment, spec } as KubernetesObject);
      });
      after(() => world.source.client.delete(DEPLOYMENTS, deployment, { propagation: 'Background' }));

      const running = async (): Promise<Pod> => {
        const isIt = (pod: Pod) => pod.metadata.labels?.['app'] === 'moved' && isRunning(pod)
          && pod.metadata.deletionTimestamp === undefined;
        const pods = await world.source.pods.until('it runs', (all) => all.filter(isIt).length === 1, 90_000);
        const [pod] = pods.filter(isIt);
        assert.ok(pod !== undefined);
        return pod;
      };
      const nodeName = (target: string) => virtualNodeName({ kind: 'ClusterTarget', name: target });

      it('are offered on the screen of a pod to whoever may, and to nobody else', async () => {
        const address = `/pods/${OURS}/${(await running()).metadata.name}`;
        await shownTo<PodScreen>(viewerCalled('mover'), address, ({ actions }) => actions.join() === 'move');
        const stream = await openScreen(viewerCalled('member'), viewerCalled('member').token, address);
        await stream.until((screen) => screen.screen === 'pod' && screen.pod !== undefined);
        await stream.heartbeats(20);
        assert.ok(stream.last?.screen === 'pod' && stream.last.actions.length === 0);
        stream.end();
      });

      it('are done by the code of the command, with the token of whoever asks', async () => {
        const pod = await running();
        const { name = '' } = pod.metadata;
        const to = pod.spec.nodeName === nodeName('target-1') ? 'target-2' : 'target-1';
        const answer = await perform('mover', { kind: 'move', namespace: OURS, name, target: to });
        assert.match(answer, new RegExp(`^200 Pod ${OURS}/moved-\\S+ runs in ${to}\\.$`));
        const replacement = await running();
        assert.deepEqual([replacement.spec.nodeName, replacement.metadata.name === name], [nodeName(to), false]);
        const policies = await world.source.client.list(PLACEMENT_POLICIES, { namespace: OURS });
        assert.deepEqual(policies.map(({ metadata }) => metadata.name), ['ours'], 'the temporary policy is gone');
        await untilAudited(`/pods/${name}/eviction`, 'create', 'mover', 1);
      });

      it('are done to the end though the browser is gone, and leave nothing behind', async () => {
        const pod = await running();
        const { name = '' } = pod.metadata;
        const target = pod.spec.nodeName === nodeName('target-1') ? 'target-2' : 'target-1';
        const action: Action = { kind: 'move', namespace: OURS, name, target };
        const { origin, token } = viewerCalled('mover');
        const gone = new AbortController();
        const asked = fetch(origin + actionPath(action), {
          method: 'POST', body: actionBody(action), headers: { authorization: `Bearer ${token}`, origin },
          signal: gone.signal,
        });
        const policies = () => world.source.client.list(PLACEMENT_POLICIES, { namespace: OURS });
        await eventually('the move has begun', async () => (await policies()).length > 1);
        gone.abort();
        await assert.rejects(asked, /abort/);
        await eventually('its policy is gone', async () => (await policies()).length === 1);
        assert.equal((await running()).spec.nodeName, nodeName(target));
      });

      it('are refused by the API server where permissions are missing, and nothing is left behind', async () => {
        const { metadata: { name = '', uid }, spec } = await running();
        const to = spec.nodeName === nodeName('target-1') ? 'target-2' : 'target-1';
        for (const user of ['nobody', 'member', 'operator']) {
          const answer = await perform(user, { kind: 'move', namespace: OURS, name, target: to });
          assert.match(answer, new RegExp(`^403 .*${OURS}:${user}" cannot`), user);
        }
        const others = await perform('mover', { kind: 'move', namespace: OTHERS, name: `${CANARY}-web`, target: to });
        assert.match(others, /^403 .*mover" cannot get resource "pods".* in the namespace "permissions-others"/);
        assert.equal((await running()).metadata.uid, uid);
      });
    });

    it('take no name that is none, nor one of no target', async () => {
      for (const name of ['<img src=x onerror=alert(1)>', '../../nodes/x', 'a/b/c', '', 'ä', 'x'.repeat(200)]) {
        assert.match(await act('keeper', 'cordon', name), /^400 /, name);
      }
      assert.match(await act('keeper', 'cordon', 'nowhere'), /^403 .*keeper" cannot list resource "targets"/);
    });
  });

  describe('somebody who may evaluate targets, and not read all policies', () => {
    it('is not told which there are, and nothing is evaluated without them', async () => {
      const { client } = world.source;
      const user = { namespace: OURS, name: 'planner' };
      await addViewer('planner');
      await client.create(CLUSTER_ROLES, { metadata: { name: 'plan' }, rules: [
        { apiGroups: [''], resources: ['pods', 'nodes', 'namespaces'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: [''], resources: ['secrets', 'configmaps'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: ['multicluster.admiralty.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
      ] } as never);
      await bindRole(client, user, 'plan', true);
      const shown = async (query: string): Promise<PodScreen> => (await shownTo<PodScreen>(
        viewerCalled('planner'), `/pods/${OURS}/web?${query}`,
        ({ evaluation, unreadable }) => unreadable.some(({ what }) => what.startsWith('events'))
          && (evaluation !== undefined || unreadable.some(({ what }) => what.includes('with that policy')))
          && !unreadable.some(({ why }) => why.startsWith('Connecting')),
      )).screen;
      const [there, missing] =
        [await shown('policy=ClusterPlacementPolicy/all'), await shown('policy=ClusterPlacementPolicy/nil')];
      assert.deepEqual([there.choice, missing.choice], [{ policies: [] }, { policies: [] }]);
      assert.deepEqual([there.evaluation, there.unreadable], [undefined, missing.unreadable]);
      assert.ok(there.unreadable.some(({ why }) => why === 'Placement policies cannot be read.'));
      const plain = await shown('');
      assert.ok(plain.evaluation?.targets.every(({ rejections }) => rejections[0]?.reason === 'PoliciesUnknown'));
      await unbindRole(client, user, 'plan', true);
    });
  });

  describe('permissions that are withdrawn while somebody looks', () => {
    it('take the evaluation of targets along, which was made from pods of all namespaces', async () => {
      const { client } = world.source;
      const [auditor, user] = [viewerCalled('auditor'), { namespace: OURS, name: 'auditor' }];
      await bindRole(client, user, 'cluster-admin', true);
      const pod = await openScreen(auditor, auditor.token, `/pods/${OURS}/too-large?policy=ClusterPlacementPolicy/all`);
      const pending = await openScreen(auditor, auditor.token, '/pending');
      await pod.until((screen) => (screen as PodScreen).choice?.whatIf !== undefined);
      await pending.until((screen) => (screen as PendingScreen).groups.some(({ change }) => change !== undefined));
      await unbindRole(client, user, 'cluster-admin', true);
      await pod.until((screen) => (screen as PodScreen).evaluation === undefined && screen.unreadable.length > 0);
      assert.equal((pod.last as PodScreen).choice, undefined);
      await pending.until((screen) => (screen as PendingScreen).total === 0 && screen.unreadable.length > 0);
      const before = [pod.text.length, pending.text.length] as const;
      await make(OTHERS, `${CANARY}-later`, '502');
      await world.source.pods.until('it is refused', (pods) => pods.some((each) => (
        each.metadata.name === `${CANARY}-later` && isRefused(each)
      )), 90_000);
      await Promise.all([pod, pending].map((stream) => stream.heartbeats(5)));
      assert.ok(!pod.text.slice(before[0]).includes(CANARY) && !pod.text.slice(before[0]).includes('"evaluation"'));
      assert.ok(!pending.text.slice(before[1]).includes(CANARY));
      for (const stream of [pod, pending]) stream.end();
    });

    it('are all of them gone with the token: nothing is shown after', async () => {
      const leaver = viewerCalled('leaver');
      const addresses = [`/pods?namespace=${OURS}`, `/workloads?namespace=${OURS}`, `/pods/${OURS}/web`];
      const streams = await Promise.all(addresses.map((address) => openScreen(leaver, leaver.token, address)));
      await Promise.all(streams.map((stream) => stream.until((screen) => (
        'total' in screen ? screen.total > 0 : screen.screen === 'pod' && screen.pod !== undefined
      ))));
      await world.source.client.delete(SERVICE_ACCOUNTS, { namespace: OURS, name: 'leaver' });
      await Promise.all(streams.map((stream) => stream.until((screen) => screen.unreadable.length > 0 && (
        'total' in screen ? screen.total === 0 : screen.screen === 'pod' && screen.pod === undefined
      ))));
      const before = streams.map(({ text }) => text.length);
      await make(OURS, 'after-leaving', '100m');
      await world.source.pods.until('it runs', (pods) => pods.some((pod) => (
        pod.metadata.name === 'after-leaving' && isRunning(pod)
      )), 90_000);
      await Promise.all(streams.map((stream) => stream.heartbeats(5)));
      for (const [index, stream] of streams.entries()) {
        assert.ok(!stream.text.slice(before[index]).includes('after-leaving'), addresses[index]);
        stream.end();
      }
      const log = await fetch(`${leaver.origin}/api/logs/${OURS}/web/main`, {
        headers: { authorization: `Bearer ${leaver.token}` },
      });
      assert.equal(log.status, 401);
      assert.match(await log.text(), /Unauthorized/);
    });
  });
});
