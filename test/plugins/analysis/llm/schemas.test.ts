import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { type Json, readSchema } from '../../../../plugins/analysis/caller-schema.ts'
import type { Analysis } from '../../../../plugins/analysis/engine.ts'
import { analyzeQuestion } from '../../../../plugins/analysis/llm/analyze.ts'
import { isPortable, toPortableSchema } from '../../../../plugins/analysis/llm/portable-schema.ts'
import { issuesOf } from '../../../../plugins/analysis/llm/schema-issues.ts'

const leaf = fc.constantFrom<Json>(
  { type: 'string' },
  { type: 'number', minimum: 0, maximum: 9 },
  { type: 'integer' },
  { type: 'boolean' },
  { enum: ['a', 'b'] },
  { type: ['string', 'null'] },
)
const schema: fc.Arbitrary<Json> = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'schema' },
    leaf,
    fc.record({ type: fc.constant('array'), items: tie('any'), maxItems: fc.constant(3) }),
    fc.record({ anyOf: fc.array(tie('any'), { minLength: 1, maxLength: 2 }) }),
    fc
      .dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), tie('any'), { minKeys: 1 })
      .chain((properties) =>
        fc.record({
          type: fc.constant('object'),
          properties: fc.constant(properties),
          required: fc.subarray(Object.keys(properties)),
        }),
      ),
  ),
})).any

/** True for schemas that structured outputs accept, by the vendors' documentation. */
const isStrict = (one: Json): boolean => {
  const known = ['type', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', 'enum']
  if (!Object.keys(one).every((keyword) => known.includes(keyword))) return false
  const inner = [
    ...Object.values((one['properties'] ?? {}) as Record<string, Json>),
    ...((one['anyOf'] ?? []) as Json[]),
    ...(one['items'] === undefined ? [] : [one['items'] as Json]),
  ]
  const names = Object.keys(one['properties'] ?? {})
  const isObject = one['type'] === 'object'
  const isClosed =
    one['additionalProperties'] === false && names.length === (one['required'] as string[])?.length
  return (!isObject || isClosed) && !Array.isArray(one['type']) && inner.every(isStrict)
}

describe('analysis: schemas', () => {
  it('are reduced to what every vendor accepts, whatever the caller wrote', () => {
    fc.assert(
      fc.property(schema, (given) => {
        const { schema: read } = readSchema(given)
        const weak = toPortableSchema(read)
        expect(isStrict(weak), JSON.stringify(weak)).to.equal(true)
        expect(isPortable(weak)).to.equal(true)
      }),
    )
  })

  it('keep only the supported keywords and report the others', () => {
    const { schema: read, ignored } = readSchema({
      type: 'object',
      $defs: { item: { type: 'string', pattern: '^(a+)+$' } },
      properties: {
        near: { $ref: '#/$defs/item' },
        far: { $ref: 'https://evil.example/schema.json' },
        round: { $ref: '#' },
        one: { const: 'x', title: 'silent' },
        some: { oneOf: [{ type: 'string', minLength: 3 }, { type: 'null' }] },
      },
      patternProperties: { '^(a+)+$': {} },
      if: {},
    })
    expect(read).to.deep.equal({
      type: 'object',
      properties: {
        near: { type: 'string' },
        far: {},
        round: {},
        one: { enum: ['x'] },
        some: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
    })
    expect(ignored).to.deep.equal(['$ref', 'if', 'minLength', 'pattern', 'patternProperties'])
  })

  it('are refused if malformed, too deep, too large, or expanding by references', () => {
    const nested = (levels: number): Json =>
      levels === 0 ? { type: 'string' } : { type: 'array', items: nested(levels - 1) }
    const laughs = Object.fromEntries(
      Array.from({ length: 12 }, (_, nth) => [
        `d${nth}`,
        {
          type: 'object',
          properties: { a: { $ref: `#/$defs/d${nth + 1}` }, b: { $ref: `#/$defs/d${nth + 1}` } },
        },
      ]),
    )
    for (const bad of [
      { type: 'text' },
      { properties: [] },
      { enum: [{}] },
      { required: [1] },
      { minItems: 'two' },
      { anyOf: [] },
      { items: 7 },
      nested(9),
      { properties: Object.fromEntries(Array.from({ length: 201 }, (_, nth) => [`p${nth}`, {}])) },
      { $defs: laughs, $ref: '#/$defs/d0' },
    ] as Json[]) {
      expect(() => readSchema(bad), JSON.stringify(bad).slice(0, 80))
        .to.throw()
        .that.includes({ code: 'invalid_output_format' })
    }
    expect(readSchema(nested(8)).ignored).to.deep.equal([])
  })

  it('validate in full, with pointers that a model can act on', () => {
    const full = { type: 'object', properties: { a: { type: 'array', items: { maximum: 1 } } } }
    expect(issuesOf(full, { a: [0, 2] })).to.deep.equal(['/a/1: 2 is greater than 1.'])
    expect(issuesOf(full, { a: [1] })).to.deep.equal([])
  })

  it('match every returned analysis, whatever the model filled in', () => {
    let sold = 0
    const judged = (schema: Json, output: unknown): Analysis | undefined => {
      const format = { kind: 'schema', ...readSchema(schema) } as const
      const task = { instructions: 'Fill in.', format, offset: (index: number) => index }
      const question = analyzeQuestion('Ada met Bob.', task)
      if (issuesOf(question.schema, { output }).length > 0) return undefined
      const judgement = question.judge({ output })
      return 'value' in judgement ? judgement.value : undefined
    }
    const filled = schema.chain((one) => fc.tuple(fc.constant(one), valueOf(one)))
    fc.assert(
      fc.property(filled, ([one, output]) => {
        const analysis = judged(one, output)
        if (analysis === undefined) return
        sold += 1
        expect(ajv.validate(analysis.schema, analysis.output), ajv.errorsText()).to.equal(true)
        for (const pointer of analysis.unresolved)
          expect(at(analysis.output, pointer)).to.equal(null)
      }),
    )
    expect(sold).to.be.above(20)
  })
})

const ajv = new Ajv2020({ strict: false, ownProperties: true })

const at = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((inner, name) => (inner as Readonly<Record<string, unknown>>)[name], value)

/** Values that a model may return: usually as requested, sometimes null, rarely wrong. */
const valueOf = (one: Json): fc.Arbitrary<unknown> => {
  const { anyOf, enum: choices, items, properties, type } = one
  const right = Array.isArray(anyOf)
    ? fc.oneof(...anyOf.map((option: Json) => valueOf(option)))
    : Array.isArray(choices)
      ? fc.constantFrom(...(choices as unknown[]))
      : type === 'array'
        ? fc.array(valueOf(items as Json), { maxLength: 3 })
        : type === 'object'
          ? fc.record(
              Object.fromEntries(
                Object.entries(properties as object).map(([key, inner]) => [
                  key,
                  valueOf(inner as Json),
                ]),
              ),
            )
          : type === 'string'
            ? fc.constantFrom('Ada', 'Bob')
            : type === 'boolean'
              ? fc.boolean()
              : fc.integer({ min: 0, max: 9 })
  return fc.oneof(
    { weight: 12, arbitrary: right },
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  )
}
