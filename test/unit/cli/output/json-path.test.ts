// Templates of `-o jsonpath`. What is expected is what kubectl 1.34 prints for the same objects.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jsonPathTemplate } from '../../../../cli/output/json-path.ts';

const list = {
  kind: 'List',
  items: [
    {
      metadata: { name: 'a', labels: { 'app.kubernetes.io/name': 'x', tier: 'own' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }], cpu: 4 },
    },
    { metadata: { name: 'b' }, status: { conditions: [{ type: 'Ready', status: 'False' }], cpu: 8 } },
    { metadata: { name: 'c' } },
  ],
};

const rows: readonly (readonly [template: string, printed: string])[] = [
  ['{.kind}', 'List'],
  ['.kind', 'List'],
  ['{.items[*].metadata.name}', 'a b c'],
  ['{.items[0].metadata.name}', 'a'],
  ['{.items[-1].metadata.name}', 'c'],
  ['{.items[-1:].metadata.name}', 'c'],
  ['{.items[0:2].metadata.name}', 'a b'],
  ['{range .items[*]}{.metadata.name}{"\\t"}{.status.cpu}{"\\n"}{end}', 'a\t4\nb\t8\nc\t\n'],
  ["{.items[0].metadata.labels['app.kubernetes.io/name']}", 'x'],
  ['{.items[0].metadata.labels.app\\.kubernetes\\.io/name}', 'x'],
  ['{.items[?(@.metadata.name=="b")].status.cpu}', '8'],
  ['{.items[?(@.status.cpu>4)].metadata.name}', 'b'],
  ['{.items[?(@.status)].metadata.name}', 'a b'],
  ['{.items[*].status.conditions[?(@.type=="Ready")].status}', 'True False'],
  ['{..name}', 'a b c'],
  ['{.items[0].metadata.labels}', '{"app.kubernetes.io/name":"x","tier":"own"}'],
  ['{.nothing.at.all}', ''],
  ['kind: {$.kind}, first: {@.items[0].metadata.name}', 'kind: List, first: a'],
  ["{.kind}{'\\n'}", 'List\n'],
];

describe('a JSONPath template', () => {
  for (const [template, printed] of rows) it(template, () => assert.equal(jsonPathTemplate(template)(list), printed));

  for (
    const template of ['{.items[}', '{.items', '{range .items[*]}{.a}', '{.a}{end}', '{}', '{.items[?(]}', '{hello}']
  ) {
    it(`refuses ${template}`, () => assert.throws(
      () => jsonPathTemplate(template), { code: 'BadInput', message: /^-o jsonpath: / },
    ));
  }
});
