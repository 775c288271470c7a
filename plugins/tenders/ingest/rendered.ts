import { IngestFailure, type Reason } from './failure.ts'
import type { Settings } from './settings.ts'
import type { Ted } from './ted.ts'

export interface Rendered {
  readonly number: string
  readonly xml: Buffer
}

/** A notice that could not be had now, and why. */
export interface Unrendered {
  readonly number: string
  readonly failure: IngestFailure
}

interface Waiting {
  readonly number: string
  readonly since: number
  readonly due: number
  readonly looks: number
}

/**
 * The documents of notices, in the order in which they come to be ready. The journal renders what
 * is asked for: 202 and nothing at first, the document within minutes, and for minutes only. So a
 * few are asked for at once and looked at in turn, and one that has gone again is still awaited.
 * @yields each number once
 */
export async function* renderedOf(
  ted: Pick<Ted, 'look' | 'wait'>,
  numbers: Iterable<string>,
  { pollMs, renderMs, rendering }: Pick<Settings, 'pollMs' | 'renderMs' | 'rendering'>,
): AsyncGenerator<Rendered | Unrendered> {
  const fresh = [...new Set(numbers)]
  const waiting: Waiting[] = []
  while (fresh.length + waiting.length > 0) {
    waiting.sort((a, b) => a.due - b.due)
    const now = performance.now()
    const isDue = waiting[0] !== undefined && waiting[0].due <= now
    if (!isDue && (fresh.length === 0 || waiting.length >= rendering)) {
      await ted.wait(waiting[0]!.due - now)
      continue
    }
    const item = isDue
      ? waiting.shift()!
      : { number: fresh.shift()!, since: now, due: now, looks: 0 }
    const { number, looks } = item
    const look = await ted.look(number)
    if (look.state === 'document') {
      yield { number, xml: look.xml }
      continue
    }
    const failure = new IngestFailure(...SAID[look.state])
    const isOver = performance.now() - item.since >= renderMs
    // A notice may be unknown to one of the journal's servers and known to the next: twice is no.
    if (isOver || (look.state === 'absent' && looks > 0)) yield { number, failure }
    else {
      const pause = pollMs[Math.min(looks, pollMs.length - 1)] ?? renderMs
      waiting.push({ ...item, due: performance.now() + pause, looks: looks + 1 })
    }
  }
}

const SAID: Readonly<Record<'rendering' | 'absent' | 'html', readonly [Reason, string]>> = {
  rendering: ['not_rendered', 'the journal has not rendered the document in time'],
  absent: ['not_found', 'the journal does not know the notice'],
  html: ['html_page', 'the journal answers with a page of HTML'],
}
