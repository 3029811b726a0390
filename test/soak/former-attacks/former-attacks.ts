// `npm run soak -- former-attacks [-- [CHECKOUT] [--only 3,5] [--as-written]]`: what broke Isthmus at commit 6ea8936,
// done again to the sandbox of a checkout, built before: this one, or another in the folder CHECKOUT. The attacks go
// over plain HTTP and that checkout's command line, so the same ones are made on both. Prints a table; the exit code is
// 0 when all are stopped. With --as-written the result goes into docs/results.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { messageOf } from '../../../process/errors.ts';
import { eventually } from '../../support/history/eventually.ts';
import { formerAttacksTable, keepRun, type AttackRow } from '../../support/attackers/former-attacks.ts';
import type { Attack } from './attack.ts';
import { Attacked } from './attacked.ts';
import { path, type Thing } from './clusters.ts';
import { COMPONENT_ATTACKS } from './components.ts';
import { ENDLESS_WATCH_ATTACKS } from './endless-watch.ts';
import { FORGED_REGION_ATTACKS } from './forged-region.ts';
import { INVITATION_ATTACKS } from './invitations.ts';
import { LEFTOVER_ATTACKS } from './leftovers.ts';
import { LIE_ATTACKS } from './lies.ts';
import { OVERRIDE_ATTACKS } from './overrides.ts';
import { elected, harmless, makePod } from './pods.ts';
import { REPLAY_ATTACKS } from './replays.ts';
import { SOURCE_ATTACKS } from './source.ts';
import { STARVATION_ATTACKS } from './starvation.ts';
import { TENANT_ATTACKS } from './tenants.ts';
import { TOKEN_ATTACKS } from './tokens.ts';
import { UNPEER_ATTACKS } from './unpeer.ts';
import { WEBHOOK_ATTACKS } from './webhook.ts';

/**
 * In an order in which none takes away what another needs: keys are planted before they are used, and what ends or
 * replaces processes comes last.
 */
const ATTACKS: readonly Attack[] = [
  ...WEBHOOK_ATTACKS,
  ...STARVATION_ATTACKS,
  ...TOKEN_ATTACKS,
  ...SOURCE_ATTACKS,
  ...INVITATION_ATTACKS,
  ...REPLAY_ATTACKS,
  ...OVERRIDE_ATTACKS,
  ...LEFTOVER_ATTACKS,
  ...LIE_ATTACKS,
  ...FORGED_REGION_ATTACKS,
  ...UNPEER_ATTACKS,
  ...ENDLESS_WATCH_ATTACKS,
  ...TENANT_ATTACKS,
  ...COMPONENT_ATTACKS,
];
const RESULT = new URL('../../../../docs/results/former-attacks.json', import.meta.url);
const HERE = fileURLToPath(new URL('../../../../', import.meta.url)).replace(/\/$/, '');

const {
  values,
  positionals: [checkout = HERE],
} = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, 'as-written': { type: 'boolean', default: false } },
});
const only = values.only?.split(',').map(Number);
const attacks = ATTACKS.filter(({ finding }) => only?.includes(finding) !== false);

/** A pod that nobody means ill with runs: else what is stopped would tell nothing. */
async function runHonestPod(attacked: Attacked, namespace: string): Promise<void> {
  await attacked.namespace(namespace);
  await makePod(attacked.source.admin, namespace, elected({ name: 'honest' }, harmless()));
  const read = { method: 'GET', path: path('api/v1', 'pods', namespace, 'honest') };
  await eventually(
    'an honest pod runs',
    async () =>
      ((await attacked.source.admin.json<Thing>(read))['status'] as { readonly phase: string }).phase === 'Running',
  );
}

async function make(attacked: Attacked, { finding, what, make: attempt }: Attack): Promise<AttackRow> {
  try {
    const { isThrough, got } = await attempt(attacked);
    return { finding, what, outcome: isThrough ? 'gets through' : 'stopped', got };
  } catch (error) {
    return { finding, what, outcome: 'not made', got: messageOf(error) };
  }
}

const attacked = await Attacked.start(checkout);
const rows: AttackRow[] = [];
try {
  await runHonestPod(attacked, 'honest-first');
  for (const attack of attacks) {
    // From here on processes are ended and replaced.
    if (attack === TENANT_ATTACKS[0]) await runHonestPod(attacked, 'honest-last');
    const row = await make(attacked, attack);
    rows.push(row);
    process.stderr.write(`${row.finding} ${row.what}: ${row.outcome}: ${row.got}\n`);
  }
} finally {
  await attacked.stop();
}
const run = {
  commit: await attacked.checkout.commit(),
  date: new Date().toISOString().slice(0, 10),
  rows: rows.toSorted((one, other) => one.finding - other.finding),
};
process.stdout.write(formerAttacksTable([run]));
if (values['as-written']) keepRun(RESULT, run);
if (rows.some(({ outcome }) => outcome !== 'stopped')) process.exitCode = 1;
