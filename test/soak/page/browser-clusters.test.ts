// The page in Debian's chromium on real control planes: each role, texts of a hostile target, a target and a source
// that are lost while somebody looks, and a token that is revoked while its screen is open.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { DEPLOYMENTS, PLACEMENT_POLICIES, PODS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import { LISTS } from '../../../dashboard/wire/routes.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { startChromium } from '../../support/page/chromium.ts';
import { isRunning, makeNamespace, startWorld, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { RelayToTarget } from '../../support/faults/lost-target.ts';
import { CORE_EVENTS } from '../../support/objects/resource-types.ts';
import { bindRole, makeUser, servePageFor, type Viewer } from '../../support/page/page-viewers.ts';

const [OURS, OTHERS] = ['browser-ours', 'browser-others'];
const CANARY = 'canary-93d0';
const HOSTILE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
const ROLES = ['nobody', 'member', 'leaver'] as const;
const SCREENS = [
  ...LISTS.map((list) => `/${list}`), `/pods/${OURS}/web`, `/pods/${OURS}/too-large`, `/decisions/${OURS}/web`,
  `/pods/${OURS}/web?without=target-1`, `/pods/${OURS}/web?replicas=5`, `/pods/${OURS}/web?spec=require:+%7B%7D`,
];

let world: IsthmusWorld;
let browser: Browser;
let dir: string;
const viewers = new Map<string, Viewer>();

before(async () => {
  [browser, dir] = await Promise.all([startChromium(), mkdtemp(join(tmpdir(), 'isthmus-browser-'))]);
  world = await startWorld({ targets: 2, nodes: 2 });
  await Promise.all([OURS, OTHERS].map((namespace) => makeNamespace(world, namespace)));
  const { client, cluster: { kubeconfigPath: admin } } = world.source;
  for (const name of ROLES) {
    const kubeconfig = await makeUser(client, { namespace: OURS, name }, { admin, dir }, world.signal);
    viewers.set(name, await servePageFor(kubeconfig, world));
    if (name !== 'nobody') await bindRole(client, { namespace: OURS, name }, 'view');
  }
  viewers.set('administrator', await servePageFor(admin, world));
  await Promise.all([make(OURS, 'web'), make(OURS, 'too-large', '500'), make(OTHERS, `${CANARY}-web`)]);
  const isRefused = ({ status }: Pod) => findCondition(status?.conditions, 'PodScheduled')?.status === 'False';
  await world.source.pods.until('all are decided', (pods) => (
    pods.filter(isRunning).length === 2 && pods.filter(isRefused).length === 1
  ), 120_000);
}, { timeout: 300_000 });
after(async () => {
  await browser?.close();
  await Promise.all([...viewers.values()].map((viewer) => viewer.stop()));
  await world?.stop();
  await rm(dir, { recursive: true, force: true });
});

async function make(namespace: string, name: string, cpu = '100m'): Promise<void> {
  await world.source.client.create<Pod>(PODS, {
    metadata: { namespace, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu } } }] },
  } as Pod);
}

/** A tab of the viewer in a browser of its own, with what its console complained of. */
async function tabOf(name: string): Promise<{
  readonly page: Page; readonly complaints: string[]; readonly open: (address: string) => Promise<void>;
  readonly close: () => Promise<void>
}> {
  const viewer = viewers.get(name);
  assert.ok(viewer !== undefined);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
  await page.addInitScript({ content: `sessionStorage.setItem('isthmus-session', ${JSON.stringify(viewer.token)})` });
  return {
    page, complaints, close: () => context.close(),
    open: async (address) => {
      await page.goto(viewer.origin + address);
      await page.locator('.connection.live').waitFor();
      await page.getByText('Loading…').waitFor({ state: 'detached' });
    },
  };
}

const isOfOnePod = (address: string): boolean => address.split('/').length > 2;
const hostNameOf = (name: string): string => virtualNodeName({ kind: 'ClusterTarget', name });

