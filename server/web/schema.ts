import { type Html, html, type Part } from './html.ts'

/**
 * What a schema says, as far as people are told it in words; the schema itself has all of it.
 * Sellers outside write what they want: nothing is taken for what it should be.
 */
type Json = Readonly<Record<string, unknown>>

/** More values than these are in the schema alone. */
const VALUES = 8
const FIELDS = 50

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The fields of an object, those that are required first; nothing for whatever else there is. */
export function fieldList(schema: unknown): Html | undefined {
  if (!isJson(schema) || !isJson(schema['properties'])) return undefined
  const required = listOf(schema['required'])
  const fields = Object.entries(schema['properties'])
    .filter((entry): entry is [string, Json] => isJson(entry[1]))
    .toSorted(([a], [b]) => Number(required.includes(b)) - Number(required.includes(a)))
  if (fields.length === 0) return undefined
  return html`<dl class="pairs fields-of">${fields.slice(0, FIELDS).map(
    ([name, field]) => html`<div><dt><code>${name}</code>
<span class="small">${typeOf(field)}${required.includes(name) && ', required'}</span></dt>
<dd>${meaningOf(field)}</dd></div>`,
  )}</dl>`
}

/** The type of a value, in a word or two. */
export function typeOf(schema: unknown): string {
  if (!isJson(schema)) return 'any'
  const { type, items } = schema
  const variants = variantsOf(schema)
  if (variants.length > 0) return [...new Set(variants.map(typeOf))].join(' or ')
  if (schema['const'] !== undefined) return typeof schema['const']
  if (type === 'array') return items ? `array of ${typeOf(items)}` : 'array'
  if (typeof type === 'string') return type
  const names = listOf(type).filter((name) => typeof name === 'string')
  return names.join(' or ') || 'any'
}

const variantsOf = ({ anyOf, oneOf }: Json) => [...listOf(anyOf), ...listOf(oneOf)].filter(isJson)

function meaningOf(field: Json): Part {
  const description = [field, ...variantsOf(field)]
    .map((each) => each['description'])
    .find((text) => typeof text === 'string')
  const values = listOf(field['enum'])
  const left = field['default']
  const more = values.length - VALUES
  return html`${description}${
    values.length > 0 &&
    html` ${values.length === 1 ? 'Always' : 'One of'} ${values
      .slice(0, VALUES)
      .map((value, i) => html`${i > 0 && ', '}<code>${JSON.stringify(value)}</code>`)}${
      more > 0 ? ` and ${more} more.` : '.'
    }`
  }${left !== undefined && html` Default <code>${JSON.stringify(left)}</code>.`}`
}
