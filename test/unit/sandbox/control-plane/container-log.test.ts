import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { showLog, showRecords, toLogView } from '../../../../sandbox/control-plane/container-log.ts';

const NOW = Date.parse('2026-01-02T03:04:05Z');
const at = (seconds: number, text: string, tag = 'F') =>
  `${new Date(NOW + seconds * 1_000).toISOString()} stdout ${tag} ${text}`;
const LOG = [at(-60, 'old'), at(-2, 'begun ', 'P'), at(-1, 'ended'), at(0, ' last')];

describe('a log', () => {
  const rows: Record<string, readonly [query: string, shown: string]> = {
    'is shown whole, with lines that were written in parts joined': ['', 'old\nbegun ended\n last\n'],
    'is cut to its last records': ['tailLines=1', ' last\n'],
    'can be left out': ['tailLines=0', ''],
    'is shown since some seconds': ['sinceSeconds=30', 'begun ended\n last\n'],
    'is shown since a time': [`sinceTime=${new Date(NOW).toISOString()}`, ' last\n'],
    'is stamped': ['tailLines=1&timestamps=true', `${new Date(NOW).toISOString()}  last\n`],
  };
  for (const [sentence, [query, shown]] of Object.entries(rows)) {
    it(sentence, () => assert.equal(showLog(LOG, toLogView(new URLSearchParams(query), NOW)), shown));
  }
});

it('what is no record is not shown', () => assert.equal(
  showRecords(['', 'no record', at(0, 'one')], { timestamps: false }), 'one\n',
));
