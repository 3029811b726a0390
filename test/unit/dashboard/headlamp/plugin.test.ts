// The plugin as Headlamp runs it: the script of a release, with a double of Headlamp's interface.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runInThisContext } from 'node:vm';
import type { KubernetesObject, Node, Pod } from '../../../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, DELEGATE_NAME_ANNOTATION, ELECT_ANNOTATION, PARENT_NAME_ANNOTATION,
  PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL, PLACEMENT_ANNOTATION, PROVIDER_KEY, PROVIDER_VALUE,
} from '../../../../api/objects/keys.ts';
import { headlampScript } from '../../../../manifests/headlamp-plugin.ts';
import { compiledModule } from '../../../support/rules/compiled-module.ts';
import {
  headlampDouble, inHeadlamp, listed, READING, refused, rendered, type HeadlampWorld, type Registered,
} from '../../../support/doubles/headlamp-double.ts';
import { shownPod, unschedulable, type ShownPod } from '../../../support/objects/seen-pods.ts';

const HOSTILE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
const script = headlampScript('1.2.3', compiledModule);

/** Runs the script as Headlamp does. */
function started(world: HeadlampWorld = {}): Registered {
  const double = headlampDouble(world);
  const globals = globalThis as { pluginLib?: unknown };
  globals.pluginLib = double.lib;
  try {
    runInThisContext(`(function () {${script}})`)();
  } finally {
    delete globals.pluginLib;
  }
  return double;
}

/** The section of a page. */
function sectionOf(object: KubernetesObject, kind: string, world: HeadlampWorld = {}): readonly string[] {
  const [section] = started(world).sections;
  return rendered(section?.({ resource: inHeadlamp(object, kind) }));
}

const proxy = (given: ShownPod = {}): Pod =>
  shownPod({ ...given, annotations: { [ELECT_ANNOTATION]: '', ...given.annotations } });
const bound = proxy({
  target: 'ClusterTarget/eu', annotations: {
    [DELEGATE_NAME_ANNOTATION]: 'web-1-abc',
    [PLACEMENT_ANNOTATION]: JSON.stringify({
      target: 'ClusterTarget/eu', score: 7.5, tier: 2, afterScaleUp: true, more: 3,
      not: { 'Target/team/us': 'InsufficientRoom' },
    }),
  },
});
const delegate = {
  metadata: { namespace: 'shop', name: 'web-1-abc', uid: 'there', labels: { [PARENT_UID_LABEL]: 'uid-shop-web-1' } },
  spec: { containers: [], nodeName: 'worker-7' },
  status: { conditions: [{ type: 'PodScheduled', status: 'True' }] },
} as Pod;
const node: Node = {
  metadata: {
    name: 'admiralty-eu', uid: 'n', labels: { [PROVIDER_KEY]: PROVIDER_VALUE, [CLUSTER_TARGET_NAME_LABEL]: 'eu' },
  },
  status: {
    conditions: [{ type: 'TargetReady', status: 'False', reason: 'Unauthorized', message: 'renew its credentials' }],
    capacity: { cpu: '8' }, allocatable: { cpu: '4' },
  },
};
const target = {
  metadata: { name: 'eu' }, spec: {},
  status: {
    conditions: [{ type: 'Ready', status: 'True' }], free: { cpu: '12' }, rtt: '9ms', virtualNode: 'admiralty-eu',
  },
} as KubernetesObject;

describe('the plugin', () => {
  it('registers each thing once', () => {
    const { mapSources, relations, sections, columns, routes, entries } = started();
    for (const registered of [mapSources, relations, sections, columns, routes, entries]) {
      assert.equal(registered.length, 1);
    }
    assert.equal(routes[0]?.path, entries[0]?.url);
    assert.equal(routes[0]?.sidebar, entries[0]?.name);
  });

  it('runs in a Headlamp without relations of plugins', () => {
    const { relations, mapSources } = started({ isOld: true });
    assert.deepEqual([relations.length, mapSources.length], [0, 1]);
  });

  it('asks for nothing before something is shown', () => assert.deepEqual(started().asked, []));
});

