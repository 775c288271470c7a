import { type ParameterStyle, type PartEncoding, Refusal } from 'agenthub/plugin'

/** Name and value of a query or form, each still unescaped except for delimiters in the value. */
export type Pair = readonly [name: string, value: string]

const FORM: ParameterStyle = { style: 'form', explode: true }
const DELIMITERS: Readonly<Record<string, string>> = {
  form: ',',
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
}

/** Serializes a value for a path segment by its style (RFC 6570 §3.2). */
export function pathText(
  name: string,
  value: unknown,
  { style, explode }: Pick<ParameterStyle, 'style' | 'explode'>,
): string {
  const items = itemsOf(value, explode ? '=' : ',')
  const isList = isObject(value) || Array.isArray(value)
  if (style === 'label') return `.${items.join(explode ? '.' : ',')}`
  if (style === 'matrix') {
    if (isList && explode) {
      return items
        .map((item) => (isObject(value) ? `;${item}` : `;${escape(name)}=${item}`))
        .join('')
    }
    return `;${escape(name)}=${items.join(',')}`
  }
  return items.join(',')
}

/** Items of a value, escaped: members of an object as `name,value` or `name=value`. */
const itemsOf = (value: unknown, between: ',' | '='): readonly string[] =>
  isObject(value)
    ? Object.entries(value).flatMap(([name, each]) => {
        const parts = [escape(name), escape(textOf(each))]
        return between === '=' ? [parts.join('=')] : parts
      })
    : listOf(value).map((each) => escape(textOf(each)))

/** Serializes a value for a query or a form: names are plain, values escaped. */
export function pairsOf(
  member: string,
  value: unknown,
  given: Partial<ParameterStyle> = FORM,
): readonly Pair[] {
  if (value === undefined || value === null) return []
  const { name = member, style = 'form', explode = style === 'form' } = given
  if (style === 'json') return [[name, escape(JSON.stringify(value))]]
  if (style === 'deepObject') return deepPairs(name, value)
  const isSpread = explode && style !== undefined
  if (isObject(value) && given !== FORM) {
    if (isSpread) return Object.entries(value).flatMap(([key, each]) => pairsOf(key, each))
    const delimiter = DELIMITERS[style] ?? ','
    return [[name, itemsOf(value, ',').join(delimiter)]]
  }
  const values = listOf(value).map((each) => escape(textOf(each)))
  if (isSpread || !Array.isArray(value)) return values.map((each) => [name, each])
  return values.length === 0 ? [] : [[name, values.join(DELIMITERS[style] ?? ',')]]
}

/** `filter[a][b]=1`; items of inner lists repeat the name, those of a list have their position. */
function deepPairs(name: string, value: unknown): readonly Pair[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap((each, i) => deepPairs(`${name}[${i}]`, each))
  if (isObject(value)) {
    return Object.entries(value).flatMap(([key, each]) => deepPairs(`${name}[${key}]`, each))
  }
  return [[name, escape(textOf(value))]]
}

/** Serializes a form (application/x-www-form-urlencoded). */
export const formText = (
  values: Readonly<Record<string, unknown>>,
  parts: Readonly<Record<string, PartEncoding>>,
): string =>
  Object.entries(values)
    .flatMap(([name, value]) => pairsOf(name, value, formStyle(parts[name])))
    .map(([name, value]) => `${escape(name)}=${value}`)
    .join('&')
    .replaceAll('%20', '+')

/** A `style` or `explode` overrules the content type, which is JSON for objects by default. */
function formStyle(part: PartEncoding | undefined): Partial<ParameterStyle> {
  if (part?.style !== undefined || part?.explode !== undefined) {
    const { style, explode } = part
    return { ...(style !== undefined && { style }), ...(explode !== undefined && { explode }) }
  }
  return part?.contentType?.endsWith('json') === true ? { style: 'json' } : FORM
}

/** Decodes Base64 or its URL-safe form. @throws Refusal for other text */
export function bytesOf(name: string, value: unknown): Buffer {
  const text = textOf(value)
  if (!NOT_BASE64.test(text)) return Buffer.from(text, 'base64')
  throw new Refusal('base64_required', `${name}: must be Base64, without "data:" before it.`)
}
const NOT_BASE64 = /[^\w+/=\s-]/

/**
 * Serializes a multipart/form-data body (RFC 7578) with this boundary.
 * @throws Refusal for a file that is not Base64
 */
export function multipartBytes(
  values: Readonly<Record<string, unknown>>,
  parts: Readonly<Record<string, PartEncoding>>,
  boundary: string,
): Buffer {
  const chunks: Buffer[] = []
  for (const [name, value] of Object.entries(values)) {
    const { binary = false, contentType } = parts[name] ?? {}
    const isJson = contentType?.endsWith('json') === true
    for (const each of isJson ? [value] : listOf(value)) {
      const isObjectPart = isJson || isObject(each) || Array.isArray(each)
      const type = contentType ?? (binary ? 'application/octet-stream' : undefined)
      const shown = type ?? (isObjectPart ? 'application/json' : undefined)
      const quoted = `"${name.replaceAll(/["\r\n]/g, encodeURIComponent)}"`
      const lines = [
        `--${boundary}`,
        `Content-Disposition: form-data; name=${quoted}${binary ? `; filename=${quoted}` : ''}`,
        ...(shown === undefined ? [] : [`Content-Type: ${shown}`]),
      ]
      const text = isObjectPart ? JSON.stringify(each) : textOf(each)
      const body = binary ? bytesOf(name, each) : Buffer.from(text)
      chunks.push(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body, Buffer.from('\r\n'))
    }
  }
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)])
}

const listOf = (value: unknown): readonly unknown[] => [value ?? []].flat()

export const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

export const textOf = (value: unknown): string =>
  isScalar(value) ? String(value) : value === null ? '' : JSON.stringify(value)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Lone surrogates, which no URL can carry, become replacement characters. */
export const escape = (text: string): string => encodeURIComponent(text.toWellFormed())
