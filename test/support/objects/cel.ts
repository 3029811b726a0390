// Evaluates the part of CEL (the Common Expression Language, as admission policies of Kubernetes have it) that our
// policies use, so that their rules can be tried in a table. What an API server makes of them is held by integration
// tests; this follows the language's rules for what is missing: a field that is not there is an error, and `&&` and
// `||` pass over an error when the other side decides.
import { isDeepStrictEqual } from 'node:util';

/** The variables of an expression by name. */
export type Scope = Readonly<Record<string, unknown>>;
/** A permission that a policy asks the authorizer for. */
export interface AskedPermission {
  /** `namespace/name` of the ServiceAccount that it is asked for; the requester when missing. */
  readonly account?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly verb: string;
}

/** An expression that cannot be evaluated. */
export class CelError extends Error {
  override readonly name = 'CelError';
}

interface Evaluate {
  (scope: Scope): unknown;
  /** Whether the last field of a selection is there; what it is selected from has to be. */
  readonly isThere?: (scope: Scope) => boolean;
}

const TOKEN = /\s*(?:('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(\d+)|([A-Za-z_]\w*)|(&&|\|\||[=!<>]=|[-+!<>?:.,()[\]{}]))/y;
const CHAIN = ['group', 'resource', 'subresource', 'namespace', 'name'] as const;

/** The authorizer of a scope: it has the permissions for which `allows` is true. */
export function authorizerOf(allows: (asked: AskedPermission) => boolean): object {
  const chain = (asked: Partial<AskedPermission>): object => ({
    ...Object.fromEntries(CHAIN.map((field) => [field, (value: string) => chain({ ...asked, [field]: value })])),
    serviceAccount: (namespace: string, name: string) => chain({ ...asked, account: `${namespace}/${name}` }),
    check: (verb: string) => ({ allowed: () => allows({ ...asked, verb } as AskedPermission) }),
  });
  return chain({});
}

/** The value of an expression. Throws CelError. */
export function evaluate(expression: string, scope: Scope): unknown {
  const parsed = PARSED.get(expression) ?? new Parser(expression).whole();
  PARSED.set(expression, parsed);
  return parsed(scope);
}

/** By their texts: tables evaluate the same ones for each row. */
const PARSED = new Map<string, Evaluate>();

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    const tokens: string[] = [];
    TOKEN.lastIndex = 0;
    while (text.slice(TOKEN.lastIndex).trim() !== '') {
      const from = TOKEN.lastIndex;
      const found = TOKEN.exec(text);
      if (found === null) throw new CelError(`cannot be read: ${text.slice(from, from + 30)}`);
      tokens.push(found[0].trim());
    }
    this.#tokens = tokens;
  }

  whole(): Evaluate {
    const result = this.#ternary();
    if (this.#next !== '') throw new CelError(`goes on with ${this.#next}`);
    return result;
  }

  get #next(): string {
    return this.#tokens[this.#at] ?? '';
  }

  #take(token: string): boolean {
    if (this.#next !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    if (!this.#take(token)) throw new CelError(`${token} is missing before "${this.#next}"`);
  }

  #ternary(): Evaluate {
    const condition = this.#or();
    if (!this.#take('?')) return condition;
    const then = this.#ternary();
    this.#expect(':');
    const otherwise = this.#ternary();
    return (scope) => (truth(condition(scope)) ? then(scope) : otherwise(scope));
  }

  #or(): Evaluate {
    let left = this.#and();
    while (this.#take('||')) left = decidedBy(true, left, this.#and());
    return left;
  }

  #and(): Evaluate {
    let left = this.#relation();
    while (this.#take('&&')) left = decidedBy(false, left, this.#relation());
    return left;
  }

  #relation(): Evaluate {
    const left = this.#sum();
    const operator = RELATIONS[this.#next];
    if (operator === undefined) return left;
    this.#at += 1;
    const right = this.#sum();
    return (scope) => operator(left(scope), right(scope));
  }

  #sum(): Evaluate {
    let left = this.#unary();
    while (this.#take('+')) {
      const [one, other] = [left, this.#unary()];
      left = (scope) => added(one(scope), other(scope));
    }
    return left;
  }

  #unary(): Evaluate {
    if (!this.#take('!')) return this.#member();
    const negated = this.#unary();
    return (scope) => !truth(negated(scope));
  }

  #member(): Evaluate {
    let value = this.#primary();
    for (;;) {
      if (this.#take('[')) {
        const [of, key] = [value, this.#ternary()];
        this.#expect(']');
        value = (scope) => fieldOf(of(scope), key(scope));
      } else if (this.#take('.')) value = this.#selection(value, this.#word());
      else return value;
    }
  }

  #word(): string {
    const word = this.#next;
    this.#at += 1;
    return word;
  }

  #selection(value: Evaluate, name: string): Evaluate {
    if (!this.#take('(')) {
      const select = (scope: Scope) => fieldOf(value(scope), name);
      return Object.assign(select, { isThere: (scope: Scope) => Object.hasOwn(Object(value(scope)), name) });
    }
    const macro = MACROS[name];
    if (macro === undefined) {
      const given = this.#list(')');
      return (scope) => called(value(scope), name, given.map((one) => one(scope)));
    }
    const variable = this.#word();
    this.#expect(',');
    const condition = this.#ternary();
    this.#expect(')');
    return (scope) => {
      const items = value(scope);
      if (!Array.isArray(items)) throw new CelError(`${name} of what is no list`);
      return macro(items.map((item) => () => truth(condition({ ...scope, [variable]: item }))));
    };
  }

  #primary(): Evaluate {
    if (this.#take('(')) {
      const inner = this.#ternary();
      this.#expect(')');
      return inner;
    }
    if (this.#take('[')) {
      const items = this.#list(']');
      return (scope) => items.map((item) => item(scope));
    }
    if (this.#take('{')) {
      this.#expect('}');
      return () => ({});
    }
    const token = this.#word();
    if (/^['"]/.test(token)) return () => token.slice(1, -1).replace(/\\(.)/g, '$1');
    if (/^\d/.test(token)) return () => Number(token);
    if (token === 'true' || token === 'false') return () => token === 'true';
    if (this.#next === '(') return this.#function(token);
    return (scope) => fieldOf(scope, token);
  }

  #function(name: string): Evaluate {
    this.#expect('(');
    const [of, ...more] = this.#list(')');
    if (of === undefined || more.length > 0) throw new CelError(`${name} takes one argument`);
    if (name === 'dyn') return of;
    if (name === 'size') return (scope) => sizeOf(of(scope));
    if (name === 'has' && of.isThere !== undefined) return of.isThere;
    throw new CelError(`${name} is no function that is known here`);
  }

  #list(end: string): readonly Evaluate[] {
    const items: Evaluate[] = [];
    while (!this.#take(end)) {
      items.push(this.#ternary());
      if (this.#next !== end) this.#expect(',');
    }
    return items;
  }
}

/** A side that is `decisive` decides, whatever the other one is, an error included. */
function decidedBy(decisive: boolean, left: Evaluate, right: Evaluate): Evaluate {
  return (scope) => {
    const sides = [left, right].map((side) => attempt(() => truth(side(scope))));
    if (sides.includes(decisive)) return decisive;
    for (const side of sides) if (side instanceof Error) throw side;
    return !decisive;
  };
}

function attempt(evaluation: () => boolean): boolean | CelError {
  try {
    return evaluation();
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
}

const RELATIONS: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '==': (left, right) => isDeepStrictEqual(left, right), '!=': (left, right) => !isDeepStrictEqual(left, right),
  '<': (left, right) => Number(left) < Number(right), '<=': (left, right) => Number(left) <= Number(right),
  '>': (left, right) => Number(left) > Number(right), '>=': (left, right) => Number(left) >= Number(right),
  in: (left, right) => {
    if (Array.isArray(right)) return right.some((item) => isDeepStrictEqual(item, left));
    if (typeof right === 'object' && right !== null) return Object.hasOwn(right, String(left));
    throw new CelError('in of what is neither list nor map');
  },
};

const MACROS: Readonly<Record<string, (conditions: readonly (() => boolean)[]) => boolean>> = {
  all: (conditions) => truth(decided(false, conditions)), exists: (conditions) => truth(decided(true, conditions)),
};

function decided(decisive: boolean, conditions: readonly (() => boolean)[]): boolean {
  const results = conditions.map(attempt);
  if (results.includes(decisive)) return decisive;
  for (const result of results) if (result instanceof Error) throw result;
  return !decisive;
}

const OF_TEXTS: Readonly<Record<string, (text: string, ...given: readonly string[]) => unknown>> = {
  startsWith: (text, start = '') => text.startsWith(start),
  matches: (text, pattern = '') => new RegExp(pattern).test(text),
  split: (text, by = '') => text.split(by), replace: (text, one = '', other = '') => text.replace(one, other),
};

function called(value: unknown, name: string, given: readonly unknown[]): unknown {
  if (typeof value === 'string' && OF_TEXTS[name] !== undefined) {
    return OF_TEXTS[name](value, ...given.map(String));
  }
  const method = fieldOf(value, name);
  if (typeof method !== 'function') throw new CelError(`no method ${name}`);
  return (method as (...all: readonly unknown[]) => unknown)(...given);
}

function fieldOf(value: unknown, key: unknown): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, String(key))) {
    throw new CelError(`no such key: ${String(key)}`);
  }
  return (value as Readonly<Record<string, unknown>>)[String(key)];
}

function truth(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new CelError('no truth value');
  return value;
}

function added(left: unknown, right: unknown): unknown {
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  throw new CelError('a sum of what are no texts');
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  throw new CelError('a size of what is neither text nor list');
}
