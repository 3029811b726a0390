// When the inputs of placement have changed, and when only their heartbeats or their status: a change wakes all pods
// that wait, so one that is none costs a decision for each of them.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TARGET_LABELS_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { KubernetesObject, Node } from '../../../../api/objects/core.ts';
import { PlacementInputs } from '../../../../scheduler/cache/placement-inputs.ts';
import { ScriptedApiServer, SILENT, status, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const NODES = '/api/v1/nodes';
let version = 100;

function anObject(name: string, rest: object = {}, namespace?: string): KubernetesObject {
  version += 1;
  const { metadata = {}, ...others } = rest as { readonly metadata?: object };
  return {
    metadata: { name, resourceVersion: `${version}`, ...(namespace !== undefined && { namespace }), ...metadata },
    ...others,
  };
}

describe('PlacementInputs', () => {
  let server: ScriptedApiServer;
  let inputs: PlacementInputs;
  let stop: AbortController;
  let running: Promise<void>;
  let told: string[];
  const changed = new EventEmitter();

  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    server.transport.offersStreamingLists = false;
    inputs = new PlacementInputs(server.client, SILENT);
    told = [];
    const tell = (what: string): void => {
      told.push(what);
      changed.emit('told');
    };
    inputs.listen({ nodeChanged: (name) => tell(`node ${name}`), rulesChanged: () => tell('rules') });
    stop = new AbortController();
    running = inputs.run(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await server.stop();
  });

  const kindOf = ({ path }: Exchange): string =>
    (path.includes('clusterplacement') ? 'cluster policies' : path.includes('placement') ? 'policies'
      : path.startsWith(NODES) ? 'nodes' : 'namespaces');

  /** Answers the four lists, and gives the four watches. */
  async function listed(lists: Readonly<Record<string, readonly KubernetesObject[] | Error>> = {}) {
    const watches = new Map<string, Exchange>();
    const expected = 8 - Object.values(lists).filter((list) => list instanceof Error).length;
    for (let request = 0; request < expected; request += 1) {
      const exchange = await server.next();
      const kind = kindOf(exchange);
      const list = lists[kind] ?? [];
      if (exchange.query.get('watch') !== null) {
        exchange.open();
        watches.set(kind, exchange);
      } else if (list instanceof Error) exchange.answer(403, status(403, 'Forbidden', 'no'));
      else exchange.answerPage('100', '', ...list);
    }
    await inputs.untilReadOrBroken();
    return (kind: string, type: string, object: KubernetesObject): void => watches.get(kind)?.send(type, object);
  }

  it('are complete also where namespaces are listed last, and whoever waits is told', async () => {
    const complete: boolean[] = [];
    changed.on('told', () => complete.push(inputs.policyIndex.isComplete));
    let last: Exchange | undefined;
    for (let lists = 0, watches = 0; lists < 4 || watches < 3;) {
      const exchange = await server.next();
      if (exchange.query.get('watch') !== null) {
        watches += 1;
        exchange.open();
      } else {
        lists += 1;
        if (kindOf(exchange) === 'namespaces') last = exchange;
        else exchange.answerPage('100', '');
      }
    }
    assert.equal(inputs.policyIndex.isComplete, false);
    last?.answerPage('100', '', anObject('default'));
    await inputs.namespaces.synced;
    assert.deepEqual([inputs.policyIndex.isComplete, complete.at(-1)], [true, true]);
    changed.removeAllListeners();
  });

  /** What was told up to an event that is certainly one. */
  async function toldUntil(send: (kind: string, type: string, object: KubernetesObject) => void) {
    const start = told.length;
    send('nodes', 'ADDED', anObject('last'));
    while (!told.slice(start).includes('node last')) await once(changed, 'told');
    return told.slice(start, -1);
  }

  const aNode = (rest: Partial<Node> = {}, metadata: object = {}) =>
    anObject('n', { ...rest, metadata: { labels: { zone: '1' }, ...metadata } });

  it('are complete once all of them are listed', async () => {
    assert.equal(inputs.policyIndex.isComplete, false);
    const policy = anObject('p', { spec: { require: { matchLabels: { a: 'b' } } } }, 'team-a');
    await listed({
      'policies': [policy], 'cluster policies': [anObject('cp', { spec: {} })],
      'namespaces': [anObject('team-a', { metadata: { labels: { team: 'a' } } })],
    });
    assert.equal(inputs.policyIndex.isComplete, true);
    assert.deepEqual(inputs.policyIndex.policies.map(({ title }) => title), [
      'PlacementPolicy team-a/p', 'ClusterPlacementPolicy cp',
    ]);
    assert.deepEqual([...inputs.policyIndex.namespaces], [['team-a', { team: 'a' }]]);
    assert.equal(inputs.policyIndex, inputs.policyIndex, 'it is made once');
  });
  it('are not complete while policies cannot be read, and do not hold up the start for that', async () => {
    await listed({ 'cluster policies': new Error('forbidden') });
    assert.equal(inputs.policyIndex.isComplete, false);
  });

  const nodeChanges: Record<string, readonly [Node, told: readonly string[]]> = {
    'a heartbeat': [aNode({ status: { conditions: [{ type: 'Ready', status: 'True' }] } }), []],
    'an annotation of others': [aNode({}, { annotations: { 'a.io/b': 'c' } }), []],
    'a label': [aNode({}, { labels: { zone: '2' } }), ['node n']],
    'a cordon': [aNode({ spec: { unschedulable: true } }), ['node n']],
    'a taint': [aNode({ spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }), ['node n']],
    'which labels the target reports':
      [aNode({}, { annotations: { [TARGET_LABELS_ANNOTATION]: '["zone"]' } }), ['node n']],
  };
  for (const [what, [after, expected]] of Object.entries(nodeChanges)) {
    it(`${expected.length > 0 ? 'tell of' : 'do not tell of'} ${what} of a virtual node`, async () => {
      const send = await listed({ nodes: [aNode()] });
      send('nodes', 'MODIFIED', { ...after, metadata: { ...after.metadata, resourceVersion: `${version += 1}` } });
      assert.deepEqual(await toldUntil(send), expected);
    });
  }
  it('tell of a virtual node that is removed', async () => {
    const send = await listed({ nodes: [aNode()] });
    send('nodes', 'DELETED', aNode());
    assert.deepEqual(await toldUntil(send), ['node n']);
    assert.equal(inputs.nodes.get('n'), undefined);
  });

  /** How often changed rules were told, up to a namespace that is new. */
  const rulesUntil = async (send: (kind: string, type: string, object: KubernetesObject) => void, name: string) => {
    const start = told.length;
    send('namespaces', 'ADDED', anObject(name));
    while (inputs.namespaces.get(name) === undefined) await once(changed, 'told');
    return told.slice(start).length;
  };
  it('tell of labels of a namespace, and of nothing else of it', async () => {
    const send = await listed({ namespaces: [anObject('team-a', { metadata: { labels: { team: 'a' } } })] });
    const metadata = { labels: { team: 'a' }, annotations: { b: 'c' } };
    send('namespaces', 'MODIFIED', anObject('team-a', { metadata }));
    assert.equal(await rulesUntil(send, 'one'), 1);
    send('namespaces', 'MODIFIED', anObject('team-a', { metadata: { labels: { team: 'b' } } }));
    assert.equal(await rulesUntil(send, 'two'), 2);
    assert.deepEqual(inputs.policyIndex.namespaces.get('team-a'), { team: 'b' });
  });
  it('tell of the spec of a policy, and not of its status, which this process writes itself', async () => {
    const policy = (spec: object, state: object) => anObject('p', { spec, status: state }, 'team-a');
    const send = await listed({ policies: [policy({}, {})] });
    const before = inputs.policyIndex;
    send('policies', 'MODIFIED', policy({}, { conditions: [{ type: 'Ready', status: 'True' }] }));
    const start = told.length;
    send('policies', 'MODIFIED', policy({ weights: { rtt: 3 } }, {}));
    while (inputs.policyIndex === before) await once(changed, 'told');
    assert.deepEqual(told.slice(start), ['rules'], 'once, for the second change');
    assert.deepEqual(inputs.policyIndex.policies.map(({ spec }) => spec), [{ weights: { rtt: 3 } }]);
  });
});
