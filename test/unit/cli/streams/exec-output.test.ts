// What a command in a pod writes arrives in full, however fast its reader is.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLUSTER_TARGET_NAME_LABEL } from '../../../../api/objects/keys.ts';
import { CHANNELS } from '../../../../kubernetes/stream/pod-channels.ts';
import { virtualNodeName } from '../../../../model/naming/names.ts';
import { AnsweringApiServer } from '../../../support/answering-api-server.ts';
import { aDelegate, aNode, aProxy, labelled, named, onNode, withoutOwner } from '../../../support/builders.ts';
import { isthmus } from '../../../support/command-line.ts';
import { servedSource, servedTarget } from '../../../support/served-source.ts';

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

describe('isthmus exec', () => {
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
    it(`prints all that the command writes to ${output}`, async () => {
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
});
