import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'
import { canonicalJson } from '../crypto/canonical-json.ts'
import type { Schema } from './schema.ts'
import { isWithin } from './schema-cost.ts'

/** Validation error at a JSON pointer. */
export interface Issue {
  readonly path: string
  readonly message: string
  /** Allowed values, if the schema lists them. */
  readonly allowed?: readonly unknown[]
  /** Set if a string exceeds its `maxBytes`. */
  readonly tooLarge?: { readonly limit_bytes: number; readonly actual_bytes: number }
}

/** Returns the issues of a value, at most 20; empty if it is valid. */
export type Check = (value: unknown) => readonly Issue[]

const ISSUES_MAX = 20

/**
 * RE2 patterns, which match in linear time: no published pattern can hang the hub. Ajv caches
 * compiled patterns by their text, so `toString` must return the pattern.
 */
const safeRegExp = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern)
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern }
  },
  { code: 'safeRegExp' },
)

/** Compares items by their canonical text, because Ajv's own keyword compares all pairs. */
function hasUniqueItems(isRequired: boolean, items: readonly unknown[]): boolean {
  return !isRequired || new Set(items.map(textOfItem)).size === items.length
}

const textOfItem = (item: unknown): unknown =>
  typeof item === 'object' && item !== null ? canonicalJson(item) : JSON.stringify(item)

const compiler = (allErrors: boolean): Ajv2020 =>
  new Ajv2020({
    // Unknown keywords are refused; types that a schema leaves open are no error (JSON Schema).
    strictSchema: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    allErrors,
    verbose: true,
    ownProperties: true,
    validateFormats: false,
    // Compiling the schema of schemas would delay the first calls of a process by 0.1 s.
    validateSchema: false,
    code: { regExp: safeRegExp },
  })
    .addKeyword({
      keyword: 'x-maxBytes',
      type: 'string',
      schemaType: 'number',
      error: { message: ({ schema }) => `must have at most ${schema as number} bytes of UTF-8` },
      validate: (limit: number, text: string) => Buffer.byteLength(text) <= limit,
    })
    .removeKeyword('uniqueItems')
    .addKeyword({
      keyword: 'uniqueItems',
      type: 'array',
      schemaType: 'boolean',
      error: { message: 'must not have duplicate items' },
      validate: hasUniqueItems,
    })

/** Compilers, replaced together: Ajv never frees compiled schemas. */
const compilers = () => ({ first: compiler(false), all: compiler(true) })
const COMPILED_MAX = 500
let ajv = compilers()
let compiledCount = 0
const checks = new WeakMap<object, Check>()

/** Maximum cost (schema-cost.ts) of a validation that reports all errors, not only the first. */
const ALL_ERRORS_UNITS = 500_000

/**
 * Compiles a schema, and caches the result by schema object. The check stops at the first error; if
 * the value is small, it runs again to report several. A schema from outside passes
 * `findSchemaError` first.
 * @throws Error if the schema cannot be compiled
 */
export function compile({ json }: Schema<unknown>): Check {
  const cached = checks.get(json)
  if (cached) return cached
  if (++compiledCount % COMPILED_MAX === 0) ajv = compilers()
  const { first, all } = ajv
  const validate = first.compile(json)
  const check: Check = (value) => {
    if (validate(value)) return []
    const isSmall = isWithin(ALL_ERRORS_UNITS, json, value)
    const thorough = isSmall ? all.compile(json) : validate // cached by Ajv
    if (isSmall) thorough(value)
    return (thorough.errors ?? []).slice(0, ISSUES_MAX).map(toIssue)
  }
  checks.set(json, check)
  return check
}

/**
 * Returns why a value is no schema of JSON Schema 2020-12, without compiling it. Ajv's own `$async`
 * would make every check pass.
 */
export function findSchemaError(json: Readonly<Record<string, unknown>>): string | undefined {
  if ('$async' in json) return '$async is no keyword of JSON Schema'
  try {
    return ajv.first.validateSchema(json) === true ? undefined : ajv.first.errorsText()
  } catch (error) {
    return (error as Error).message // for another $schema
  }
}

/** Message about a field that the schema does not have. */
export const UNKNOWN_FIELD = 'is not a known field'

function toIssue(error: ErrorObject): Issue {
  const { instancePath, keyword, params } = error
  const message = error.message ?? 'is not valid'
  if (keyword === 'required') {
    const { missingProperty } = params as { missingProperty: string }
    return { path: `${instancePath}/${escapePointer(missingProperty)}`, message: 'is required' }
  }
  if (keyword === 'additionalProperties') {
    const { additionalProperty } = params as { additionalProperty: string }
    return {
      path: `${instancePath}/${escapePointer(additionalProperty)}`,
      message: UNKNOWN_FIELD,
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
  if (keyword === 'type') {
    const types = [(params as { type: string | readonly string[] }).type].flat()
    const names = types.map((type) => TYPE_NAMES[type] ?? type)
    return { path: instancePath, message: `must be ${ALTERNATIVES.format(names)}` }
  }
  return { path: instancePath, message: message.replace('must NOT', 'must not') }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}
const ALTERNATIVES = new Intl.ListFormat('en', { type: 'disjunction' })

/** Escapes a segment of a JSON pointer (RFC 6901). */
const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
