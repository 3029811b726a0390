// Serving certificates from each of their three sources, exchanged while pods are being created: nobody is turned away.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { WEBHOOK_CERTIFICATES_SECRET } from '../../../api/objects/own-names.ts';
import { keyNamespace } from '../../../model/access/key-namespace.ts';
import {
  EVENTS, MUTATING_WEBHOOK_CONFIGURATIONS, SECRETS, VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '../../../api/resource-types.ts';
import {
  packagedWebhookConfiguration, webhookConfiguration,
} from '../../../manifests/objects/webhook-configuration.ts';
import { createAuthority, type CertificateAuthority } from '../../../process/crypto/certificate-authority.ts';
import type { CertificateLives } from '../../../webhook/certificates/self-managed-certificate-controller.ts';
import { eventually } from '../../support/history/eventually.ts';
import {
  createPod, ELECTED_NAMESPACE, shareWebhookWorld, untilAdmitting, type RunningWebhook, type WebhookWorld,
} from '../../support/worlds/webhook-world.ts';

const SECOND = 1 / 86_400;
/**
 * A year in half a minute: a leaf is replaced 12 s before it ends, a CA 30 s, which a slow machine keeps to as well.
 */
const SHORT: CertificateLives =
  { authorityDays: 60 * SECOND, leafDays: 36 * SECOND, trustFirstMs: 3_000, trustLongerMs: 2_000 };
/** Within this time, in ms, everything has been followed by something new; it takes some 36 s. */
const MOST_LOAD_MS = 110_000;

let world: WebhookWorld;
let webhooks: RunningWebhook[] = [];
const enter = shareWebhookWorld(async (shared) => {
  world = shared;
});
afterEach(async () => {
  await Promise.all(webhooks.map((webhook) => webhook.stop()));
  webhooks = [];
});

async function start(...args: Parameters<WebhookWorld['startWebhook']>): Promise<RunningWebhook> {
  const webhook = await world.startWebhook(...args);
  webhooks.push(webhook);
  return webhook;
}

/** The serial number of the certificate that a port serves now. */
function served(port: number): Promise<{ readonly serial: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve({ serial: socket.getPeerX509Certificate()?.serialNumber ?? '' });
      socket.end();
    });
    socket.once('error', reject);
  });
}

const bundle = async (): Promise<string> => {
  const { webhooks: [webhook] = [] } = await world.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
  return Buffer.from(webhook?.clientConfig.caBundle ?? '', 'base64').toString();
};

interface Load {
  readonly created: number;
  readonly failures: readonly string[];
}

/** Creates elected pods, four at a time, each so many milliseconds after the one before, until told to stop. */
function createPods(prefix: string, signal: AbortSignal, pauseMs = 5): Promise<Load> {
  const failures: string[] = [];
  let created = 0;
  const worker = async (index: number): Promise<void> => {
    for (let count = 0; !signal.aborted; count += 1) {
      const metadata =
        { namespace: ELECTED_NAMESPACE, name: `${prefix}-${index}-${count}`, annotations: { [ELECT_ANNOTATION]: '' } };
      const { pod, error } = await createPod(
        world.client, { metadata, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } } as Pod,
      );
      if (pod?.spec.schedulerName === 'admiralty-proxy') created += 1;
      else failures.push(error?.message ?? 'was not elected');
      await delay(pauseMs);
    }
  };
  return Promise.all([0, 1, 2, 3].map(worker)).then(() => ({ created, failures }));
}

