// The page in Debian's chromium: every screen as its viewers see it, by keyboard and screen reader, in light, dark and
// narrow, and texts of hostile clusters. Screens are scripted; that real clusters make them is another test's.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startPageServer } from '../../../dashboard/server/page-server.ts';
import type { AnyScreen } from '../../../dashboard/wire/screens.ts';
import { AppError } from '../../../process/errors.ts';
import { startChromium } from '../../support/page/chromium.ts';
import { sampleScreens } from '../../support/page/sample-screens.ts';
import { ScriptedScreens, signIn, startScriptedPage, type ScriptedPage } from '../../support/page/scripted-screens.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const HOSTILE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>"\'><svg onload=window.broken=1>';
const STORED = 'isthmus-session';

let browser: Browser;
let served: ScriptedPage;
let token: string;

before(async () => {
  const rebinding = ['--host-resolver-rules=MAP rebound.example 127.0.0.1'];
  [browser, served] = await Promise.all([startChromium(rebinding), startScriptedPage()]);
  token = await signIn(served);
}, { timeout: 120_000 });
after(async () => {
  await browser?.close();
  await served?.server.close();
});
beforeEach(() => {
  for (const [address, screen] of sampleScreens()) served.screens.show(address, screen);
});

interface Look {
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  readonly isSignedIn?: boolean;
}

interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of its console, and of its scripts. */
  readonly complaints: string[];
  /** Addresses of its requests. */
  readonly asked: string[];
}

/** A browser of its own, with what it complained of. */
async function visit(
  { colorScheme = 'light', width = 1280, isSignedIn = true }: Look = {},
): Promise<Visit> {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 }, });
  const [complaints, asked]: [string[], string[]] = [[], []];
  const page = await context.newPage();
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (line) => line.type() === 'error' && complaints.push(line.text()));
  page.on('request', (request) => asked.push(request.url()));
  if (isSignedIn) {
    await page.addInitScript(keeping(token));
  }
  return { page, context, complaints, asked };
}

/** Lets a tab begin with a token, as one that was reloaded does. */
function keeping(bearer: string): { readonly content: string } {
  return { content: `sessionStorage.setItem(${JSON.stringify(STORED)}, ${JSON.stringify(bearer)})` };
}

const FOCUSED = 'document.activeElement?.tagName';

async function open(page: Page, address: string): Promise<void> {
  await page.goto(served.origin + address);
  await page.locator('.connection.live').waitFor();
  await page.getByText('Loading…').waitFor({ state: 'detached' });
}

describe('every screen', () => {
  for (const look of [{}, { colorScheme: 'dark' }, { width: 320 }] satisfies readonly Look[]) {
    it(`keeps WCAG 2.2 AA and asks nobody else: ${JSON.stringify(look)}`, async () => {
      const { page, context, complaints, asked } = await visit(look);
      for (const address of sampleScreens().keys()) {
        await open(page, address);
        assert.deepEqual(await violations(page), [], address);
        await requireNoOverflow(page, address);
      }
      assert.deepEqual(complaints, []);
      assert.deepEqual(asked.filter((url) => !url.startsWith(`${served.origin}/`)), []);
      await context.close();
    });
  }

  it('is as wide as the window also with names as long as they may be', async () => {
    const named = /"(namespace|name|target|workload|policy|node|cluster|message|reason)":"([^"]+)"/g;
    const long = 'x'.repeat(200);
    const { page, context } = await visit({ width: 320 });
    for (const [address, screen] of sampleScreens()) {
      const text = JSON.stringify(screen).replaceAll(named, (_, field, value) => `"${field}":"${value}${long}"`);
      served.screens.show(address, JSON.parse(text) as AnyScreen);
      await open(page, address);
      await requireNoOverflow(page, address);
    }
    await context.close();
  });
});

async function requireNoOverflow(page: Page, address: string): Promise<void> {
  const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
  assert.ok(overflow <= 0, `${address} is ${overflow} px too wide`);
}

/** axe's findings; its script is put in by the test's own channel, which the page's policy does not bind. */
async function violations(page: Page): Promise<readonly string[]> {
  const session = await page.context().newCDPSession(page);
  const run = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = await session.send(
      'Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true },
    );
    assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description);
    return result.value;
  };
  await run(`${AXE};void 0`);
  const found = await run(`axe.run({ runOnly: ${JSON.stringify(WCAG)} }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ').slice(0, 500)))`);
  await session.detach();
  return found as readonly string[];
}

