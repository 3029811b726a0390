// What the environment variables mean.
import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { environment, readEnvironment } from '../../../process/config.ts';

describe('readEnvironment', () => {
  const cacheFolders: readonly { readonly name: string; readonly env: NodeJS.ProcessEnv; readonly folder: string }[] = [
    {
      name: 'XDG_CACHE_HOME names the cache folder', env: { XDG_CACHE_HOME: '/var/cache/me', HOME: '/home/me' },
      folder: '/var/cache/me/isthmus',
    },
    {
      name: 'without it the cache is in the home folder', env: { HOME: '/home/me' }, folder: '/home/me/.cache/isthmus',
    },
    {
      name: 'an empty one counts as unset', env: { XDG_CACHE_HOME: '', HOME: '/home/me' },
      folder: '/home/me/.cache/isthmus',
    },
    {
      name: 'a relative one is ignored, as the specification says', env: { XDG_CACHE_HOME: 'cache', HOME: '/home/me' },
      folder: '/home/me/.cache/isthmus',
    },
    { name: 'without HOME the system is asked', env: {}, folder: join(homedir(), '.cache', 'isthmus') },
  ];
  for (const { name, env, folder } of cacheFolders) {
    it(name, () => assert.equal(readEnvironment(env).cacheFolder, folder));
  }

  it('leaves out ready-made executables when KUBEBUILDER_ASSETS is unset or empty', () => {
    assert.equal('kubebuilderAssets' in readEnvironment({}), false);
    assert.equal('kubebuilderAssets' in readEnvironment({ KUBEBUILDER_ASSETS: '' }), false);
    assert.equal(readEnvironment({ KUBEBUILDER_ASSETS: '/opt/envtest' }).kubebuilderAssets, '/opt/envtest');
  });

  it('splits KUBECONFIG in order of precedence and drops empty entries', () => {
    assert.deepEqual(readEnvironment({ KUBECONFIG: '/a:/b::' }).kubeconfigPaths, ['/a', '/b']);
    assert.deepEqual(readEnvironment({}).kubeconfigPaths, []);
  });

  it('hands every set variable on to children', () => {
    assert.deepEqual(readEnvironment({ PATH: '/bin', GOFLAGS: undefined }).inherited, { PATH: '/bin' });
  });

  it('rewrites goldens only when asked to by 1', () => {
    assert.equal(readEnvironment({ UPDATE_GOLDEN: '1' }).updateGolden, true);
    assert.equal(readEnvironment({ UPDATE_GOLDEN: 'no' }).updateGolden, false);
  });

  it('is frozen', () => {
    const value = readEnvironment({ PATH: '/bin' });
    assert.ok(Object.isFrozen(value) && Object.isFrozen(value.inherited) && Object.isFrozen(value.kubeconfigPaths));
  });
});

describe('environment', () => {
  it('is read once', () => assert.equal(environment(), environment()));
});