describe('the section of a pod', () => {
  it('shows target, delegate, stages and the recorded decision', () => {
    const text = sectionOf(bound, 'Pod');
    assert.deepEqual(text.slice(0, 4), [
      '# Isthmus', 'Target: eu', 'Virtual node: [admiralty-eu](admiralty-eu)', 'Delegate pod: web-1-abc, in its target',
    ]);
    const elected = 'Elected | source | done | 2026-01-01T10:00:00Z | admitted as a proxy pod';
    assert.ok(text.includes(elected), text.join('\n'));
    assert.deepEqual(text.slice(-4), [
      'Decided when it was bound:', 'eu | chosen | score 7.5, tier 2, after a scale-up',
      'team/us | rejected | InsufficientRoom', 'and 3 more that were rejected',
    ]);
  });

  it('shows why a pod waits and at which stage', () => {
    const text = sectionOf(proxy({ conditions: [unschedulable('0/2 targets have room')] }), 'Pod');
    assert.ok(text.includes('Target: not chosen yet'));
    assert.ok(text.includes('Waits: Unschedulable: 0/2 targets have room'));
    assert.ok(text.some((line) => line.startsWith('Target chosen | source | stuck |')), text.join('\n'));
  });

  it('links to the delegate where another cluster is selected that has it, and asks for it alone', () => {
    const world = { selectedClusters: ['source', 'eu'], lists: { Pod: listed(inHeadlamp(delegate, 'Pod', 'eu')) } };
    const { sections: [section], asked } = started(world);
    const text = rendered(section?.({ resource: inHeadlamp(bound, 'Pod') }));
    assert.ok(text.includes('Delegate pod: [web-1-abc in cluster eu](shop/web-1-abc)'), text.join('\n'));
    assert.ok(text.some((line) => line.startsWith('Scheduled to a node | target | done') && line.endsWith('worker-7')));
    assert.deepEqual(asked, [{
      kind: 'Pod',
      options: { clusters: ['eu'], namespace: ['shop'], labelSelector: `${PARENT_UID_LABEL}=uid-shop-web-1` },
    }]);
  });

  it('says that the delegate could not be read, and shows the rest', () => {
    const world = { selectedClusters: ['source', 'eu'], lists: { Pod: refused({ cluster: 'eu' }) } };
    const text = sectionOf(bound, 'Pod', world);
    assert.match(text[1] ?? '', /^Cannot show pods of cluster eu: Forbidden\./);
    assert.ok(text.includes('Delegate pod: web-1-abc, in its target'));
  });

  it('asks no other cluster for a pod that is not bound', () => {
    const { sections: [section], asked } = started({ selectedClusters: ['source', 'eu'] });
    rendered(section?.({ resource: inHeadlamp(proxy(), 'Pod') }));
    assert.deepEqual(asked, []);
  });

  it('says of a broken record that it is one', () => {
    const text = sectionOf(proxy({ target: 'ClusterTarget/eu', annotations: { [PLACEMENT_ANNOTATION]: '{' } }), 'Pod');
    assert.match(text.at(-1) ?? '', /cannot be read/);
  });

  it('names the source of a delegate, and what became of an elected pod that runs here', () => {
    const annotations = { [PARENT_NAME_ANNOTATION]: 'web-1', [PARENT_NAMESPACE_ANNOTATION]: 'shop' };
    const metadata = { ...delegate.metadata, annotations };
    const text = sectionOf({ ...delegate, metadata }, 'Pod');
    assert.deepEqual(text, ['# Isthmus', 'Delegate of: shop/web-1, in its source']);
    const missed = { metadata: { annotations: { [ELECT_ANNOTATION]: '' } }, spec: { containers: [] } } as Pod;
    assert.match(sectionOf(missed, 'Pod')[1] ?? '', /not a proxy pod/);
  });

  it('is empty for other pods and kinds, and while nothing has been read', () => {
    assert.deepEqual(sectionOf({ metadata: {}, spec: { containers: [] } } as KubernetesObject, 'Pod'), []);
    assert.deepEqual(sectionOf({ metadata: {} }, 'ConfigMap'), []);
    assert.deepEqual(rendered(started().sections[0]?.({ resource: null })), []);
  });
});

describe('the section of a node', () => {
  it('shows availability and capacity, with what the target itself adds', () => {
    const objects = { ClusterTarget: [inHeadlamp(target, 'ClusterTarget'), null] as const };
    assert.deepEqual(sectionOf(node, 'Node', { objects }), [
      '# Isthmus target', 'ClusterTarget: [eu](clustertargets.multicluster.admiralty.io/-/eu)', 'State: Unauthorized',
      'What to change: renew its credentials', 'Free now: 12 CPU', 'Round trip: 9ms', 'cpu | 4 | 8',
    ]);
  });

  it('says that the target could not be read, and shows what the node says', () => {
    const error = { message: 'Forbidden', status: 403 };
    const text = sectionOf(node, 'Node', { objects: { ClusterTarget: [null, error] } });
    assert.match(text[1] ?? '', /^Cannot show clustertargets of cluster source: .* permission to get clustertargets/);
    assert.ok(text.includes('cpu | 4 | 8'));
  });

  it('is empty for a node that is not virtual, and asks nothing', () => {
    const { sections: [section], asked } = started();
    assert.deepEqual(rendered(section?.({ resource: inHeadlamp({ metadata: { name: 'worker' } }, 'Node') })), []);
    assert.deepEqual(asked, []);
  });
});

