import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { visibleText } from '../../core/text.ts'
import type { HttpResponse } from '../http/http-response.ts'
import { headersAndTrailers, readStreamStart } from '../http/stream-start.ts'
import { formatDollars, formatDuration } from './format.ts'
import { type Html, html } from './html.ts'
import { flashMessage } from './messages.ts'
import { definitionList, withQuery } from './table.ts'

/** Characters of a body that a page shows. */
const SHOWN_CHARS = 20_000

interface FinishedCall {
  readonly response: HttpResponse
  readonly latencyMs: number
  /** Key that called; undefined for a visitor without one. */
  readonly keyId: string | undefined
}

/** Response of a call as a message: status, charge, latency, body and receipt. */
export async function callResult({ response, latencyMs, keyId }: FinishedCall): Promise<Html> {
  const body = await readBody(response.body)
  const headers = headersAndTrailers(response) // after the stream has ended
  const isSuccess = response.status < 400 && headers['X-Refund-Reason'] === undefined
  return flashMessage(
    isSuccess ? 'good' : 'bad',
    html`<p><strong>${isSuccess ? 'The call succeeded.' : 'The call failed.'}</strong>
${chargeText(headers)}</p>${definitionList({
      Status: response.status,
      Latency: formatDuration(latencyMs),
      'Paid from': headers['X-Payment-Source'],
      'Remaining credits': dollarsIn(headers['X-Balance-Microdollars']),
      'Failure reason': headers['X-Refund-Reason'],
      Call: callLink(headers['X-Call-Id'], keyId),
    })}${bodyPart(body)}${receiptPart(headers['X-Receipt'])}`,
  )
}

const dollarsIn = (amount: string | undefined): string | undefined =>
  amount === undefined ? undefined : formatDollars(BigInt(amount))

/** Sentence on the cost of a call; a repetition states the charge of the first one. */
function chargeText(headers: HttpResponse['headers']): string {
  const earlier = dollarsIn(headers['X-Charged-Earlier-Microdollars'])
  if (earlier !== undefined) {
    return `This is the response of an earlier call, charged ${earlier}. Repeating it is free.`
  }
  const charged = headers['X-Charged-Microdollars'] ?? '0'
  return charged === '0' ? 'You were not charged.' : `You were charged ${dollarsIn(charged)}.`
}

const callLink = (id: string | undefined, keyId: string | undefined): Html | string | undefined =>
  id === undefined || keyId === undefined
    ? id
    : html`<a href="${withQuery(`/account/calls/${id}`, { key: keyId })}">Details and receipt</a>`

/** Body as text; undefined for bytes that are not text. */
interface ShownBody {
  readonly text: string | undefined
  readonly bytes: number
  readonly isComplete: boolean
}

async function readBody(body: unknown): Promise<ShownBody> {
  if (body instanceof Readable) {
    const { bytes, whole } = await readStreamStart(body)
    return { ...showBytes(bytes), isComplete: whole }
  }
  if (body instanceof Uint8Array) return showBytes(body)
  const text = typeof body === 'string' ? body : (JSON.stringify(body, null, 2) ?? '')
  return { text, bytes: Buffer.byteLength(text), isComplete: true }
}

const showBytes = (bytes: Uint8Array): ShownBody => ({
  text: isUtf8(bytes) ? indentJson(Buffer.from(bytes).toString('utf8')) : undefined,
  bytes: bytes.length,
  isComplete: true,
})

/** Indents JSON that is short enough to be shown; returns other text unchanged. */
function indentJson(text: string): string {
  if (text.length > SHOWN_CHARS) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function bodyPart({ text, bytes, isComplete }: ShownBody): Html | undefined {
  if (text === '') return undefined
  if (text === undefined) return html`<p>The body is not text (${bytes} bytes).</p>`
  const isCut = text.length > SHOWN_CHARS || !isComplete
  return html`<pre tabindex="0"><code>${visibleText(text.slice(0, SHOWN_CHARS))}</code></pre>${
    isCut && html`<p class="small muted">Only the beginning is shown.</p>`
  }`
}

const receiptPart = (receipt: string | undefined): Html | undefined =>
  receipt === undefined
    ? undefined
    : html`<details><summary>Signed receipt</summary>
<pre tabindex="0"><code>${receipt}</code></pre></details>`
