// What kubectl (sigs.k8s.io/yaml, goyaml.v2) makes of plain scalars.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { AS_KUBECTL_READS, FOR_KUBECTL } from '../../../../model/objects/yaml-limits.ts';

describe('YAML for kubectl', () => {
  const read: Record<string, unknown> = {
    '0400': 256, '-010': -8, '0o17': 15, '0x1f': 31, '0': 0, '08': 8, '400': 400, '1e3': 1000, 'yes': true,
    'Off': false, 'y': true, 'true': true, '~': null, '2026-01-02': '2026-01-02', '12:30:00': '12:30:00', 'e2': 'e2', '.': '.',
    '1_000': 1000, '-1_0': -10, '0_400': 256, '0_8': 8, '0b11': 3, '-0x_1F': -31, '0O17': 15, '0b': '0b', '_1': '_1',
    '1_000.5': 1000.5, '-1_0.5e3': -10500, '1_000e3': 1_000_000, '1_e': '1_e', '1_0.0.1': '1_0.0.1',
    '"0400"': '0400', "'yes'": 'yes', '!!str no': 'no',
  };
  for (const [text, value] of Object.entries(read)) {
    it(`reads ${text} as ${JSON.stringify(value)}`, () => assert.equal(parse(text, AS_KUBECTL_READS), value));
  }
  for (const text of [
    '0400', '1_000', '1e0_0', '0b11', '0o17', '1e3', 'yes', 'No', 'on', 'OFF', 'y', 'true', '~', 'null',
  ]) {
    it(`quotes the text ${text}`, () => assert.equal(stringify(text, FOR_KUBECTL), `"${text}"\n`));
  }
  it('quotes no text that kubectl reads as one', () => {
    assert.equal(stringify({ name: 'web-1', path: '/on' }, FOR_KUBECTL), 'name: web-1\npath: /on\n');
  });
});
