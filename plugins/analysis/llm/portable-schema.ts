import { isRecord, type Json } from '../caller-schema.ts'

/** Converts to what all APIs accept: all properties required, null allowed, no bounds. */
export const toPortableSchema = (schema: Json): Json => {
  const { anyOf, enum: choices, type, properties, items } = schema
  const description = schema['description'] ?? (schema['format'] === 'date' ? 'YYYY-MM-DD' : '')
  const described = typeof description === 'string' && description !== '' ? { description } : {}
  if (Array.isArray(anyOf)) {
    return { ...described, anyOf: anyOf.map((one) => toPortableSchema(isRecord(one) ? one : {})) }
  }
  if (Array.isArray(choices)) return { ...described, ...typeOfChoices(choices), enum: choices }
  if (Array.isArray(type)) {
    const { description: _, ...rest } = schema
    return {
      ...described,
      anyOf: type.map((one: unknown) => toPortableSchema({ ...rest, type: one })),
    }
  }
  const kind = type ?? (isRecord(properties) ? 'object' : items === undefined ? type : 'array')
  if (kind === undefined) return described
  if (kind === 'object' && isRecord(properties)) {
    return { ...described, ...portableObject(properties, schema) }
  }
  if (kind !== 'array') return { ...described, type: kind }
  return { ...described, type: kind, items: toPortableSchema(isRecord(items) ? items : {}) }
}

const typeOfChoices = (choices: readonly unknown[]): Json => {
  const [first] = choices
  if (!choices.every((one) => typeof one === typeof first) || first === null) return {}
  return { type: typeof first }
}

const portableObject = (properties: Json, { required }: Json): Json => {
  const names: readonly unknown[] = Array.isArray(required) ? required : []
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, one]) => {
        const weak = toPortableSchema(isRecord(one) ? one : {})
        return [name, names.includes(name) ? weak : nullable(weak)]
      }),
    ),
    required: Object.keys(properties),
    additionalProperties: false,
  }
}

/** Allows null. */
const nullable = (schema: Json): Json => {
  if (Object.keys(schema).every((keyword) => keyword === 'description')) return schema
  const { description, ...rest } = schema
  const { anyOf } = rest
  if (Array.isArray(anyOf) && anyOf.some((one: Json) => one['type'] === 'null')) return schema
  const described = description === undefined ? {} : { description }
  return { ...described, anyOf: [rest, { type: 'null' }] }
}

/** APIs support neither objects without named properties nor values of any type. */
export const isPortable = (weak: Json): boolean => {
  const { anyOf, enum: choices, type, properties, items } = weak
  if (Array.isArray(anyOf)) return anyOf.every((one) => isRecord(one) && isPortable(one))
  if (Array.isArray(choices)) return true
  if (isRecord(properties)) {
    return Object.values(properties).every((one) => isRecord(one) && isPortable(one))
  }
  if (typeof type !== 'string' || type === 'object') return false
  return type !== 'array' || (isRecord(items) && isPortable(items))
}
