// Flags that limit Targets of tenants: what cannot be read is refused by name, and never taken for no limit.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Command } from 'commander';
import * as fc from 'fast-check';
import { tenantSettings, withTenantOptions, type TenantFlags } from '../../../../cli/run/tenant-limits.ts';
import { AppError } from '../../../../process/errors.ts';
import { DEFAULT_TENANT_SETTINGS } from '../../../../targets/access/tenant-rules.ts';

/** The flags that these arguments give. */
function parse(...args: readonly string[]): TenantFlags {
  const command = withTenantOptions(new Command()).exitOverride();
  command.parse(args, { from: 'user' });
  return command.opts();
}

const isRefused = (option: string, text: string) => (error: unknown): boolean =>
  error instanceof AppError && error.code === 'BadInput' && error.message.startsWith(option)
    && error.message.includes(text);

describe('limits of Targets of tenants', () => {
  it('are the defaults of the product without any flag', () => assert.deepEqual(
    tenantSettings(parse()), { ...DEFAULT_TENANT_SETTINGS, allowed: [], denied: [] },
  ));
  it('are what is given', () => {
    const { allowed, denied, targetsPerNamespace, cacheMiB } = tenantSettings(parse(
      '--target-allow-ranges', '10.0.0.0/8, fd00::/8', '--target-deny-ranges', '10.1.0.0/16',
        '--targets-per-namespace', '7',
      '--target-cache-mib', '16',
    ));
    assert.deepEqual([allowed, denied].map((ranges) => ranges.map(({ text }) => text)), [
      ['10.0.0.0/8', 'fd00::/8'], ['10.1.0.0/16'],
    ]);
    assert.deepEqual([targetsPerNamespace, cacheMiB], [7, 16]);
  });
  for (const option of ['--target-allow-ranges', '--target-deny-ranges', '--cluster-ranges']) {
    for (const wrong of ['10.0.0.0', '10.0.0.0/33', '10.0.0.0/8;10.1.0.0/16', 'all', '10.0.0/8', 'fd00::/129',
      '10.0.0.0/-1']) {
      it(`${option} does not take ${wrong}`, () => {
        assert.throws(() => parse(option, wrong), isRefused(option, wrong));
        assert.throws(() => parse(option, `10.0.0.0/8,${wrong}`), isRefused(option, ''));
      });
    }
    it(`${option} takes no range as none, with spaces and commas to spare`, () => {
      for (const none of ['', ' ', ',', ' , ']) assert.doesNotThrow(() => parse(option, none));
    });
  }
  for (const [option, most] of [['--targets-per-namespace', 10_000], ['--target-cache-mib', 1_024]] as const) {
    it(`${option} takes exactly the whole numbers from 1 to ${most}`, () => {
      fc.assert(fc.property(fc.oneof(fc.integer({ min: -5, max: most + 5 }), fc.double({ noNaN: true })), (count) => {
        const isGood = Number.isInteger(count) && count >= 1 && count <= most;
        if (isGood) assert.doesNotThrow(() => parse(`${option}=${count}`));
        else assert.throws(() => parse(`${option}=${count}`), isRefused(option, ''));
      }), { numRuns: 150 });
      for (const [edge, isGood] of [[0, false], [1, true], [most, true], [most + 1, false]] as const) {
        if (isGood) assert.doesNotThrow(() => parse(option, String(edge)));
        else assert.throws(() => parse(option, String(edge)), isRefused(option, String(edge)));
      }
    });
    it(`${option} takes no text`, () => {
      for (const wrong of ['', 'many', '1 2', '5MiB', 'NaN']) assert.throws(() => parse(`${option}=${wrong}`),
        isRefused(option, wrong));
    });
  }
});
