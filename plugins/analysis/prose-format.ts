import { type Json, LIMITS } from './caller-schema.ts'
import { leadingType, schemaOfPhrase, withoutFillers } from './type-phrases.ts'

/** Longer prose is not parsed. */
const PROSE_MAX = 4_000
const OTHER_NOTATIONS = /\b(?:xml|ya?ml|toml|csv|tsv|html|markdown|latex|pdf|docx?|xlsx?|sql)\b/i
const CONTAINER =
  /\b(?:json|objects?|dict(?:ionary|ionaries)?|maps?|records?|tables?|rows?|arrays?|lists?)\b/i
const MANY = /\b(?:arrays?|lists?|tables?|rows?|objects|records|dictionaries|for each|per)\b/i
/** Words after which fields are listed. */
const FIELDS =
  /\b(?:keys?(?!-)|fields?|propert(?:y|ies)|attributes?|members?|columns?|headers?|headings?)\b/i
const WITH = /\b(?:with|containing|contains|having|including|like|of the form|following)\b/i

/**
 * Schema of an output format in prose, such as `JSON with keys name (string) and city`; undefined
 * if it is not plain. `json` alone allows anything.
 */
export const schemaOfProse = (prose: string): Json | undefined => {
  const text = prose.trim()
  if (text.length > PROSE_MAX || OTHER_NOTATIONS.test(text)) return undefined
  const rest = withoutFillers(text.replace(/[.!]$/, '')).toLowerCase()
  if (/\bjson\b/i.test(text) && /^(?:json|object|format|output|response|response only)$/.test(rest))
    return {}
  if (text.includes('\n')) return listedFields(text)
  return inlineFields(text) ?? schemaOfPhrase(text)
}

const BULLET = /^\s{0,20}(?:[-*•]|\d{1,2}[.)])\s{1,4}(.{1,300})$/
const KEYED = /^\s{0,20}(["'`]?[\p{L}_][\p{L}\p{N}_ -]{0,40}["'`]?\??\s{0,4}[:=(].{0,300})$/u

/** Fields on lines of their own, with or without bullets, below an optional heading. */
const listedFields = (text: string): Json | undefined => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length < 2) return undefined
  const items = lines.map((line) => BULLET.exec(line)?.[1])
  const isBulleted = items.some((item) => item !== undefined)
  const head = isBulleted
    ? lines.slice(
        0,
        items.findIndex((item) => item !== undefined),
      )
    : []
  const named = isBulleted
    ? items.filter((item) => item !== undefined)
    : lines.filter((line, at) => at > 0 || !/:\s*$/.test(line)).map((line) => KEYED.exec(line)?.[1])
  const heading = isBulleted ? head.join(' ') : /:\s*$/.test(lines[0] ?? '') ? lines[0] : ''
  const fields = named.map((item) => (item === undefined ? undefined : fieldOf(item)))
  return objectOf(fields, MANY.test(heading ?? ''))
}

/** `an object with name, age and city`, `columns: product, price`, `name, age and city`. */
const inlineFields = (text: string): Json | undefined => {
  if (/^(?:array|list)s? of (?:strings|numbers|integers|booleans)\b/i.test(withoutFillers(text))) {
    return undefined
  }
  const cue = FIELDS.exec(text)
  const container = CONTAINER.exec(text)
  const having = WITH.exec(text)
  let from = 0
  if (cue !== null) from = cue.index + cue[0].length
  else if (container !== null && having !== null) from = having.index + having[0].length
  else if (container !== null) {
    const colon = text.indexOf(':', container.index)
    if (colon < 0) return undefined
    from = colon + 1
  }
  const head = text.slice(0, from)
  const list = text
    .slice(from)
    .replace(/^(?:\s|:|=|-|–|called\b|named\b|are\b|for\b|the\b|following\b|of\b|a\b|an\b)+/i, '')
  const items = splitList(list.trimEnd().replace(/\.$/, ''))
  if (from === 0 && (items.length < 2 || !items.every((item) => BARE_FIELD.test(item)))) {
    return undefined
  }
  return objectOf(items.map(fieldOf), MANY.test(head))
}

/** Splits at commas, semicolons and `and` outside brackets. */
const splitList = (list: string): string[] => {
  const items: string[] = []
  let depth = 0
  let item = ''
  for (const part of list.split(/([()[\]{},;]|\s(?:and|&|plus)\s)/)) {
    if (/^[([{]$/.test(part)) depth += 1
    if (/^[)\]}]$/.test(part)) depth -= 1
    const separates = depth === 0 && (/^[,;]$/.test(part) || /^\s(?:and|&|plus)\s$/.test(part))
    if (separates) {
      items.push(item)
      item = ''
    } else item += part
  }
  return [...items, item].map((one) => one.trim().replace(/^(?:and|&)\s/, '')).filter(Boolean)
}

/** A name in a list without an introduction: alone or with its type. */
const BARE_FIELD = /^["'`“]?[\p{L}_$][\p{L}\p{N}_$-]{0,60}["'`”]?(?:$|\s?[:(])/u
const NAME_WORDS_MAX = 3
const FIELD_NAME = /^[\p{L}_$][\p{L}\p{N}_$ -]{0,60}$/u
/** Marks between a name and its type: `name (string)`, `name: string`, `name - a string`. */
const TYPE_MARK = /[(:=–—]|\s-\s/

/** One field with its type: `name (string)`, `tags: array of strings`, `date as YYYY-MM-DD`. */
const fieldOf = (item: string): readonly [string, Json] | undefined => {
  const typed = / (?:as|is|which is) /.exec(item)
  const split =
    typed === null
      ? item
      : `${item.slice(0, typed.index)}: ${item.slice(typed.index + typed[0].length)}`
  const plain = split.replace(/^(?:the|a|an|its|their)\s/i, '')
  const mark = plain.search(TYPE_MARK)
  const name = (mark < 0 ? plain : plain.slice(0, mark)).replace(/["'`“”*?]/g, '').trim()
  const rest = mark < 0 ? '' : plain.slice(mark).replace(/^\s?[(:=–—-]\s?/, '')
  if (!FIELD_NAME.test(name) || name.split(/\s+/).length > NAME_WORDS_MAX) return undefined
  const about = rest
    .trim()
    .replace(/\)\s*[.,;]?$/, '')
    .trim()
  const key = name.replace(/\s+/g, '_')
  if (about === '') return [key, {}]
  const [phrase = '', ...notes] = about.split(/\)|,\s(?=optional|required|e\.g\.)|\s-\s|\s–\s/)
  const schema = schemaOfPhrase(phrase) ??
    leadingType(phrase) ?? { type: 'string', description: about }
  return notes.length > 0 && !('description' in schema)
    ? [key, { ...schema, description: about }]
    : [key, schema]
}

const objectOf = (
  fields: readonly (readonly [string, Json] | undefined)[],
  isList: boolean,
): Json | undefined => {
  const known = fields.filter((field) => field !== undefined)
  if (known.length === 0 || known.length < fields.length) return undefined
  if (known.length > LIMITS.properties) return undefined
  const object = {
    type: 'object',
    properties: Object.fromEntries(known),
    required: [...new Set(known.map(([name]) => name))],
    additionalProperties: false,
  }
  return isList ? { type: 'array', items: object } : object
}
