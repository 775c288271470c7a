import { createInterface } from 'node:readline/promises'
import { stripVTControlCharacters, styleText } from 'node:util'

import { priceTag } from '../../core/money.ts'

export { priceTag as dollars } from '../../core/money.ts'

import type { Settings } from './config.ts'
import { EXIT_CODES, type Failure } from './failure.ts'

type Style = Parameters<typeof styleText>[0]

/** Output of a command: results to stdout, everything else to stderr. */
export class Terminal {
  readonly json: boolean
  readonly #settings: Pick<Settings, 'color' | 'isAnimated'>
  readonly #yes: boolean

  constructor(
    settings: Pick<Settings, 'color' | 'isAnimated'>,
    { json = false, yes = false }: { json?: boolean; yes?: boolean },
  ) {
    this.json = json
    this.#settings = settings
    this.#yes = yes
  }

  /** Prints a result: the value as one line with `--json`, otherwise the text. */
  async result(value: unknown, text: () => string): Promise<void> {
    await write(process.stdout, `${this.json ? JSON.stringify(value) : text()}\n`)
  }

  /** Prints bytes unchanged. */
  raw(bytes: Uint8Array): Promise<void> {
    return write(process.stdout, bytes)
  }

  note(text: string): void {
    if (!this.json) process.stderr.write(`${text}\n`)
  }

  /** Prints a warning; with `--json` as a line of JSON, like errors. */
  warn(text: string): void {
    const line = this.json
      ? JSON.stringify({ warning: { message: text } })
      : `${this.style('yellow', 'warning:')} ${text}`
    process.stderr.write(`${line}\n`)
  }

  fail(failure: Failure): number {
    const { code, message, hint, details, kind } = failure
    if (this.json) {
      process.stderr.write(`${JSON.stringify({ error: { code, message, hint, details } })}\n`)
    } else {
      const lines = [`${this.style('red', 'error:')} ${stripControls(message)}`]
      if (Number.isSafeInteger(details['charged_microdollars'])) {
        lines.push(`charged: ${priceTag(BigInt(Number(details['charged_microdollars'])))}`)
      }
      if (hint) lines.push(`${this.style('cyan', 'hint:')} ${stripControls(hint)}`)
      process.stderr.write(`${lines.join('\n')}\n`)
    }
    return EXIT_CODES[kind]
  }

  style(style: Style, text: string): string {
    return this.#settings.color ? styleText(style, text, { validateStream: false }) : text
  }

  /** Shows a spinner while work is pending, on interactive terminals only. */
  async withSpinner<T>(what: string, work: Promise<T>): Promise<T> {
    if (!this.#settings.isAnimated || this.json) return work
    let turn = 0
    const draw = (): void => {
      process.stderr.write(`\r${FRAMES[turn++ % FRAMES.length]} ${what}`)
    }
    draw()
    const timer = setInterval(draw, 80)
    try {
      return await work
    } finally {
      clearInterval(timer)
      process.stderr.write('\r\u001B[K')
    }
  }

  /** True if a person can answer questions. */
  get isInteractive(): boolean {
    return process.stdin.isTTY && process.stderr.isTTY && !this.json
  }

  /** Asks a yes-or-no question. `--yes` answers it; undefined if not interactive. */
  async confirm(question: string): Promise<boolean | undefined> {
    if (this.#yes) return true
    if (!this.isInteractive) return undefined
    const answer = await this.#ask(`${question} [y/N] `)
    return /^y(es)?$/i.test(answer.trim())
  }

  /** Asks for a password without echo; undefined if not interactive. */
  async password(question: string): Promise<string | undefined> {
    return this.isInteractive ? this.#ask(question, true) : undefined
  }

  async #ask(question: string, isHidden = false): Promise<string> {
    process.stderr.write(question)
    const output = isHidden ? undefined : process.stderr
    const lines = createInterface({
      input: process.stdin,
      ...(output && { output }),
      terminal: true,
    })
    try {
      return await lines.question('')
    } finally {
      lines.close()
      if (isHidden) process.stderr.write('\n')
    }
  }
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const

/** Writes text and resolves when it is flushed. */
const write = (stream: NodeJS.WriteStream, text: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()))
  })

/** Strips control characters, so that third-party text cannot control the terminal. */
export const stripControls = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '')

/** Formats rows as columns, each as wide as its widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map(stripControls))
  const widths = head.map((_, i) => Math.max(...lines.map((row) => (row[i] ?? '').length)))
  return lines
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
