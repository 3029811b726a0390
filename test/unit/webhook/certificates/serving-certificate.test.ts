import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { createAuthority, type CertificateAuthority } from '../../../../process/crypto/certificate-authority.ts';
import {
  fromSecret, planCertificates, problemOf, toSecretData, trustBundle, type CertificatePair, type CertificateState,
} from '../../../../webhook/certificates/serving-certificate.ts';

const DAY = 86_400_000;
const START = Date.parse('2026-01-01T00:00:00Z');
const TIMES = { trustFirstMs: 60_000, trustLongerMs: 600_000 };
const HOSTS = ['127.0.0.1', 'isthmus-webhook.isthmus-system.svc', 'localhost'];

let oldest: CertificateAuthority;
let newest: CertificateAuthority;
let leaf: CertificatePair;
let successor: CertificatePair;

const issue = (authority: CertificateAuthority, at: number): Promise<CertificatePair> =>
  authority.issue(
    { commonName: 'w', dnsNames: HOSTS.slice(1), ipAddresses: HOSTS.slice(0, 1), days: 90, usages: ['server'] },
    new Date(at),
  );

before(async () => {
  oldest = await createAuthority('ca', 730, new Date(START));
  newest = await createAuthority('ca', 730, new Date(START + 365 * DAY));
  leaf = await issue(oldest, START);
  successor = await issue(newest, START + 365 * DAY + TIMES.trustFirstMs);
});

const plan = (state: Partial<CertificateState>, now: number) =>
  planCertificates({ authorities: [], hosts: HOSTS, newestTrustedSince: START + 365 * DAY, ...state }, TIMES, now);

describe('the plan for certificates', () => {
  it('begins with a CA, then a leaf of it', () => {
    assert.deepEqual(plan({}, START), { kind: 'add-authority' });
    assert.deepEqual(plan({ authorities: [oldest.keyPair] }, START), { kind: 'issue-leaf', signer: oldest.keyPair });
  });

  it('keeps what is good, and looks again before it is used up', () => {
    const step = plan({ authorities: [oldest.keyPair], leaf }, START + DAY);
    assert.ok(step.kind === 'keep' && step.checkAgainMs > 0 && step.checkAgainMs <= 3_600_000);
  });

  it('has a new leaf after two thirds of its life, or when a host is missing', () => {
    assert.equal(plan({ authorities: [oldest.keyPair], leaf }, START + 59 * DAY).kind, 'keep');
    assert.equal(plan({ authorities: [oldest.keyPair], leaf }, START + 61 * DAY).kind, 'issue-leaf');
    assert.equal(
      plan({ authorities: [oldest.keyPair], leaf, hosts: [...HOSTS, 'webhook.example'] }, START).kind, 'issue-leaf',
    );
    assert.equal(
      plan({ authorities: [oldest.keyPair], leaf, hosts: [...HOSTS, '10.0.0.1'] }, START).kind, 'issue-leaf',
    );
  });

  it('has a second CA after half of the life of the first', async () => {
    const late = await issue(oldest, START + 364 * DAY);
    assert.equal(plan({ authorities: [oldest.keyPair], leaf: late }, START + 364 * DAY).kind, 'keep');
    assert.deepEqual(plan({ authorities: [oldest.keyPair], leaf: late }, START + 366 * DAY), { kind: 'add-authority' });
  });

  it('fault 37: lets the new CA sign only after it has been trusted for a while', async () => {
    const late = await issue(oldest, START + 364 * DAY);
    const both = { authorities: [oldest.keyPair, newest.keyPair], leaf: late };
    const made = START + 365 * DAY;
    assert.equal(plan(both, made + 30_000).kind, 'keep');
    assert.equal(
      plan({ ...both, newestTrustedSince: undefined }, made + 10 * 60_000).kind, 'keep', 'nobody was told of it yet',
    );
    assert.equal(
      plan({ ...both, newestTrustedSince: made + 590_000 }, made + 600_000).kind, 'keep',
      'they were told late, and need their moment from then on',
    );
    assert.equal(
      plan({ authorities: both.authorities, leaf: successor, newestTrustedSince: undefined }, made + 70_000).kind,
      'keep', 'another replica saw it earlier',
    );
    assert.deepEqual(plan(both, made + 61_000), { kind: 'issue-leaf', signer: newest.keyPair });
    assert.deepEqual(
      plan({ authorities: both.authorities }, made + 30_000), { kind: 'issue-leaf', signer: oldest.keyPair },
    );
  });

  it('fault 37: drops the old CA when its last leaf has been replaced for a while', () => {
    const state = { authorities: [oldest.keyPair, newest.keyPair], leaf: successor };
    const signed = START + 365 * DAY + TIMES.trustFirstMs;
    assert.equal(plan(state, signed + 500_000).kind, 'keep');
    assert.deepEqual(plan(state, signed + 601_000), { kind: 'drop-authorities', kept: [newest.keyPair] });
  });

  it('fault 38: makes nothing early or late when the clock is an hour off, steps back, or has slept for eight hours',
    () => {
    const state = { authorities: [oldest.keyPair], leaf };
    const [hour, now] = [3_600_000, START + 30 * DAY];
    for (const skew of [-hour, hour, 8 * hour]) assert.equal(plan(state, now + skew).kind, 'keep', String(skew));
    assert.equal(
      plan({ authorities: [newest.keyPair], leaf: successor }, START + 365 * DAY - hour).kind, 'keep',
      'just made by a replica whose clock is ahead',
    );
    assert.deepEqual(
      plan(state, START + 60 * DAY + 8 * hour), { kind: 'issue-leaf', signer: oldest.keyPair },
      'what fell due while it slept is done when it wakes',
    );
  });

  it('fault 38: makes certificates that an API server takes whose clock is an hour behind or ahead', () => {
    for (const { certificate } of [oldest.keyPair, leaf]) {
      const { validFrom, validTo } = new X509Certificate(certificate);
      assert.ok(Date.parse(validFrom) < START - 3_600_000);
      assert.ok(Date.parse(validTo) > START + 30 * DAY + 3_600_000);
    }
  });

  it('never serves a leaf whose CA is not in the bundle, whatever the clock says', () => {
    for (const now of [START - 3_600_000, START, START + 100 * DAY, START + 400 * DAY, START + 3_000 * DAY]) {
      const step = plan({ authorities: [newest.keyPair], leaf }, now);
      assert.notEqual(step.kind, 'keep');
    }
  });
});

