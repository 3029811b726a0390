// Streams of delegates that a target grants pod by pod: the commands ask for the permission, as the kubelet API does.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLUSTER_TARGET_NAME_LABEL } from '../../../../api/objects/keys.ts';
import { virtualNodeName } from '../../../../model/naming/names.ts';
import { AnsweringApiServer, type Answer } from '../../../support/doubles/answering-api-server.ts';
import { aDelegate, aNode, aProxy, labelled, named, onNode, withoutOwner } from '../../../support/objects/builders.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';
import { servedSource, servedTarget } from '../../../support/doubles/served-source.ts';

const NODE = virtualNodeName({ kind: 'ClusterTarget', name: 'eu' });
const MISSING =
  'pods "web-abc" is forbidden: User "source" cannot get resource "pods/log" in API group "" in the namespace "team-a"';
const CHAPERON = '/apis/multicluster.admiralty.io/v1alpha1/namespaces/team-a/podchaperons/web-abc';

describe('isthmus logs', () => {
  let source: AnsweringApiServer;
  let target: AnsweringApiServer;
  let delegate = aDelegate();
  let isGranted = false;

  function answer(method: string, { pathname }: URL): Answer {
    if (pathname.endsWith('/log')) {
      return isGranted ? [200, ''] : [403, status(403, 'Forbidden', MISSING)];
    }
    if (method === 'PATCH') isGranted = true;
    return [200, method === 'GET' ? { kind: 'List', metadata: { resourceVersion: '9' }, items: [delegate] } : {}];
  }

  before(async () => {
    target = await AnsweringApiServer.start(answer);
    source = await AnsweringApiServer.start(servedSource([servedTarget('eu', target.kubeconfigText())], {
      nodes: [aNode(named(NODE), labelled({ [CLUSTER_TARGET_NAME_LABEL]: 'eu' }))], pods: [aProxy(onNode(NODE))],
    }));
  });
  after(() => Promise.all([source.stop(), target.stop()]));

  const logs = async () => isthmusHere('logs', 'web', '-n', 'team-a', '--kubeconfig', await source.kubeconfig());

  it('asks the target for the permission, and prints the log once it is granted', async () => {
    const { code, stderr } = await logs();
    assert.deepEqual([code, stderr], [0, '']);
    assert.ok(target.calls.includes(`PATCH ${CHAPERON}`), target.calls.join('\n'));
  });

  it('says what the target denies where the source made the delegate itself', async () => {
    isGranted = false;
    delegate = aDelegate(withoutOwner());
    const { code, stderr } = await logs();
    assert.equal(code, 1);
    assert.match(stderr, /error from server \(Forbidden\): pods "web-abc" is forbidden/);
  });
});
