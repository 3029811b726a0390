import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseResourceList } from '../../../../model/resources/resources.ts';
import { toVirtualNodeInfo } from '../../../../scheduler/snapshot/virtual-node-info.ts';
import { haveOneHiddenClass } from '../../../support/rules/hidden-class.ts';

const node = {
  metadata: { name: 'admiralty-c', labels: { region: 'claimed', zone: 'z' } },
  spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] },
};

describe('toVirtualNodeInfo', () => {
  it('gives the nodeInfo and labels of all targets one hidden class', () => {
    const nodeInfo = (index: number) =>
      toVirtualNodeInfo({ nodeName: `n${index}`, node, labels: { tier: `${index}` }, spec: {}, rttMs: index });
    assert(haveOneHiddenClass(nodeInfo));
    assert(haveOneHiddenClass((index) => nodeInfo(index).labels));
  });

  it('C2-15: takes labels of the object before those of the virtual node', () => {
    const { labels } = toVirtualNodeInfo({ nodeName: 'admiralty-c', node, labels: { region: 'eu' }, spec: {} });
    assert.deepEqual(labels, { 'kubernetes.io/hostname': 'admiralty-c', region: 'eu', zone: 'z' });
  });

  it('takes cordon and taints of the virtual node', () => {
    const { taints, cordoned, hasNode } = toVirtualNodeInfo({ nodeName: 'admiralty-c', node, labels: {}, spec: {} });
    assert.deepEqual([taints, cordoned, hasNode], [node.spec.taints, true, true]);
  });

  it('passes over what is said of its heartbeat: a new node is not ready for a moment', () => {
    const taints = ['not-ready', 'unreachable', 'memory-pressure'].map(
      (what) => ({ key: `node.kubernetes.io/${what}`, effect: 'NoSchedule' as const }),
    );
    const nodeInfo = toVirtualNodeInfo({ nodeName: 'n', node: { ...node, spec: { taints } }, labels: {}, spec: {} });
    assert.deepEqual(nodeInfo.taints.map(({ key }) => key), ['node.kubernetes.io/memory-pressure']);
  });

  it('says when there is no virtual node', () => {
    const { labels, hasNode, cordoned } =
      toVirtualNodeInfo({ nodeName: 'admiralty-c', node: undefined, labels: { a: 'b' }, spec: { self: true } });
    assert.deepEqual([labels, hasNode, cordoned], [{ 'kubernetes.io/hostname': 'admiralty-c', a: 'b' }, false, false]);
  });

  it('reads prices of cores, GiB and devices, and leaves out what is none', () => {
    const { prices } = toVirtualNodeInfo({
      nodeName: 'n', node, labels: {},
      spec: { prices: { cpu: '0.05', memory: '0.01', 'nvidia.com/gpu': '2', x: 'free', y: '-1', z: '' } },
    });
    assert.deepEqual([...(prices ?? [])], [['cpu', 0.05 / 1_000], ['memory', 0.01 / 2 ** 30], ['nvidia.com/gpu', 2]]);
  });

  it('reads headroom as nodes that could take pods, with as many pods as a kubelet takes', () => {
    const { headroom } = toVirtualNodeInfo(
      { nodeName: 'n', node, labels: {}, spec: { headroom: [{ count: 1, allocatable: { cpu: '4' } }] } },
    );
    const needs = (cpu: string) => ({ requests: parseResourceList({ cpu, pods: '1' }).amounts });
    assert.deepEqual([headroom?.hasRoomFor(needs('4')), headroom?.hasRoomFor(needs('5'))], [true, false]);
  });
});
