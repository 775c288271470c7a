import { expect } from 'chai'
import { Piscina } from 'piscina'
import type { JsonObject } from '../../../core/json.ts'
import { assertCompiles, checkValue } from '../../../core/plugin/check-value.ts'
import * as s from '../../../core/plugin/schema.ts'
import { isWithin, patternSize, schemaCost } from '../../../core/plugin/schema-cost.ts'
import { compile } from '../../../core/plugin/validate.ts'

const repeat = <T>(count: number, each: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => each(n))

/** Levels of two references to the next level: 2^n validations of the innermost schema. */
const doubling = (levels: number): JsonObject => ({
  $ref: '#/$defs/l0',
  $defs: Object.fromEntries([
    ...repeat(levels, (n) => [
      `l${n}`,
      { anyOf: [{ $ref: `#/$defs/l${n + 1}` }, { $ref: `#/$defs/l${n + 1}` }] },
    ]),
    [`l${levels}`, { type: 'string' }],
  ]),
})

describe('A133 the validation of a value by a stranger’s schema', () => {
  it('is done at once if both are small', () => {
    const check = checkValue(s.object({ name: s.string(), age: s.integer() }))
    expect(check({ name: 'Ada', age: 36 })).to.deep.equal([])
    expect(check({ name: 1, age: '' }), 'all errors').to.have.length(2)
    expect(check(Buffer.from('{"name":"Ada","age":36}'))).to.deep.equal([])
  })

  const items = repeat(50_000, (n) => n)
  const costly: Readonly<Record<string, readonly [schema: JsonObject, value: unknown]>> = {
    'many alternatives for many items': [
      { type: 'array', items: { anyOf: repeat(200, (n) => ({ const: `x${n}` })) } },
      items,
    ],
    'many patterns for many names': [
      { type: 'object', patternProperties: { '^[a-z]{1,20}$': {}, '^[A-Z]{1,20}$': {} } },
      Object.fromEntries(items.map((n) => [`n${n}`, 1])),
    ],
    'a large pattern for a long text': [
      { type: 'string', pattern: '(?i)\\pL{1,20}x' },
      'a'.repeat(50_000),
    ],
    'many required names for many items': [
      {
        type: 'array',
        items: {
          type: 'object',
          properties: Object.fromEntries(repeat(60, (n) => [`m${n}`, {}])),
          required: repeat(60, (n) => `m${n}`),
        },
      },
      items.map(() => ({})),
    ],
    'many dependent schemas': [
      {
        type: 'array',
        items: {
          type: 'object',
          dependentSchemas: Object.fromEntries(repeat(100, (n) => [`m${n}`, { minProperties: n }])),
        },
      },
      items.map(() => ({ m99: 1 })),
    ],
    'a schema that is costly to compile': [
      { type: 'object', properties: Object.fromEntries(repeat(500, (n) => [`m${n}`, {}])) },
      {},
    ],
  }
  for (const [what, [schema, value]] of Object.entries(costly)) {
    it(`leaves the event loop free for ${what}`, async () => {
      const result = checkValue({ json: schema })(value)
      expect(result).to.be.instanceOf(Promise)
      expect(await result).to.be.an('array')
    })
  }

  it('ends after its deadline for references that multiply', async () => {
    const result = checkValue({ json: doubling(40) })(1)
    expect(result).to.be.instanceOf(Promise)
    const [issue] = await result
    expect(issue).to.include({ path: '' })
    expect(issue?.message).to.match(/takes too long to validate/)
  })

  it('names the expected types and limits in plain words', async () => {
    const messageOf = async (json: object, value: unknown) =>
      (await checkValue({ json: { ...json } })(value))[0]?.message
    expect(await messageOf({ type: 'object' }, undefined)).to.equal('must be an object')
    expect(await messageOf({ type: ['integer', 'null'] }, 'a')).to.equal(
      'must be a whole number or null',
    )
    expect(await messageOf({ type: 'string', minLength: 2 }, 'a')).to.equal(
      'must not have fewer than 2 characters',
    )
  })

  it('supports references, which may recurse', async () => {
    const tree = {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#' } }, name: { type: 'string' } },
    }
    const check = checkValue({ json: tree })
    expect(await check({ children: [{ name: 'a' }] })).to.deep.equal([])
    expect(await check({ children: [{ name: 1 }] })).to.deep.include({
      path: '/children/0/name',
      message: 'must be a string',
    })
    const endless = checkValue({ json: { allOf: [{ $ref: '#' }] } })
    expect((await endless(1))[0]?.message).to.match(/takes too long/)
  })

  it('parses large JSON in a worker, and reports what is none', async () => {
    const check = checkValue(s.array(s.integer()))
    const large = check(Buffer.from(JSON.stringify(repeat(200_000, (n) => n))))
    expect(large).to.be.instanceOf(Promise)
    expect(await large).to.deep.equal([])
    expect(() => check(Buffer.from('{'))).to.throw(SyntaxError)
    const broken = await Promise.resolve(check(Buffer.from('['.repeat(300_000)))).catch(
      (error: unknown) => error,
    )
    expect(broken).to.be.instanceOf(SyntaxError)
  })

  it('survives a worker that runs out of memory after its deadline', async () => {
    type Run = (this: Piscina, ...task: Parameters<Piscina['run']>) => Promise<unknown>
    const run: Run = Reflect.get(Piscina.prototype, 'run')
    const used: Piscina[] = []
    Piscina.prototype.run = function (...task) {
      used.push(this)
      return run.apply(this, task)
    }
    try {
      await checkValue(s.array(s.integer()))(Buffer.from(JSON.stringify(repeat(200_000, (n) => n))))
    } finally {
      Piscina.prototype.run = run
    }
    const [pool] = used
    expect(() => pool!.emit('error', new Error('ERR_WORKER_OUT_OF_MEMORY'))).not.to.throw()
  })

  it('compiles costly schemas in a worker before they are sold', async () => {
    const many = repeat(300, (n) => [`m${n}`, { type: 'string' }])
    const valid = { type: 'object', properties: Object.fromEntries(many) }
    await assertCompiles({ json: valid })
    const wrong = { ...valid, required: 'm1' }
    const error = await assertCompiles({ json: wrong }).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error)
  })
})

