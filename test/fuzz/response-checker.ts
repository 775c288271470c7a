import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Schema } from './values.ts'

/** Operation of an OpenAPI document, as far as the fuzzer reads it. */
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

/** Sent request. */
export interface Sent {
  readonly body: unknown
  /** Query parameters as sent. */
  readonly query: Readonly<Record<string, string>>
}

export interface ReceivedResponse {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** Codes of server errors that are not the hub's fault: a failing upstream, or paused payments. */
const EXPECTED_SERVER_ERRORS = /^upstream_|^payments_paused$/

/** Checks responses against the OpenAPI document. */
export class ResponseChecker {
  readonly #components: unknown
  readonly #strict = new Ajv2020({ strict: false, validateFormats: false })
  /** Validator for queries, whose values are strings. */
  readonly #lenient = new Ajv2020({ strict: false, validateFormats: false, coerceTypes: true })
  readonly #known = new Map<object, ValidateFunction>()

  constructor(document: Document) {
    this.#components = document.components
  }

  /** Returns the fault of a response; undefined if there is none. */
  fault(
    operation: Operation,
    sent: Sent,
    { status, type, text }: ReceivedResponse,
  ): string | undefined {
    const documented = operation.responses[String(status)]
    const body = json(type, text)
    const code = isObject(body) ? String(body['code']) : 'none'
    if (status >= 500 && !EXPECTED_SERVER_ERRORS.test(code)) return `server error ${status} ${code}`
    if (!documented) return `undocumented status ${status} ${code}`
    const codes = documented['x-codes']
    if (codes && !codes.includes(code)) return `undocumented code ${status} ${code}`
    const content = documented.content?.[type] ?? documented.content?.['*/*']
    if (documented.content && !content) return `undocumented type ${type} of ${status}`
    const check = content && this.#checker(content.schema, this.#strict)
    if (check && !check(body)) return `schema mismatch of ${status}: ${errorText(check)}`
    if (status < 300 && !this.allows(operation, sent))
      return 'accepted a request that the schema forbids'
    return undefined
  }

  /** Returns true if the document allows the request. */
  allows(operation: Operation, { body, query }: Sent): boolean {
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

const errorText = ({ errors }: ValidateFunction): string =>
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