describe('a session', () => {
  it('begins with the key, takes it out of the address, and goes on after a reload and in other tabs', async () => {
    const other = await startScriptedPage();
    for (const [address, screen] of sampleScreens()) other.screens.show(address, screen);
    const { page, context, asked } = await visit({ isSignedIn: false });
    await page.goto(`${other.origin}/targets#key=${other.key}`);
    await page.locator('.connection.live').waitFor();
    assert.equal(page.url(), `${other.origin}/targets`);
    await page.reload();
    await page.locator('.connection.live').waitFor();
    const tab = await context.newPage();
    await tab.goto(`${other.origin}/pods`);
    await tab.locator('.connection.live').waitFor();
    const secrets = asked.filter((url) => url.includes(other.key) || url.includes(other.token));
    assert.deepEqual(secrets, [], 'a secret in an address');
    assert.deepEqual(await context.cookies(), []);
    await context.close();
    await other.server.close();
  });

  it('is not there without a key: the page says how to get one', async () => {
    const { page, context } = await visit({ isSignedIn: false });
    await page.goto(`${served.origin}/targets#key=guessed`);
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
    await page.getByLabel('One-time key').fill('guessed again');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('alert').getByText('wrong or was already used').waitFor();
    await context.close();
  });
});

describe('texts of hostile clusters', () => {
  it('are shown as they are, and never become markup', async () => {
    const { page, context, complaints } = await visit();
    for (const [address, screen] of sampleScreens()) served.screens.show(address, spoiled(screen));
    served.screens.logText = HOSTILE;
    for (const address of sampleScreens().keys()) {
      await open(page, address);
      assert.ok((await page.locator('main').innerText()).includes(HOSTILE.slice(0, 20)), `${address} lacks the text`);
      assert.equal(await page.locator('main img, main script, main iframe, main [onload], main [onerror]').count(), 0);
    }
    served.screens.show('/pods/shop/checkout-0', sampleScreens().get('/pods/shop/checkout-0') as AnyScreen);
    await open(page, '/pods/shop/checkout-0');
    await page.getByRole('button', { name: /^Log of/ }).first().click();
    await page.locator('pre.log').getByText(HOSTILE).waitFor();
    assert.equal(await page.evaluate("'broken' in globalThis"), false);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it('could not become markup if the page tried', async () => {
    const { page, context } = await visit();
    await open(page, '/targets');
    const refused = await page.evaluate(`[
      () => (document.body.innerHTML = '<b>x</b>'), () => document.write('<b>x</b>'),
      () => document.createRange().createContextualFragment('<b>x</b>'), () => setTimeout('1', 0),
    ].map((attempt) => {
      try {
        return String(attempt());
      } catch {
        return 'refused';
      }
    })`);
    assert.deepEqual(refused, ['refused', 'refused', 'refused', 'refused']);
    await context.close();
  });

  it('are not shown under another name for this address: DNS rebinding', async () => {
    const { page, context } = await visit({ isSignedIn: false });
    const { port } = new URL(served.origin);
    const answer = await page.goto(`http://rebound.example:${port}/targets`);
    assert.equal(answer?.status(), 421);
    const asked = await page.evaluate(`fetch('/api/screens/targets', { headers: { authorization: 'Bearer ${token}' } })
      .then(({ status }) => status)`);
    assert.equal(asked, 421);
    await context.close();
  });

  it('are not loaded in a frame of another page, and not read by its script', async () => {
    const evil = createServer((_request, answer) => {
      answer.writeHead(200, { 'content-type': 'text/html' });
      answer.end(`<iframe src="${served.origin}/targets"></iframe>`);
    }).listen(0, '127.0.0.1');
    await once(evil, 'listening');
    const { page, context } = await visit({ isSignedIn: false });
    const refused = page.waitForResponse((answer) => answer.url() === `${served.origin}/targets`);
    await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
    assert.equal((await refused).status(), 403);
    const answers = await page.evaluate(`Promise.all([
      fetch('${served.origin}/api/screens/targets', { headers: { authorization: 'Bearer ${token}' } }),
      fetch('${served.origin}/session', { method: 'POST', body: 'k' }), fetch('${served.origin}/targets'),
    ].map((answer) => answer.then(({ status }) => status, () => 'refused')))`);
    assert.deepEqual(answers, ['refused', 'refused', 'refused']);
    await context.close();
    evil.close();
  });
});

/** Every text of a screen that a cluster has written, with markup in front of it. */
function spoiled(screen: AnyScreen): AnyScreen {
  const own = new Set(['screen', 'actions', 'state', 'answer', 'where', 'at', 'since', 'createdAt', 'status']);
  const change = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return own.has(key) ? value : `${HOSTILE}${value}`;
    if (Array.isArray(value)) return value.map((one) => change(one, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one, name)]));
  };
  return change(screen, '') as AnyScreen;
}

