// Each row of the page about what happens to delegates names a file with a test that shows it. The titles of the tests
// are here, so that one that is renamed or removed is missed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { textOf } from '../../support/docs/documented-blocks.ts';

const PAGE = 'docs/what-happens-when.md';

/** Words of the test by the row that it shows. */
const SHOWN: Readonly<Record<string, string>> = {
  'the proxy pod is deleted, or its controller scales down': 'keeps its proxy until its container has ended in its own',
  'the same, while the target cannot be reached': '8: a proxy that is deleted in the meantime stays until its delegate',
  'the proxy pod is removed by force, with its finalizers': '9: the delegate of a proxy that is taken away by force',
  'the target is cordoned (`isthmus cordon`, `kubectl cordon` of the virtual node)': 'that are cordoned get nothing',
  'the target is drained (`isthmus drain`, `kubectl drain` of the virtual node)': 'types what docs/tutorial.md says',
  'the (Cluster)Target is deleted with `removalPolicy: Drain`': 'that drains evicts its pods, and leaves no delegate',
  'the (Cluster)Target is deleted with `removalPolicy: Orphan`': 'a pod whose target was removed is told once',
  'the virtual node is deleted': '42: a virtual node that is deleted is made again, and its proxies stay',
  'the virtual node stays NotReady, because Isthmus is down': '43: has virtual nodes that are NotReady for longer',
  'the API server of the source is down': '5: a source API server that is killed and starts again costs nothing',
  'Isthmus is upgraded or rolled back': 'is upgraded and rolled back under a stream of pods, none of which',
  '`isthmus uninstall`, or `helm uninstall`': 'lets Isthmus be uninstalled when it is no longer used, or by force',
  '`isthmus uninstall --force`': 'released Pod default\\/first-pod',
  'the network is interrupted, a gateway included': '2, 3, 10: a target that swallows all is noticed; what runs there',
  'a pod ends during that time': '7: an end in the meantime arrives after it, and the pod is not run again',
  "the source's credentials expire, or its permissions are revoked": '30: permissions that are revoked in the target',
  'the kubeconfig is replaced by one for another cluster':
    'leaves a cluster that is no target: one that is led there keeps its pods',
  'the ClusterSource or Source is deleted in the target': 'dies with its source',
  'the API server is down': '2: a target that is down keeps its proxies as they were, which say so',
  'the delegate controller is down': '51: a target whose summary is stale takes no more than it had',
  'a user deletes the delegate, drains its node, or a pod of higher priority preempts it':
    'deletes the proxy when the delegate is deleted in the target',
  'the same, while the source is down': 'marks when the delegate was found gone, on this very chaperon',
  'its PodChaperon is deleted': 'deletes the proxy when the chaperon is deleted in the target',
  'the kubelet evicts it, for lack of disk say': 'evicts as it does its own, replacements run in the other target',
  'its node restarts': 'that loses its power runs its pods again, which stay the same',
  'its node is lost': 'and one whose delegate somebody deletes, as of a lost node, which never stops',
  'its node is cordoned': 'a cordoned node does not',
  'kinds of Isthmus are deleted other than PodChaperon': '56: kinds of ours that are missing in a target',
  'PodChaperons are deleted with their kind (`isthmus uninstall --purge --force`)':
    'is controlled by its chaperon, which a foreground deletion waits for',
};

const rows = textOf(PAGE).split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| What '))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));

describe('what happens to delegates', () => {
  it('has a test for each row', () => {
    assert.deepEqual(rows.map(([what = '']) => what).toSorted(), Object.keys(SHOWN).toSorted());
  });

  for (const [what = '', , , path = ''] of rows) {
    it(`${what}: its test is there`, () => {
      assert.ok(textOf(path.replaceAll('`', '')).includes(SHOWN[what] ?? '?'), path);
    });
  }
});