describe('a pair', () => {
  it('fault 36: that fits has no problem; others do, and the message shows no key', async () => {
    assert.equal(problemOf(leaf), undefined);
    assert.equal(
      problemOf({ certificate: leaf.certificate, key: successor.key }), 'the key does not match the certificate',
    );
    const broken = [{ ...leaf, certificate: leaf.certificate.slice(0, 200) }, { ...leaf, key: leaf.key.slice(0, 80) }, {
      certificate: '', key: '',
    }];
    for (const pair of broken) assert.match(problemOf(pair) ?? '', /^certificate or key is not whole PEM/);
  });
});

describe('the Secret of the replicas', () => {
  it('gives back what was put in', () => {
    const stored = { authorities: [oldest.keyPair, newest.keyPair], leaf };
    const data = toSecretData(stored);
    assert.deepEqual(fromSecret({ metadata: {}, data }), stored);
    assert.equal(Buffer.from(data['ca.crt'] ?? '', 'base64').toString(), trustBundle(stored.authorities));
  });

  it('that is damaged gives what is left of it', () => {
    const data = toSecretData({ authorities: [oldest.keyPair], leaf });
    const garbage = Buffer.from('garbage').toString('base64');
    assert.deepEqual(
      fromSecret({ metadata: {}, data: { ...data, 'tls.crt': garbage } }), { authorities: [oldest.keyPair] },
    );
    assert.deepEqual(
      fromSecret({ metadata: {}, data: { ...data, 'authorities.json': garbage } }), { authorities: [], leaf },
    );
    assert.deepEqual(
      fromSecret(
        { metadata: {}, data: { 'authorities.json': Buffer.from('[{},null]').toString('base64') } },
      ).authorities,
      [],
    );
    assert.deepEqual(fromSecret({ metadata: {} }), { authorities: [] });
  });
});
