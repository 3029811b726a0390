// More than a year of certificates in a moment: whatever the times at which replicas look, nothing is served that API
// servers may not trust, and nothing expires.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { createAuthority, loadAuthority, type KeyPair } from '../../../../process/crypto/certificate-authority.ts';
import {
  expiryOf, planCertificates, type CertificateState, type CertificateStep, type StoredCertificates,
} from '../../../../webhook/certificates/serving-certificate.ts';

const DAY = 86_400_000;
const START = Date.parse('2026-01-01T00:00:00Z');
const TIMES = { trustFirstMs: 60_000, trustLongerMs: 600_000 };
const HOSTS = ['localhost'];

/** What replicas share, and since when API servers have had each CA. */
interface World {
  stored: StoredCertificates;
  readonly trusted: Map<string, number>;
}

const leafOf = async (signer: KeyPair, at: number): Promise<KeyPair> => (await loadAuthority(signer)).issue(
  { commonName: 'w', dnsNames: HOSTS, days: 90, usages: ['server'] }, new Date(at),
);

/** Carries out one step as a replica does; API servers have a new CA `lateMs` later. */
async function carryOut(
  world: World, step: CertificateStep, { now, lateMs }: { readonly now: number; readonly lateMs: number },
): Promise<void> {
  const { authorities, leaf } = world.stored;
  if (step.kind === 'add-authority') {
    const { keyPair } = await createAuthority('ca', 730, new Date(now));
    world.trusted.set(keyPair.certificate, now + lateMs);
    world.stored = { authorities: [...authorities.slice(-1), keyPair], ...(leaf && { leaf }) };
  } else if (step.kind === 'issue-leaf') world.stored = { authorities, leaf: await leafOf(step.signer, now) };
  else if (step.kind === 'drop-authorities') world.stored = { authorities: step.kept, ...(leaf && { leaf }) };
}

function planIn({ stored, trusted }: World, now: number): CertificateStep {
  const since = trusted.get(stored.authorities.at(-1)?.certificate ?? '') ?? Infinity;
  const newestTrustedSince = since <= now ? since : undefined;
  return planCertificates({ ...stored, hosts: HOSTS, newestTrustedSince }, TIMES, now);
}

/** Whether the leaf was signed by a CA that API servers have; the first of all is the only one that they can have. */
function isTrusted({ stored: { authorities, leaf }, trusted }: World, now: number): boolean {
  const served = new X509Certificate(leaf?.certificate ?? '');
  const signer = authorities.find(({ certificate }) => served.verify(new X509Certificate(certificate).publicKey));
  if (signer === undefined || expiryOf(signer) <= now) return false;
  return authorities.length === 1 || now >= (trusted.get(signer.certificate) ?? Infinity);
}

describe('more than a year of certificates', () => {
  it('never have a leaf that is expired, or that API servers do not trust, and settle in a few steps', async () => {
    const pauses = fc.array(fc.tuple(fc.integer({ min: 30_000, max: 25 * DAY }), fc.nat({ max: 120_000 })),
      { minLength: 35, maxLength: 45 });
    await fc.assert(fc.asyncProperty(pauses, async (looks) => {
      const world: World = { stored: { authorities: [] }, trusted: new Map() };
      let now = START;
      for (const [pause, lateMs] of looks) {
        for (let steps = 0; ; steps += 1) {
          const step = planIn(world, now);
          if (step.kind === 'keep') break;
          assert.ok(steps < 4, 'the steps do not settle');
          await carryOut(world, step, { now, lateMs });
          assert.ok(world.stored.authorities.length <= 2, 'CAs pile up');
        }
        assert.ok(expiryOf(world.stored.leaf ?? { certificate: '' }) > now);
        assert.ok(isTrusted(world, now), new Date(now).toISOString());
        now += pause;
      }
    }), { numRuns: 1 });
  });
});

describe('looking again', () => {
  let older: KeyPair;
  let newer: KeyPair;
  let states: readonly CertificateState[];
  before(async () => {
    const half = START + 365 * DAY;
    [older, newer] = await Promise.all(
      [START, half].map(async (at) => (await createAuthority('ca', 730, new Date(at))).keyPair),
    ) as [KeyPair, KeyPair];
    const shared = { hosts: HOSTS, newestTrustedSince: half };
    states = [
      { ...shared, authorities: [older], leaf: await leafOf(older, START) },
      { ...shared, authorities: [older, newer], leaf: await leafOf(older, half - 10 * DAY) },
      { ...shared, authorities: [older, newer], leaf: await leafOf(newer, half) },
      { ...shared, authorities: [newer], leaf: await leafOf(newer, half), newestTrustedSince: undefined },
    ];
  });

  it('comes before anything is due: until then the answer stays the same', () => {
    const share = fc.double({ min: 0, max: 0.999, noNaN: true });
    const moment = fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 800 * DAY }), share);
    fc.assert(fc.property(moment, ([index, after, part]) => {
      const state = states[index] ?? assert.fail();
      const step = planCertificates(state, TIMES, START + after);
      if (step.kind !== 'keep') return;
      assert.ok(step.checkAgainMs > 0 && step.checkAgainMs <= 3_600_000, String(step.checkAgainMs));
      assert.equal(planCertificates(state, TIMES, START + after + step.checkAgainMs * part).kind, 'keep');
    }), { numRuns: 25 });
  });
  it('is due to the millisecond when a CA has been trusted for long enough', () => {
    const [, waiting] = states;
    const half = START + 365 * DAY;
    const step = planCertificates(waiting ?? assert.fail(), TIMES, half + 1_000);
    assert.deepEqual(step, { kind: 'keep', checkAgainMs: TIMES.trustFirstMs - 1_000 });
  });
  it('is due to the millisecond when an old CA has been trusted for long enough after its last leaf', () => {
    const [, , replaced] = states;
    const half = START + 365 * DAY;
    const step = planCertificates(replaced ?? assert.fail(), TIMES, half + TIMES.trustFirstMs);
    assert.deepEqual(step, { kind: 'keep', checkAgainMs: TIMES.trustLongerMs - TIMES.trustFirstMs });
  });
});
