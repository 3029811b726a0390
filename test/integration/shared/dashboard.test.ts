// The screens of `isthmus ui` on real control planes: what they show is what is there, and a viewer sees what kubectl
// would show them and not a word more.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import type { PlacementPolicy, PlacementPolicySpec } from '../../../api/kinds/placement-policy.ts';
import { CLUSTER_PLACEMENT_POLICIES, NODES, PLACEMENT_POLICIES, PODS } from '../../../api/resource-types.ts';
import { LISTS } from '../../../dashboard/wire/routes.ts';
import type {
  AnyScreen, DecisionScreen, DecisionsScreen, PodScreen, PoliciesScreen,
} from '../../../dashboard/wire/screens.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { isNotFound, unless } from '../../../kubernetes/flow/api-error.ts';
import { failureText } from '../../../cli/output/error-text.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { isRunning, makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';
import {
  bindRole, makeUser, servePageFor, shownTo, tokenIn, unbindRole, type Viewer,
} from '../../support/page/page-viewers.ts';
import { WRITTEN_CASES } from '../../support/objects/policy-specs.ts';
import { openScreen, signIn, type FollowedScreen } from '../../support/page/scripted-screens.ts';

const COMMAND = fileURLToPath(new URL('../../../cli/main.js', import.meta.url));
const [OURS, OTHERS] = ['page-ours', 'page-others'];
/** In the names, labels and reasons of what a viewer of {@link OURS} may not see. */
const CANARY = 'canary-7f3a';
const HOSTILE = '<img src=x onerror=alert(1)>';
/** May do in {@link OURS} what the ClusterRole `view` lets it do, and nothing elsewhere. */
const VIEWER = { namespace: OURS, name: 'viewer' };

const shared = shareWorld({ nodes: 2, audit: true });
let world: IsthmusWorld;
let dir: string;
let admin: Viewer;
let viewer: Viewer;
let viewerKubeconfig: string;