describe('every screen', () => {
  it('shows an administrator what is there', async () => {
    const { page, complaints, open, close } = await tabOf('administrator');
    await open('/targets');
    await page.getByText('2 of 2 targets accept pods').waitFor();
    assert.equal(await page.locator('svg.map rect.box').count(), 3, 'the source and both targets');
    await open('/workloads');
    await page.locator('tbody').getByRole('link', { name: 'too-large', exact: true }).waitFor();
    await open('/pods');
    await page.locator('tbody').getByRole('link', { name: `${CANARY}-web`, exact: true }).waitFor();
    await open('/pending');
    await page.getByText(/lower the request of the pod to/).first().waitFor();
    await open(`/pods/${OURS}/web`);
    await page.locator('main').getByText('target-1').first().waitFor();
    await open('/policies');
    await page.getByText('No policies yet').waitFor();
    await open('/moves');
    await page.getByText('Nothing in progress').waitFor();
    await open('/decisions');
    await page.locator('tbody').getByRole('link', { name: `${CANARY}-web`, exact: true }).waitFor();
    await open(`/decisions/${OURS}/web`);
    await page.getByRole('heading', { name: 'Decided now' }).waitFor();
    assert.deepEqual(complaints, []);
    await close();
  });

  it('evaluates a pod as if a policy applied that the viewer writes, by keyboard alone', async () => {
    const { page, complaints, open, close } = await tabOf('administrator');
    await open(`/pods/${OURS}/web`);
    const evaluation = page.getByRole('region', { name: 'Evaluation of targets' });
    const rejected = evaluation.locator('tbody tr', { hasText: 'Rejected' });
    await page.getByText('Write its spec').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type(`require: {matchLabels: {kubernetes.io/hostname: ${hostNameOf('target-2')}}}`);
    await page.getByRole('button', { name: 'Evaluate', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `What if PlacementPolicy ${OURS}/what-if, as written below,` }).waitFor();
    assert.match(await rejected.innerText(), /^target-1.*PolicyRequires: PlacementPolicy \S+\/what-if requires/s);
    await page.getByLabel('Spec of the policy').fill('required: {}');
    await page.getByRole('button', { name: 'Evaluate', exact: true }).click();
    await page.getByRole('note').getByText('spec.required is not a field; the fields').waitFor();
    assert.equal(await page.getByLabel('Spec of the policy').inputValue(), 'required: {}');
    assert.deepEqual(await world.source.client.list(PLACEMENT_POLICIES, {}), []);
    assert.deepEqual(complaints, []);
    await close();
  });

  it('shows a member of one namespace that namespace, and anyone without permissions what to do', async () => {
    for (const role of ['member', 'nobody']) {
      const { page, complaints, open, close } = await tabOf(role);
      for (const [address, query] of SCREENS.flatMap((screen) => (
        (isOfOnePod(screen) ? [''] : ['', `?namespace=${OURS}`]).map((each) => [screen, each] as const)
      ))) {
        await open(address + query);
        await page.locator('main .notice, main table, main .empty').first().waitFor();
        const text = await page.locator('body').innerText();
        assert.ok(!text.includes(CANARY), `${role} sees ${text} on ${address}`);
        const isAllowed = role === 'member' && (query !== '' || isOfOnePod(address));
        if (!isAllowed) assert.match(text, /Cannot show/, `${role} ${address}${query}`);
        if (isAllowed && address === '/pods') assert.match(text, /too-large/);
      }
      assert.deepEqual(complaints, []);
      await close();
    }
  });
});

