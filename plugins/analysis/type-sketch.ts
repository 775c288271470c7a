import { type Json, LIMITS } from './caller-schema.ts'
import { schemaOfPhrase } from './type-phrases.ts'

/**
 * Parses a sketch of a JSON value or a TypeScript type: `{summary: string, tags: string[]}`,
 * `interface Person { name: string; role?: 'a' | 'b' }`. Returns undefined if it is neither.
 */
export const schemaOfSketch = (sketch: string): Json | undefined => {
  const text = sketch
    .replace(/^\s*```\w*|```\s*$/g, '')
    .trim()
    .replace(/^(?:export\s)?(?:interface|type)\s\w{1,60}\s?=?\s?/, '')
  if (!/^[[{]|^(?:Array|List|Record)</.test(text)) return undefined
  const reader: SketchReader = { tokens: tokensOf(text), at: 0, budget: LIMITS.properties }
  const schema = readType(reader, 0)
  if (reader.tokens[reader.at] === ';') reader.at += 1
  return reader.at === reader.tokens.length ? schema : undefined
}

interface SketchReader {
  readonly tokens: readonly string[]
  at: number
  budget: number
}

const TOKEN =
  /\/\/[^\n]*|\/\*[^*]*\*\/|"[^"\n]*"|'[^'\n]*'|[{}[\]<>:;,|?()\n]|[^\s{}[\]<>:;,|?()"']+/g
const tokensOf = (text: string): string[] =>
  Array.from(text.matchAll(TOKEN), ([token]) => token).filter((token) => !/^\/[/*]/.test(token))

const peek = (reader: SketchReader): string => {
  while (reader.tokens[reader.at] === '\n') reader.at += 1
  return reader.tokens[reader.at] ?? ''
}

const take = (reader: SketchReader, token: string): boolean => {
  if (peek(reader) !== token) return false
  reader.at += 1
  return true
}

/** A type with its alternatives and array suffixes. */
const readType = (reader: SketchReader, depth: number): Json | undefined => {
  if (depth > LIMITS.depth) return undefined
  take(reader, '|')
  const options: (Json | undefined)[] = [readSuffixed(reader, depth)]
  while (take(reader, '|')) options.push(readSuffixed(reader, depth))
  const known = options.filter((option) => option !== undefined)
  if (known.length < options.length) return undefined
  return unionOf(known)
}

const unionOf = (options: readonly Json[]): Json => {
  const [only] = options
  if (only !== undefined && options.length === 1) return only
  const choices = options.flatMap((one) => (Array.isArray(one['enum']) ? one['enum'] : [one]))
  const literals = choices.filter((one) => typeof one === 'string')
  if (literals.length === choices.length) return { type: 'string', enum: [...new Set(literals)] }
  const described = options.map(({ description, type }) => (type === 'string' ? description : null))
  if (described.every((one) => typeof one === 'string')) return { type: 'string', enum: described }
  return { anyOf: options }
}

const readSuffixed = (reader: SketchReader, depth: number): Json | undefined => {
  let schema = readPlain(reader, depth)
  while (schema !== undefined && reader.tokens[reader.at] === '[') {
    reader.at += 1
    if (!take(reader, ']')) return undefined
    schema = { type: 'array', items: schema }
  }
  return schema
}

const readPlain = (reader: SketchReader, depth: number): Json | undefined => {
  if (take(reader, '{')) return readObject(reader, depth)
  if (take(reader, '[')) return readList(reader, depth)
  if (take(reader, '(')) {
    const inner = readType(reader, depth + 1)
    return take(reader, ')') ? inner : undefined
  }
  const token = peek(reader)
  if (/^(?:Array|List|Set)$/.test(token) && reader.tokens[reader.at + 1] === '<') {
    reader.at += 2
    const items = readType(reader, depth + 1)
    return items !== undefined && take(reader, '>') ? { type: 'array', items } : undefined
  }
  return readWords(reader)
}

/** A literal, a type name or a description of several words. */
const readWords = (reader: SketchReader): Json | undefined => {
  const first = peek(reader)
  if (/^["']/.test(first)) {
    reader.at += 1
    return exampleOf(first.slice(1, -1))
  }
  const found: string[] = []
  let open = 0
  for (; reader.at < reader.tokens.length; reader.at += 1) {
    const token = reader.tokens[reader.at] ?? ''
    if (token === '(') open += 1
    if (token === ')' && (open -= 1) < 0) break
    if (open === 0 && /^(?:[{}[\]<>:;,|?\n]|["'].*)$/.test(token)) break
    found.push(token)
  }
  if (found.length === 0) return undefined
  return exampleOf(
    found
      .join(' ')
      .replace(/\s?([()])\s?/g, ' $1 ')
      .trim(),
  )
}

/** A type word is that type, a number or a truth value is an example, other text describes. */
const exampleOf = (words: string): Json => {
  if (words === '' || words === '...' || words === '…') return { type: 'string' }
  if (/^-?\d+(?:\.\d+)?$/.test(words)) return { type: 'number' }
  if (/^(?:true|false)$/.test(words)) return { type: 'boolean' }
  if (words === 'Date') return { type: 'string', format: 'date' }
  return schemaOfPhrase(words) ?? { type: 'string', description: words }
}

const readList = (reader: SketchReader, depth: number): Json | undefined => {
  if (take(reader, ']')) return { type: 'array', items: {} }
  const items = readType(reader, depth + 1)
  if (items === undefined) return undefined
  while (take(reader, ',')) {
    if (/^(?:\.\.\.|…)$/.test(peek(reader))) reader.at += 1
    else if (peek(reader) !== ']' && readType(reader, depth + 1) === undefined) return undefined
  }
  return take(reader, ']') ? { type: 'array', items } : undefined
}

const NAME = /^["'`]?([\p{L}_$][\p{L}\p{N}_$ .-]{0,60})["'`]?$/u

const readObject = (reader: SketchReader, depth: number): Json | undefined => {
  const properties: [string, Json][] = []
  const optional = new Set<string>()
  while (!take(reader, '}')) {
    const [, name] = NAME.exec(peek(reader)) ?? []
    if (name === undefined || (reader.budget -= 1) < 0) return undefined
    reader.at += 1
    if (take(reader, '?')) optional.add(name)
    const schema = take(reader, ':') ? readType(reader, depth + 1) : {}
    if (schema === undefined) return undefined
    properties.push([name, schema])
    while (/^[,;\n]$/.test(reader.tokens[reader.at] ?? '')) reader.at += 1
    if (/^(?:\.\.\.|…)$/.test(peek(reader))) reader.at += 1
  }
  if (properties.length === 0) return undefined
  const names = [...new Set(properties.map(([name]) => name))]
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: names.filter((name) => !optional.has(name)),
    additionalProperties: false,
  }
}