describe('the page of targets', () => {
  const page = (world: HeadlampWorld) => rendered(started(world).routes[0]?.component());

  it('lists them', () => {
    const text = page({ lists: { ClusterTarget: listed(inHeadlamp(target, 'ClusterTarget')) } });
    assert.deepEqual(text, [
      '# Isthmus targets',
      '[eu](clustertargets.multicluster.admiralty.io/-/eu) | Ready | 12 CPU | 9ms | [admiralty-eu](admiralty-eu)'
        + ' | source | ',
    ]);
  });

  it('names those that could not be read, and never says then that there are none', () => {
    const text = page({ lists: { ClusterTarget: refused(), Target: listed() } });
    assert.deepEqual(text.map((line) => line.slice(0, 44)), [
      '# Isthmus targets', 'Cannot show clustertargets of cluster source', 'No other targets are known.',
    ]);
  });

  it('says what to do where there are none', () => assert.match(page({}).at(-1) ?? '', /isthmus peer/));

  it('waits while they are being read', () => assert.equal(page({ lists: { Target: READING } }).at(-1), 'Reading…'));

  it('asks for the selected namespaces alone', () => {
    const { routes: [route], asked } = started({ state: { filter: { namespaces: new Set(['shop']) } } });
    rendered(route?.component());
    assert.deepEqual(asked.find(({ kind }) => kind === 'Target')?.options, { namespace: ['shop'] });
  });
});

describe('the column', () => {
  it('is before the age in the table of pods, and nowhere else', () => {
    const [columns] = started().columns;
    const pods = columns?.({ id: 'headlamp-pods', columns: ['name', 'age', 'labels'] });
    assert.deepEqual(pods?.map((column) => (typeof column === 'string' ? column : column.label)), [
      'name', 'Target', 'age', 'labels',
    ]);
    const [, column] = pods ?? [];
    assert.ok(typeof column === 'object');
    assert.deepEqual([bound, proxy()].map((pod) => column.getValue(inHeadlamp(pod, 'Pod'))), ['eu', '']);
    assert.equal(columns?.({ id: 'headlamp-pods', columns: ['name'] }).length, 2, 'where there is no age');
    assert.deepEqual(columns?.({ id: 'headlamp-nodes', columns: ['name', 'age'] }), ['name', 'age']);
  });
});

describe('the source of the map', () => {
  it('shows what Headlamp has read, and asks for the selected namespaces alone', () => {
    const { mapSources: [source], asked } = started({
      lists: { Pod: listed(inHeadlamp(bound, 'Pod')), Node: listed(inHeadlamp(node, 'Node')) },
      state: { filter: { namespaces: new Set(['shop']) } },
    });
    assert.deepEqual(source?.useData()?.nodes.map(({ id }) => id), ['n', 'uid-shop-web-1']);
    for (const { kind, options } of asked) {
      assert.deepEqual(options, kind === 'Node' ? {} : { namespace: ['shop'] }, kind);
    }
  });

  it('is undecided while pods are being read', () => {
    assert.equal(started({ lists: { Pod: READING } }).mapSources[0]?.useData(), null);
  });

  it('has the reason in the details of what it cannot show', () => {
    const data = started({ lists: { Pod: refused() } }).mapSources[0]?.useData();
    const details = data?.nodes[0]?.detailsComponent;
    assert.match(rendered(details?.({})).join(' '), /# pods of cluster source Cannot show .* permission to list pods/);
  });

  it('draws delegates between the pods of other sources', () => {
    const [relation] = started().relations;
    const pods = [inHeadlamp(bound, 'Pod'), inHeadlamp(delegate, 'Pod', 'eu')];
    const from = [...pods.map((kubeObject) => ({ id: 'x', kubeObject })), { id: 'no object' }];
    assert.deepEqual(relation?.buildEdgesWithIndex(from, new Map()).map(({ target: to }) => to), ['there']);
    assert.equal(relation?.predicate({ id: 'a' }, { id: 'b' }), false);
  });
});

describe('texts of hostile clusters', () => {
  it('stay texts, wherever they are', () => {
    const annotations = {
      [DELEGATE_NAME_ANNOTATION]: HOSTILE,
      [PLACEMENT_ANNOTATION]: JSON.stringify({ target: HOSTILE, score: 1, not: { [HOSTILE]: HOSTILE } }),
    };
    const pod = proxy({ target: HOSTILE, annotations, conditions: [unschedulable(HOSTILE)] });
    // rendered() refuses every attribute that could make markup or lead elsewhere
    const text = sectionOf(pod, 'Pod').join('\n');
    assert.ok(text.split(HOSTILE).length > 4);
    const hostileNode: Node = {
      metadata: { ...node.metadata, labels: { ...node.metadata.labels, [CLUSTER_TARGET_NAME_LABEL]: HOSTILE } },
      status: {
        conditions: [{ type: 'TargetReady', status: 'False', reason: HOSTILE, message: HOSTILE }],
        capacity: { [HOSTILE]: HOSTILE },
      },
    };
    assert.ok(sectionOf(hostileNode, 'Node').join('\n').split(HOSTILE).length > 4);
    const [source] = started({ lists: { Node: listed(inHeadlamp(hostileNode, 'Node')) } }).mapSources;
    const box = source?.useData()?.nodes[0];
    assert.deepEqual([box?.label, box?.subtitle], [HOSTILE, `Target, ${HOSTILE}`]);
  });
});
