// The path of reviews that only API servers know, on a real one: how it gets into the configurations, that it changes
// without one failed admission, and that strangers get nowhere.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterEach, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { WEBHOOK_PATHS } from '../../../api/admission-rules.ts';
import { DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { WEBHOOK_CERTIFICATES_SECRET } from '../../../api/objects/own-names.ts';
import { keyNamespace } from '../../../model/access/key-namespace.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS, SECRETS, VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '../../../api/resource-types.ts';
import { installInto } from '../../../cli/install/install.ts';
import { packagedWebhookConfiguration } from '../../../manifests/objects/webhook-configuration.ts';
import type { PathTimes } from '../../../webhook/registration/review-path.ts';
import {
  createPod, ELECTED_NAMESPACE, shareWebhookWorld, untilAdmitting, type RunningWebhook, type WebhookWorld,
} from '../../support/worlds/webhook-world.ts';

const USUAL: PathTimes = { rollout: 60_000, spread: 3_000, overlap: 60_000, renew: 3_600_000 };
/** An hour in seconds. */
const SHORT: PathTimes = { rollout: 500, spread: 300, overlap: 1_500, renew: 2_500 };
const PLAIN = '/mutate--v1-pod';

let world: WebhookWorld;
let webhooks: RunningWebhook[] = [];
const enter = shareWebhookWorld(async (shared) => {
  world = shared;
});
afterEach(async () => {
  await Promise.all(webhooks.map((webhook) => webhook.stop()));
  webhooks = [];
});

async function start(times: PathTimes, port?: number): Promise<RunningWebhook> {
  const webhook = await world.startWebhook({ kind: 'own' }, port, times);
  webhooks.push(webhook);
  return webhook;
}

/** The path that API servers ask for pods on. */
async function podPath(): Promise<string> {
  const { webhooks: found = [] } = await world.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
  const { url, service } = found[0]?.clientConfig ?? {};
  return url === undefined ? (service?.path ?? '') : new URL(url).pathname;
}

async function untilPath(isIt: (path: string) => boolean): Promise<string> {
  for (;;) {
    const path = await podPath();
    if (isIt(path)) return path;
    await delay(50);
  }
}

/** The first line of the answer to the head of a request with a large body that never comes. */
async function askedFor(path: string, port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 7000000\r\n\r\n{`,
  );
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString())).on('error', () => undefined);
  await once(socket, 'close');
  return text.split('\r\n', 1)[0] ?? '';
}

const electedPod = (name: string): object => ({
  metadata: { namespace: ELECTED_NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
  spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
});

describe('the path of reviews', { timeout: 200_000 }, () => {
  before(enter, { timeout: 600_000 });
  it('stays plain while replicas of a version before may run, becomes a secret one, and changes, all without one ' +
    'failed admission', async () => {
    const paths = new Set<string>([await podPath()]);
    await start(SHORT);
    await start(SHORT, 0);
    await untilAdmitting(world.client);
    const failures: string[] = [];
    let created = 0;
    while (paths.size < 5) {
      const { pod, error } = await createPod(world.client, electedPod(`path-${created}`) as never);
      if (pod?.spec.schedulerName === 'admiralty-proxy') created += 1;
      else failures.push(error?.message ?? 'was not elected');
      paths.add(await podPath());
      await delay(20);
    }
    assert.deepEqual(failures, []);
    assert.ok(created > 20, String(created));
    const [first, ...others] = paths;
    assert.equal(first, PLAIN);
    for (const path of others) assert.match(path, /^\/[0-9a-f]{48}\/mutate--v1-pod$/);
  });

  it('is shut to strangers on plain paths and behind old segments, from the head of a request alone', async () => {
    const { server } = await start({ ...SHORT, renew: 3_600_000 });
    const path = await untilPath((found) => found !== PLAIN);
    for (let first = ''; !first.includes(' 404 '); await delay(50)) first =
      await askedFor(PLAIN, server.port).catch(() => '');
    assert.match(await askedFor(`/${'a'.repeat(48)}${PLAIN}`, server.port), /^HTTP\/1\.1 404 /);
    await untilAdmitting(world.client);
    assert.equal(await podPath(), path);
  });

  it('is in every webhook of both configurations', async () => {
    await start(SHORT);
    const segment = (await untilPath((found) => found !== PLAIN)).slice(0, 49);
    for (const type of [MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS]) {
      for (;;) {
        const { webhooks: found = [] } = await world.client.get(type, { name: 'isthmus' });
        const wrong = found.filter(
          ({ name, clientConfig: { url = '' } }) =>
            !new RegExp(`^https://127.0.0.1:\\d+/[0-9a-f]{48}${WEBHOOK_PATHS[name]}$`).test(url),
        );
        if (wrong.length === 0) break;
        await delay(50);
      }
    }
    assert.equal(segment.length, 49);
  });

  it('is made anew by hand: whoever takes it out of the Secret gets another one everywhere', async () => {
    await start({ ...SHORT, renew: 3_600_000 });
    const before = await untilPath((found) => found !== PLAIN);
    await world.client.patch(SECRETS,
      { namespace: keyNamespace(DEFAULT_INSTALL_NAMESPACE), name: WEBHOOK_CERTIFICATES_SECRET }, {
      patchType: 'merge', patch: { data: { path: null } },
    });
    await untilPath((found) => found !== before && found !== PLAIN);
    await untilAdmitting(world.client);
  });
});

describe('behind the Service', { timeout: 120_000 }, () => {
  before(enter, { timeout: 600_000 });
  const packaged = (): ReturnType<typeof packagedWebhookConfiguration> =>
    packagedWebhookConfiguration({ installNamespace: DEFAULT_INSTALL_NAMESPACE });

  it('the path comes into a configuration that has none, at once, and applying the manifest again changes nothing',
    async () => {
    await world.client.delete(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    await world.client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, packaged(), 'package-test');
    await start(USUAL);
    const path = await untilPath((found) => found !== '');
    assert.match(path, /^\/[0-9a-f]{48}\/mutate--v1-pod$/);
    await untilPath(() => true);
    const { webhooks: found = [] } = await world.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    assert.deepEqual(
      found.map(
        ({ name, clientConfig: { service } }) => service?.path === `${path.slice(0, 49)}${WEBHOOK_PATHS[name]}`,
      ),
      found.map(() => true),
    );
    for (const applied of [packaged(), packaged()]) {
      await world.client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, applied, 'package-test');
    }
    assert.equal(await podPath(), path);
  });

  it('and a webhook that moves from there to a URL, and back, is installed as before', async () => {
    const options = { tell: () => undefined, signal: world.signal };
    await world.client.delete(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    await installInto(world.client, { installNamespace: DEFAULT_INSTALL_NAMESPACE }, options);
    await start(USUAL);
    await untilPath((found) => found.length > 49);
    await installInto(world.client, { installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl: world.url }, options);
    await untilAdmitting(world.client);
    await installInto(world.client, { installNamespace: DEFAULT_INSTALL_NAMESPACE }, options);
    await untilPath((found) => found.length > 49);
    const { webhooks: found = [] } = await world.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    assert.equal(found[0]?.clientConfig.url, undefined);
  });
});