describe('the cost of a schema', () => {
  it('counts repeats of patterns as often as they repeat, also nested', () => {
    expect(patternSize('abc')).to.equal(3)
    expect(patternSize('a{2,40}')).to.equal(40)
    expect(patternSize('(a{1,30}){1,30}')).to.be.above(900)
    expect(patternSize('[a-z{1,9}]{3}\\{4}')).to.be.below(12)
    expect(patternSize('\\pL{1,200}')).to.be.above(400)
  })

  it('is unbounded with references', () => {
    expect(schemaCost({ items: { $ref: '#' } }).size).to.equal(Infinity)
    expect(isWithin(1e12, { $dynamicRef: '#a' }, 'a')).to.equal(false)
  })
})

describe('uniqueItems', () => {
  const check = compile({
    json: { type: 'array', maxItems: 300_000, uniqueItems: true },
  })
  it('compares values as JSON does', () => {
    for (const unique of [
      [1, '1', true, null, 'true', [1], ['1'], {}, []],
      [{ a: 1 }, { a: 2 }, { b: 1 }],
      [
        [1, 2],
        [2, 1],
      ],
    ]) {
      expect(check(unique), JSON.stringify(unique)).to.deep.equal([])
    }
    for (const twice of [
      [1, 2, 1],
      ['a', 'a'],
      [0, -0],
      [
        { a: 1, b: [2] },
        { b: [2], a: 1 },
      ],
      [null, null],
    ]) {
      expect(check(twice)).to.deep.equal([{ path: '', message: 'must not have duplicate items' }])
    }
  })

  it('compares a quarter of a million items in linear time', () => {
    expect(check(repeat(250_000, (n) => ({ n })))).to.deep.equal([])
  })

  it('is not compared before other limits, and stops at the first error', () => {
    const list = compile({ json: { type: 'array', maxItems: 10, uniqueItems: true } })
    expect(list(repeat(90_000, () => ({})))).to.have.length(1)
  })
})