describe('every action', () => {
  const deployment = { namespace: OURS, name: 'movable' };
  before(async () => {
    const labels = { app: 'movable' };
    const template = {
      metadata: { labels, annotations: { [ELECT_ANNOTATION]: '' } },
      spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
    };
    const spec = { replicas: 1, selector: { matchLabels: labels }, template };
    await world.source.client.create(DEPLOYMENTS, { metadata: deployment, spec } as KubernetesObject);
  });
  after(() => world.source.client.delete(DEPLOYMENTS, deployment, { propagation: 'Background' }));

  const movable = async (isWanted: (pod: Pod) => boolean = () => true): Promise<Pod> => {
    const isIt = (pod: Pod) => pod.metadata.labels?.['app'] === 'movable' && isRunning(pod) && isWanted(pod)
      && pod.metadata.deletionTimestamp === undefined;
    const pod = (await world.source.pods.until('it runs', (all) => all.some(isIt), 120_000)).find(isIt);
    assert.ok(pod !== undefined);
    return pod;
  };
  const targetOf = ({ spec }: Pod): string => (
    ['target-1', 'target-2'].find((name) => spec.nodeName === virtualNodeName({ kind: 'ClusterTarget', name })) ?? ''
  );
  const confirm = async (page: Page, question: string, verb: string): Promise<void> => {
    await page.getByRole('dialog', { name: question }).getByRole('button', { name: verb, exact: true }).click();
  };

  it('of a target is done by its buttons, and seen on the screen: cordon, uncordon, drain', async () => {
    const { page, complaints, open, close } = await tabOf('administrator');
    const target = targetOf(await movable());
    const other = target === 'target-1' ? 'target-2' : 'target-1';
    await open('/targets');
    const told = page.getByRole('status');
    await page.getByRole('button', { name: `Cordon ${other}` }).click();
    await confirm(page, `Cordon ${other}?`, 'Cordon');
    await told.getByText(`Target ${other} is cordoned.`).waitFor();
    await page.getByText('1 of 2 targets accepts pods').waitFor();
    await page.getByRole('button', { name: `Uncordon ${other}` }).click();
    await confirm(page, `Uncordon ${other}?`, 'Uncordon');
    await told.getByText(`Target ${other} is uncordoned.`).waitFor();
    await page.getByText('2 of 2 targets accept pods').waitFor();
    await page.getByRole('button', { name: `Drain ${target}` }).click();
    await confirm(page, `Drain ${target}?`, 'Drain');
    await page.getByText(/No controller would recreate these pods|is drained\./).waitFor({ timeout: 120_000 });
    await page.getByRole('button', { name: `Uncordon ${target}` }).click();
    await confirm(page, `Uncordon ${target}?`, 'Uncordon');
    await page.getByText('2 of 2 targets accept pods').waitFor();
    const refusal = '400 (Bad Request)'; // of a drain, where a pod has no controller
    assert.deepEqual(complaints.filter((line) => !line.includes(refusal)), []);
    await close();
  });

  it('of a pod is done by its form: a move', async () => {
    const { page, complaints, open, close } = await tabOf('administrator');
    const pod = await movable();
    const { name = '' } = pod.metadata;
    const to = targetOf(pod) === 'target-1' ? 'target-2' : 'target-1';
    await open(`/pods/${OURS}/${name}`);
    await page.getByLabel('Move to target').fill(to);
    await page.getByRole('button', { name: 'Move…' }).click();
    await confirm(page, `Move ${OURS}/${name} to ${to}?`, 'Move');
    await page.getByRole('status').getByText(/^Pod \S+ runs in target-\d\.$/).waitFor({ timeout: 120_000 });
    assert.equal(targetOf(await movable(({ metadata }) => metadata.name !== name)), to);
    assert.deepEqual(complaints, []);
    await close();
  });

  it('is offered to nobody whose permissions do not allow it', async () => {
    const { metadata: { name = '' } } = await movable();
    for (const role of ['member', 'nobody']) {
      const { page, open, close } = await tabOf(role);
      for (const address of ['/targets', `/targets?namespace=${OURS}`, `/pods/${OURS}/${name}`]) {
        await open(address);
        await page.locator('main .notice, main table').first().waitFor();
        assert.equal(await page.locator('[data-action], [data-move]').count(), 0, `${role} ${address}`);
      }
      await close();
    }
  });
});

describe('a hostile target', () => {
  it('cannot put anything into the page but text', async () => {
    const target = world.targets.find(({ pods }) => pods.objects.some(({ metadata }) => metadata.namespace === OURS));
    const delegate = target?.pods.objects.find(({ metadata }) => metadata.namespace === OURS);
    assert.ok(target !== undefined && delegate !== undefined);
    const at = { namespace: OURS, name: delegate.metadata.name ?? '' };
    await target.client.create(CORE_EVENTS, {
      metadata: { namespace: OURS, name: 'hostile' }, type: 'Warning', reason: `Hostile${HOSTILE}`, message: HOSTILE,
      involvedObject: { kind: 'Pod', apiVersion: 'v1', uid: delegate.metadata.uid, ...at },
    } as unknown as KubernetesObject);
    const condition = { type: 'example.com/hostile', status: 'False', reason: 'Hostile', message: HOSTILE };
    await target.client.patch(PODS, { ...at, subresource: 'status' }, {
      patchType: 'strategic', patch: { status: { conditions: [condition] } },
    });
    const { page, complaints, open, close } = await tabOf('administrator');
    await open(`/pods/${OURS}/web`);
    await page.locator('main').getByText(HOSTILE).first().waitFor({ state: 'attached' });
    assert.equal(await page.locator('main img, main script, main [onerror]').count(), 0);
    assert.equal(await page.evaluate("'broken' in globalThis"), false);
    assert.deepEqual(complaints, []);
    await close();
  });
});

