import assert from 'node:assert/strict';
import { Command } from 'commander';
import { describe, it } from 'node:test';
import { localAccess, withAccessOptions, type AccessFlags } from '../../../../cli/run/local-access-options.ts';

const parse = (...words: readonly string[]): AccessFlags =>
  withAccessOptions(new Command()).exitOverride().parse(words, { from: 'user' }).opts<AccessFlags>();

describe('what kubeconfigs of ClusterTargets may use of this process', () => {
  it('is nothing unless it is named', () => {
    const { environment, ...named } = localAccess(parse());
    assert.deepEqual(named, { execPlugins: [], execEnvironment: [], tokenFolders: [] });
    assert.equal(environment['PATH'], process.env['PATH']);
  });

  it('is what is named', () => {
    assert.deepEqual(
      parse(
        '--exec-plugins', 'aws, /usr/local/bin/kubelogin,', '--exec-environment', 'A,b_2', '--token-folders',
        '/var/run/tokens/,/srv/a/../b',
      ),
      {
        execPlugins: ['aws', '/usr/local/bin/kubelogin'], execEnvironment: ['A', 'b_2'],
        tokenFolders: ['/var/run/tokens', '/srv/b'],
      },
    );
  });

  const wrong: Record<string, readonly [flag: string, value: string, why: RegExp]> = {
    'a relative path': ['--exec-plugins', 'aws,bin/aws', /names of programs or absolute paths, not "bin\/aws"/],
    'a program with its arguments': ['--exec-plugins', 'aws eks', /names of programs or absolute paths, not "aws eks"/],
    'a shell': ['--exec-plugins', 'sh', /must not name "sh", which runs whatever its arguments say/],
    'a shell by its path': ['--exec-plugins', '/bin/bash', /must not name "\/bin\/bash"/],
    'an interpreter': ['--exec-plugins', 'python3.12', /must not name "python3\.12"/],
    'a program that starts others': ['--exec-plugins', '/usr/bin/env', /must not name "\/usr\/bin\/env"/],
    'a variable with a value': ['--exec-environment', 'A=b', /takes names of variables, not "A=b"/],
    'a variable that loads code': ['--exec-environment', 'LD_PRELOAD', /must not name LD_PRELOAD/],
    'the path': ['--exec-environment', 'PATH', /must not name PATH/],
    'a relative folder': ['--token-folders', 'tokens', /absolute paths of folders other than \/, not "tokens"/],
    'the root': ['--token-folders', '/a/..', /other than \/, not "\/a\/\.\."/],
  };
  for (const [what, [flag, value, why]] of Object.entries(wrong)) {
    it(`is not ${what}`, () => assert.throws(() => parse(flag, value), { code: 'BadInput', message: why }));
  }
});
