import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  parseKubeletRequest, type Parameters, type PodRequest,
} from '../../../../virtual-node/kubelet/kubelet-request.ts';

const pod = (operation: PodRequest['operation'], container: string | undefined, parameters: Parameters): PodRequest =>
  ({ kind: 'pod', operation, namespace: 'team-a', name: 'web-0.x', container, parameters });
const streams = (stdin: boolean, stdout: boolean, stderr: boolean, tty: boolean): Parameters =>
  Object.entries({ stdin, stdout, stderr, tty }).map(([name, value]) => [name, String(value)]);

describe('what the API server asks a kubelet', () => {
  const rows: Record<string, readonly [method: string, target: string, expected: unknown]> = {
    'a whole log': ['GET', '/containerLogs/team-a/web-0.x/main', pod('log', 'main', [])],
    'a log with all that kubectl logs can ask': [
      'GET',
      '/containerLogs/team-a/web-0.x/main?follow=true&limitBytes=9&previous=true&sinceSeconds=5&sinceTime=2026-01-02T03%3A04%3A05Z&stream=All&tailLines=0&timestamps=true',
      pod('log', 'main', [
        ['follow', 'true'], ['previous', 'true'], ['timestamps', 'true'], ['sinceSeconds', '5'],
        ['sinceTime', '2026-01-02T03:04:05Z'], ['tailLines', '0'], ['limitBytes', '9'],
      ]),
    ],
    'one stream of a log':
      ['GET', '/containerLogs/team-a/web-0.x/main?stream=Stderr', pod('log', 'main', [['stream', 'Stderr']])],
    'an exec over SPDY': [
      'POST', '/exec/team-a/web-0.x/main?command=sh&command=-c&command=echo+a%26b%2Fc&input=1&output=1&error=1',
      pod('exec', 'main', [
        ...streams(true, true, true, false), ['command', 'sh'], ['command', '-c'], ['command', 'echo a&b/c'],
      ]),
    ],
    'an exec with a terminal over a WebSocket': [
      'GET', '/exec/team-a/web-0.x/main?command=sh&input=1&output=1&tty=1',
      pod('exec', 'main', [...streams(true, true, false, true), ['command', 'sh']]),
    ],
    'an attach':
      ['POST', '/attach/team-a/web-0.x/main?output=1', pod('attach', 'main', streams(false, true, false, false))],
    'a port-forward over SPDY': ['POST', '/portForward/team-a/web-0.x', pod('portforward', undefined, [])],
    'a port-forward over a WebSocket': ['GET', '/portForward/team-a/web-0.x?port=80%2C443', pod(
      'portforward', undefined, [['ports', '80'], ['ports', '443']],
    )],
    'pods': ['GET', '/pods', { kind: 'node', page: 'pods', node: undefined }],
    'statistics': ['GET', '/stats/summary', { kind: 'node', page: 'stats', node: undefined }],
    'metrics of one node':
      ['GET', '/nodes/admiralty-c2/metrics/resource', { kind: 'node', page: 'metrics', node: 'admiralty-c2' }],
    'whether it lives': ['GET', '/healthz', { kind: 'health' }],
  };
  for (const [what, [method, target, expected]] of Object.entries(rows)) {
    it(`is understood: ${what}`, () => assert.deepEqual(parseKubeletRequest(method, target), expected));
  }
});

describe('C2-39: path tricks in exec and logs', () => {
  const rows: Record<string, string> = {
    'dots that climb': '/containerLogs/team-a/../kube-system/etcd/etcd',
    'dots as the pod': '/exec/team-a/../main?command=sh',
    'one dot as the namespace': '/exec/./web/main?command=sh',
    'an escaped slash': '/exec/team-a/web%2f..%2fother/main?command=sh',
    'escaped dots': '/exec/team-a/%2e%2e/main?command=sh',
    'an escape that is not needed': '/exec/team-a/w%65b/main?command=sh',
    'two slashes': '/exec//team-a/web/main?command=sh',
    'a slash at the end': '/exec/team-a/web/main/?command=sh',
    'a UID between pod and container': '/exec/team-a/web/123/main?command=sh',
    'a container with a path in it': '/exec/team-a/web/main/../other?command=sh',
    'upper case': '/exec/Team-A/web/main?command=sh',
    'a null byte': '/exec/team-a/web\u0000/main?command=sh',
    'a line break': '/exec/team-a/web%0d%0aX: y/main?command=sh',
    'a backslash': '/exec/team-a\\..\\x/web/main?command=sh',
    'an absolute target': 'https://10.0.0.1/exec/team-a/web/main?command=sh',
    'a run, which nobody needs': '/run/team-a/web/main?cmd=sh',
    'the log folder of a node': '/logs/syslog',
    'profiles of the process': '/debug/pprof/heap',
    'no path at all': '',
  };
  for (const [what, target] of Object.entries(rows)) {
    it(`are refused: ${what}`, () => assert.deepEqual(
      parseKubeletRequest('POST', target), { kind: 'refused', status: 404, message: 'there is no such path' },
    ));
  }

  it('a container in the query of a log is not heard', () => {
    const asked =
      parseKubeletRequest('GET', '/containerLogs/team-a/web/main?container=secret&namespace=kube-system&follow=true');
    assert.deepEqual(asked, {
      kind: 'pod', operation: 'log', namespace: 'team-a', name: 'web', container: 'main',
      parameters: [['follow', 'true']],
    });
  });

  it('whatever comes, a name holds nothing that a path gives a meaning to', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'exec', 'containerLogs', 'portForward', 'a', 'web', '..', '.', '%2e', '', 'a.b', 'A', 'x'.repeat(300),
      ),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const asked = parseKubeletRequest('GET', `/${pieces.join('/')}`);
        if (asked.kind !== 'pod') return;
        for (const name of [asked.namespace, asked.name, asked.container ?? 'x']) {
          assert.match(name, /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/);
        }
        assert.ok(!asked.namespace.includes('.') && asked.name.length <= 253);
      }),
      { numRuns: 300 },
    );
  });
});

describe('requests that make no sense', () => {
  const rows: Record<string, readonly [method: string, target: string, status: number]> = {
    'a log by POST': ['POST', '/containerLogs/a/b/c', 405],
    'an exec by DELETE': ['DELETE', '/exec/a/b/c?command=x', 405],
    'health by POST': ['POST', '/healthz', 405],
    'pods by PUT': ['PUT', '/pods', 405],
    'an exec without a command': ['POST', '/exec/a/b/c?output=1', 400],
    'a tail of minus one': ['GET', '/containerLogs/a/b/c?tailLines=-1', 400],
    'a follow that is neither yes nor no': ['GET', '/containerLogs/a/b/c?follow=1%26x', 400],
    'a time that is none': ['GET', '/containerLogs/a/b/c?sinceTime=yesterday', 400],
    'port 0': ['GET', '/portForward/a/b?port=0', 400],
    'port 65536': ['GET', '/portForward/a/b?port=80,65536', 400],
    'a port that is a word': ['GET', '/portForward/a/b?port=http', 400],
  };
  for (const [what, [method, target, status]] of Object.entries(rows)) {
    it(`are refused: ${what}`, () => {
      const asked = parseKubeletRequest(method, target);
      assert.deepEqual([asked.kind, asked.kind === 'refused' && asked.status], ['refused', status]);
    });
  }
});
