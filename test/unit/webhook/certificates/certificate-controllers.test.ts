// Certificates from a Secret: of our own making, which replicas share, and of somebody else's.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { before, describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import type { KubernetesObject, Secret } from '../../../../api/objects/core.ts';
import { WEBHOOK_CERTIFICATES_SECRET } from '../../../../api/objects/own-names.ts';
import type { WebhookConfiguration } from '../../../../api/resource-types.ts';
import { keyNamespace } from '../../../../model/access/key-namespace.ts';
import {
  createAuthority, type CertificateAuthority, type KeyPair,
} from '../../../../process/crypto/certificate-authority.ts';
import { startSecretCertificate } from '../../../../webhook/certificates/external-certificate-controller.ts';
import { startOwnCertificates } from '../../../../webhook/certificates/self-managed-certificate-controller.ts';
import {
  fromSecret, problemOf, toSecretData, type CertificatePair,
} from '../../../../webhook/certificates/serving-certificate.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import { StoredObjects } from '../../../support/doubles/stored-objects.ts';

const NAMESPACE = 'isthmus-system';
const GROUP = '/apis/admissionregistration.k8s.io/v1';
const MUTATING = `${GROUP}/mutatingwebhookconfigurations/isthmus`;
const VALIDATING = `${GROUP}/validatingwebhookconfigurations/isthmus`;
const OWN = `/api/v1/namespaces/${keyNamespace(NAMESPACE)}/secrets/${WEBHOOK_CERTIFICATES_SECRET}`;
const GIVEN = `/api/v1/namespaces/${NAMESPACE}/secrets/webhook-tls`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const secretOf = (path: string, data: Readonly<Record<string, string>>): Secret =>
  ({ metadata: { name: path.split('/').at(-1) ?? '' }, data });

const configuration = (clientConfig: object): KubernetesObject =>
  ({ metadata: { name: 'isthmus' }, webhooks: [{ name: 'w', clientConfig }] }) as KubernetesObject;
const OF_A_SERVICE = configuration({ service: { namespace: NAMESPACE, name: 'isthmus-webhook' } });

/** The pairs that were offered to a server, which takes those that fit. */
class Served {
  readonly pairs: CertificatePair[] = [];
  #offered = 0;
  #arrived: () => void = () => undefined;

  readonly serve = (pair: CertificatePair): boolean => {
    const isTaken = problemOf(pair) === undefined;
    if (isTaken) this.pairs.push(pair);
    this.#offered += 1;
    this.#arrived();
    return isTaken;
  };