describe("the webhook's own certificates", { timeout: 200_000 }, () => {
  before(enter, { timeout: 600_000 });
  it('faults 35 and 37: are followed by new ones, CA and leaf, under a load of creates without one failed admission',
    async () => {
    const { port } = (await start({ kind: 'own', lives: SHORT })).server;
    const replica = (await start({ kind: 'own', lives: SHORT }, 0)).server;
    await untilAdmitting(world.client);
    const first = await bundle();
    const leaves = new Set<string>();
    const bundles = new Set<string>();
    const stopping = new AbortController();
    const loading = createPods('rotation', stopping.signal, 200);
    const end = performance.now() + MOST_LOAD_MS;
    let trusted = first;
    while (performance.now() < end && (leaves.size < 3 || trusted.includes(first.trim()))) {
      leaves.add((await served(port)).serial);
      trusted = await bundle();
      bundles.add(trusted);
      await delay(200);
    }
    stopping.abort();
    const { created, failures } = await loading;
    assert.deepEqual(failures, []);
    assert.ok(created > 100, String(created));
    assert.ok(leaves.size >= 3, `${leaves.size} leaves`);
    assert.ok(
      [...bundles].some((text) => text.split('BEGIN CERTIFICATE').length === 3), 'two CAs are trusted for a while',
    );
    assert.ok(!(await bundle()).includes(first.trim()), 'the first CA is trusted no more');
    const [one, other] = await Promise.all([served(port), served(replica.port)]);
    assert.equal(one.serial, other.serial, 'replicas serve the same certificate');
  });

  it('survive a restart: the same CA, at once', async () => {
    await world.client.delete(
      SECRETS, { namespace: keyNamespace(DEFAULT_INSTALL_NAMESPACE), name: WEBHOOK_CERTIFICATES_SECRET },
    );
    const webhook = await start();
    await untilAdmitting(world.client);
    const [{ serial }, trusted] = [await served(world.port), await bundle()];
    await webhook.stop();
    await start();
    assert.equal((await served(world.port)).serial, serial);
    assert.equal(await bundle(), trusted);
  });

  it('come back into a configuration that was applied anew', async () => {
    await start();
    await untilAdmitting(world.client);
    const trusted = await bundle();
    await world.client.delete(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    await world.client.create(MUTATING_WEBHOOK_CONFIGURATIONS, webhookConfiguration(
      { installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl: world.url },
    ));
    await untilAdmitting(world.client);
    assert.equal(await bundle(), trusted);
  });
});

const pairOf = (authority: CertificateAuthority): ReturnType<CertificateAuthority['issue']> =>
  authority.issue({ commonName: 'webhook', ipAddresses: ['127.0.0.1'], days: 1, usages: ['server'] }, new Date());
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe("cert-manager's Secret", { timeout: 60_000 }, () => {
  before(enter, { timeout: 600_000 });
  it('fault 36: is served as it comes, with its CA in the configuration, and its successor without a failed admission',
    async () => {
    const authority = await createAuthority('cert-manager', 1, new Date());
    const data = async (): Promise<object> => {
      const { certificate, key } = await pairOf(authority);
      return {
        'tls.crt': base64(certificate), 'tls.key': base64(key), 'ca.crt': base64(authority.keyPair.certificate),
      };
    };
    const at = { namespace: DEFAULT_INSTALL_NAMESPACE, name: 'isthmus-cert' };
    await world.client.create(
      SECRETS, { metadata: at, type: 'kubernetes.io/tls', data: await data() } as KubernetesObject,
    );
    await start({ kind: 'secret', name: at.name });
    await untilAdmitting(world.client);
    assert.equal(await bundle(), authority.keyPair.certificate);
    const { serial } = await served(world.port);

    const stopping = new AbortController();
    const loading = createPods('secret', stopping.signal);
    await world.client.patch(
      SECRETS, at, { patchType: 'merge', patch: { data: { 'tls.crt': base64('-----BEGIN CERT') } } },
    );
    await eventually('an Event that half of a pair is refused', async () => {
      const events = await world.client.list(EVENTS, { namespace: 'default' });
      return events.some((event) => (event as { reason?: string }).reason === 'CertificateRefused');
    });
    assert.equal((await served(world.port)).serial, serial, 'half of a pair is not served');
    await world.client.patch(SECRETS, at, { patchType: 'merge', patch: { data: await data() } });
    while ((await served(world.port)).serial === serial) await delay(20);
    await untilAdmitting(world.client);
    stopping.abort();
    const { created, failures } = await loading;
    assert.deepEqual(failures, []);
    assert.ok(created > 10);
  });
});

/** Writes a CA into the webhook configurations, as a user with files of their own does. */
async function trust(certificate: string): Promise<void> {
  for (const type of [MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS]) {
    const { webhooks: found = [] } = await world.client.get(type, { name: 'isthmus' });
    const patched = found.map(
      (webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle: base64(certificate) } }),
    );
    await world.client.patch(type, { name: 'isthmus' }, { patchType: 'merge', patch: { webhooks: patched } });
  }
}

