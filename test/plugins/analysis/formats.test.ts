import { expect } from 'chai'
import * as fc from 'fast-check'
import { isRecord, type Json } from '../../../plugins/analysis/caller-schema.ts'
import { readFormat } from '../../../plugins/analysis/format.ts'
import { analyze } from './support.ts'

/** Short notation of a schema: `{name:string, tags:string[]}`. */
const notationOf = (schema: unknown): string => {
  if (!isRecord(schema)) return String(schema)
  const { type, properties, items, format, minimum, maximum } = schema
  if (Array.isArray(schema['anyOf'])) return schema['anyOf'].map(notationOf).join('|')
  if (Array.isArray(schema['enum'])) return `(${schema['enum'].join('|')})`
  if (type === 'array') return `${notationOf(items)}[]`
  if (isRecord(properties)) {
    const members = Object.entries(properties).map(([key, one]) => `${key}:${notationOf(one)}`)
    return `{${members.join(', ')}}`
  }
  const range = typeof minimum === 'number' ? `[${minimum}..${String(maximum)}]` : ''
  return `${typeof type === 'string' ? type : 'any'}${format === 'date' ? '~date' : ''}${range}`
}

const schemaOf = (format: string): string => {
  const read = readFormat(format)
  return read.kind === 'schema' ? notationOf(read.schema) : 'prose'
}

const UNDERSTOOD: readonly (readonly [string, string])[] = [
  ['JSON with keys name (string) and city (string)', '{name:string, city:string}'],
  ['a JSON array of strings', 'string[]'],
  ['{"deadline":"YYYY-MM-DD"}', '{deadline:string~date}'],
  ['yes or no', '(yes|no)'],
  ['Answer with true or false.', 'boolean'],
  ['one of a, b, c', '(a|b|c)'],
  ['positive, negative or neutral', '(positive|negative|neutral)'],
  ['a number between 1 and 10', 'number[1..10]'],
  ['integer from 0 to 5', 'integer[0..5]'],
  ['- name: string\n- city (string)\n- age: integer', '{name:string, city:string, age:integer}'],
  ['Return:\n* summary - one sentence\n* tags: list of strings', '{summary:string, tags:string[]}'],
  ['1. title\n2. date (YYYY-MM-DD)', '{title:any, date:string~date}'],
  ['return a table with columns product, price', '{product:any, price:any}[]'],
  [
    'interface Person { name: string; age?: number; tags: string[]; role: "a" | "b" }',
    '{name:string, age:number, tags:string[], role:(a|b)}',
  ],
  ['Array<{ name: string, score: number }>', '{name:string, score:number}[]'],
  ['{ name: string; born: Date }[]', '{name:string, born:string~date}[]'],
  ['{ person: { name: string, jobs: [string] } }', '{person:{name:string, jobs:string[]}}'],
  ['```json\n{"name": "string"}\n```', '{name:string}'],
  ['Respond with {"title": "...", "tags": ["..."]}', '{title:string, tags:string[]}'],
  ['JSON object containing: title, keywords (array of strings)', '{title:any, keywords:string[]}'],
  ['list of objects with name and amount', '{name:any, amount:any}[]'],
  [
    'JSON with fields: status (open|closed), priority (low, high)',
    '{status:(open|closed), priority:string}',
  ],
  [
    'keys: deadline (date as YYYY-MM-DD), amount (number), is_urgent (boolean)',
    '{deadline:string~date, amount:number, is_urgent:boolean}',
  ],
  ['name: string, age: int', '{name:string, age:integer}'],
  ['plain text', 'string'],
]
const NOT_UNDERSTOOD = [
  'xml',
  'CSV with columns name, price',
  'a markdown table',
  'yaml',
  'as a haiku',
  'make it look nice',
  'dictionary mapping names to ages',
]

const TEXT =
  'Maria Silva signed the contract with Acme Inc. in Porto on 12 May 2026. ' +
  'The offers are due by 30 June 2026. It costs $5,000.'
const filled = (output_format: string | Json, instructions = 'Fill it in.') =>
  analyze({ text: TEXT, instructions, output_format }).result

describe('analysis: formats in words', () => {
  it('reads types, fields, choices, ranges and dates from prose and sketches', () => {
    for (const [format, expected] of UNDERSTOOD) {
      expect(schemaOf(format), format).to.equal(expected)
    }
  })

  it('refuses prose that is not plain and shows formats that are, all of which work', () => {
    for (const output_format of NOT_UNDERSTOOD) {
      expect(() => filled(output_format), output_format)
        .to.throw()
        .that.includes({ code: 'format_not_understood', status: 422 })
    }
    try {
      filled('xml')
    } catch (error) {
      const { extras } = error as { extras: { understood_formats: (string | Json)[] } }
      expect(extras.understood_formats).to.have.length.above(2)
      for (const format of extras.understood_formats) {
        expect(readFormat(format)).to.include({ kind: 'schema' })
      }
    }
  })

  it('fills the fields, in the requested types, and lists the others', () => {
    const { output, unresolved } = filled(
      'keys: people (list of strings), city (string), vat (number)',
    )
    expect(output).to.deep.equal({ people: ['Maria Silva'], city: 'Porto', vat: null })
    expect(unresolved).to.deep.equal(['/vat'])
  })

  it('writes days in the requested format, each next to its own words', () => {
    expect(filled({ deadline: 'YYYY-MM-DD' }).output).to.deep.equal({ deadline: '2026-06-30' })
    expect(filled({ deadline: 'DD/MM/YYYY', signed_date: 'YYYY-MM-DD' }).output).to.deep.equal({
      deadline: '30/06/2026',
      signed_date: '2026-05-12',
    })
    const { output, unresolved } = filled({ birth_date: 'YYYY-MM-DD', summary: 'string' })
    expect(output).to.have.property('birth_date', null)
    expect(unresolved).to.deep.equal(['/birth_date'])
  })

  it('answers with a list, a choice or a text instead of an object', () => {
    expect(filled('a JSON array of strings', 'List the people.').output).to.deep.equal([
      'Maria Silva',
    ])
    expect(filled('one of: positive, negative, neutral').output).to.equal('neutral')
    expect(filled('plain text', 'Give a title.').output).to.be.a('string')
  })

  it('refuses if nothing can be filled in', () => {
    for (const output_format of ['yes or no', 'a number between 1 and 10', { risk: 'string' }]) {
      expect(() => filled(output_format))
        .to.throw()
        .that.includes({ code: 'unsupported_by_engine', status: 422 })
    }
  })

  it('reads any prose without failing otherwise', () => {
    const words = fc.constantFrom(
      ...'json keys fields list of string { } [ ] ( ) : , | \n - name array'.split(' '),
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(words).map((all) => all.join(' ')),
        ),
        (format) => {
          try {
            readFormat(format)
          } catch (error) {
            expect(error).to.include({ code: 'invalid_output_format' })
          }
        },
      ),
    )
  })
})