  /** The pair that was taken as number `count`, from 1. */
  async until(count: number): Promise<CertificatePair> {
    while (this.pairs.length < count) await new Promise<void>((resolve) => { this.#arrived = resolve; });
    return this.pairs[count - 1] ?? assert.fail();
  }

  /** Resolves when so many were offered, taken or not. */
  async untilOffered(count: number): Promise<void> {
    while (this.#offered < count) await new Promise<void>((resolve) => { this.#arrived = resolve; });
  }
}

async function start(
  t: TestContext, begin: typeof startOwnCertificates, objects: Readonly<Record<string, KubernetesObject>>,
) {
  const stored = await StoredObjects.start(t, objects);
  const ending = new AbortController();
  t.after(() => ending.abort());
  const served = new Served();
  const options = { client: stored.client, installNamespace: NAMESPACE, serve: served.serve, logger: SILENT };
  return { stored, served, begin: () => begin(options, ending.signal) };
}

const bundleIn = (stored: StoredObjects, path: string): string => {
  const { webhooks: [webhook] = [] } = (stored.get(path) ?? { metadata: {} }) as WebhookConfiguration;
  return Buffer.from(webhook?.clientConfig.caBundle ?? '', 'base64').toString();
};
const issuedBy = (pair: CertificatePair, { certificate }: CertificatePair): boolean =>
  new X509Certificate(pair.certificate).verify(new X509Certificate(certificate).publicKey);

let authority: CertificateAuthority;
let other: CertificateAuthority;
const issue = (by: CertificateAuthority): Promise<KeyPair> =>
  by.issue({ commonName: 'w', dnsNames: ['localhost'], days: 90 }, new Date());
before(async () => {
  [authority, other] = await Promise.all([1, 2].map((n) => createAuthority(`ca-${n}`, 730, new Date()))) as
    [CertificateAuthority, CertificateAuthority];
});

describe('certificates of our own', { timeout: 60_000 }, () => {
  it('are a CA first and then a leaf of it, for all hosts by which API servers know the webhook', async (t) => {
    const { stored, served, begin } = await start(t, startOwnCertificates, {
      [MUTATING]: OF_A_SERVICE, [VALIDATING]: configuration({ url: 'https://[2001:db8::1]:9443/x' }),
    });
    begin();
    const leaf = await served.until(1);
    const made = stored.writes.filter(({ path }) => path === OWN);
    assert.deepEqual(made.slice(0, 2).map(({ method }) => method), ['POST', 'PATCH']);
    assert.deepEqual(made.slice(0, 2).map(({ body }) => fromSecret(body as unknown as Secret).leaf !== undefined),
      [false, true]);
    const { authorities } = fromSecret(stored.get(OWN) as unknown as Secret);
    assert.equal(authorities.length, 1);
    assert.ok(issuedBy(leaf, authorities[0] ?? assert.fail()));
    const certificate = new X509Certificate(leaf.certificate);
    for (const host of ['isthmus-webhook.isthmus-system.svc', 'localhost']) {
      assert.ok(certificate.checkHost(host), host);
    }
    for (const address of ['127.0.0.1', '2001:db8::1']) assert.ok(certificate.checkIP(address), address);
    await stored.until((writes) => writes.filter(({ path }) => path !== OWN).length === 2);
    for (const path of [MUTATING, VALIDATING]) assert.equal(bundleIn(stored, path), authorities[0]?.certificate);
  });
  it('of another replica are used as they are, and nothing is written', async (t) => {
    const leaf = await authority.issue({
      commonName: 'w', dnsNames: ['localhost', 'isthmus-webhook.isthmus-system.svc'], ipAddresses: ['127.0.0.1'],
      days: 90,
    }, new Date());
    const { stored, served, begin } = await start(t, startOwnCertificates, {
      [MUTATING]: OF_A_SERVICE, [OWN]: secretOf(OWN, toSecretData({ authorities: [authority.keyPair], leaf })),
    });
    begin();
    assert.deepEqual(await served.until(1), leaf);
    await stored.until((writes) => writes.length === 1);
    assert.deepEqual(stored.writes.map(({ path }) => path), [MUTATING], 'but for the bundle');
  });
  it('are those of the replica that was first where two begin at once', async (t) => {
    const { stored, served, begin } = await start(t, startOwnCertificates, {});
    stored.refuse = ({ method }) => {
      if (method !== 'POST' || stored.get(OWN) !== undefined) return undefined;
      stored.put(OWN, secretOf(OWN, toSecretData({ authorities: [authority.keyPair] })));
      return [409, 'AlreadyExists'];
    };
    begin();
    assert.ok(issuedBy(await served.until(1), authority.keyPair));
  });
  it('are made anew when a configuration names a host that the leaf does not cover', async (t) => {
    const { stored, served, begin } = await start(t, startOwnCertificates, { [MUTATING]: OF_A_SERVICE });
    begin();
    await served.until(1);
    const { authorities } = fromSecret(stored.get(OWN) as unknown as Secret);
    stored.put(VALIDATING, configuration({ url: 'https://webhook.example/x' }));
    const next = await served.until(2);
    assert.ok(new X509Certificate(next.certificate).checkHost('webhook.example'));
    assert.ok(issuedBy(next, authorities[0] ?? assert.fail()), 'of the CA that API servers trust');
  });
  it('are made anew where the Secret is damaged, over the version that was read', async (t) => {
    const damaged = secretOf(OWN, { 'authorities.json': base64('[{}]'), 'tls.crt': base64('x') });
    const { stored, served, begin } = await start(t, startOwnCertificates, { [OWN]: damaged });
    const { resourceVersion } = stored.get(OWN)?.metadata ?? {};
    begin();
    await served.until(1);
    assert.deepEqual(stored.writes.slice(0, 1).map(({ method, body }) => [method, body.metadata.resourceVersion]),
      [['PATCH', resourceVersion]]);
  });
  it('are made anew when somebody deletes the Secret', async (t) => {
    const { stored, served, begin } = await start(t, startOwnCertificates, {});
    begin();
    await served.until(1);
    stored.remove(OWN);
    await served.until(2);
    assert.deepEqual(stored.writes.filter(({ method }) => method === 'POST').length, 2);
  });
});

describe("somebody else's certificates", { timeout: 60_000 }, () => {
  const given: typeof startOwnCertificates =
    (options, signal) => startSecretCertificate(options, 'webhook-tls', signal);
  const tls = ({ certificate, key }: CertificatePair, ca?: string) => secretOf(GIVEN, {
    'tls.crt': base64(certificate), 'tls.key': base64(key), ...(ca !== undefined && { 'ca.crt': base64(ca) }),
  });

  it('are served as they are, their CA is trusted, and the Secret is never written', async (t) => {
    const leaf = await issue(authority);
    const { stored, served, begin } = await start(t, given, {
      [MUTATING]: OF_A_SERVICE, [GIVEN]: tls(leaf, authority.keyPair.certificate),
    });
    begin();
    assert.deepEqual(await served.until(1), leaf);
    await stored.until((writes) => writes.length === 1);
    assert.equal(bundleIn(stored, MUTATING), authority.keyPair.certificate);
    assert.deepEqual(stored.writes.map(({ path }) => path), [MUTATING]);
  });
  it('without a CA leave the bundle to whoever wrote it', async (t) => {
    const [leaf, next] = [await issue(authority), await issue(authority)];
    const { stored, served, begin } = await start(t, given, { [MUTATING]: OF_A_SERVICE, [GIVEN]: tls(leaf, '') });
    begin();
    await served.until(1);
    stored.put(GIVEN, tls(next));
    assert.deepEqual(await served.until(2), next);
    assert.deepEqual(stored.writes, []);
  });
  it('are waited for, which the log says', async (t) => {
    let logger = SILENT;
    const line = new Promise<string>((resolve) => (logger = pino({ base: null }, { write: resolve })));
    const { begin } = await start(
      t, (options, signal) => startSecretCertificate({ ...options, logger }, 'webhook-tls', signal), {},
    );
    begin();
    assert.match(await line, /"isthmus-system\/webhook-tls","msg":"waiting for the Secret of the serving certificate"/);
  });
  it('are waited for, and kept when the Secret is deleted', async (t) => {
    const [leaf, next] = [await issue(authority), await issue(authority)];
    const { stored, served, begin } = await start(t, given, {});
    begin();
    stored.put(GIVEN, tls(leaf));
    await served.until(1);
    stored.remove(GIVEN);
    stored.put(GIVEN, tls(next));
    await served.until(2);
    assert.deepEqual(served.pairs, [leaf, next], 'nothing empty between them');
  });
  it('that do not fit do not change whom API servers trust: what is served is still of the CA before', async (t) => {
    const [leaf, next] = [await issue(authority), await issue(other)];
    const { stored, served, begin } = await start(t, given, {
      [MUTATING]: OF_A_SERVICE, [GIVEN]: tls(leaf, authority.keyPair.certificate),
    });
    begin();
    await stored.until((writes) => writes.length === 1);
    stored.put(GIVEN, tls({ certificate: next.certificate, key: leaf.key }, other.keyPair.certificate));
    await served.untilOffered(2);
    stored.put(VALIDATING, OF_A_SERVICE);
    await stored.until((writes) => writes.length === 2);
    assert.deepEqual([MUTATING, VALIDATING].map((path) => bundleIn(stored, path)),
      [authority.keyPair.certificate, authority.keyPair.certificate]);
    stored.put(GIVEN, tls(next, other.keyPair.certificate));
    await stored.until((writes) => writes.length === 4);
    assert.deepEqual(served.pairs, [leaf, next]);
    assert.equal(bundleIn(stored, MUTATING), other.keyPair.certificate);
  });
});
