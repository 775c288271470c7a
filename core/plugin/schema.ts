/**
 * JSON Schema (2020-12) with the TypeScript type of the value it describes. Plugins declare inputs
 * and outputs with these; the hub validates values and publishes the schemas unchanged.
 */
export interface Schema<T> {
  readonly json: Readonly<Record<string, unknown>>
  readonly optional?: boolean
  /** Type-level only; never set. */
  readonly _type?: T
}

/** Type of the values that a schema describes. */
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
  /** Shown to callers; the conformance suite uses the first one. */
  readonly examples?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
  /** Maximum length in UTF-8 bytes; longer input gets a 413 and is not charged. */
  readonly maxBytes?: number
  readonly format?: 'uri' | 'date' | 'date-time'
}

interface NumberLimits extends Described {
  /** Shown to callers; the conformance suite uses the first one. */
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

/** One of the given strings. */
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

/** A value that matches at least one of the schemas. */
export const anyOf = <const S extends readonly Schema<unknown>[]>(
  ...schemas: S
): Schema<Infer<S[number]>> => ({ json: { anyOf: schemas.map((schema) => schema.json) } })

export const nullable = <T>(inner: Schema<T>): Schema<T | null> => ({
  json: { anyOf: [inner.json, { type: 'null' }] },
})

/** Any JSON value. */
export const unknown = (described: Described = {}): Schema<unknown> => ({ json: { ...described } })

/** An object with arbitrary keys and values of one schema. */
export const record = <T>(values: Schema<T>): Schema<Readonly<Record<string, T>>> => ({
  json: { type: 'object', additionalProperties: values.json },
})

/** Marks a field of an object as optional. */
export const optional = <T>(inner: Schema<T>): Schema<T> & { readonly optional: true } => ({
  ...inner,
  optional: true,
})

/** An object with these fields; unknown fields are refused. */
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