describe('somebody who may act', () => {
  async function targetsWithActions(page: Page): Promise<void> {
    const screen = sampleScreens().get('/targets');
    assert.ok(screen?.screen === 'targets');
    served.screens.show('/targets', { ...screen, actions: ['cordon', 'uncordon', 'drain'] });
    await open(page, '/targets');
  }

  it('is asked first, by keyboard and screen reader too, and told what was done', async () => {
    const { page, context, complaints } = await visit();
    await targetsWithActions(page);
    await page.getByRole('button', { name: 'Cordon eu-west' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Cordon eu-west?' });
    await dialog.waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Cordon eu-west');
    assert.deepEqual(served.screens.acted, []);
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Cordon' }).press('Enter');
    await page.getByRole('status').getByText('Done: cordon eu-west.').waitFor();
    assert.deepEqual(served.screens.acted.splice(0), [
      { kind: 'cordon', target: 'eu-west' },
    ]);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it('is told why it was not done', async () => {
    const { page, context } = await visit();
    await targetsWithActions(page);
    served.screens.actRefusal = new AppError('BadInput', `${HOSTILE} has no controller`);
    await page.getByRole('button', { name: 'Drain eu-west' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    await page.getByRole('status').getByText(`${HOSTILE} has no controller`).waitFor();
    [served.screens.actRefusal] = [undefined, served.screens.acted.splice(0)];
    await context.close();
  });

  it('moves a pod to a target that they enter, by keyboard alone', async () => {
    const { page, context, complaints } = await visit();
    const screen = sampleScreens().get('/pods/shop/checkout-0');
    assert.ok(screen?.screen === 'pod');
    served.screens.show('/pods/shop/checkout-0', { ...screen, actions: ['move'] });
    await open(page, '/pods/shop/checkout-0');
    assert.deepEqual(await page.locator('#destinations option').evaluateAll((all) => (
      all.map((option) => option.getAttribute('value'))
    )), ['us-east'], 'suggests what could take it');
    await page.getByLabel('Move to target').press('Enter');
    assert.equal(await page.getByRole('dialog').count(), 0, 'nothing to ask without a target');
    await page.getByLabel('Move to target').fill(`us-east${HOSTILE}`);
    await page.getByLabel('Move to target').press('Enter');
    await page.getByRole('dialog').getByText(`Move shop/checkout-0 to us-east${HOSTILE}?`).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Escape');
    await page.getByLabel('Move to target').fill('us-east');
    await page.getByLabel('Move to target').press('Enter');
    await page.getByRole('dialog', { name: 'Move shop/checkout-0 to us-east?' }).getByRole('button', { name: 'Move' })
      .press('Enter');
    await page.getByRole('status').getByText('Done: move shop checkout-0 us-east.').waitFor();
    assert.deepEqual(served.screens.acted.splice(0), [
      { kind: 'move', namespace: 'shop', name: 'checkout-0', target: 'us-east' },
    ]);
    served.screens.show(
      '/pods/shop/checkout-0', { screen: 'pod', stages: [], containers: [], actions: [], unreadable: [] },
    );
    await page.getByRole('heading', { name: 'Pod not found' }).waitFor();
    assert.ok(await page.getByText('Done: move').isVisible(), 'what was done stays, though the pod has gone');
    await page.getByRole('link', { name: 'Pods', exact: true }).click();
    await page.getByText('Done: move').waitFor({ state: 'detached' });
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it('approves a cluster that a registry proposes, after a question', async () => {
    const { page, context, complaints } = await visit();
    const screen = sampleScreens().get('/targets');
    assert.ok(screen?.screen === 'targets');
    await open(page, '/targets');
    const rows = page.getByRole('region', { name: 'Proposed clusters' }).locator('tbody tr');
    assert.equal(await rows.count(), 1);
    assert.equal(await rows.getByRole('button').count(), 0, 'whoever may not is offered nothing');
    const message = 'DNS, which is not authenticated, announces it <b>at</b> 203.0.113.7:6443';
    const proposed = screen.proposed.map((one) => ({ ...one, message }));
    served.screens.show('/targets', { ...screen, actions: ['approve'], proposed });
    await page.getByRole('region', { name: 'Proposed clusters' }).getByText(message).waitFor();
    await page.getByRole('button', { name: 'Approve eu-north' }).click();
    const dialog = page.getByRole('dialog', { name: 'Approve eu-north?' });
    await dialog.getByText(message).waitFor();
    await dialog.getByText('a Secret that an administrator wrote').waitFor();
    await dialog.getByText('with their Secrets').waitFor();
    assert.deepEqual(await violations(page), []);
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('status').getByText('Done: approve argo eu-north Secret').waitFor();
    assert.deepEqual(served.screens.acted.splice(0), [
      {
        kind: 'approve', discovery: 'argo', cluster: 'eu-north', entry: 'Secret argocd/cluster-eu-north',
        clusterId: '7f0c2a41-9d1e-4c55-8a35-0d1f6f7e2b90',
      },
    ]);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it('is asked nothing any more once they have signed out in another tab', async () => {
    const screens = new ScriptedScreens();
    for (const [address, screen] of sampleScreens()) screens.show(address, screen);
    const targets = sampleScreens().get('/targets');
    assert.ok(targets?.screen === 'targets');
    screens.show('/targets', { ...targets, actions: ['cordon'] });
    const viewer = { screens, onEnd: () => () => undefined };
    const server = await startPageServer({ port: 0, access: {
      signIn: 'token', redeem: (text) => (text === 'ann-token' ? text : undefined),
      viewerOf: (text) => (text === 'ann-token' ? viewer : undefined),
    } });
    const { page, context } = await visit({ isSignedIn: false });
    await page.goto(`http://127.0.0.1:${server.port}/targets`);
    await page.getByLabel('Token').fill('ann-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Cordon eu-west' }).click();
    await page.getByRole('dialog').waitFor();
    const other = await context.newPage();
    await other.goto(`http://127.0.0.1:${server.port}/pods`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.equal(await page.locator('tbody').count(), 0, 'and nothing is shown any more');
    assert.deepEqual(screens.acted, []);
    await context.close();
    await server.close();
  });

  it('cannot be made to act by another site', async () => {
    const evil = createServer((_request, answer) => {
      answer.writeHead(200, { 'content-type': 'text/html' });
      answer.end(`<form method="post" action="${served.origin}/api/actions/cordon" enctype="text/plain">` +
        '<input name="eu-west" value=""></form><script>document.forms[0].submit()</script>');
    }).listen(0, '127.0.0.1');
    await once(evil, 'listening');
    const { page, context } = await visit();
    await targetsWithActions(page);
    const posted = page.waitForResponse((answer) => answer.url() === `${served.origin}/api/actions/cordon`);
    await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
    assert.equal((await posted).status(), 403);
    assert.deepEqual(served.screens.acted, []);
    await context.close();
    evil.close();
  });

  it('is offered nothing where their permissions allow nothing', async () => {
    const { page, context } = await visit();
    await open(page, '/targets');
    assert.equal(await page.locator('[data-action]').count(), 0);
    await context.close();
  });
});

describe('a viewer', () => {
  it('goes everywhere by keyboard, and hears where they are', async () => {
    const { page, context } = await visit();
    await open(page, '/targets');
    await page.keyboard.press('Tab');
    for (let presses = 0; (await page.evaluate('document.activeElement?.textContent')) !== 'Pending'; presses += 1) {
      assert.ok(presses < 10, 'the menu cannot be reached');
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Pending' }).waitFor();
    assert.equal(await page.evaluate(FOCUSED), 'H1');
    assert.equal(await page.title(), 'Pending · Isthmus');
    assert.equal(await page.locator('nav [aria-current=page]').innerText(), 'Pending');
    await context.close();
  });

  it('finds every state by its address: filters, back, forward', async () => {
    const { page, context } = await visit();
    await open(page, '/pods');
    await page.getByLabel('Name contains').fill('checkout');
    await page.getByLabel('Name contains').press('Enter');
    await page.waitForURL(/\/pods\?text=checkout$/);
    await page.getByRole('link', { name: 'Workloads' }).click();
    await page.waitForURL(/\/workloads$/);
    await page.goBack();
    await page.waitForURL(/text=checkout/);
    assert.equal(await page.getByLabel('Name contains').inputValue(), 'checkout');
    assert.deepEqual(served.screens.opened.at(-1), { screen: 'pods', filters: { text: 'checkout' } });
    await context.close();
  });

  it('asks what if a target were not there, and goes back', async () => {
    const { page, context } = await visit();
    await open(page, '/pods/shop/checkout-0');
    await page.getByRole('link', { name: 'Without eu-west' }).click();
    await page.waitForURL(/\/pods\/shop\/checkout-0\?without=eu-west$/);
    await page.getByRole('heading', { name: 'What if there were no eu-west' }).waitFor();
    assert.equal(await page.title(), 'shop/checkout-0 without eu-west · Isthmus');
    await page.getByRole('link', { name: 'Evaluate all targets' }).click();
    await page.waitForURL(/\/pods\/shop\/checkout-0$/);
    await page.getByRole('heading', { name: 'every target evaluated now' }).waitFor();
    await context.close();
  });

  it('asks where more pods would go', async () => {
    const { page, context } = await visit();
    await open(page, '/pods/shop/checkout-0');
    await page.getByLabel('What if there were more pods like this?').fill('10');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/pods\/shop\/checkout-0\?replicas=10$/);
    const more = page.getByRole('region', { name: 'Where more pods would go' });
    assert.deepEqual(await more.locator('tbody tr').allInnerTexts(), [
      'eu-west\t6', 'us-east\t2', 'none: they would wait\t2',
    ]);
    assert.equal(await page.title(), 'shop/checkout-0, 10 more · Isthmus');
    await page.getByLabel('What if there were more pods like this?').fill('many');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/pods\/shop\/checkout-0$/);
    await context.close();
  });

  it('asks what if another policy applied: one that there is, then as they write it', async () => {
    const { page, context, complaints } = await visit();
    const [plain, named] = ['/pods/shop/checkout-0', '/pods/shop/checkout-0?policy=PlacementPolicy%2Fon-the-moon'];
    await open(page, plain);
    assert.deepEqual(await page.locator('#policies option').evaluateAll((all) => (
      all.map((option) => option.getAttribute('value'))
    )), ['PlacementPolicy/in-europe', 'PlacementPolicy/on-the-moon', 'ClusterPlacementPolicy/everywhere']);
    await page.getByLabel('What if this policy applied?').fill('PlacementPolicy/on-the-moon');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.href.endsWith(named));
    await page.getByRole('heading', { name: 'What if PlacementPolicy shop/on-the-moon applied: every' }).waitFor();
    await page.getByText('It applies instead of PlacementPolicy shop/in-europe. ClusterPlacementPolicy').waitFor();
    assert.equal(await page.title(), 'shop/checkout-0, with PlacementPolicy/on-the-moon · Isthmus');
    const spec = page.getByLabel('Spec of the policy');
    assert.equal(await spec.inputValue(), 'require:\n  matchLabels:\n    region: moon');
    const written = `require: {matchLabels: {region: "${HOSTILE}"}}`;
    const screen = sampleScreens().get(named);
    assert.ok(screen?.screen === 'pod' && screen.choice?.whatIf !== undefined);
    const isEdited = { ...screen.choice.whatIf, isEdited: true };
    served.screens.show(`${named}&spec=${encodeURIComponent(written)}`, {
      ...screen, choice: { ...screen.choice, spec: written, whatIf: isEdited },
    });
    await spec.fill(written);
    await page.getByRole('button', { name: 'Evaluate', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/&spec=require/);
    await page.getByRole('heading', { name: 'on-the-moon, as written below, applied' }).waitFor();
    assert.equal(await spec.inputValue(), written);
    assert.deepEqual(await violations(page), []);
    assert.equal(await page.evaluate("'broken' in globalThis"), false);
    await page.reload();
    await page.getByRole('heading', { name: 'as written below' }).waitFor();
    assert.deepEqual(served.screens.opened.at(-1), {
      screen: 'pod', namespace: 'shop', name: 'checkout-0', policy: 'PlacementPolicy/on-the-moon', spec: written,
    });
    await page.getByRole('link', { name: 'Without eu-west' }).click();
    await page.waitForURL(/\?without=eu-west&policy=.*&spec=require/);
    await page.goBack();
    await page.getByRole('link', { name: 'Evaluate with the policies that apply now' }).click();
    await page.waitForURL((url) => url.href.endsWith(plain));
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it('is told why a policy cannot be supposed, what to change, and keeps what they wrote', async () => {
    const { page, context } = await visit();
    const screen = sampleScreens().get('/pods/shop/checkout-0');
    assert.ok(screen?.screen === 'pod');
    const part = {
      what: 'the evaluation of targets with that policy', advice: 'Correct the spec.',
      why: `PlacementPolicy shop/what-if is not valid: spec.${HOSTILE} is not a field; the fields are require.`,
    };
    const spec = `${HOSTILE}: {}`;
    served.screens.show(`/pods/shop/checkout-0?spec=${encodeURIComponent(spec)}`, {
      ...screen, evaluation: undefined, unreadable: [part], choice: { policies: [], spec },
    });
    await open(page, '/pods/shop/checkout-0');
    await page.getByText('Write its spec').press('Enter');
    await page.getByLabel('Spec of the policy').fill('x'.repeat(6_001));
    await page.getByRole('button', { name: 'Evaluate', exact: true }).click();
    const told = 'has 6001 bytes in the address of this page, and at most 6000 are read.';
    await page.getByRole('status').getByText(told).waitFor();
    assert.match(page.url(), /\/checkout-0$/);
    await page.getByLabel('Spec of the policy').fill(spec);
    await page.getByRole('button', { name: 'Evaluate', exact: true }).click();
    await page.getByRole('note').getByText('is not a field; the fields are').waitFor();
    assert.equal(await page.getByLabel('Spec of the policy').inputValue(), spec);
    assert.equal(await page.getByRole('region', { name: 'Evaluation of targets' }).count(), 0);
    assert.deepEqual(await violations(page), []);
    assert.equal(await page.evaluate("'broken' in globalThis"), false);
    await context.close();
  });

  it('keeps what they write while notices and Events come and go', async () => {
    const { page, context } = await visit();
    const screen = sampleScreens().get('/pods/shop/checkout-0');
    assert.ok(screen?.screen === 'pod' && screen.pod !== undefined);
    await open(page, '/pods/shop/checkout-0');
    await page.getByText('Write its spec').click();
    const spec = page.getByLabel('Spec of the policy');
    await spec.fill('require: half of it');
    const part = { what: 'Events', why: 'they may not be read', advice: 'Ask for it.' };
    const [pods, gone] = [{ ...part, what: 'pods' }, { containers: [], evaluation: undefined }];
    for (const [index, change] of [{ unreadable: [part] }, { unreadable: [pods, part], ...gone }, gone, {}].entries()) {
      const problem = `change ${index}`;
      served.screens.show('/pods/shop/checkout-0', { ...screen, ...change, pod: { ...screen.pod, problem } });
      await page.getByText(problem).waitFor();
      assert.equal(await spec.inputValue(), 'require: half of it', problem);
      assert.equal(await page.evaluate(FOCUSED), 'TEXTAREA');
    }
    await context.close();
  });

  it('sees changes as they come, and keeps focus and what they opened', async () => {
    const { page, context } = await visit();
    await open(page, '/pods/shop/checkout-0');
    const details = page.locator('summary').first();
    await details.click();
    await details.focus();
    const screen = sampleScreens().get('/pods/shop/checkout-0');
    assert.ok(screen?.screen === 'pod' && screen.pod !== undefined);
    served.screens.show('/pods/shop/checkout-0', { ...screen, pod: { ...screen.pod, status: 'Failed' } });
    await page.locator('.summary').getByText('Failed').waitFor();
    assert.equal(await page.evaluate(FOCUSED), 'SUMMARY');
    assert.equal(await page.locator('details[open]').count(), 1);
    await context.close();
  });

  it('sees which targets a policy excludes, and the pods that it selects', async () => {
    const { page, context } = await visit();
    await open(page, '/policies');
    const card = page.locator('section.card', { hasText: 'shop/on-the-moon' });
    await card.getByText('NoTargetSelected').waitFor();
    assert.equal(await card.getByText('PolicyRequires').count(), 3);
    await card.getByRole('link', { name: 'All pods of shop' }).click();
    await page.waitForURL(/\/pods\?namespace=shop$/);
    await context.close();
  });

  it('sees what was decided, and compares it with what would be decided now', async () => {
    const { page, context } = await visit();
    await open(page, '/decisions');
    await page.getByRole('link', { name: 'checkout-0', exact: true }).first().click();
    await page.waitForURL(/\/decisions\/shop\/checkout-0$/);
    assert.equal(await page.title(), 'Decision about shop/checkout-0 · Isthmus');
    await page.getByText('Same target').waitFor();
    const row = page.locator('tbody tr').filter({ hasText: 'us-east' });
    await row.getByText('Feasible').waitFor();
    assert.equal(await row.locator('td').last().innerText(), 'Yes');
    await page.getByRole('link', { name: 'Pod shop/checkout-0' }).click();
    await page.getByRole('link', { name: 'Compare with a decision now' }).click();
    await page.getByRole('heading', { name: 'Decided now' }).waitFor();
    await page.getByRole('link', { name: 'All decisions of' }).click();
    await page.waitForURL(/\/decisions\?namespace=shop&workload=/);
    await context.close();
  });

  it('sees what is in progress, and what to do about it', async () => {
    const { page, context } = await visit();
    await open(page, '/moves');
    for (const name of ['Moves', 'Drains', 'Away from a lost target', 'Rollouts']) {
      await page.getByRole('heading', { level: 2, name, exact: true }).waitFor();
    }
    await page.getByText('isthmus failback eu-west').waitFor();
    served.screens.show('/moves', {
      screen: 'moves', rollouts: [], moves: [], drains: [], failbacks: [], total: 0, unreadable: [],
    });
    await page.getByRole('heading', { name: 'Nothing in progress' }).waitFor();
    await context.close();
  });

  it('is told when the connection is lost, and sees the screen again when it is back', async () => {
    const other = await startScriptedPage();
    const bearer = await signIn(other);
    other.screens.show('/targets', sampleScreens().get('/targets') as AnyScreen);
    const { page, context } = await visit({ isSignedIn: false });
    await page.addInitScript(keeping(bearer));
    await page.goto(`${other.origin}/targets`);
    await page.locator('.connection.live').waitFor();
    await other.server.close();
    await page.getByText('Connection lost').waitFor();
    assert.ok(await page.getByRole('table', { name: 'Targets' }).isVisible(), 'what was known is still shown');
    await context.close();
  });

  it('costs nothing while the tab is in the background, and sees what has changed when it is back', async () => {
    const { page, context } = await visit();
    await served.screens.opens(0);
    await open(page, '/targets');
    const turn = (isHidden: boolean): Promise<unknown> => page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    `);
    await turn(true);
    await served.screens.opens(0);
    served.screens.show('/targets', {
      screen: 'targets', targets: [], actions: [], proposed: [], proposedTotal: 0, unreadable: [],
    });
    await turn(false);
    await page.getByRole('heading', { name: 'No targets yet' }).waitFor();
    await context.close();
  });

  it('is told what could not be read, and never that there is nothing', async () => {
    const { page, context } = await visit();
    const part = { what: 'pods', why: 'pods is forbidden', advice: 'Choose a namespace above.' };
    served.screens.show('/pods', { screen: 'pods', rows: [], total: 0, targets: [], unreadable: [part] });
    await open(page, '/pods');
    await page.getByRole('note').getByText('Cannot show pods.').waitFor();
    assert.equal(await page.getByText(/^No (elected|matching) pods/).count(), 0);
    await context.close();
  });
});
