/** Piece of text as it is placed on a page of a PDF; y grows upwards. */
export interface Piece {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly width: number
  /** Height of the font. */
  readonly size: number
}

/** Pieces of one page, in drawing order, and its height. */
export interface PdfPage {
  readonly pieces: readonly Piece[]
  readonly height: number
}

interface Line {
  readonly y: number
  readonly size: number
  /** Texts with wide gaps between them, and where each starts. */
  readonly cells: { text: string; readonly x: number; end: number }[]
}

/** Gap in font heights that separates the cells of a table. */
const CELL_GAP = 1.2
/** Gap in font heights that separates words. */
const WORD_GAP = 0.15
/** Share of the page height at each end that may hold a running header or footer. */
const MARGIN = 0.12
const REPEATED = { pages: 3, share: 0.4 } as const
/** Font size of a heading, relative to that of the text. */
const HEADING_SIZE = 1.15
const HEADING_MAX = 200
const TABLE_ROWS_MIN = 3
/** Mean characters of a cell above which lines are columns of text. */
const CELL_MAX = 40
/** Line distance that separates paragraphs, relative to the usual one. */
const PARAGRAPH_GAP = 1.3

const textOf = ({ cells }: Line): string => cells.map(({ text }) => text.trim()).join(' ')

/** Joins pieces on the same height to lines. */
function linesOf({ pieces }: PdfPage): Line[] {
  const lines: Line[] = []
  for (const { text, x, y, width, size } of pieces) {
    if (text.trim() === '') continue
    const line = lines.at(-1)
    const last = line?.cells.at(-1)
    if (!line || !last || Math.abs(line.y - y) > line.size / 2 || x < last.end - size) {
      lines.push({ y, size, cells: [{ text, x, end: x + width }] })
      continue
    }
    const gap = x - last.end
    if (gap > CELL_GAP * size) line.cells.push({ text, x, end: x + width })
    else {
      last.text += (gap > WORD_GAP * size ? ' ' : '') + text
      last.end = x + width
    }
  }
  return lines
}

/** Returns the value that most characters have. */
function usual(lines: readonly Line[], valueOf: (line: Line, at: number) => number): number {
  const counts = new Map<number, number>()
  lines.forEach((line, at) => {
    const value = Math.round(valueOf(line, at) * 2) / 2
    if (value > 0) counts.set(value, (counts.get(value) ?? 0) + textOf(line).length)
  })
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), [0, 0])[0]
}

/** Identifies a line that repeats on other pages, except for its numbers. */
const repetitionOf = (line: Line): string =>
  `${Math.round(line.y / 4)} ${textOf(line).replace(/\d+/g, '#')}`

/** Removes running headers and footers. */
function withoutMargins(pages: readonly { lines: Line[]; height: number }[]): Line[][] {
  const isAtEnd = ({ y }: Line, height: number): boolean =>
    y < MARGIN * height || y > (1 - MARGIN) * height
  const counts = new Map<string, number>()
  for (const { lines, height } of pages) {
    const repeated = lines.filter((line) => isAtEnd(line, height)).map(repetitionOf)
    for (const key of new Set(repeated)) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const least = Math.max(REPEATED.pages, REPEATED.share * pages.length)
  return pages.map(({ lines, height }) =>
    lines.filter((line) => !isAtEnd(line, height) || (counts.get(repetitionOf(line)) ?? 0) < least),
  )
}

/** Returns true if two rows have cells at the same places. */
const isAligned = (one: Line, other: Line): boolean =>
  one.cells.length === other.cells.length &&
  one.cells.every((cell, at) => {
    const { x, end } = other.cells[at]!
    return Math.abs(cell.x - x) < one.size || Math.abs(cell.end - end) < one.size
  })

/** Returns the number of lines from `from` that are rows of a table. */
function rowsFrom(lines: readonly Line[], from: number): number {
  const head = lines[from]!
  if (head.cells.length < 2) return 0
  let to = from + 1
  while (to < lines.length && isAligned(lines[to - 1]!, lines[to]!)) to++
  const cells = lines.slice(from, to).flatMap((line) => line.cells)
  const mean = cells.reduce((sum, { text }) => sum + text.length, 0) / cells.length
  return to - from >= TABLE_ROWS_MIN && mean <= CELL_MAX ? to - from : 0
}

/** Part of a document: `level` of a heading, `rows` of a table, or the lines of a paragraph. */
export type PdfBlock =
  | { readonly type: 'heading'; readonly level: number; readonly text: string }
  | { readonly type: 'table'; readonly rows: readonly (readonly string[])[] }
  | { readonly type: 'paragraph'; readonly text: string }

/** Joins lines; a word that was hyphenated at the end of a line is one word again. */
const joined = (lines: readonly Line[]): string =>
  lines
    .map(textOf)
    .join('\n')
    .replace(/(\p{Ll})-\n(?=\p{Ll})/gu, '$1')
    .replace(/[ \t]+/g, ' ')

/** Finds the headings, tables and paragraphs of a document. */
export function blocksOf(pages: readonly PdfPage[]): PdfBlock[] {
  const bodies = withoutMargins(pages.map((page) => ({ lines: linesOf(page), ...page })))
  const all = bodies.flat()
  const textSize = usual(all, ({ size }) => size)
  const leading = usual(all, ({ y }, at) => Math.max(0, (all[at - 1]?.y ?? 0) - y))
  const sizes = [...new Set(all.map(({ size }) => Math.round(size)))]
    .filter((size) => size >= HEADING_SIZE * textSize)
    .sort((one, other) => other - one)
  const levelOf = (line: Line): number => sizes.indexOf(Math.round(line.size)) + 1
  return bodies.flatMap((lines) => blocksOfPage(lines, leading, levelOf))
}

function blocksOfPage(
  lines: readonly Line[],
  leading: number,
  levelOf: (line: Line) => number,
): PdfBlock[] {
  const blocks: PdfBlock[] = []
  let at = 0
  while (at < lines.length) {
    const start = at
    const rows = rowsFrom(lines, at)
    if (rows > 0) {
      at += rows
      const cells = lines.slice(start, at).map((line) => line.cells.map(({ text }) => text.trim()))
      blocks.push({ type: 'table', rows: cells })
      continue
    }
    const level = levelOf(lines[at]!)
    at++
    while (at < lines.length && levelOf(lines[at]!) === level && rowsFrom(lines, at) === 0) {
      const [above, below] = [lines[at - 1]!, lines[at]!]
      const distance = Math.max(leading, above.size * HEADING_SIZE) * PARAGRAPH_GAP
      if (above.y - below.y > distance) break
      at++
    }
    const text = joined(lines.slice(start, at))
    if (level > 0 && text.length <= HEADING_MAX) {
      blocks.push({ type: 'heading', level: Math.min(level, 6), text: text.replaceAll('\n', ' ') })
    } else blocks.push({ type: 'paragraph', text })
  }
  return blocks
}
