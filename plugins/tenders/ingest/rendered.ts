import { IngestFailure, type Reason } from './failure.ts'
import type { Settings } from './settings.ts'
import type { Ted } from './ted.ts'

export interface Rendered {
  readonly number: string
  readonly xml: Buffer
}

/** Notice that could not be fetched now, with the reason. */
export interface Unrendered {
  readonly number: string
  readonly failure: IngestFailure
}

interface Waiting {
  readonly number: string
  readonly since: number
  readonly due: number
  readonly requests: number
}

/**
 * Fetches documents of notices, each as soon as it is ready. The journal renders a document on
 * request: it responds 202 without content, and within minutes with the document, which is then
 * available for minutes. A few are requested at a time and polled in turn; one that has expired
 * again is requested again.
 * @yields each number once
 */
export async function* fetchRendered(
  ted: Pick<Ted, 'requestNotice' | 'wait'>,
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
      : { number: fresh.shift()!, since: now, due: now, requests: 0 }
    const { number, requests } = item
    const response = await ted.requestNotice(number)
    if (response.state === 'document') {
      yield { number, xml: response.xml }
      continue
    }
    const failure = new IngestFailure(...FAILURES[response.state])
    const isOver = performance.now() - item.since >= renderMs
    // One of the journal's servers may not know a notice yet that another one knows.
    if (isOver || (response.state === 'absent' && requests > 0)) yield { number, failure }
    else {
      const pause = pollMs[Math.min(requests, pollMs.length - 1)] ?? renderMs
      waiting.push({ ...item, due: performance.now() + pause, requests: requests + 1 })
    }
  }
}

const FAILURES: Readonly<Record<'rendering' | 'absent' | 'html', readonly [Reason, string]>> = {
  rendering: ['not_rendered', 'the journal has not rendered the document in time'],
  absent: ['not_found', 'the journal does not know the notice'],
  html: ['html_page', 'the journal answers with a page of HTML'],
}