describe('isthmus ui', () => {
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'isthmus-page-'));
    ({ world } = shared());
    await Promise.all([OURS, OTHERS].map((namespace) => makeNamespace(world, namespace)));
    await world.source.client.create(PLACEMENT_POLICIES, {
      metadata: { namespace: OTHERS, name: `${CANARY}-policy` },
      spec: { forbid: { matchLabels: { 'kubernetes.io/hostname': nodeOf('target-1') } } },
    } as PlacementPolicy);
    await Promise.all([
      create(OURS, 'web', {}), create(OURS, 'too-large', { cpu: '500' }),
      create(OTHERS, `${CANARY}-web`, {}), create(OTHERS, `${CANARY}-large`, { cpu: '500' }),
    ]);
    const isRefused = ({ status }: Pod) => findCondition(status?.conditions, 'PodScheduled')?.status === 'False';
    await world.source.pods.until(
      'all are decided', (pods) => pods.filter(isRunning).length === 2 && pods.filter(isRefused).length === 2, 90_000,
    );
    const { client, cluster: { kubeconfigPath } } = world.source;
    admin = await servePageFor(kubeconfigPath, world);
    viewerKubeconfig = await makeUser(client, VIEWER, { admin: kubeconfigPath, dir }, world.signal);
    await bindRole(client, VIEWER, 'view');
    viewer = await servePageFor(viewerKubeconfig, world);
  }, { timeout: 300_000 });
  after(async () => {
    await admin?.stop();
    await viewer?.stop();
    await leaveWorld(world);
    await rm(dir, { recursive: true, force: true });
  });

  function nodeOf(name: string): string {
    return virtualNodeName({ kind: 'ClusterTarget', name });
  }

  async function create(namespace: string, name: string, { cpu = '100m' }: { readonly cpu?: string }): Promise<void> {
    const requests = { cpu, memory: '64Mi' };
    await world.source.client.create<Pod>(PODS, {
      metadata: { namespace, name, annotations: { [ELECT_ANNOTATION]: '', 'example.com/note': HOSTILE } },
      spec: { containers: [{ name: 'main', image: 'example/main:1', resources: { requests } }] },
    } as Pod);
  }

  describe('an administrator', () => {
    it('sees every target as "isthmus get targets" does', async () => {
      const { screen } = await shownTo<AnyScreen & { readonly screen: 'targets' }>(admin, '/targets');
      assert.deepEqual(screen.targets.map(({ name, state, isCordoned }) => [name, state, isCordoned]), [
        ['target-1', 'Ready', false], ['target-2', 'Ready', false],
      ]);
      assert.equal(screen.targets.reduce((sum, { running = 0 }) => sum + running, 0), 2);
      assert.equal(screen.waiting, 2);
      assert.ok(screen.targets.every(({ freeCpu, freeMemory }) => freeCpu !== undefined && freeMemory !== undefined));
      assert.deepEqual(screen.unreadable, []);
    });

    it('sees workloads, and pods by any filter', async () => {
      const workloads =
        await shownTo<AnyScreen & { readonly screen: 'workloads' }>(admin, `/workloads?namespace=${OURS}`);
      const counts = workloads.screen.rows.map(({ name, pods }) => `${name} ${pods}`);
      assert.deepEqual(counts.toSorted(), ['too-large 1', 'web 1']);
      const waiting = await shownTo<AnyScreen & { readonly screen: 'pods' }>(admin, '/pods?target=none');
      assert.deepEqual(waiting.screen.rows.map(({ name }) => name), [`${CANARY}-large`, 'too-large']);
    });

    it("follows one pod's way: every stage with its time, both ends, and the evaluation of every target", async () => {
      const { screen, text } = await shownTo<PodScreen>(admin, `/pods/${OURS}/web`, ({ evaluation, ...one }) => (
        evaluation !== undefined && one.target !== undefined && one.stages.every(({ state }) => state === 'done')
      ));
      const followed = await Promise.all(world.targets.map(({ pods }) => pods.caughtUp()));
      const delegate = followed.flatMap(({ objects }) => objects)
        .find(({ metadata }) => metadata.namespace === OURS && metadata.name?.startsWith('web'));
      assert.equal(screen.target?.name, delegate?.metadata.name);
      assert.equal(screen.target?.node, delegate?.spec.nodeName);
      assert.deepEqual(screen.stages.filter(({ at }) => at === undefined), []);
      const times = screen.stages.map(({ at = '' }) => Math.floor(Date.parse(at) / 1_000));
      assert.deepEqual(times, times.toSorted((one, other) => one - other), 'in the order of their times');
      assert.deepEqual(screen.evaluation?.targets.map(({ target }) => target).toSorted(), ['target-1', 'target-2']);
      assert.equal(screen.evaluation?.targets.filter(({ answer }) => answer === 'chosen').length, 1);
      assert.ok(screen.source?.events?.some(({ reason }) => reason === 'Scheduled'));
      assert.ok(screen.target?.events !== undefined, 'Events of the target are read');
      assert.deepEqual(screen.unreadable, []);
      assert.ok(!text.includes(HOSTILE), 'annotations are not sent');
    });

    it('sees where a pod would go without a target, and is told when there is no such target', async () => {
      const all = await shownTo<PodScreen>(admin, `/pods/${OURS}/web`, ({ evaluation }) => evaluation !== undefined);
      const chosen = all.screen.evaluation?.targets.find(({ answer }) => answer === 'chosen')?.target ?? '';
      const address = `/pods/${OURS}/web?without=${chosen}`;
      const { screen } = await shownTo<PodScreen>(admin, address, ({ evaluation }) => evaluation !== undefined);
      const other = ['target-1', 'target-2'].filter((name) => name !== chosen);
      assert.deepEqual(screen.evaluation?.targets.map((one) => [one.target, one.answer]), [[other[0], 'chosen']]);
      assert.equal(screen.without, chosen);
      const unknown = await shownTo<PodScreen>(
        admin, `/pods/${OURS}/web?without=nowhere`,
        ({ unreadable }) => unreadable.some(({ why }) => why.includes('nowhere')),
      );
      assert.equal(unknown.screen.evaluation, undefined);
      assert.ok(unknown.screen.unreadable.some(({ why }) => why === 'There is no target nowhere.'));
    });

    it('sees where ten more pods would go, and that nothing was made for it', async () => {
      const { screen } = await shownTo<PodScreen>(
        admin, `/pods/${OURS}/web?replicas=10`, ({ morePods }) => morePods !== undefined,
      );
      const { placed = [], waiting = 0, pods: all } = screen.morePods ?? {};
      assert.deepEqual([all, waiting, placed.reduce((sum, one) => sum + one.pods, 0)], [10, 0, 10]);
      const { screen: large } = await shownTo<PodScreen>(
        admin, `/pods/${OURS}/too-large?replicas=3`, ({ morePods }) => morePods !== undefined,
      );
      assert.deepEqual([large.morePods?.waiting, large.morePods?.placed], [3, []]);
      assert.match(large.morePods?.why.join() ?? '', /lower the request of the pod/);
      const pods = await world.source.client.list(PODS, { namespace: OURS });
      assert.equal(pods.length, 2);
    });

    describe('who supposes that another policy applied', () => {
      const policyAt = { namespace: OURS, name: 'of-others' };
      const requiring = (target: string) =>
        ({ require: { matchLabels: { 'kubernetes.io/hostname': nodeOf(target) } } });
      const makePolicy = (spec: PlacementPolicySpec) =>
        world.source.client.create(PLACEMENT_POLICIES, { metadata: policyAt, spec } as PlacementPolicy);
      afterEach(() => world.source.client.delete(PLACEMENT_POLICIES, policyAt).catch(unless(isNotFound)));
      const withPolicy = (fields: Readonly<Record<string, string>>, isWanted: (screen: PodScreen) => boolean) =>
        shownTo<PodScreen>(admin, `/pods/${OURS}/web?${new URLSearchParams(fields).toString()}`, isWanted);
      const answers = ({ evaluation }: PodScreen) =>
        evaluation?.targets.map(({ target, answer }) => `${target} ${answer}`);
      const policy = 'PlacementPolicy/of-others';

      it('sees where the pod would go with one that there is, and with one that they write', async () => {
        await makePolicy({ podSelector: { matchLabels: { app: 'other' } }, ...requiring('target-2') });
        const { screen } = await withPolicy({ policy }, ({ evaluation }) => evaluation !== undefined);
        assert.deepEqual(answers(screen), ['target-2 chosen', 'target-1 no']);
        assert.deepEqual(screen.choice?.policies, [policy]);
        assert.match(screen.choice?.spec ?? '', /^podSelector:/);
        const spec = JSON.stringify(requiring('target-1'));
        const written = await withPolicy({ policy, spec, replicas: '3' }, ({ morePods }) => morePods !== undefined);
        assert.deepEqual(answers(written.screen), ['target-1 chosen', 'target-2 no']);
        assert.deepEqual(written.screen.morePods?.placed, [{ target: 'target-1', pods: 3 }]);
        const stored = await world.source.client.list<PlacementPolicy>(PLACEMENT_POLICIES, { namespace: OURS });
        assert.deepEqual(stored.map((one) => one.spec.podSelector), [{ matchLabels: { app: 'other' } }]);
      });

      it('sees what the screen shows once the policy is there', async () => {
        const spec = JSON.stringify(requiring('target-1'));
        const whatIf = await withPolicy({ policy, spec }, ({ evaluation }) => evaluation !== undefined);
        await makePolicy(requiring('target-1'));
        const real = await shownTo<PodScreen>(
          admin, `/pods/${OURS}/web`,
          ({ evaluation }) => evaluation?.targets.some(({ answer }) => answer === 'no') === true,
        );
        // scores move with the capacity that a target publishes between the two
        const decided = ({ screen: { evaluation } }: typeof real) =>
          evaluation?.targets.map(({ score: _score, scores: _scores, ...evaluated }) => evaluated);
        assert.deepEqual(real.screen.evaluation?.outcome, whatIf.screen.evaluation?.outcome);
        assert.deepEqual(decided(real), decided(whatIf));
      });

      it('is told what is wrong with a policy, and what to change', async () => {
        const told = ({ unreadable }: PodScreen) => unreadable.find(({ what }) => what.endsWith('with that policy'));
        for (const [fields, why] of [
          [{ policy }, /There is no PlacementPolicy page-ours\/of-others/],
          [{ policy: HOSTILE }, /does not name a policy/],
          [{ spec: 'require: eu' }, /PlacementPolicy page-ours\/what-if is not valid: spec\.require must be an object/],
          [{ policy, spec: '{' }, /is not valid YAML/], [{ spec: `# ${'x'.repeat(7_000)}` }, /at most 6000 are read/],
        ] as const) {
          const asked: Readonly<Record<string, string>> = fields;
          const { screen } = await withPolicy(asked, (each) => told(each) !== undefined);
          assert.match(told(screen)?.why ?? '', why);
          assert.equal(screen.evaluation, undefined, 'nothing is evaluated that was not asked for');
        }
      });

      it('may write what the API server takes, and nothing else', async () => {
        for (const { what, kind, spec, problem, isDropped = false } of WRITTEN_CASES) {
          const isNamespaced = kind === 'PlacementPolicy';
          const metadata = { name: 'written', ...(isNamespaced && { namespace: OURS }) };
          const type = isNamespaced ? PLACEMENT_POLICIES : CLUSTER_PLACEMENT_POLICIES;
          const written = { metadata, spec } as PlacementPolicy;
          const taken = await world.source.client.dryRunCreate(type, written, world.signal)
            .then(() => true, () => false);
          assert.equal(taken, problem === undefined || isDropped, what);
        }
      });
    });

    it('sees why a pod waits, and the smallest change that would let it in', async () => {
      const { screen } = await shownTo<AnyScreen & { readonly screen: 'pending' }>(
        admin, `/pending?namespace=${OURS}`, ({ groups }) => groups[0]?.change !== undefined,
      );
      assert.equal(screen.total, 1);
      const changes = screen.groups[0]?.change?.changes.join() ?? '';
      assert.match(changes, /lower the request of the pod to \S+ cpu instead of 500/);
      const { screen: pod } = await shownTo<PodScreen>(
        admin, `/pods/${OURS}/too-large`, ({ evaluation }) => evaluation !== undefined,
      );
      assert.deepEqual(pod.stages.find(({ state }) => state === 'failed')?.title, 'Target chosen');
      assert.deepEqual(pod.evaluation?.targets.map(({ answer }) => answer), ['no', 'no']);
    });

    it('sees which pods a policy selects, and which targets it excludes', async () => {
      const { screen } = await shownTo<PoliciesScreen>(admin, '/policies', ({ rows }) => rows[0]?.isReady === true);
      assert.deepEqual(
        screen.rows.map(({ name, pods, left, excluded = [] }) => (
          [name, pods, left, excluded.map(({ target, reason }) => [target, reason])]
        )), [[`${CANARY}-policy`, 2, ['target-2'], [['target-1', 'PolicyForbids']]]],
      );
      assert.deepEqual(screen.unreadable, []);
    });

    it('sees what was decided, and how the same functions decide now', async () => {
      const list = `/decisions?namespace=${OURS}`;
      const { screen } = await shownTo<DecisionsScreen>(admin, list, ({ total }) => total > 0);
      const pod = world.source.pods.objects.find(({ metadata }) => metadata.name === 'web');
      const target = ['target-1', 'target-2'].find((name) => pod?.spec.nodeName === nodeOf(name));
      assert.deepEqual(screen.rows.map(({ name, decision }) => [name, decision?.target]), [['web', target]]);
      const { screen: one } = await shownTo<DecisionScreen>(
        admin, `/decisions/${OURS}/web`, ({ outcome }) => outcome !== undefined,
      );
      assert.deepEqual([one.recorded?.target, one.at === undefined, one.unreadable], [target, false, []]);
      const { screen: { evaluation } } =
        await shownTo<PodScreen>(admin, `/pods/${OURS}/web`, ({ evaluation: known }) => known !== undefined);
      const chosen = evaluation?.targets.find(({ answer }) => answer === 'chosen')?.target;
      assert.equal(one.isSame, chosen === target);
      assert.deepEqual(one.targets.map((each) => each.target).toSorted(), ['target-1', 'target-2']);
    });

    it('sees a drain from the cordon on, and its end', async () => {
      const stream = await openScreen(admin, admin.token, '/moves');
      const cordon = async (isCordoned: boolean): Promise<void> => {
        const patch = { spec: { unschedulable: isCordoned || null } };
        await world.source.client.patch(NODES, { name: nodeOf('target-1') }, { patchType: 'merge', patch });
      };
      await stream.until((screen) => screen.screen === 'moves' && screen.total === 0);
      await cordon(true);
      await stream.until((screen) => screen.screen === 'moves' && screen.drains[0]?.target === 'target-1');
      await cordon(false);
      await stream.until((screen) => screen.screen === 'moves' && screen.total === 0);
      stream.end();
    });

    it('sees a pod come and go', async () => {
      const stream = await openScreen(admin, admin.token, `/pods?namespace=${OURS}&text=passing`);
      await stream.until((screen) => screen.screen === 'pods' && screen.total === 0);
      await create(OURS, 'passing', {});
      await stream.until((screen) => screen.screen === 'pods' && screen.rows[0]?.status === 'Running');
      await world.source.client.delete(PODS, { namespace: OURS, name: 'passing' });
      await stream.until((screen) => screen.screen === 'pods' && screen.total === 0);
      stream.end();
    });

    it('is told of a pod that is not there', async () => {
      const { screen } = await shownTo<PodScreen>(admin, `/pods/${OURS}/nothing`);
      assert.deepEqual([screen.pod, screen.unreadable], [undefined, []]);
    });
  });

  describe('the command', () => {
    it('serves the page until it is interrupted, and leaves nothing running', async () => {
      const flags = ['--kubeconfig', viewerKubeconfig, '--port', '0', '--no-open'];
      const command = spawn(process.execPath, [COMMAND, 'ui', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = once(command, 'close');
      const [line] = (await once(createInterface(command.stdout), 'line')) as [string];
      const { origin, pathname, search, hash } = new URL(line);
      assert.equal(pathname + search, `/targets?namespace=${OURS}`, 'begins with what the viewer may list');
      const key = new URLSearchParams(hash.slice(1)).get('key') ?? '';
      const token = await signIn({ origin, key });
      const stream = await openScreen({ origin }, token, `/pods?namespace=${OURS}`);
      await stream.until((screen) => screen.screen === 'pods' && screen.total > 0);
      command.kill('SIGINT');
      await stream.ended;
      assert.deepEqual(await ended, [0, null]);
    });
  });

  describe('the command in a cluster', () => {
    it('uses the token of whoever asks, never the credentials that it was started with', async () => {
      const [authority, [port = 0]] = [await createAuthority('test', 1, new Date()), await freePorts(1)];
      const pair = await authority.issue({ commonName: 'page', dnsNames: ['localhost'], days: 1 }, new Date());
      await Promise.all([
        writeFile(join(dir, 'tls.crt'), pair.certificate), writeFile(join(dir, 'tls.key'), pair.key),
      ]);
      const { cluster: { kubeconfigPath } } = world.source;
      const command = spawn(process.execPath, [
        COMMAND, 'ui-server', '--kubeconfig', kubeconfigPath, '--listen', `127.0.0.1:${port}`, '--tls-folder', dir,
      ], { stdio: ['ignore', 'inherit', 'pipe'] });
      const ended = once(command, 'close');
      const [line] = (await once(createInterface(command.stderr), 'line')) as [string];
      assert.match(line, /"msg":"running"/);
      const asked = async (path: string, token: string): Promise<string> => {
        const headers = { host: 'localhost', authorization: `Bearer ${token}` };
        const sent = request(
          { host: '127.0.0.1', servername: 'localhost', port, path, headers, ca: authority.keyPair.certificate },
        ).end();
        const [answer] = (await once(sent, 'response')) as [IncomingMessage];
        return `${answer.statusCode} ${await text(answer)}`;
      };
      const log = `/api/logs/${OTHERS}/${CANARY}-web/main`;
      assert.match(await asked(log, await tokenIn(viewerKubeconfig)), /^403 .*page-ours:viewer\\" cannot get/);
      assert.match(await asked(log, 'nobody-s'), /^401 /);
      assert.match(await asked('/', ''), /^200 <!doctype html>\s<html data-sign-in="token"/);
      command.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
    });
  });

  describe('the command in a pod', () => {
    it('needs no token of its own: the CA of the cluster alone is mounted', async (test) => {
      const folder = '/run/secrets/kubernetes.io/serviceaccount';
      const script = `mount -t tmpfs none /run && mkdir -p ${folder} && cat > ${folder}/ca.crt && exec "$@"`;
      const own = ['--user', '--map-root-user', '--mount', 'sh', '-c', script, 'sh'];
      if (spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'true']).status !== 0) {
        return test.skip('a mount namespace is needed');
      }
      const [authority, [port = 0]] = [await createAuthority('test', 1, new Date()), await freePorts(1)];
      const pair = await authority.issue({ commonName: 'page', dnsNames: ['localhost'], days: 1 }, new Date());
      await Promise.all([
        writeFile(join(dir, 'tls.crt'), pair.certificate), writeFile(join(dir, 'tls.key'), pair.key),
      ]);
      const { connection } = await openCluster(
        { kubeconfigPath: world.source.cluster.kubeconfigPath, userAgent: 'isthmus-test' },
      );
      const env = {
        PATH: process.env['PATH'], HOME: dir, KUBERNETES_SERVICE_HOST: connection.server.hostname,
        KUBERNETES_SERVICE_PORT: connection.server.port,
      };
      const command = spawn('unshare', [
        ...own, process.execPath, COMMAND, 'ui-server', '--listen', `127.0.0.1:${port}`, '--tls-folder', dir,
      ], { stdio: ['pipe', 'inherit', 'pipe'], env });
      command.stdin.end(connection.certificateAuthority);
      const ended = once(command, 'close');
      const [line] = (await once(createInterface(command.stderr), 'line')) as [string];
      assert.match(line, /"msg":"running"/);
      const ca = authority.keyPair.certificate;
      const asked = async (token: string): Promise<number | undefined> => {
        const headers = { host: 'localhost', authorization: `Bearer ${token}` };
        const path = `/api/logs/${OURS}/web/main`;
        const sent = request({ host: '127.0.0.1', servername: 'localhost', port, path, headers, ca }).end();
        const [answer] = (await once(sent, 'response')) as [IncomingMessage];
        answer.resume();
        return answer.statusCode;
      };
      assert.equal(await asked('nobody-s'), 401);
      assert.notEqual(await asked(await tokenIn(viewerKubeconfig)), 401);
      command.kill('SIGTERM');
      await ended;
    });
  });

  describe('a viewer with permissions in one namespace', () => {
    /** What the API server tells them, as kubectl prints it. */
    async function asKubectl(
      namespace: string | undefined,
    ): Promise<{ readonly names: readonly string[]; readonly error: string }> {
      const { client } = await openCluster({ kubeconfigPath: viewerKubeconfig, userAgent: 'kubectl-like' });
      const answer = await client.list(PODS, { namespace, fieldSelector: 'spec.schedulerName=admiralty-proxy' })
        .then((pods) => ({ names: pods.map(({ metadata: { name = '' } }) => name), error: '' }))
        .catch((error: unknown) => ({ names: [], error: failureText(error) }));
      await client.transport.close();
      return answer;
    }

    it('sees its pods, as kubectl does', async () => {
      const { screen } = await shownTo<AnyScreen & { readonly screen: 'pods' }>(viewer, `/pods?namespace=${OURS}`);
      assert.deepEqual(screen.rows.map(({ name }) => name), [...(await asKubectl(OURS)).names].toSorted());
      assert.deepEqual(screen.unreadable, []);
    });

    it('sees no name, count or reason of another namespace, on any screen', async () => {
      const addresses = [
        ...LISTS.flatMap((list) => [`/${list}`, `/${list}?namespace=${OTHERS}`, `/${list}?namespace=${OURS}`]),
        `/pods/${OURS}/web`, `/pods/${OURS}/too-large`, `/decisions/${OURS}/web`,
      ];
      for (const address of addresses) {
        const { screen, text } = await shownTo(viewer, address);
        assert.ok(!text.includes(CANARY), `${address} shows ${text}`);
        if (!address.includes(OURS)) assert.ok(screen.unreadable.length > 0, `${address} does not say that it may not`);
        if ('total' in screen && !address.includes(OURS)) assert.equal(screen.total, 0, address);
      }
    });

    it('cannot find out which pods there are: one that is there looks like one that is not', async () => {
      const [there, missing] = [`${CANARY}-web`, 'no-such-pod'];
      const [one, other] = await Promise.all([there, missing].map(
        async (name) =>
          (await shownTo(viewer, `/pods/${OTHERS}/${name}`, ({ unreadable }) => unreadable.length > 1)).screen,
      ));
      assert.deepEqual(JSON.parse(JSON.stringify(one).replaceAll(there, missing)), other);
    });

    it('is refused in the words of the API server, and told what to do', async () => {
      for (const namespace of [undefined, OTHERS]) {
        const query = namespace === undefined ? '' : `?namespace=${namespace}`;
        const { screen } = await shownTo<AnyScreen & { readonly screen: 'pods' }>(viewer, `/pods${query}`);
        assert.equal(screen.unreadable[0]?.why, (await asKubectl(namespace)).error);
        assert.notEqual(screen.unreadable[0]?.advice, '');
      }
    });

    it('is refused the log of another namespace, and told no more than that', async () => {
      const answer = await fetch(`${viewer.origin}/api/logs/${OTHERS}/${CANARY}-web/main`, {
        headers: { authorization: `Bearer ${viewer.token}` },
      });
      assert.equal(answer.status, 403);
      assert.match(await answer.text(), /cannot get resource \\"pods\/log\\"/);
    });

    it('sees what the scheduler last said where it may not ask the targets', async () => {
      const { screen } = await shownTo<PodScreen>(viewer, `/pods/${OURS}/too-large`, ({ unreadable }) =>
        unreadable.length > 0
        && !unreadable.some(({ why }) => why.includes('Connecting')));
      assert.equal(screen.evaluation, undefined);
      assert.match(screen.stages.find(({ state }) => state === 'failed')?.note ?? '', /^0\/2 targets are available/);
      assert.ok(screen.unreadable.some(({ advice }) => advice.includes('read the Secrets')));
    });

    it('sees nothing any more once its permissions are withdrawn, though it keeps looking', async () => {
      const stream: FollowedScreen = await openScreen(viewer, viewer.token, `/pods?namespace=${OURS}`);
      await stream.until((screen) => screen.screen === 'pods' && screen.total > 0);
      await unbindRole(world.source.client, VIEWER, 'view');
      await stream.until((screen) => screen.screen === 'pods' && screen.total === 0 && screen.unreadable.length > 0);
      const before = stream.text.length;
      await create(OURS, 'made-later', {});
      await world.source.pods.until('it runs', (pods) => pods.some(({ metadata, status }) => (
        metadata.name === 'made-later' && status?.phase === 'Running'
      )), 60_000);
      assert.ok(!stream.text.slice(before).includes('made-later'));
      await bindRole(world.source.client, VIEWER, 'view');
      await stream.until((screen) => screen.screen === 'pods' && screen.rows.some(({ name }) => name === 'made-later'));
      stream.end();
    });
  });
});
