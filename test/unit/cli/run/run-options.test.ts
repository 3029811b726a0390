import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Command } from 'commander';
import { placementOf, webhookOptions, withRunOptions, type RunOptions } from '../../../../cli/run/run-options.ts';

const given = (...flags: string[]): RunOptions => withRunOptions(new Command('run')).parse(flags, { from: 'user' })
  .opts<RunOptions>();

const FILES = ['--webhook-certificate-file', 'tls.crt', '--webhook-key-file', 'tls.key'];
const SECRET = ['--webhook-certificate-secret', 'issued'];

describe("where the webhook's certificate comes from", () => {
  const sources: readonly (readonly [flags: readonly string[], source: unknown])[] = [
    [[], { kind: 'own' }],
    [SECRET, { kind: 'secret', name: 'issued' }],
    [FILES, { kind: 'files', files: { certificate: 'tls.crt', key: 'tls.key' } }],
  ];
  for (const [flags, source] of sources) {
    it(`${flags.join(' ')} is ${JSON.stringify(source)}`, () => assert.deepEqual(
      webhookOptions(given(...flags)).certificates, source,
    ));
  }

  const refusals: readonly (readonly [flags: readonly string[], says: RegExp])[] = [
    [FILES.slice(0, 2), /belong together; give both or neither/],
    [FILES.slice(2), /belong together; give both or neither/],
    [[...FILES, ...SECRET], /are two sources; give one/],
    [[...FILES.slice(0, 2), ...SECRET], /belong together/],
  ];
  for (const [flags, says] of refusals) {
    it(`${flags.join(' ')} is refused`, () => assert.throws(
      () => webhookOptions(given(...flags)), { code: 'BadInput', message: says },
    ));
  }
});

describe('what the options say to the components', () => {
  it('drains the webhook for milliseconds', () => assert.equal(
    webhookOptions(given('--webhook-drain-seconds', '2.5')).drainMs, 2_500,
  ));

  const places: readonly (readonly [flags: readonly string[], placement: unknown])[] = [
    [[], { location: {} }],
    [['--region', 'eu'], { location: { region: 'eu' } }],
    [['--region', 'eu', '--zone', 'eu-1'], { location: { region: 'eu', zone: 'eu-1' } }],
    [['--score-weights', 'cost=2'], { weights: { cost: 2 }, location: {} }],
  ];
  for (const [flags, placement] of places) {
    it(`${flags.join(' ') || 'nothing'} places by ${JSON.stringify(placement)}`, () => assert.deepEqual(
      placementOf(given(...flags)), placement,
    ));
  }

  it('runs only components that there are', () => {
    assert.deepEqual(given('--components', 'webhook, scheduler').components, ['webhook', 'scheduler']);
    assert.throws(() => given('--components', 'webhook,sheduler'), {
      code: 'BadInput', message: /no "sheduler"; choose from webhook, scheduler/,
    });
  });
});