describe('while somebody looks', () => {
  it('a target that is lost is shown as lost, with its pods, and as ready when it is back', async () => {
    const [target] = world.targets;
    const relay = await RelayToTarget.divert(world, target);
    const { page, open, close } = await tabOf('administrator');
    await open('/targets');
    const row = page.locator('tbody tr').filter({ hasText: target.cluster.name }).first();
    await row.locator('.pill.good').waitFor();
    const pods = await row.locator('td.number').nth(1).innerText();
    await relay.lose('refuse');
    await row.locator('.pill.bad').waitFor({ timeout: 90_000 });
    await page.getByText('1 of 2 targets accepts pods').waitFor();
    assert.equal(await row.locator('td.number').nth(1).innerText(), pods);
    await relay.heal();
    await row.locator('.pill.good').waitFor({ timeout: 90_000 });
    await relay.restore();
    await close();
  });

  it('the source that does not answer leaves what was read, and the page says that it may be out of date', async () => {
    const { page, open, close } = await tabOf('administrator');
    await open('/pods');
    await page.locator('tbody').getByRole('link', { name: 'too-large', exact: true }).waitFor();
    await world.source.cluster.stopComponent('kube-apiserver');
    await page.getByText('may be out of date').first().waitFor({ timeout: 60_000 });
    assert.ok(await page.locator('tbody').getByRole('link', { name: 'too-large', exact: true }).isVisible());
    await world.source.cluster.startComponent('kube-apiserver');
    await page.getByText('may be out of date').first().waitFor({ state: 'detached', timeout: 120_000 });
    await close();
  });

  it('a token that is revoked takes everything from the screen, and nothing is shown after', async () => {
    const { page, open, close } = await tabOf('leaver');
    await open(`/pods?namespace=${OURS}`);
    await page.locator('tbody').getByRole('link', { name: 'too-large', exact: true }).waitFor();
    await world.source.client.delete(SERVICE_ACCOUNTS, { namespace: OURS, name: 'leaver' });
    await page.getByText(/Cannot show pods.*does not accept the credentials/).waitFor({ timeout: 60_000 });
    assert.equal(await page.locator('tbody').count(), 0);
    await make(OURS, 'after-leaving');
    await world.source.pods.until('it runs', (all) => all.some((pod) => (
      pod.metadata.name === 'after-leaving' && isRunning(pod)
    )), 90_000);
    assert.ok(!(await page.locator('body').innerText()).includes('after-leaving'));
    await open(`/pods?namespace=${OURS}`);
    assert.ok(!(await page.locator('body').innerText()).includes('after-leaving'));
    await close();
  });
});

describe('a drain', () => {
  const deployment = { namespace: OURS, name: 'drainable' };
  const REPLICAS = 4;
  const ourPods = (pods: readonly Pod[]): readonly Pod[] => pods.filter(({ metadata, status }) => (
    metadata.labels?.['app'] === 'drainable' && metadata.deletionTimestamp === undefined && status?.phase === 'Running'
  ));
  const on = (pods: readonly Pod[], target: string): readonly Pod[] =>
    ourPods(pods).filter(({ spec }) => spec.nodeName === virtualNodeName({ kind: 'ClusterTarget', name: target }));

  /** A pod without a controller would hold it up. */
  before(async () => {
    const { client, pods } = world.source;
    await Promise.all(pods.objects.filter(({ metadata }) => metadata.ownerReferences === undefined).map(
      ({ metadata: { namespace, name = '' } }) => client.delete(PODS, { namespace, name }),
    ));
    const labels = { app: 'drainable' };
    const template = {
      metadata: { labels, annotations: { [ELECT_ANNOTATION]: '' } },
      spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
    };
    const spec = { replicas: REPLICAS, selector: { matchLabels: labels }, template };
    await client.create(DEPLOYMENTS, { metadata: deployment, spec } as KubernetesObject);
    await pods.until('only its pods are left', (all) => (
      all.length === REPLICAS && ourPods(all).length === REPLICAS
    ), 120_000);
  });

  it('is done from the page to its end: the pods are in the other target, and the page says so', async () => {
    const { pods } = world.source;
    const target = on(pods.objects, 'target-1').length > 0 ? 'target-1' : 'target-2';
    const other = target === 'target-1' ? 'target-2' : 'target-1';
    const { page, complaints, open, close } = await tabOf('administrator');
    const moves = await tabOf('administrator');
    await moves.open('/moves');
    await open('/targets');
    await page.getByRole('button', { name: `Drain ${target}` }).click();
    const question = page.getByRole('dialog', { name: `Drain ${target}?` });
    await question.getByRole('button', { name: 'Drain', exact: true }).click();
    await page.getByRole('status').getByText(`Drain ${target}…`).waitFor();
    await moves.page.getByRole('table', { name: 'Drains' }).getByText(target).waitFor();
    await page.getByRole('status').getByText(`Target ${target} is drained.`).waitFor({ timeout: 180_000 });
    assert.deepEqual(on(pods.objects, target), [], 'none is left when the page says so');
    await pods.until('all run in the other target', (all) => on(all, other).length === REPLICAS, 120_000);
    const row = page.locator('tbody tr').filter({ hasText: other });
    await row.getByText(`${REPLICAS}`, { exact: true }).first().waitFor();
    await moves.page.getByText('Cordoned, empty').waitFor();
    await page.getByRole('button', { name: `Uncordon ${target}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Uncordon', exact: true }).click();
    await page.getByRole('status').getByText(`Target ${target} is uncordoned.`).waitFor();
    await moves.page.getByText('Nothing in progress').waitFor();
    assert.deepEqual([...complaints, ...moves.complaints], []);
    await moves.close();
    await close();
  });
});
