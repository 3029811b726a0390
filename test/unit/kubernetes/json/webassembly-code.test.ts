import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  get, i32, i64, loopWhile, moduleOf, set, TYPES, when, give, type Code,
} from '../../../../kubernetes/json/webassembly-code.ts';

declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => {
    readonly exports: { readonly run: (...parameters: number[]) => number }
  };
};

function compile(body: Code, parameters = 0, locals: readonly number[] = []): (...values: number[]) => number {
  return new WebAssembly.Instance(new WebAssembly.Module(moduleOf({ parameters, locals, body }, 1))).exports.run;
}

describe('webassembly code', () => {
  it('holds every number, of whatever length and sign', () => {
    fc.assert(fc.property(fc.integer(), (value) => assert.equal(compile(i32.constant(value))(), value)));
    fc.assert(fc.property(fc.integer(), (value) => assert.equal(compile(i64.toI32(i64.constant(value)))(), value)));
  });

  it('counts bits as they are', () => {
    const ones = compile(i64.toI32(i64.ones(i64.of(get(0)))), 1);
    const zeros = compile(i64.toI32(i64.trailingZeros(i64.of(get(0)))), 1);
    fc.assert(fc.property(
      fc.nat(2 ** 31 - 1), (value) => assert.equal(ones(value), value.toString(2).replaceAll('0', '').length),
    ));
    for (const bit of [0, 1, 7, 30]) assert.equal(zeros(2 ** bit), bit);
  });

  it('goes through loops and conditions', () => {
    const sum = compile(
      [
        ...loopWhile(i64.isNotZero(i64.of(get(0))), set(1, i64.add(get(1), i64.of(get(0)))), set(
          0, i32.add(get(0), i32.constant(-1)),
        )),
        ...i64.toI32(get(1)),
      ],
      1, [TYPES.i64],
    );
    assert.deepEqual([0, 1, 10].map((n) => sum(n)), [0, 1, 55]);
    const isLarge =
      compile([...when(i32.isNotBelow(get(0), i32.constant(100)), give(i32.constant(1))), ...i32.constant(0)], 1);
    assert.deepEqual([0, 99, 100, 500].map((n) => isLarge(n)), [0, 0, 1, 1]);
  });

  it(
    'is refused by the engine where it makes no sense', () => assert.throws(() => compile(i64.add(get(0), get(0)), 1)),
  );
});
