import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  selectedNamespaces, unreadableOf, unreadablePartOf, unreadableText,
} from '../../../../dashboard/headlamp/listings.ts';
import { headlampDouble, listed, READING, refused } from '../../../support/doubles/headlamp-double.ts';

describe('what could not be read', () => {
  for (const [what, plural, error, text] of [
    [
      'pods of a cluster', 'pods', { message: 'Forbidden', status: 403, cluster: 'eu' },
      'Cannot show pods of cluster eu: Forbidden. Select a namespace that you may read, or ask an administrator for '
        + 'permission to list pods.',
    ],
    [
      'nodes of a cluster', 'nodes', { message: 'nodes is forbidden.', status: 403, cluster: 'eu' },
      'Cannot show nodes of cluster eu: nodes is forbidden. Ask an administrator for permission to list nodes.',
    ],
    [
      'targets of a namespace', 'targets', { message: 'Unauthorized', status: 401, cluster: 'eu', namespace: 'team' },
      'Cannot show targets of namespace team, cluster eu: Unauthorized. Ask an administrator for permission to list '
        + 'targets.',
    ],
    [
      'a cluster without Isthmus', 'clustertargets', { message: 'Not Found', status: 404 },
      'Cannot show clustertargets: Not Found. Check that Isthmus is installed in this cluster.',
    ],
    [
      'a cluster that is not there', 'pods', { message: 'Bad Gateway', status: 502 },
      'Cannot show pods: Bad Gateway. Reload the page. If this lasts, check the connection to the cluster.',
    ],
  ] as const) {
    it(`is said of ${what}, with what to do`, () => (
      assert.equal(unreadableText(unreadablePartOf(plural, error, 'list')), text)
    ));
  }

  it('is nothing where it was read, or is being read', () => {
    assert.deepEqual([...unreadableOf('pods', listed()), ...unreadableOf('pods', READING)], []);
    assert.equal(unreadableOf('pods', refused()).length, 1);
  });
});

describe('the selected namespaces', () => {
  for (const [what, state, expected] of [
    ['those of Headlamp', { filter: { namespaces: new Set(['shop', 'bank']) } }, ['shop', 'bank']],
    ['all where none is selected', { filter: { namespaces: new Set() } }, []],
    ['all where the state has another form', { filter: { namespaces: ['shop'] } }, []],
    ['all where there is no such state', {}, []],
    ['names alone', { filter: { namespaces: new Set([1, 'shop']) } }, ['shop']],
  ] as const) {
    it(`are ${what}`, () => assert.deepEqual(selectedNamespaces(headlampDouble({ state }).lib), expected));
  }
});
