// Which executables are used, which are built, and whether the Go on this machine can build them.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readEnvironment } from '../../../../process/config.ts';
import { moduleFolder } from '../../../../process/programs/go-build.ts';
import { forQuickBuilds, linkerFlags, planBinaries, type BuiltProgram } from '../../../../sandbox/plan/binary-plan.ts';
import {
  binariesKey, goVersionProblem, goPlatform, parseGoVersion,
} from '../../../../process/programs/go-toolchain.ts';
import { componentNames, type ComponentName } from '../../../../sandbox/plan/cluster-plan.ts';

describe('binariesKey', () => {
  const files = { 'go.mod': 'module m', 'kwok/main.go': 'package main' };

  it('does not depend on the order of the files', () => {
    assert.equal(binariesKey(files, 'linux/amd64'), binariesKey(
      { 'kwok/main.go': 'package main', 'go.mod': 'module m' }, 'linux/amd64',
    ));
  });

  const others: readonly (readonly [string, string])[] = [
    ['a changed file', binariesKey({ ...files, 'go.mod': 'module n' }, 'linux/amd64')],
    ['one more file', binariesKey({ ...files, 'go.sum': '' }, 'linux/amd64')],
    ['another platform', binariesKey(files, 'linux/arm64')],
    ['text that moved from one file to the next', binariesKey(
      { 'go.mod': '', 'kwok/main.go': 'module mpackage main' }, 'linux/amd64',
    )],
  ];
  for (const [what, key] of others) {
    it(`changes with ${what}`, () => assert.notEqual(key, binariesKey(files, 'linux/amd64')));
  }
});

describe('goPlatform', () => {
  it('uses the names of Go', () => {
    assert.equal(goPlatform('linux', 'x64'), 'linux/amd64');
    assert.equal(goPlatform('darwin', 'arm64'), 'darwin/arm64');
    assert.equal(goPlatform('win32', 'x64'), 'windows/amd64');
  });
});

const given = (...names: readonly ComponentName[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, `/assets/${name}`]));

describe('planBinaries', () => {
  const rows: readonly {
    readonly what: string; readonly ready: readonly ComponentName[]; readonly built: readonly BuiltProgram[];
    readonly toBuild: readonly BuiltProgram[]
  }[] = [
    { what: 'builds both when nothing is there', ready: [], built: [], toBuild: ['kubernetes', 'kwok'] },
    { what: 'builds nothing when both are built', ready: [], built: ['kubernetes', 'kwok'], toBuild: [] },
    { what: 'builds what the cache lacks', ready: [], built: ['kubernetes'], toBuild: ['kwok'] },
    { what: 'builds nothing when all are given', ready: componentNames, built: [], toBuild: [] },
    {
      what: 'builds kwok alone when kwok alone is missing', ready: componentNames.filter((name) => name !== 'kwok'),
      built: [], toBuild: ['kwok'],
    },
    {
      what: 'builds what envtest does not bring', ready: ['etcd', 'kube-apiserver'], built: [],
      toBuild: ['kubernetes', 'kwok'],
    },
  ];
  for (const { what, ready, built, toBuild } of rows) {
    it(what, () => assert.deepEqual(planBinaries(given(...ready), '/cache', new Set(built)).toBuild, toBuild));
  }

  it('starts given programs as they are, and built ones by their name in the shared program', () => {
    const { commands } = planBinaries(given('etcd'), '/cache', new Set());
    assert.deepEqual(commands.etcd, ['/assets/etcd']);
    assert.deepEqual(commands['kube-apiserver'], ['/cache/kubernetes', 'kube-apiserver']);
    assert.deepEqual(commands.kwok, ['/cache/kwok']);
  });
});

