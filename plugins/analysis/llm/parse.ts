import { jsonrepair } from 'jsonrepair'

/** Maximum characters; longer output is rejected. */
const LENGTH_MAX = 400_000

/** Finds JSON amid thoughts, fences and courtesies and repairs small errors; undefined if none. */
export const jsonIn = (output: string): unknown => {
  if (output.length > LENGTH_MAX) return undefined
  const plain = parseJson(output)
  if (plain !== undefined) return plain
  const text = stripThoughts(output)
  const start = text.search(/[[{]/)
  if (start < 0) return undefined
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  const body = end > start ? text.slice(start, end + 1) : text.slice(start)
  return parseJson(body) ?? repairJson(body)
}

const THOUGHTS_END = '</think>'

const stripThoughts = (output: string): string => {
  const end = output.lastIndexOf(THOUGHTS_END)
  return end < 0 ? output : output.slice(end + THOUGHTS_END.length)
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const repairJson = (text: string): unknown => {
  try {
    return JSON.parse(jsonrepair(text))
  } catch {
    return undefined
  }
}
