import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'
import type { Schema } from './schema.ts'

/** One thing that is wrong with a value, by JSON pointer. */
export interface Issue {
  readonly path: string
  readonly message: string
  /** The allowed values, where the schema lists them. */
  readonly allowed?: readonly unknown[]
  /** Set when a string is longer than its `maxBytes`. */
  readonly tooLarge?: { readonly limit_bytes: number; readonly actual_bytes: number }
}

/** Checks a value and names what is wrong with it; nothing for a valid one. At most 20 issues. */
export type Check = (value: unknown) => readonly Issue[]

const ISSUES_MAX = 20

/**
 * Patterns run on RE2, in linear time: plugins may publish any pattern without hanging the hub.
 * Ajv keeps compiled patterns by their text, so two of them must not look the same.
 */
const safeRegExp = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern)
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern }
  },
  { code: 'safeRegExp' },
)

const compiler = (): Ajv2020 =>
  new Ajv2020({
    strict: true,
    allErrors: true,
    verbose: true,
    ownProperties: true,
    validateFormats: false,
    allowUnionTypes: true,
    code: { regExp: safeRegExp },
  }).addKeyword({
    keyword: 'x-maxBytes',
    type: 'string',
    schemaType: 'number',
    error: { message: ({ schema }) => `must have at most ${schema as number} bytes of UTF-8` },
    validate: (limit: number, text: string) => Buffer.byteLength(text) <= limit,
  })

/** Ajv never forgets a schema, and services of owners bring new ones: it starts anew at times. */
const COMPILED_MAX = 500
let ajv = compiler()
let compiled = 0
const known = new WeakMap<object, Check>()

/**
 * Compiles a schema once, for many values; the same schema again is not compiled again.
 * @throws Error when the schema itself is wrong
 */
export function compile({ json }: Schema<unknown>): Check {
  const before = known.get(json)
  if (before) return before
  if (++compiled % COMPILED_MAX === 0) ajv = compiler()
  const validate = ajv.compile(json)
  const check: Check = (value) => {
    if (validate(value)) return []
    return (validate.errors ?? []).slice(0, ISSUES_MAX).map(issueOf)
  }
  known.set(json, check)
  return check
}

function issueOf(error: ErrorObject): Issue {
  const { instancePath, keyword, params } = error
  const message = error.message ?? 'is not valid'
  if (keyword === 'required') {
    const { missingProperty } = params as { missingProperty: string }
    return { path: `${instancePath}/${escaped(missingProperty)}`, message: 'is required' }
  }
  if (keyword === 'additionalProperties') {
    const { additionalProperty } = params as { additionalProperty: string }
    return {
      path: `${instancePath}/${escaped(additionalProperty)}`,
      message: 'is not a known field',
    }
  }
  if (keyword === 'enum') {
    const { allowedValues } = params as { allowedValues: readonly unknown[] }
    return {
      path: instancePath,
      message: 'is not one of the allowed values',
      allowed: allowedValues,
    }
  }
  if (keyword === 'x-maxBytes') {
    const actual = Buffer.byteLength(error.data as string)
    const limit = error.schema as number
    return { path: instancePath, message, tooLarge: { limit_bytes: limit, actual_bytes: actual } }
  }
  return { path: instancePath, message }
}

/** A name as a segment of a JSON pointer (RFC 6901). */
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