describe("the user's files", { timeout: 60_000 }, () => {
  before(enter, { timeout: 600_000 });
  it('fault 36: are served as they come under a load of creates: a half-written pair is passed over, a whole one is ' +
    'in use within seconds', async () => {
    const authority = await createAuthority('user', 1, new Date());
    const files = { certificate: join(world.dir, 'tls.crt'), key: join(world.dir, 'tls.key') };
    const write = async ({ certificate, key }: { certificate: string; key: string }): Promise<void> => {
      await Promise.all([writeFile(files.certificate, certificate), writeFile(files.key, key)]);
    };
    const [first, second] = [await pairOf(authority), await pairOf(authority)];
    await write(first);
    const { port } = (await start({ kind: 'files', files })).server;
    await trust(authority.keyPair.certificate);
    await untilAdmitting(world.client);
    const { serial } = await served(port);
    const stopping = new AbortController();
    const loading = createPods('files', stopping.signal);
    await write({ certificate: second.certificate, key: first.key });
    await delay(2_500);
    assert.equal((await served(port)).serial, serial, 'a key of another certificate');
    await write(second);
    while ((await served(port)).serial === serial) await delay(50);
    await untilAdmitting(world.client);
    stopping.abort();
    const { created, failures } = await loading;
    assert.deepEqual(failures, []);
    assert.ok(created > 10, String(created));
  });
});

describe('the configuration of a package', { timeout: 60_000 }, () => {
  before(enter, { timeout: 600_000 });
  const packaged = (): ReturnType<typeof packagedWebhookConfiguration> =>
    packagedWebhookConfiguration({ installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl: world.url });
  const PACKAGER = 'package-test';
  const electedPod = (name: string): Pod => ({
    metadata: { namespace: ELECTED_NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
  });

  it('refuses nobody before the webhook is reached; from then on pods are elected, and applying it again changes ' +
    'nothing', async () => {
    await world.client.delete(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    await world.client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, packaged(), PACKAGER);
    const early = await createPod(world.client, electedPod('early'));
    assert.equal(early.pod?.metadata.finalizers, undefined, early.error?.message);
    const webhook = await start();
    await untilAdmitting(world.client);
    const armed = await world.client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    assert.deepEqual(armed.webhooks?.map(({ rules = [] }) => rules.length), [1, 1, 1, 1]);
    const again = await world.client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, packaged(), PACKAGER);
    assert.equal(again.metadata.resourceVersion, armed.metadata.resourceVersion);
    await webhook.stop();
    assert.match((await createPod(world.client, electedPod('late'))).error?.message ?? '', /failed calling webhook/);
  });

  it('is reached in the same way where somebody else writes the CA', async () => {
    const annotated =
      { ...packaged(), metadata: { name: 'isthmus', annotations: { 'cert-manager.io/inject-ca-from': 'a/b' } } };
    await world.client.delete(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'isthmus' });
    await world.client.apply(MUTATING_WEBHOOK_CONFIGURATIONS, annotated, PACKAGER);
    const authority = await createAuthority('user', 1, new Date());
    const { certificate, key } = await pairOf(authority);
    const files = { certificate: join(world.dir, 'packaged.crt'), key: join(world.dir, 'packaged.key') };
    await Promise.all([writeFile(files.certificate, certificate), writeFile(files.key, key)]);
    await start({ kind: 'files', files });
    await trust(authority.keyPair.certificate);
    await untilAdmitting(world.client);
  });
});