describe('linkerFlags', () => {
  it('writes the version of the module into the programs', () => {
    const flags =
      linkerFlags('module m\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n\tk8s.io/kubernetes-extra v0.1.2\n)\n');
    assert.match(flags, /^-s -w /);
    for (const setting of [
      'component-base/version.gitVersion=v1.36.3', 'component-base/version.gitMinor=36',
      'client-go/pkg/version.gitMajor=1',
    ]) {
      assert.ok(flags.includes(`-X k8s.io/${setting}`), setting);
    }
  });

  it('leaves the version out when go.mod names none', () => assert.equal(linkerFlags('module m'), '-s -w'));
});

describe('forQuickBuilds', () => {
  const inherited = (given: Record<string, string>): unknown => forQuickBuilds(readEnvironment(given)).inherited;
  const flag = '-gcflags=all=-dwarf=false';
  const seldom = { GOGC: 'off', GOMEMLIMIT: '1GiB' };

  it('leaves debugging information out, and lets the compiler have a gigabyte', () =>
    assert.deepEqual(inherited({ HOME: '/h' }), { ...seldom, HOME: '/h', GOFLAGS: flag }));

  it('keeps what the user has set', () => assert.deepEqual(
    inherited({ GOFLAGS: '-buildvcs=false', GOGC: '50', GOMEMLIMIT: '300MiB' }),
    { GOFLAGS: `-buildvcs=false ${flag}`, GOGC: '50', GOMEMLIMIT: '300MiB' },
  ));
});

describe('goVersionProblem', () => {
  const wanted = [1, 26] as const;
  const rows: readonly (readonly [what: string, version: string, toolchain: string, objection: RegExp | undefined])[] =
    [
    ['accepts the version that is wanted', 'go version go1.26.0 linux/amd64', 'local', undefined],
    ['accepts a newer one', 'go version go1.30.1 linux/amd64', 'local', undefined],
    ['accepts an older one that fetches a newer one', 'go version go1.21.13 linux/amd64', 'auto', undefined],
    ['refuses one that may not fetch', 'go version go1.24.1 linux/amd64', 'local', /GOTOOLCHAIN=local/],
    [
      'refuses one that cannot fetch', 'go version go1.20.14 linux/amd64', 'auto',
      /Go 1\.20 is installed, and Go 1\.21/,
    ],
  ];
  for (const [what, version, toolchain, objection] of rows) {
    it(what, () => {
      const answer = goVersionProblem(parseGoVersion(version)!, wanted, toolchain);
      if (objection === undefined) assert.equal(answer, undefined);
      else assert.match(answer ?? '', objection);
    });
  }

  it(
    'reads the wanted version from go.mod', () => assert.deepEqual(parseGoVersion('module m\n\ngo 1.26.0\n'), [1, 26]),
  );
  it('knows no number of a development version', () => assert.equal(
    parseGoVersion('go version devel +abc linux/amd64'), undefined,
  ));
});

const goMod = async (folder: string): Promise<string> =>
  readFile(join(await moduleFolder(folder), 'go.mod'), 'utf8');

const replacements = async (folder: string): Promise<readonly string[]> =>
  (await goMod(folder)).match(/^\t.* => .*/gm) ?? [];

/** Versions by module; without those that a `replace` sets. */
async function requiredVersions(folder: string): Promise<ReadonlyMap<string, string>> {
  const rows = (await goMod(folder)).matchAll(/^\t(\S+\.\S+) (v\S+)/gm);
  return new Map([...rows].map(([, name = '', version = '']) => [name, version]));
}

describe('the versions of modules that control planes have, too', () => {
  for (const folder of ['sandbox/node-programs/kubernetes', 'sandbox/packaging']) {
    it(`are the same in ${folder}, whose build then finds what the first has compiled`, async () => {
      const others = await requiredVersions('sandbox/binaries');
      const differing = [...await requiredVersions(folder)].filter(([name, version]) => {
        const other = others.get(name);
        return other !== undefined && other !== version && other !== 'v0.0.0';
      });
      assert.deepEqual(differing, []);
    });

    it(`are replaced alike in ${folder}: what is compiled has the path of the version that is required`, async () => {
      const others = await replacements('sandbox/binaries');
      assert.deepEqual((await replacements(folder)).filter((line) => !others.includes(line)), []);
    });
  }
});
