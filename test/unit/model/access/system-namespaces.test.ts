import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  celIsSystemNamespace, isSystemNamespace, neverElectedNamespaces, ownNamespaces,
} from '../../../../model/access/system-namespaces.ts';

const INSTALL = 'isthmus-system';

describe('namespaces where no pod is elected', () => {
  it('are that of the installation and kube-system', () =>
    assert.deepEqual(neverElectedNamespaces(INSTALL), [INSTALL, 'kube-system']));
  it('are named once where Isthmus is installed into kube-system', () =>
    assert.deepEqual(neverElectedNamespaces('kube-system'), ['kube-system']));
});

describe('namespaces that never admit a source', () => {
  const rows: readonly (readonly [name: string, isSystem: boolean])[] = [
    ['kube-system', true], ['kube-node-lease', true], ['kubernetes', false], ['production', false],
    [INSTALL, true], [`${INSTALL}-keys`, true], [`${INSTALL}-targets`, true], [`${INSTALL}-other`, false],
  ];
  for (const [name, isSystem] of rows) {
    it(`${name}: ${isSystem ? 'yes' : 'no'}`, () => assert.equal(isSystemNamespace(name, INSTALL), isSystem));
  }
  it('are the same in an expression', () => assert.equal(
    celIsSystemNamespace('request.namespace', ownNamespaces(INSTALL)),
    `request.namespace.startsWith('kube-') || request.namespace in ` +
      `['${INSTALL}', '${INSTALL}-keys', '${INSTALL}-targets']`,
  ));
});
