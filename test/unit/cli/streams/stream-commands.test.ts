// Streams of delegates from the command line: all arrives, and a command ends when it is over.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { CLUSTER_TARGET_NAME_LABEL } from '../../../../api/objects/keys.ts';
import { CHANNELS } from '../../../../kubernetes/stream/pod-channels.ts';
import { virtualNodeName } from '../../../../model/naming/names.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { aDelegate, aNode, aProxy, labelled, named, onNode, withoutOwner } from '../../../support/objects/builders.ts';
import { isthmus, RunningCommand } from '../../../support/processes/command-line.ts';
import { servedSource, servedTarget } from '../../../support/doubles/served-source.ts';

const NODE = virtualNodeName({ kind: 'ClusterTarget', name: 'eu' });
const FRAMES = 64;
/** What API servers send at most in one message. */
const FRAME_BYTES = 32_768;

/** A message of a server as a frame (RFC 6455 §5.2). */
function frame(channel: number, text: string): Buffer {
  const header = Buffer.from([0x82, 126, 0, 0, channel]);
  header.writeUInt16BE(text.length + 1, 2);
  return Buffer.concat([header, Buffer.from(text)]);
}

describe('a stream of a pod', () => {
  let source: AnsweringApiServer;
  let target: AnsweringApiServer;

  before(async () => {
    target = await AnsweringApiServer.start({ pods: [aDelegate(withoutOwner())] });
    source = await AnsweringApiServer.start(servedSource([servedTarget('eu', target.kubeconfigText())], {
      nodes: [aNode(named(NODE), labelled({ [CLUSTER_TARGET_NAME_LABEL]: 'eu' }))], pods: [aProxy(onNode(NODE))],
    }));
  });
  after(() => Promise.all([source.stop(), target.stop()]));

  for (const output of ['stdout', 'stderr'] as const) {
    it(`of exec prints all that the command writes to ${output}`, async () => {
      const part = 'x'.repeat(FRAME_BYTES);
      target.streamFrames([
        ...Array.from({ length: FRAMES }, () => frame(CHANNELS[output], part)),
        frame(CHANNELS.error, '{"status":"Success"}'),
      ]);
      const { code, ...printed } =
        await isthmus('exec', 'web', '-n', 'team-a', '--kubeconfig', await source.kubeconfig(), '--', 'date');
      assert.deepEqual([printed[output].length, code], [FRAMES * FRAME_BYTES, 0]);
    });
  }

  it('of port-forward ends with all others when one port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const kubeconfig = await source.kubeconfig();
    const { code, stderr } =
      await isthmus('port-forward', 'web', ':80', `${port}:80`, '-n', 'team-a', '--kubeconfig', kubeconfig);
    other.close();
    assert.match(stderr, new RegExp(`StartFailed.*:${port} cannot be listened on: address already in use`));
    assert.equal(code, 1);
  });

  it('of port-forward ends with the command although its client keeps the connection', async () => {
    target.streamFrames([]);
    const command =
      new RunningCommand('port-forward', 'web', ':80', '-n', 'team-a', '--kubeconfig', await source.kubeconfig());
    const [, port] = /:(\d+) to 80/.exec(await command.line(/Forwarding/)) ?? [];
    const client = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true });
    client.resume();
    await once(client, 'end');
    await command.stop('SIGINT');
    client.destroy();
  });
});
