import { expect } from 'chai'
import { elapsedMs } from '../../../core/clock.ts'
import * as s from '../../../core/plugin/schema.ts'
import { compile } from '../../../core/plugin/validate.ts'
import { same } from '../../support/types.ts'

/** One object type instead of an intersection. */
type Flat<T> = { readonly [K in keyof T]: T[K] }

const person = s.object({
  name: s.string({ minLength: 1, maxBytes: 10 }),
  age: s.optional(s.integer({ minimum: 0 })),
  role: s.oneOf(['buyer', 'seller']),
})

describe('a schema', () => {
  it('has the type of the value it describes', () => {
    type Person = Flat<s.Infer<typeof person>>
    same<
      Person,
      { readonly name: string; readonly age?: number; readonly role: 'buyer' | 'seller' }
    >(true)
    const list = s.array(s.nullable(s.boolean()))
    same<s.Infer<typeof list>, readonly (boolean | null)[]>(true)
    const either = s.anyOf(s.string(), s.number())
    same<s.Infer<typeof either>, string | number>(true)
    const map = s.record(s.integer())
    same<s.Infer<typeof map>, Readonly<Record<string, number>>>(true)
  })

  it('is published as plain JSON Schema', () => {
    expect(person.json).to.deep.equal({
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, 'x-maxBytes': 10 },
        age: { type: 'integer', minimum: 0 },
        role: { type: 'string', enum: ['buyer', 'seller'] },
      },
      required: ['name', 'role'],
      additionalProperties: false,
    })
  })
})

describe('a check', () => {
  const check = compile(person)

  it('returns no issues for a valid value', () => {
    expect(check({ name: 'Ada', role: 'buyer' })).to.deep.equal([])
    expect(check({ name: 'Ada', role: 'seller', age: 36 })).to.deep.equal([])
  })

  it('counts bytes of UTF-8, not characters, and reports their number', () => {
    expect(check({ name: 'ä'.repeat(5), role: 'buyer' })).to.deep.equal([])
    expect(check({ name: '😀😀😀', role: 'buyer' })).to.deep.equal([
      {
        path: '/name',
        message: 'must have at most 10 bytes of UTF-8',
        tooLarge: { limit_bytes: 10, actual_bytes: 12 },
      },
    ])
  })

  it('lists the allowed values', () => {
    expect(check({ name: 'Ada', role: 'thief' })).to.deep.equal([
      {
        path: '/role',
        message: 'is not one of the allowed values',
        allowed: ['buyer', 'seller'],
      },
    ])
  })

  it('names missing and unknown fields', () => {
    expect(check({ name: 'Ada', rôle: 'buyer' })).to.have.deep.members([
      { path: '/role', message: 'is required' },
      { path: '/rôle', message: 'is not a known field' },
    ])
  })

  it('names fields by JSON pointer, including those with a slash or a tilde', () => {
    const odd = compile(s.object({ 'a/b~c': s.object({ 'd/e': s.string({ maxBytes: 1 }) }) }))
    expect(odd({}).map(({ path }) => path)).to.deep.equal(['/a~1b~0c'])
    expect(odd({ 'a/b~c': {} }).map(({ path }) => path)).to.deep.equal(['/a~1b~0c/d~1e'])
    expect(odd({ 'a/b~c': { 'd/e': 'ff' } })).to.have.deep.nested.property('[0].tooLarge', {
      limit_bytes: 1,
      actual_bytes: 2,
    })
    expect(odd({ 'a/b~c': { 'd/e': '' }, 'f/g': 1 }).map(({ path }) => path)).to.deep.equal([
      '/f~1g',
    ])
  })

  it('ignores inherited properties', () => {
    const odd = compile(s.object({ constructor: s.unknown(), toString: s.unknown() }))
    expect(odd({}).map(({ path }) => path)).to.deep.equal(['/constructor', '/toString'])
  })

  it('treats a key named __proto__ as an unknown field', () => {
    const value = JSON.parse(
      '{"name": "Ada", "role": "buyer", "__proto__": {"age": -1}}',
    ) as unknown
    expect(check(value)).to.deep.equal([{ path: '/__proto__', message: 'is not a known field' }])
  })

  it('does not convert types: a number in quotes is a string', () => {
    expect(check({ name: 'Ada', role: 'buyer', age: '36' })).to.have.length(1)
    expect(check({ name: 'Ada', role: 'buyer', age: 1.5 })).to.have.length(1)
    expect(check({ name: 'Ada', role: 'buyer', age: Number.NaN })).to.have.length(1)
  })

  it('returns at most twenty issues', () => {
    const list = compile(s.array(s.integer()))
    expect(list(Array.from({ length: 500 }, () => 'no'))).to.have.length(20)
  })

  it('A040 matches patterns in linear time, so that no published pattern can hang the hub', () => {
    const evil = compile({ json: { type: 'string', pattern: '^(a+)+$' } })
    const start = elapsedMs()
    expect(evil(`${'a'.repeat(40)}!`)).to.have.length(1)
    expect(evil('a'.repeat(40))).to.deep.equal([])
    expect(elapsedMs() - start, 'a backtracking engine would take hours').to.be.lessThan(15_000)
  })

  it('enforces the pattern of each schema', () => {
    const both = compile({
      json: {
        type: 'object',
        properties: {
          a: { type: 'string', pattern: '^a$' },
          b: { type: 'string', pattern: '^b$' },
        },
      },
    })
    expect(both({ a: 'a', b: 'b' })).to.deep.equal([])
    expect(both({ a: 'b', b: 'a' }).map(({ path }) => path)).to.deep.equal(['/a', '/b'])
    expect(compile({ json: { type: 'string', pattern: '^c$' } })('a')).to.have.length(1)
  })

  it('refuses an invalid schema when it is compiled', () => {
    expect(() => compile({ json: { type: 'strnig' } })).to.throw()
    expect(() => compile({ json: { type: 'string', pattern: '(' } })).to.throw()
    expect(() => compile({ json: { type: 'string', maxLenght: 3 } })).to.throw(/maxLenght/)
  })
})
