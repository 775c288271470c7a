import { readFileSync } from 'node:fs'
import type { LabeledText } from './corpora.ts'
import { type Random, randomFrom } from './random.ts'

/** Names and other words by slot kind. */
export type Fillers = ReadonlyMap<string, readonly string[]>

const PER_TEMPLATE = 14
const SLOT = /\{(?:(\w+):)?([\w ]+)\}/g

/** Sentences of `templates.txt` with filled slots. */
export const templateTexts = (fillers: Fillers): LabeledText[] => {
  const random = randomFrom(11)
  return readFileSync(new URL('./templates.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) =>
      Array.from({ length: PER_TEMPLATE }, () => fillTemplate(line, fillers, random)),
    )
}

const fillTemplate = (template: string, fillers: Fillers, random: Random): LabeledText => {
  const entities: [number, number, string][] = []
  let text = ''
  let from = 0
  for (const { 0: slot, 1: type, 2: kind = '', index } of template.matchAll(SLOT)) {
    text += template.slice(from, index)
    from = index + slot.length
    const name = fillerOf(kind, fillers, random)
    if (type !== undefined) entities.push([text.length, text.length + name.length, type])
    text += name
  }
  return { text: text + template.slice(from), entities }
}

/** Picks a filler. An upper-case kind gives upper-case words; an unknown kind is used literally. */
const fillerOf = (kind: string, fillers: Fillers, random: Random): string => {
  const number = numberOf(kind, random)
  if (number !== undefined) return number
  const pick = (list: string): string => random.of(fillers.get(list) ?? [list])
  const lower = kind.toLowerCase()
  if (kind === 'initial') return `${pick('given').charAt(0)}. ${pick('family')}`
  const name = lower === 'name' ? `${pick('given')} ${pick('family')}` : pick(lower)
  if (!fillers.has(lower) && lower !== 'name') return kind
  return kind === lower ? name : name.toUpperCase()
}

const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  n: [1, 99],
  score: [0, 9],
  year: [1980, 2030],
  m: [10, 12],
  d: [10, 30],
}

const numberOf = (kind: string, random: Random): string | undefined => {
  const range = RANGES[kind]
  return range === undefined ? undefined : String(random.between(range[0], range[1]))
}
