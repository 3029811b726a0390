import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import {
  artifactHubPackage, headlampArchiveName, headlampPackage, headlampScript,
} from '../../../manifests/headlamp-plugin.ts';
import { compiledModule } from '../../support/rules/compiled-module.ts';

const textOf = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8');
const TEMPLATE = textOf('manifests/headlamp/artifacthub-pkg.yml');

/** Fields of `artifacthub-pkg.yml` (artifacthub.io) that a Headlamp plugin must have. */
interface CatalogueEntry {
  readonly version: string;
  readonly name: string;
  readonly displayName: string;
  readonly createdAt: string;
  readonly description: string;
  readonly license: string;
  readonly annotations: Readonly<Record<string, string>>;
}

describe('the entry of the catalogue', () => {
  const release = {
    version: '1.2.3', url: 'https://example.com/v1.2.3/isthmus.tar.gz', sha256: 'ab'.repeat(32),
    createdAt: '2026-01-02T03:04:05Z',
  };
  const entry = parse(artifactHubPackage(TEMPLATE, release)) as CatalogueEntry;

  it('has what Artifact Hub requires', () => {
    assert.deepEqual([entry.version, entry.createdAt, entry.license], ['1.2.3', '2026-01-02T03:04:05Z', 'Apache-2.0']);
    assert.match(entry.name, /^[a-z0-9_-]+$/);
    for (const text of [entry.displayName, entry.description]) assert.notEqual(text, '');
  });

  it('has the annotations that Headlamp installs by', () => {
    assert.deepEqual(entry.annotations, {
      'headlamp/plugin/archive-url': release.url,
      'headlamp/plugin/archive-checksum': `SHA256:${release.sha256}`,
      'headlamp/plugin/version-compat': '>=0.45.0',
      'headlamp/plugin/distro-compat': 'in-cluster,web,docker-desktop,desktop',
    });
  });

  it('says nothing of what a release has not filled in', () => {
    assert.doesNotMatch(artifactHubPackage(TEMPLATE, release), /""|npm run release/);
  });
});

describe('the package', () => {
  it('names the interface that it was made for, by which Headlamp decides whether to run it', () => {
    const { name, version, devDependencies } = JSON.parse(headlampPackage('1.2.3')) as {
      readonly name: string; readonly version: string; readonly devDependencies: Readonly<Record<string, string>>
    };
    assert.deepEqual([name, version], ['isthmus', '1.2.3']);
    assert.match(devDependencies['@kinvolk/headlamp-plugin'] ?? '', /^\^0\.(?:[89]|[1-9]\d)\./, '0.8.0 or newer');
  });

  it('has a script without anything of Node.js, without requests, and without ways to make markup', () => {
    const script = headlampScript('1.2.3', compiledModule);
    assert.ok(script.startsWith('// Isthmus 1.2.3 for Headlamp.'));
    assert.doesNotMatch(script, /\b(?:require|fetch|eval|import|WebSocket|XMLHttpRequest)\(/);
    assert.doesNotMatch(script, /\b(?:process|document|window|localStorage|ApiProxy)\.\w/);
    assert.doesNotMatch(script, /dangerouslySetInnerHTML|^\s*(?:import|export)\b.*from\b/m);
  });

  it('needs the Headlamp that its pages of documentation name', () => {
    const { engines } = JSON.parse(headlampPackage('1.2.3')) as { readonly engines: { readonly headlamp: string } };
    const [, oldest = '?'] = /^>=(\d+\.\d+)\.0$/.exec(engines.headlamp) ?? [];
    for (const path of ['docs/web-page.md', 'manifests/headlamp/README.md']) {
      assert.ok(textOf(path).includes(`Headlamp ${oldest} `), path);
    }
  });

  it('has an archive that tells it from the other archives of a release', () => {
    assert.equal(headlampArchiveName('1.2.3'), 'isthmus-headlamp-1.2.3.tar.gz');
  });
});
