export type Write = (text: string) => void

/** Tells a story to a terminal: chapters, what happened, and tables. */
export function createTeller(write: Write) {
  let chapter = 0
  return {
    chapter(title: string): void {
      chapter++
      write(`\n${String(chapter).padStart(2)}  ${title}\n`)
    },
    fact(what: string, value: string): void {
      write(`      ${what.padEnd(34)} ${value}\n`)
    },
    table(rows: readonly (readonly [string, string])[]): void {
      const width = Math.max(0, ...rows.map(([left]) => left.length))
      for (const [left, right] of rows) write(`      ${left.padEnd(width)}  ${right}\n`)
    },
  }
}

export type Teller = ReturnType<typeof createTeller>
