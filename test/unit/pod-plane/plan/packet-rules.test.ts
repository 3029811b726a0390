import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { removal, toRuleset, toWorkerRuleset, type PacketRules } from '../../../../pod-plane/plan/packet-rules.ts';

interface Rule {
  readonly chain: string;
  readonly text: string;
}

const given = (more: Partial<PacketRules> = {}): PacketRules => ({
  table: 'isthmus', tunnel: 'wg', prefixes: [{ own: '10.1.0.0/16', seen: '10.1.0.0/16' }], relayed: [], echoPort: 4_490,
  ...more,
});
const commands = (ruleset: unknown) =>
  (ruleset as { readonly nftables: readonly Record<string, Record<string, Record<string, unknown>>>[] }).nftables;
const rules = (ruleset: unknown): readonly Rule[] => commands(ruleset).flatMap(
  (one) => (one['add']?.['rule'] === undefined ? [] : [
    { chain: String(one['add']['rule']['chain']), text: JSON.stringify(one['add']['rule']['expr']) },
  ]),
);
const inChain = (ruleset: unknown, chain: string) => rules(ruleset).filter((one) => one.chain === chain)
  .map(({ text }) => text);

describe('packet rules of a gateway', () => {
  it('replace the table of ours as a whole, and name no other', () => {
    assert.deepEqual(commands(toRuleset(given())).slice(0, 3), [
      ...removal('isthmus'), { add: { table: { family: 'ip', name: 'isthmus' } } },
    ]);
    for (const command of commands(toRuleset(given()))) for (
      const part of Object.values(Object.values(command)[0] ?? {})
    ) assert.ok(part['table'] === 'isthmus' || part['name'] === 'isthmus');
  });
  it('keep the address of pods that have one of their own, so that nobody masquerades it', () => {
    assert.deepEqual(inChain(toRuleset(given()), 'from-tunnel'), []);
    assert.match(
      inChain(toRuleset(given()), 'to-tunnel')[0] ?? '',
      /"snat".*"saddr".*\[\{"prefix":\{"addr":"10\.1\.0\.0","len":16\}\},\{"prefix":\{"addr":"10\.1\.0\.0","len":16\}\}\].*"netmap"/,
    );
  });
  it('map own to global addresses on the way out and back on the way in', () => {
    const mapped = toRuleset(given({ prefixes: [{ own: '10.1.0.0/16', seen: '242.1.0.0/16' }] }));
    assert.match(
      inChain(mapped, 'to-tunnel')[0] ?? '',
      /"snat".*\[\{"prefix":\{"addr":"10\.1\.0\.0","len":16\}\},\{"prefix":\{"addr":"242\.1\.0\.0","len":16\}\}\]/,
    );
    assert.match(
      inChain(mapped, 'from-tunnel')[0] ?? '',
      /"dnat".*\[\{"prefix":\{"addr":"242\.1\.0\.0","len":16\}\},\{"prefix":\{"addr":"10\.1\.0\.0","len":16\}\}\]/,
    );
  });
  it('come before those of kube-proxy and network plugins', () => {
    const priority = Object.fromEntries(commands(toRuleset(given())).flatMap(
      (one) =>
        (one['add']?.['chain'] === undefined ? [] : [[one['add']['chain']['name'], one['add']['chain']['prio']]]),
    ));
    assert.ok(Number(priority['from-tunnel']) < -100 && Number(priority['to-tunnel']) < 100);
  });
  it('clamp the size of TCP segments in both directions', () => assert.equal(
    inChain(toRuleset(given()), 'forward').filter((text) => text.includes('maxseg')).length, 2,
  ));
  it('let nothing from the tunnel through but to own pods', () => assert.match(
    inChain(toRuleset(given()), 'forward').at(-1) ?? '', /"iifname".*"!=".*"daddr".*10\.1\.0\.0.*"drop"/,
  ));
  it('pass nothing on for others, unless it is asked to', () => assert.ok(
    !inChain(toRuleset(given()), 'forward').some((text) => text.includes('"accept"')),
  ));
  it('pass on between those that reach one another over this gateway', () => {
    const text = inChain(toRuleset(given({ relayed: ['10.8.0.0/16', '10.9.0.0/16'] })), 'forward').find(
      (one) => one.includes('"accept"'),
    ) ?? '';
    assert.match(text, /"iifname".*"wg".*"oifname".*"wg".*"saddr".*10\.8\.0\.0.*"daddr".*10\.9\.0\.0/);
  });
  it('let the tunnel reach nothing of the node but the echo, and pings', () => {
    const input = inChain(toRuleset(given()), 'input');
    assert.deepEqual(input.map((text) => /"(accept|drop)"/.exec(text)?.[1]), ['accept', 'accept', 'accept', 'drop']);
    assert.match(input[1] ?? '', /4490/);
  });
});

describe('packet rules of another node', () => {
  const ruleset = toWorkerRuleset({ table: 'isthmus', vxlan: 'vx', podRanges: ['10.1.0.0/16'] });
  it('keep the addresses of pods on the way to the gateway', () => assert.match(
    inChain(ruleset, 'to-gateway')[0] ?? '', /"vx".*"snat".*10\.1\.0\.0/,
  ));
  it('clamp the size of TCP segments', () => assert.equal(inChain(ruleset, 'forward').length, 2));
});
