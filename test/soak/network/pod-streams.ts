// At full size: kubectl against the source alone, many streams at once for a minute, then large, fast, stalled and
// half-open ones; kubectl top; then what kubectl does with the node itself. Run: npm run soak -- streams [-- --only
// verbs|load|top|node] [--logs 100] [--execs 50] [--seconds 60].
import { cpus } from 'node:os';
import { after, before } from 'node:test';
import { parseArgs } from 'node:util';
import { environment } from '../../../process/config.ts';
import { ensurePackagingTools } from '../../../sandbox/build/packaging-tools.ts';
import { describeKubectlStreams } from '../../contract/kubectl-streams.ts';
import { describeKubectlTop } from '../../contract/kubectl-top.ts';
import { describeStreamLoad } from '../../contract/stream-load.ts';
import { describeVirtualNode } from '../../contract/virtual-node.ts';
import { startStreamsWorld, type StreamsWorld } from '../../support/worlds/streams-world.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' }, logs: { type: 'string', default: '100' }, execs: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '60' },
  },
});
const load = { logs: Number(values.logs), execs: Number(values.execs), seconds: Number(values.seconds) };
const tell = (line: string): void => void process.stdout.write(`${line}\n`);
let streams: StreamsWorld;

before(async () => {
  const tools = await ensurePackagingTools(environment(), tell, AbortSignal.timeout(600_000));
  streams = await startStreamsWorld(tools.kubectl);
  tell(`${cpus().length} CPUs; the source's process has ${Math.round(await streams.memory())} MB`);
});
after(() => streams?.stop());

/** The last takes the world's processes apart. */
const SECTIONS: Readonly<Record<string, () => void>> = {
  verbs: () => describeKubectlStreams(() => streams),
  load: () => describeStreamLoad(() => streams, load),
  top: () => describeKubectlTop(() => streams),
  node: () => describeVirtualNode(() => streams),
};
if (values.only !== undefined && SECTIONS[values.only] === undefined) {
  throw new Error(`there is no section ${values.only}; there are ${Object.keys(SECTIONS).join(', ')}`);
}
for (const [name, declare] of Object.entries(SECTIONS)) {
  if (values.only === undefined || values.only === name) declare();
}
