// The plugin's manifest as krew wants it (krew `internal/index/validation`), before a release and with one in it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { archiveName, krewManifest } from '../../../manifests/krew.ts';
import { brokenKrewRules, type KrewManifest } from '../../support/peers/krew.ts';

// Compiled tests are one folder deeper than their sources.
const TEMPLATE =
  readFileSync(join(import.meta.dirname, '..', '..', '..', '..', 'manifests', 'krew', 'isthmus.yaml'), 'utf8');
const RELEASE = { version: '1.2.3', uri: `https://example.com/v1.2.3/${archiveName('1.2.3')}`, sha256: 'a'.repeat(64) };
const filled = parse(krewManifest(TEMPLATE, RELEASE)) as KrewManifest;

describe("krew's manifest of the plugin", () => {
  it('lacks nothing once a release is in it', () => assert.deepEqual(brokenKrewRules('isthmus', filled), []));

  it('has the version and the archive of the release for every platform', () => {
    assert.equal(filled.spec.version, 'v1.2.3');
    assert.ok(filled.spec.platforms.length > 0);
    for (const { uri, sha256 } of filled.spec.platforms) {
      assert.deepEqual({ uri, sha256 }, { uri: RELEASE.uri, sha256: RELEASE.sha256 });
    }
  });

  it('keeps all else of the template', () => {
    const { spec: { version: _version, platforms, ...spec }, ...rest } = filled;
    const bare = {
      ...rest, spec: { ...spec, platforms: platforms.map(({ uri: _uri, sha256: _sha256, ...platform }) => platform) },
    };
    assert.deepEqual(bare, parse(TEMPLATE));
  });

  it('holds no sum and no address before there is a release', () => {
    assert.deepEqual(brokenKrewRules('isthmus', parse(TEMPLATE) as KrewManifest), ['version', 'uri', 'sha256']);
  });

  it('does not offer the plugin where no link to a script runs', () => {
    const systems = filled.spec.platforms.flatMap(
      ({ selector }) => selector?.matchExpressions?.flatMap(({ values = [] }) => values) ?? [],
    );
    assert.deepEqual(systems.toSorted(), ['darwin', 'linux']);
  });
});

describe('the rules of krew', () => {
  const platform = filled.spec.platforms[0]!;
  const cases: Record<
    string, readonly [change: Partial<KrewManifest> | Partial<KrewManifest['spec']>, broken: string]
  > = {
    'a group of its own': [{ apiVersion: 'v1' }, 'apiVersion'],
    'a name that is the file name': [{ metadata: { name: 'other' } }, 'name'],
    'a version with its letter': [{ version: '1.2.3' }, 'version'],
    'a description of one line': [{ shortDescription: 'a\nb' }, 'shortDescription'],
    'some platform': [{ platforms: [] }, 'platforms'],
    'a selector': [{ platforms: [{ ...platform, selector: {} }] }, 'selector'],
    'a whole sum': [{ platforms: [{ ...platform, sha256: 'abc' }] }, 'sha256'],
    'an archive that it can unpack': [{ platforms: [{ ...platform, uri: 'https://example.com/isthmus.rpm' }] }, 'uri'],
    'a program within the archive': [{ platforms: [{ ...platform, bin: '../main.js' }] }, 'bin'],
  };
  for (const [what, [change, broken]] of Object.entries(cases)) {
    it(`ask for ${what}`, () => {
      const changed = 'apiVersion' in change
        || 'metadata' in change ? { ...filled, ...change } : { ...filled, spec: { ...filled.spec, ...change } };
      assert.deepEqual(brokenKrewRules('isthmus', changed as KrewManifest), [broken]);
    });
  }
});
