import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Schema } from './values.ts'

/** One operation of an OpenAPI document, as far as the fuzzer reads it. */
export interface Operation {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly 'x-codes'?: readonly string[]
        readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
      }
    >
  >
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: Readonly<Record<string, unknown>>
}

/** What was sent. */
export interface Sent {
  readonly body: unknown
  /** The query as it was written: names and texts. */
  readonly query: Readonly<Record<string, string>>
}

export interface Answered {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** What fails without a fault of the hub: a seller, or a person who stopped payments to sellers. */
const TOLD = /^upstream_|^payments_paused$/

/** Judges answers by what the document says of them. */
export class Judge {
  readonly #components: unknown
  readonly #strict = new Ajv2020({ strict: false, validateFormats: false })
  /** Of queries, whose values are texts. */
  readonly #lenient = new Ajv2020({ strict: false, validateFormats: false, coerceTypes: true })
  readonly #known = new Map<object, ValidateFunction>()

  constructor(document: Document) {
    this.#components = document.components
  }

  /** What is wrong with an answer; undefined: nothing is. */
  fault(operation: Operation, sent: Sent, { status, type, text }: Answered): string | undefined {
    const documented = operation.responses[String(status)]
    const body = json(type, text)
    const code = isObject(body) ? String(body['code']) : 'none'
    if (status >= 500 && !TOLD.test(code)) return `server error ${status} ${code}`
    if (!documented) return `undocumented status ${status} ${code}`
    const codes = documented['x-codes']
    if (codes && !codes.includes(code)) return `undocumented code ${status} ${code}`
    const content = documented.content?.[type]
    if (documented.content && !content) return `undocumented type ${type} of ${status}`
    const check = content && this.#checker(content.schema, this.#strict)
    if (check && !check(body)) return `schema mismatch of ${status}: ${said(check)}`
    if (status < 300 && !this.takes(operation, sent)) return `accepted what the schema refuses`
    return undefined
  }

  /** Whether the document lets a request be sent. */
  takes(operation: Operation, { body, query }: Sent): boolean {
    const [media] = Object.values(operation.requestBody?.content ?? {})
    if (media && !this.#checker(media.schema, this.#strict)(body ?? {})) return false
    return (operation.parameters ?? [])
      .filter((one) => one.in === 'query')
      .every(({ name, required, schema }) =>
        query[name] === undefined
          ? !required
          : this.#checker(schema, this.#lenient, 'value')({ value: query[name] }),
      )
  }

  #checker(schema: Schema, ajv: Ajv2020, member?: string): ValidateFunction {
    const known = this.#known.get(schema)
    if (known) return known
    const inner = member === undefined ? schema : { properties: { [member]: schema } }
    const made = ajv.compile({ ...inner, components: this.#components })
    this.#known.set(schema, made)
    return made
  }
}

const said = ({ errors }: ValidateFunction): string =>
  (errors ?? [])
    .slice(0, 3)
    .map(({ instancePath, message }) => `${instancePath || '/'} ${message}`)
    .join(', ')

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function json(type: string, text: string): unknown {
  if (!/\bjson$/.test(type)) return text
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
