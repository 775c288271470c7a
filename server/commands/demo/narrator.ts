export type Write = (text: string) => void

/** Creates a narrator that prints numbered chapters, facts and tables to a terminal. */
export function createNarrator(write: Write) {
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

export type Narrator = ReturnType<typeof createNarrator>
