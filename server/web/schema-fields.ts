import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { type Html, type HtmlPart, html } from './html.ts'

/** Limits of the summary; the full schema is shown elsewhere on the page. */
const MAX_VALUES = 8
const MAX_FIELDS = 50

const arrayOrEmpty = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Lists the fields of an object schema. External sellers may write anything, so all is checked. */
export function fieldList(schema: unknown): Html | undefined {
  if (!isJsonObject(schema) || !isJsonObject(schema['properties'])) return undefined
  const required = arrayOrEmpty(schema['required'])
  const fields = Object.entries(schema['properties'])
    .filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]))
    .toSorted(([a], [b]) => Number(required.includes(b)) - Number(required.includes(a)))
  if (fields.length === 0) return undefined
  return html`<dl class="definitions schema-fields">${fields.slice(0, MAX_FIELDS).map(
    ([name, field]) => html`<div><dt><code>${name}</code>
<span class="small">${typeName(field)}${required.includes(name) && ', required'}</span></dt>
<dd>${fieldDescription(field)}</dd></div>`,
  )}</dl>`
}

/** Type in one or two words: `string`, `array of number`. */
export function typeName(schema: unknown): string {
  if (!isJsonObject(schema)) return 'any'
  const { type, items } = schema
  const variants = variantsOf(schema)
  if (variants.length > 0) return [...new Set(variants.map(typeName))].join(' or ')
  if (schema['const'] !== undefined) return typeof schema['const']
  if (type === 'array') return items ? `array of ${typeName(items)}` : 'array'
  if (typeof type === 'string') return type
  const names = arrayOrEmpty(type).filter((name) => typeof name === 'string')
  return names.join(' or ') || 'any'
}

const variantsOf = ({ anyOf, oneOf }: JsonObject) =>
  [...arrayOrEmpty(anyOf), ...arrayOrEmpty(oneOf)].filter(isJsonObject)

/** Description, allowed values and default of a field. */
export function fieldDescription(field: JsonObject): HtmlPart {
  const description = [field, ...variantsOf(field)]
    .map((each) => each['description'])
    .find((text) => typeof text === 'string')
  const values = arrayOrEmpty(field['enum'])
  const fallback = field['default']
  const more = values.length - MAX_VALUES
  return html`${description}${
    values.length > 0 &&
    html` ${values.length === 1 ? 'Always' : 'One of'} ${values
      .slice(0, MAX_VALUES)
      .map((value, i) => html`${i > 0 && ', '}<code>${JSON.stringify(value)}</code>`)}${
      more > 0 ? ` and ${more} more.` : '.'
    }`
  }${fallback !== undefined && html` Default <code>${JSON.stringify(fallback)}</code>.`}`
}
