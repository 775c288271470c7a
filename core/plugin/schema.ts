/**
 * JSON Schemas (2020-12) that remember, at the type level, the value they describe. Plugins
 * declare inputs and outputs with these; the hub checks them and publishes them as they are.
 */
export interface Schema<T> {
  readonly json: Readonly<Record<string, unknown>>
  readonly optional?: boolean
  /** Carries the type; never set. */
  readonly _type?: T
}

/** The type of the values that a schema describes. */
export type Infer<S> = S extends Schema<infer T> ? T : never

type Fields = Readonly<Record<string, Schema<unknown>>>
type OptionalKeys<F> = {
  [K in keyof F]: F[K] extends { readonly optional: true } ? K : never
}[keyof F]
type ObjectOf<F extends Fields> = {
  readonly [K in Exclude<keyof F, OptionalKeys<F>>]: Infer<F[K]>
} & {
  readonly [K in OptionalKeys<F>]?: Infer<F[K]>
}

interface Described {
  readonly description?: string
}

interface StringLimits extends Described {
  /** Shown to callers; the conformance suite calls with the first one. */
  readonly examples?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
  /** The most UTF-8 bytes that the string may have; more is answered with 413, uncharged. */
  readonly maxBytes?: number
  readonly format?: 'uri' | 'date' | 'date-time'
}

interface NumberLimits extends Described {
  /** As those of a string. */
  readonly examples?: readonly number[]
  readonly minimum?: number
  readonly maximum?: number
}

interface ArrayLimits extends Described {
  readonly minItems?: number
  readonly maxItems?: number
}

export const string = ({ maxBytes, ...limits }: StringLimits = {}): Schema<string> => ({
  json: {
    type: 'string',
    ...limits,
    ...(maxBytes === undefined ? {} : { 'x-maxBytes': maxBytes }),
  },
})

/** One of the given strings, and no other. */
export const oneOf = <const T extends string>(
  values: readonly T[],
  described: Described = {},
): Schema<T> => ({ json: { type: 'string', enum: values, ...described } })

export const number = (limits: NumberLimits = {}): Schema<number> => ({
  json: { type: 'number', ...limits },
})

export const integer = (limits: NumberLimits = {}): Schema<number> => ({
  json: { type: 'integer', ...limits },
})

export const boolean = (described: Described = {}): Schema<boolean> => ({
  json: { type: 'boolean', ...described },
})

export const array = <T>(items: Schema<T>, limits: ArrayLimits = {}): Schema<readonly T[]> => ({
  json: { type: 'array', items: items.json, ...limits },
})

/** A value that one of the given schemas describes. */
export const anyOf = <const S extends readonly Schema<unknown>[]>(
  ...schemas: S
): Schema<Infer<S[number]>> => ({ json: { anyOf: schemas.map((schema) => schema.json) } })

export const nullable = <T>(inner: Schema<T>): Schema<T | null> => ({
  json: { anyOf: [inner.json, { type: 'null' }] },
})

/** Any JSON value. */
export const unknown = (described: Described = {}): Schema<unknown> => ({ json: { ...described } })

/** An object with any keys, whose values `values` describes. */
export const record = <T>(values: Schema<T>): Schema<Readonly<Record<string, T>>> => ({
  json: { type: 'object', additionalProperties: values.json },
})

/** Marks a field of an object as one that may be left out. */
export const optional = <T>(inner: Schema<T>): Schema<T> & { readonly optional: true } => ({
  ...inner,
  optional: true,
})

/** An object with exactly these fields; unknown ones are refused. */
export const object = <F extends Fields>(
  fields: F,
  described: Described = {},
): Schema<ObjectOf<F>> => ({
  json: {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, field.json]),
    ),
    required: Object.keys(fields).filter((name) => fields[name]?.optional !== true),
    additionalProperties: false,
    ...described,
  },
})
