import type { JournalEntry } from '../entry.ts'
import type { Findings } from './findings.ts'

export const CLOSED = 'no entry is dated in a month that was closed before'

/** Id of the account that owns the entries that close months. */
const PERIODS = '60'

interface LateEntry {
  readonly at: string
  readonly name: string
}

/**
 * Compares the value dates of an export with the closings in it, in any order. Memory holds one
 * entry per month: the last one that was posted with a value date in it.
 */
export class ClosedMonths {
  readonly #findings: Findings
  readonly #closings: { readonly month: string; readonly at: string }[] = []
  readonly #late = new Map<string, LateEntry>()

  constructor(findings: Findings) {
    this.#findings = findings
  }

  entry({ owner, phase, at, effectiveAt, meta }: JournalEntry, name: string): void {
    if (owner === PERIODS && phase === 0) {
      this.#closings.push({ month: readMonth(meta), at })
    } else if (effectiveAt !== null) {
      const month = effectiveAt.slice(0, 'YYYY-MM'.length)
      const last = this.#late.get(month)
      if (!last || at > last.at) this.#late.set(month, { at, name })
    }
  }

  end(): void {
    for (const [month, { at, name }] of this.#late) {
      const closing = this.#closings.find((each) => month <= each.month && at >= each.at)
      if (closing) this.#findings.add(CLOSED, `${name}: dated in ${month}`)
    }
  }
}

/** Returns the month of a closing; '' if it names none. */
function readMonth(meta: string | null): string {
  try {
    const { month } = JSON.parse(meta ?? '{}') as { readonly month?: unknown }
    return typeof month === 'string' ? month : ''
  } catch {
    return ''
  }
}
