import { jsonrepair } from 'jsonrepair'

/** Longer answers are not read. */
const LENGTH_MAX = 400_000

/**
 * The JSON in what a model said: as it is, or without what models put around it (thoughts, fences,
 * politeness), or with small mistakes of spelling put right. Undefined when there is none. Whether
 * the answer was cut off is known before, and not repaired here.
 */
export const jsonIn = (said: string): unknown => {
  if (said.length > LENGTH_MAX) return undefined
  const plain = parsed(said)
  if (plain !== undefined) return plain
  const text = withoutThoughts(said)
  const start = text.search(/[[{]/)
  if (start < 0) return undefined
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  const body = end > start ? text.slice(start, end + 1) : text.slice(start)
  return parsed(body) ?? repaired(body)
}

const THOUGHTS_END = '</think>'

const withoutThoughts = (said: string): string => {
  const end = said.lastIndexOf(THOUGHTS_END)
  return end < 0 ? said : said.slice(end + THOUGHTS_END.length)
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const repaired = (text: string): unknown => {
  try {
    return JSON.parse(jsonrepair(text))
  } catch {
    return undefined
  }
}
